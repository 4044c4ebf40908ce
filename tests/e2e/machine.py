"""What this machine lets a test do, found out by the test itself, before lynxbench runs and without it."""

import contextlib
import ctypes
import functools
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import pytest

NEEDED = set(os.environ.get("LYNX_TESTS_NEED", "").replace(",", " ").split())


def need(name, have, why):
    """Skips where the machine has it not; fails where it was promised (LYNX_TESTS_NEED: names, or all)."""
    if have:
        return have
    if NEEDED & {"all", name}:
        pytest.fail(f"{name} was promised (LYNX_TESTS_NEED), and is not there: {why}")
    pytest.skip(f"{name}: {why}")


# --- perf_event_open ---


def perf_opens(pid=-1, processor=0, kernel=True, stacks=True):
    """As src/telemetry/profilers/native_stacks.c asks: software clock, 199 looks a second."""
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    if number is None:
        return False
    kind = (
        1 | 2 | (1 << 5 if kernel else 0) | (1 << 12 | 1 << 13 if stacks else 0)
    )  # IP, TID, callchain, registers, stack
    flags = (
        1 << 10 | (0 if kernel else 1 << 5) | 1 << 6 | 1 << 7 | 1 << 22
    )  # freq, exclude: kernel, hv, idle, user's chain
    registers = 0 if not stacks else 1 << 8 if os.uname().machine == "x86_64" else 1 << 32
    clock = 0 if processor >= 0 else 1  # of the processor, of the task
    attr = struct.pack(
        "<IIQQQQQIIQQQQIiQIHH",
        *(1, 112, clock, 199, kind, 0, flags, 0, 0, 0, 0, 0),
        *(registers, 8192 if stacks else 0, 0, 0, 0, 48 if kernel else 0, 0),
    )
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_int(pid), ctypes.c_int(processor), ctypes.c_int(-1), ctypes.c_ulong(8)]
    fd = libc.syscall(ctypes.c_long(number), attr, *words)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


@functools.cache
def perf():
    """The best that is allowed: 'stacks' of every processor, 'processors', 'threads' of another process, or ''."""
    if perf_opens(stacks=True) or perf_opens(kernel=False, stacks=True):
        return "stacks"
    if perf_opens(stacks=False) or perf_opens(kernel=False, stacks=False):
        return "processors"
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            return "threads" if perf_opens(other.pid, -1, False, False) else ""
        finally:
            other.kill()


# --- what another process waits in ---

LOOK = """import sys
for name in ("syscall", "wchan"):
    try: print(name, open(f"/proc/{sys.argv[1]}/task/{sys.argv[1]}/{name}").read().split()[0])
    except OSError: pass"""


@functools.cache
def waits():
    """May one child of this test see that another sleeps? (An ancestor may see more: yama.)"""
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            time.sleep(0.2)
            r = subprocess.run([sys.executable, "-c", LOOK, str(other.pid)], capture_output=True, text=True)
        finally:
            other.kill()
    said = dict(line.split() for line in r.stdout.splitlines())
    return said.get("syscall", "").isdigit() or "nanosleep" in said.get("wchan", "")


@functools.cache
def py_spy():
    """Its path, for --py-spy (scripts/py_spy.sh puts one into the build folder), if it may look here; or ''."""
    path = next(
        (
            p
            for p in (os.path.join(os.environ.get("BUILD", ""), "py-spy"), shutil.which("py-spy"))
            if p and os.access(p, os.X_OK)
        ),
        "",
    )
    if not path:
        return ""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        try:
            time.sleep(0.5)
            return (
                path
                if subprocess.run([path, "dump", "--pid", str(other.pid)], capture_output=True).returncode == 0
                else ""
            )
        finally:
            other.kill()


def processors():
    return len(os.sched_getaffinity(0))


def first_processor():
    return min(os.sched_getaffinity(0))


# --- who else is on the processors ---


def ticks():
    """Of the machine: all, busy, stolen."""
    with open("/proc/stat") as f:
        x = [int(n) for n in f.readline().split()[1:9]]
    return sum(x), sum(x) - x[3] - x[4] - x[7], x[7]


def own_ticks():
    """Of this process and all below it, ended children included."""
    stats = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
            stats[int(pid)] = int(fields[1]), sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in own} - own:
        own |= more
    return sum(stats[pid][1] for pid in own if pid in stats)


class Watch:
    """Shares of all of the machine's processors between begin and end: others, steal, idle."""

    def __enter__(self):
        self.machine, self.own = ticks(), own_ticks()
        return self

    def __exit__(self, *_):
        (all_, busy, steal), own = (b - a for a, b in zip(self.machine, ticks())), own_ticks() - self.own
        self.others, self.steal, self.idle = max(0, busy - own) / all_, steal / all_, (all_ - busy - steal) / all_


def wait_until_idle(seconds=60, others=0.1):
    until = time.monotonic() + seconds
    while True:
        with Watch() as w:
            time.sleep(0.5)
        if w.others < others and w.steal < 0.05 or time.monotonic() > until:
            return w


def beside_nothing(run, tries=3, others=0.1, steal=0.05):
    """run(k), each a new run, until nobody else was on the processors meanwhile, by this test's own count."""
    seen = []
    for k in range(tries):
        wait_until_idle()
        with Watch() as w:
            result = run(k)
        seen.append(f"others used {w.others:.0%}, the hypervisor took {w.steal:.0%}")
        if w.others < others and w.steal < steal:
            return result
    need("quiet", False, "; ".join(seen))


def holds(interval, value, within, widest):
    """It tells something, and what it tells is so: at 99.9 %, as 95 % is wrong in one of twenty good runs."""
    low, high = interval["low"], interval["high"]
    assert low is not None and high is not None and high - low <= widest, f"tells nothing: {interval}"
    more = (high - low) / 2 * (3.29 / 1.96 - 1)  # normal quantiles; Student's, of few cycles, would be wider
    assert low - more - within <= value <= high + more + within, f"{value} was planted: {interval}"


# --- rights ---


@functools.cache
def namespaces(*flags):
    """unshare(1) with these flags, e.g. ("--net",) or ("--mount", "--pid", "--fork")."""
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode == 0
    )


@functools.cache
def netns():
    """Two named network namespaces and a wire between them."""
    names = [f"lynxp{os.getpid()}{k}" for k in "ab"]
    words = [["netns", "add", names[0]], ["netns", "add", names[1]]]
    words += [["link", "add", "w", "netns", names[0], "type", "veth", "peer", "name", "w", "netns", names[1]]]
    words += [["-n", names[0], "link", "set", "lo", "up"], ["netns", "exec", names[0], "true"]]  # not in every chroot
    try:
        return bool(shutil.which("ip")) and all(
            subprocess.run(["ip", *w], capture_output=True).returncode == 0 for w in words
        )
    finally:
        for name in names if shutil.which("ip") else ():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@functools.cache
def mounts():
    with tempfile.TemporaryDirectory() as d:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", d], capture_output=True).returncode:
            return False
        subprocess.run(["umount", d], check=True)
        return True


READ = """import mmap, os, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
f, m = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
began = time.monotonic()
for i in range(2): os.preadv(f, [m], i << 20)
print(time.monotonic() - began)"""


def reading_can_be_limited(group, path):
    """2 MiB at 1 MiB/s take two seconds, and none without: of that file's disk, in that group."""
    st = os.stat(path).st_dev
    disk = os.path.realpath(f"/sys/dev/block/{os.major(st)}:{os.minor(st)}")
    if not os.path.exists(disk):  # no disk: overlay, tmpfs, the network
        return False
    disk = os.path.dirname(disk) if os.path.exists(disk + "/partition") else disk
    with open(disk + "/dev") as f:
        device = f.read().strip()
    two = os.path.exists(group + "/io.max")
    file = group + ("/io.max" if two else "/blkio.throttle.read_bps_device")

    def limit(n):
        with open(file, "w") as f:
            f.write(f"{device} rbps={n or 'max'}" if two else f"{device} {n}")

    def seconds():
        r = subprocess.run([sys.executable, "-c", READ, group, path], capture_output=True, text=True)
        return float(r.stdout) if r.returncode == 0 else float("nan")

    try:
        free = seconds()
        limit(1 << 20)
        held = seconds()
        limit(0)
        return free < 1 < held
    except OSError:
        return False


@functools.cache
def cage():
    """Landlock of version 3 and seccomp: by the kernel's own word."""
    libc = ctypes.CDLL(None, use_errno=True)
    landlock = libc.syscall(ctypes.c_long(444), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return landlock >= 3 and libc.prctl(21, 0, 0, 0, 0) >= 0


@functools.cache
def isa(precision, most=""):
    """Has this processor, as far as oneDNN may use it (ONEDNN_MAX_CPU_ISA), what the precision needs?"""
    with open("/proc/cpuinfo") as f:
        flags = set(next((x.split(":")[1] for x in f if x.lower().startswith(("flags", "features"))), "").split())
    if precision != "bf16":
        return True
    if os.uname().machine == "x86_64":
        return (
            most not in ("SSE41", "AVX", "AVX2", "AVX2_VNNI")
            and {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags
        )
    return "bf16" in flags
