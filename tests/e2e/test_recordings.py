"""Captures of recorded machines, planted differences in them, and libraries of vendors that stand in."""

import tarfile

import pytest
from captured import *


@pytest.fixture
def d():
    """A folder that other users may look into."""
    with folder() as d:
        os.chmod(d, 0o755)
        yield d


def test_recorded_machines(d):
    """Verbatim recordings of machines that we do not have (tests/recorded/README.md)."""
    for name, wanted in (
        (
            "nvidia-dgx-gb10",
            {
                "topology.cores": "20",
                "machine.vendor": "NVIDIA",
                "cpu.governor": "performance",
                "cpu.smt": "notsupported",
                "cpu.isa": "asimd asimddp bf16 i8mm sve sve2",
            },
        ),
        ("96em64t-4no4pa3ca2co", {"topology.threads": "96", "topology.numa-nodes": "4"}),
    ):
        with tarfile.open(f"{SOURCE}/tests/recorded/hwloc/{name}.tar.bz2") as t:
            top = t.getnames()[0].split("/")[0]
            t.extractall(d, filter="data") if hasattr(tarfile, "data_filter") else t.extractall(d)
        found = facts_of(capture("--root", f"{d}/{top}"))
        for key, value in wanted.items():
            check_equal(found.get(key, {}).get("value"), value, f"{name}: {key}")
    found = facts_of(capture("--root", f"{d}/nvidia-dgx-gb10"))
    check(
        "root=" not in found["kernel.command-line"]["value"] and found["kernel.boot-place"]["kind"] == "context",
        "the disk it was booted from is context",
    )


PLANTED = [
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "powersave\n",
        ("cpu.governor", "system", "Infrastructure"),
    ),
    ("sys/fs/cgroup/serving/cpu.max", "100000 100000\n", ("cgroup.cpu-max", "system", "Infrastructure")),
    ("proc/cmdline", "quiet mitigations=off\n", ("kernel.command-line", "system", "Infrastructure")),
    (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never\n",
        ("memory.transparent-huge-pages", "system", "Infrastructure"),
    ),
    (
        "proc/42/environ",
        "OMP_NUM_THREADS=4\0HF_TOKEN=hunter2\0",
        ("environment.OMP_NUM_THREADS", "runtime", "ML platform engineering"),
    ),
    (
        "proc/42/cmdline",
        "server\0--model\0n\0--api-key\0hunter3\0--port\08001\0",
        ("process.argument.--model", "serving", "ML platform"),
    ),
]


@pytest.fixture(scope="module")
def plain():
    """A capture of the recorded machine as it is."""
    with folder() as d:
        lynx("capture", "--root", PLAIN, "--pid", "42", "--out", f"{d}/plain.json")
        yield f"{d}/plain.json"


def test_nothing_moved(plain):
    again = lynx("capture", "--root", PLAIN, "--pid", "42", "--against", plain)
    check_equal(again.returncode, 0, f"nothing moved: {again.stdout}")


@pytest.mark.parametrize("file, text, wanted", PLANTED)
def test_one_change_in_a_recorded_machine(d, plain, file, text, wanted):
    """One difference."""
    root = f"{d}/planted"
    shutil.copytree(PLAIN, root, symlinks=True)
    write(f"{root}/{file}", text)
    args = ("--root", root, "--pid", "42", "--against", plain, "--out", f"{d}/planted.json")
    moved = lynx("capture", *args)
    check_equal(moved.returncode, 1, f"{file} moved")
    keys, rows = differences(plain, f"{d}/planted.json")
    keys = [k for k in keys if k[0] != "model.asked-for"]  # the argument and what it names are one change
    check_equal(keys, [wanted], f"planted in {file}")
    check(all(r["reason"] for r in rows), f"{file}: a reason")
    check("hunter" not in moved.stdout + open(f"{d}/planted.json").read(), f"{file}: no secret")


SMI = f"{SOURCE}/tests/recorded/nvidia-smi"


def test_nvidia_smis_own_xml(d):
    """Of two machines that we do not have."""
    r = lynx("diff", f"{SMI}/a100-sxm4-v12.xml", f"{SMI}/a100-sxm4-v12.xml")
    check_equal(r.returncode, 0, f"nvidia-smi against itself: {r.stdout}{r.stderr}")
    r = lynx("diff", "--json", f"{SMI}/a100-sxm4-v12.xml", f"{SMI}/tesla-t4.xml")
    check_equal(r.returncode, 1, f"an A100 and a T4: {r.stderr}")
    found = {x["key"]: (x["a"], x["b"]) for x in json.loads(r.stdout)}
    for key, wanted in (
        ("gpu.0.name", ("NVIDIA A100-SXM4-80GB", "Tesla T4")),
        ("gpu.0.power-limit", ("500000 mW", "70000 mW")),
        ("gpu.0.pcie-generation-most", ("4", "3")),
        ("gpu.0.mig", ("1", None)),
        ("gpu.0.memory", ("85899345920 bytes", "16106127360 bytes")),
        ("gpu.0.clock.sm-most", ("1410 MHz", "1590 MHz")),
    ):
        check_equal(found.get(key, (None, None))[0], wanted[0], f"nvidia-smi {key} of the A100")
        if wanted[1] is not None:
            check_equal(found.get(key, (None, None))[1], wanted[1], f"nvidia-smi {key} of the T4")


def test_clocks_that_somebody_set(d):
    clocks = "<applications_clocks>\n            <graphics_clock>"
    text = open(f"{SMI}/a100-sxm4-v12.xml").read()
    write(f"{d}/slower.xml", text.replace(f"{clocks}1275 MHz", f"{clocks}900 MHz"))
    found = differences(f"{SMI}/a100-sxm4-v12.xml", f"{d}/slower.xml")[0]
    check_in("gpu.0.clock.graphics-application", [k for k, _, _ in found], "clocks that somebody set")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'


NOT_WRITTEN = {
    "cut": (open(f"{SMI}/tesla-t4.xml").read()[:5000], "not whole"),
    "other": ("<something></something>", "not what `nvidia-smi"),
    "page": ("<html></html>", "a page of HTML"),
    "none": ("<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>", "saw no GPU"),
    "bomb": (BOMB + "<nvidia_smi_log><gpu><uuid>&b;</uuid></gpu></nvidia_smi_log>", ""),
}


@pytest.mark.parametrize("name", NOT_WRITTEN)
def test_what_nvidia_smi_did_not_write(d, name):
    bad, part = NOT_WRITTEN[name]
    write(f"{d}/{name}.xml", bad)
    r = lynx("diff", f"{d}/{name}.xml", f"{SMI}/tesla-t4.xml")
    check_equal(r.returncode, 2, f"{name}: {r.stdout}")
    check_in(part, r.stderr, name)


def test_the_tightest_limit_of_control_groups_binds(d):
    """On the way up; runtimes that leave no mark are known by the group's name."""
    root = f"{d}/groups"
    shutil.copytree(f"{SOURCE}/tests/recorded/plain", root, symlinks=True)
    write(f"{root}/proc/42/cgroup", "0::/kubepods.slice/pod1/cri-containerd-0a1b.scope\n")
    for file, text in (
        ("kubepods.slice/pod1/cri-containerd-0a1b.scope/cpu.max", "max 100000\n"),
        ("kubepods.slice/pod1/cpu.max", "150000 100000\n"),
        ("kubepods.slice/cpu.max", "800000 100000\n"),
        ("kubepods.slice/pod1/cri-containerd-0a1b.scope/memory.max", "1073741824\n"),
        ("kubepods.slice/pod1/memory.max", "2147483648\n"),
    ):
        os.makedirs(os.path.dirname(f"{root}/sys/fs/cgroup/{file}"), exist_ok=True)
        write(f"{root}/sys/fs/cgroup/{file}", text)
    found = facts_of(capture("--root", root, "--pid", "42"))
    check_equal(found["cgroup.cpu-max"]["value"], "150000 100000", "the pod's limit binds its container")
    check_in("pod1/cpu.max", found["cgroup.cpu-max"]["source"], "and says where it stands")
    check_equal(found["cgroup.memory-max"]["value"], "1073741824", "the container's own is tighter")
    check_equal(found["container.kind"]["value"], "containerd", "by the group's name")


def test_an_amd_accelerator_on_the_bus(d):
    """As its driver shows it (synthetic)."""
    root = f"{d}/amd"
    shutil.copytree(f"{SOURCE}/tests/recorded/plain", root, symlinks=True)
    device = f"{root}/sys/bus/pci/devices/0000:c1:00.0"
    os.makedirs(device)
    for file, text in (
        ("vendor", "0x1002\n"),
        ("device", "0x74a1\n"),
        ("class", "0x120000\n"),
        ("mem_info_vram_total", "206141652992\n"),
        ("mem_info_vram_used", "1048576\n"),
        ("current_link_speed", "16.0 GT/s PCIe\n"),
        ("max_link_speed", "32.0 GT/s PCIe\n"),
        ("current_link_width", "16\n"),
        ("max_link_width", "16\n"),
        ("vbios_version", "113-M3000100-102\n"),
    ):
        write(f"{device}/{file}", text)
    found = {
        k: f
        for k, f in facts_of(capture("--root", root)).items()
        if "206141652992" in f["value"] or "AMD" in f["value"] or "113-M3000100" in f["value"]
    }
    check(any(f["value"] == "206141652992" for f in found.values()), f"its memory: {sorted(found)}")
    check(any("AMD" in f["value"] for f in found.values()), f"its maker: {sorted(found)}")
    check(any("113-M3000100-102" in f["value"] for f in found.values()), f"its firmware: {sorted(found)}")


ENVIRONMENT = """Collecting environment information...
PyTorch version              : 2.7.0+cu126
GPU Topology:
\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tPIX\t0-95\t0
GPU1\tNV18\t X \tSYS\t0-95\t0
NIC0\tPIX\tSYS\t X \t\t

     Environment Variables
NCCL_CUMEM_ENABLE=0
HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789
LD_LIBRARY_PATH=/usr/lib:/opt/lib
"""


def test_links_and_variables_of_collect_env(d):
    write(f"{d}/a.txt", ENVIRONMENT)
    for old, new, key in (
        ("GPU0\t X \tNV18", "GPU0\t X \tPHB", "imported.link.GPU0-GPU1"),
        ("GPU1\tNV18\t X \tSYS", "GPU1\tNV18\t X \tNODE", "imported.link.GPU1-NIC0"),
        ("ENABLE=0", "ENABLE=1", "environment.NCCL_CUMEM_ENABLE"),
        ("/opt/lib", "/opt/other", "environment.LD_LIBRARY_PATH"),
    ):
        write(f"{d}/b.txt", ENVIRONMENT.replace(old, new))
        keys, _ = differences(f"{d}/a.txt", f"{d}/b.txt")
        check_equal([k[0] for k in keys], [key], f"{old} -> {new}")
    key = ENVIRONMENT + "VLLM_COMMAND=serve --api-key topsecret\n"
    write(f"{d}/b.txt", key.replace("HF_TOKEN=hf_a", "HF_TOKEN=hf_b"))
    check_equal(differences(f"{d}/a.txt", f"{d}/b.txt")[0], [], "secrets are not compared")
    shown = lynx("diff", f"{d}/a.txt", f"{d}/b.txt", "--json", "--state").stdout
    check("topsecret" not in shown, "a key after a blank")
    write(f"{d}/c.txt", ENVIRONMENT.replace("\n", "\r\n"))
    check_equal(differences(f"{d}/a.txt", f"{d}/c.txt")[0], [], "lines as Windows ends them")
    check("hf_abc" not in lynx("diff", f"{d}/a.txt", f"{d}/b.txt", "--json").stdout, "no secret")


def test_collect_env_as_it_is_pasted_into_an_issue(d):
    write(f"{d}/a.txt", f"<details>\n<summary>environment</summary>\n\n```text\n{ENVIRONMENT}```\n\n</details>\n")
    write(f"{d}/b.txt", ENVIRONMENT.replace("ENABLE=0", "ENABLE=1"))
    check_equal([k[0] for k in differences(f"{d}/a.txt", f"{d}/b.txt")[0]], ["environment.NCCL_CUMEM_ENABLE"], "pasted")
    write(f"{d}/x.txt", "<details>\n<summary>nothing</summary>\n</details>\n")
    r = lynx("diff", f"{d}/x.txt", f"{d}/b.txt")
    check_equal(r.returncode, 2, r.stdout)


def test_nothing_in_common_is_no_comparison(d):
    write(f"{d}/a.txt", "Collecting environment information...\nPyTorch version: 2.7.0\n")
    write(f"{d}/b.txt", "PyTorch version:\nGCC version: 12.2\n")
    r = lynx("diff", f"{d}/a.txt", f"{d}/b.txt")
    check_equal(r.returncode, 3, r.stdout)
    check_in("nothing can be compared", r.stderr, "why")


def test_the_two_layouts_of_collect_env(d):
    """Synthetic, with the lines that torch and vLLM print."""
    for pad in ("", "         "):
        write(
            f"{d}/env.txt",
            "\n".join(
                [
                    "Collecting environment information...",
                    f"PyTorch version{pad}: 2.5.1+cu121",
                    f"CUDA used to build PyTorch{pad}: 12.1",
                    f"ROCM used to build PyTorch{pad}: N/A",
                    f"Nvidia driver version{pad}: 535.183.01",
                    f"GPU models and configuration{pad}: GPU 0: NVIDIA H100 80GB HBM3",
                    "Model name:                      Intel(R) Xeon(R)",
                    "Vulnerability Meltdown:           Not affected",
                    "[pip3] numpy==1.26.4",
                    "[conda] torch 2.5.1 pypi_0 pypi",
                ]
            ),
        )
        write(
            f"{d}/env2.txt", open(f"{d}/env.txt").read().replace("535.183.01", "550.54.15").replace("1.26.4", "1.9.0")
        )
        keys, all_rows = differences(f"{d}/env.txt", f"{d}/env2.txt")
        check_equal([k[0] for k in keys], ["driver.nvidia", "python.package.numpy"], f"collect_env: {keys}")
        check_equal(
            [x["newer"] for x in sorted(all_rows, key=lambda x: x["key"])],
            ["b", "a"],
            "versions are ordered as versions",
        )


def test_a_letter_is_no_executor(d):
    write(f"{d}/letter.txt", "Dear lynxbench,\n")
    check_equal(lynx("diff", f"{d}/letter.txt", f"{SMI}/tesla-t4.xml").returncode, 2, "a letter is no executor")


@pytest.mark.skipif(SANITIZED, reason="a preloaded library cannot stand before the sanitizer's")
def test_drivers_that_misbehave(d):
    """Synthetic: tests/fail/nvml.c."""
    os.makedirs(f"{d}/nvml")
    shutil.copy(f"{BUILD}/tests/nvml.so", f"{d}/nvml/libnvidia-ml.so.1")

    def with_nvml(mode):
        began = time.time()
        found = facts_of(capture(env={"LD_LIBRARY_PATH": f"{d}/nvml", "LYNX_NVML": mode}))
        return found, time.time() - began

    found, _ = with_nvml("good")
    check_equal((found["gpu.count"]["value"], found["gpu.1.name"]["value"]), ("2", "Synthetic H100"), "two GPUs")
    check_equal(
        (found["driver.cuda"]["value"], found["gpu.0.compute-capability"]["value"]),
        ("12.4", "9.0"),
        "driver and capability",
    )
    check_equal(
        found["gpu.0.throttled-by"]["value"], "software power cap, software thermal", "throttle reasons in words"
    )
    check_equal(
        (found["gpu.0.uuid"]["kind"], found["gpu.0.power-limit"]["kind"], found["gpu.0.throttled-by"]["kind"]),
        ("context", "identity", "state"),
        "kinds",
    )
    check_equal(found["gpu.0.serial"]["status"], "denied", "no permission")
    check_equal(found["gpu.0.cores"]["status"], "unsupported", "a call that this driver does not have")
    found, _ = with_nvml("mismatch")
    check_in("different versions", found["probe.nvidia"]["value"], "library and module do not match")
    found, _ = with_nvml("crash")
    check_in("ended by signal 6", found["probe.nvidia"]["value"], "a driver that crashes")
    check_equal(found["driver.nvidia"]["value"], "550.54.15", "what it had said by then is kept")
    check(
        "process.executable" not in found and "cpu.online" in found and "topology.threads" in found,
        "the probes before and after it went on",
    )
    found, _ = with_nvml("good")
    check_equal(
        [found[f"gpu.0.clock.graphics-application{k}"]["value"] for k in ("", "-default")],
        ["1410", "1980"],
        "clocks that somebody set",
    )
    os.makedirs(f"{d}/amdsmi")
    shutil.copy(f"{BUILD}/tests/amdsmi.so", f"{d}/amdsmi/libamd_smi.so")
    found = facts_of(capture(env={"LD_LIBRARY_PATH": f"{d}/amdsmi"}))
    check_in("the driver is not loaded", found["probe.amd"]["value"], "amdsmi without a driver")
    found = facts_of(capture(env={"LD_LIBRARY_PATH": f"{d}/amdsmi", "LYNX_AMDSMI": "1"}))
    check_equal(
        [
            found[f"amd-gpu.{k}"]["value"]
            for k in (
                "count",
                "1.name",
                "0.performance-level",
                "1.performance-level",
                "0.compute-partition",
                "0.links",
                "0.memory",
                "0.ecc-errors",
            )
        ],
        [
            "2",
            "Synthetic Instinct MI300X",
            "auto",
            "manual",
            "SPX",
            "1: XGMI, 1 hop",
            "206141652992",
            "3 corrected, 0 uncorrected",
        ],
        "two AMD GPUs",
    )
    check_equal(
        (
            found["amd-gpu.0.memory-partition"]["status"],
            found["amd-gpu.0.vbios"]["status"],
            found["amd-gpu.0.uuid"]["kind"],
            found["driver.amdgpu"]["value"],
        ),
        ("denied", "unsupported", "context", "6.8.5"),
        "what it does not tell",
    )
    found, seconds = with_nvml("hang")
    check_in("did not end within 5 s", found["probe.nvidia"]["value"], "a driver that hangs")
    check("topology.threads" in found and seconds < 60, f"and the capture ends: {seconds:.1f} s")


@pytest.mark.skipif(SANITIZED, reason="a preloaded library cannot stand before the sanitizer's")
def test_chassis(d):
    """Synthetic: tests/fail/ipmi.c."""
    shutil.copytree(f"{SOURCE}/tests/recorded/plain", f"{d}/ipmi", symlinks=True)
    write(f"{d}/ipmi/sys/class/ipmi/ipmi0/dev", "240:0\n")

    def power(watts=None):
        more = {"LD_PRELOAD": f"{BUILD}/tests/ipmi.so", "LYNX_IPMI": watts} if watts else {}
        return facts_of(capture("--root", f"{d}/ipmi", env=more))["power.chassis"]

    check_equal(power()["status"], "unsupported", "a controller without a device")
    write(f"{d}/ipmi/dev/ipmi0", "")
    check_equal(
        [power("3412")[k] for k in ("value", "unit", "kind")], ["3412", "W", "state"], "what the whole machine draws"
    )
    check_in("does not measure power", power("none")["value"], "a controller that does not measure")
    check_in("does not take a request", power()["value"], "what is no controller")


def test_huge_pages(d):
    """Surplus pages come and go with the programs that ask for them."""
    shutil.copytree(f"{SOURCE}/tests/recorded/plain", f"{d}/pages", symlinks=True)
    text = open(f"{d}/pages/proc/meminfo").read()
    plain = [line for line in text.splitlines() if not line.startswith("HugePages_")]
    for name, total, surplus in (("none", 8, 0), ("some", 12, 4), ("more", 12, 0)):
        write(
            f"{d}/pages/proc/meminfo",
            "\n".join(plain + [f"HugePages_Total: {total}", f"HugePages_Surp: {surplus}", ""]),
        )
        lynx("capture", "--root", f"{d}/pages", "--out", f"{d}/pages-{name}.json")
    check_equal(differences(f"{d}/pages-none.json", f"{d}/pages-some.json")[0], [], "surplus pages")
    check_equal(
        [k for k, _, _ in differences(f"{d}/pages-none.json", f"{d}/pages-more.json")[0]],
        ["memory.huge-pages"],
        "more that are kept",
    )


if __name__ == "__main__":
    main(__file__)
