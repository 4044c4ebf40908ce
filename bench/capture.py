"""What a capture costs: processor time on a made-up machine of 200 cores, 8 GPUs' worth of sysfs and a process with 500 libraries; and, on
this machine, beside PyTorch's collect_env where build/peers has it."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = sys.argv[1]
LYNX = os.path.join(BUILD, "lynxbench")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def make_machine(root):
    cores, gpus, libraries = 200, 8, 500
    flags = (
        "fpu sse4_2 avx avx2 fma f16c avx512f avx512bw avx512vl avx512_vnni avx512_bf16 amx_tile amx_int8 amx_bf16 "
        + " ".join(f"flag{i}" for i in range(80))
    )
    write(
        f"{root}/proc/cpuinfo",
        "".join(
            f"processor\t: {i}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Made-up 200\nstepping\t: 8\nmicrocode\t: 0x2b\nflags\t\t: {flags}\n\n"
            for i in range(cores)
        ),
    )
    write(f"{root}/proc/meminfo", "MemTotal:       2113000000 kB\nMemAvailable:   2000000000 kB\nSwapTotal: 0 kB\n")
    write(f"{root}/proc/stat", "cpu 1 2 3 4 5 6 7 8\n" + "".join(f"cpu{i} 1 2 3 4 5 6 7 8\n" for i in range(cores)))
    for i in range(cores):
        c = f"{root}/sys/devices/system/cpu/cpu{i}"
        write(f"{c}/topology/core_id", f"{i % 100}\n")
        write(f"{c}/topology/physical_package_id", f"{i // 100}\n")
        write(f"{c}/topology/thread_siblings", f"{1 << i:x}\n")
        write(f"{c}/topology/core_siblings", f"{((1 << 100) - 1) << (100 * (i // 100)):x}\n")
        write(f"{c}/cpufreq/scaling_governor", "performance\n")
        for k, (level, size) in enumerate(((1, "48K"), (1, "32K"), (2, "2048K"), (3, "107520K"))):
            write(f"{c}/cache/index{k}/level", f"{level}\n")
            write(f"{c}/cache/index{k}/size", f"{size}\n")
            write(f"{c}/cache/index{k}/type", "Data\n" if k != 1 else "Instruction\n")
            write(f"{c}/cache/index{k}/shared_cpu_map", f"{1 << i:x}\n")
    write(f"{root}/sys/devices/system/cpu/online", f"0-{cores - 1}\n")
    for i in range(400):
        d = f"{root}/sys/bus/pci/devices/0000:{i // 8:02x}:{i % 8:02x}.0"
        gpu = i < gpus
        for name, value in (
            ("class", "0x030200" if gpu else "0x060400"),
            ("vendor", "0x10de" if gpu else "0x8086"),
            ("device", "0x2330"),
            ("max_link_speed", "32.0 GT/s PCIe"),
            ("max_link_width", "16"),
            ("current_link_speed", "32.0 GT/s PCIe"),
            ("current_link_width", "16"),
            ("numa_node", "0"),
        ):
            write(f"{d}/{name}", value + "\n")
    for i in range(64):
        write(f"{root}/sys/class/hwmon/hwmon{i}/name", f"chip{i}\n")
        for k in range(1, 5):
            write(f"{root}/sys/class/hwmon/hwmon{i}/temp{k}_input", "45000\n")
    write(
        f"{root}/proc/42/status",
        "Name:\tserver\nCpus_allowed_list:\t0-199\nMems_allowed_list:\t0-1\nThreads:\t500\nVmRSS:\t1000 kB\n",
    )
    write(f"{root}/proc/42/stat", "42 (server) S 1 42 42 0\n")
    write(f"{root}/proc/42/cmdline", "server\0--model\0/m\0")
    write(f"{root}/proc/42/environ", "".join(f"OMP_{i}=1\0" for i in range(100)))
    real = "/lib/x86_64-linux-gnu/libc.so.6"
    maps = []
    for i in range(libraries):
        path = f"/opt/lib/lib{i:03d}.so.1.{i}"
        inner = f"{root}/proc/42/root{path}"
        os.makedirs(os.path.dirname(inner), exist_ok=True)
        (
            shutil.copy(real, inner)
            if i < 20
            else os.link(f"{root}/proc/42/root/opt/lib/lib{i % 20:03d}.so.1.{i % 20}", inner)
        )
        maps += [
            f"7f{i:06x}0000-7f{i:06x}1000 {rights} 00000000 08:01 {i} {path}\n"
            for rights in ("r--p", "r-xp", "r--p", "rw-p")
        ]
    write(f"{root}/proc/42/maps", "".join(maps))


def cost(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.time()
    r = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.time() - began, r


root = tempfile.mkdtemp(prefix="lynx-bench-")
try:
    make_machine(root)
    costs = sorted(cost(LYNX, "capture", "--root", root, "--pid", "42", "--json")[0] for _ in range(7))
    n = cost(LYNX, "capture", "--root", root, "--pid", "42", "--json")[2].stdout.count('"key"')
    print(
        f"capture of 200 cores, 8 GPUs on the bus, 500 libraries: {n} facts, processor time {costs[3]:.3f} s (median of 7; the target is 0.5 s)"
    )
finally:
    shutil.rmtree(root)
ours, wall, r = cost(LYNX, "capture", "--json")
print(
    f"capture of this machine: {r.stdout.count(chr(34) + 'key' + chr(34))} facts, processor time {ours:.3f} s, wall {wall:.3f} s"
)
python = os.path.join(BUILD, "peers", "bin", "python")
if os.path.exists(python):
    theirs, their_wall, r = cost(python, "-m", "torch.utils.collect_env")
    print(
        f"torch.utils.collect_env, the same machine: {r.stdout.count(chr(10))} lines, processor time {theirs:.3f} s, wall {their_wall:.3f} s: {theirs / max(ours, 1e-3):.0f} times ours"
    )
else:
    print("torch.utils.collect_env: skipped, because build/peers is not there (make test-peers makes it)")
