"""What the tools of devices print as text is read as facts, in the layouts of their versions; what a tool cut off, or
says that it does not have, is no value; and `diff` names what two machines do not share."""

import json
import random
import re

import pytest
from lynx import *

MIB = 1 << 20


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def facts(path, code=0):
    r = lynx("capture", "--merge", f"s={path}", "--json")
    assert r.returncode == code, (r.returncode, r.stderr)
    found = {}
    for f in json.loads(r.stdout)["facts"]:
        key = f["key"].removeprefix("s/")
        if f["status"] == "read":
            found[key] = f["value"] + (f" {f['unit']}" if f.get("unit") in ("bytes", "mW") else "")
    return found


def box(widths, *rows):
    """A row of a table with bars: each cell as wide as the layout has it."""
    return "".join("|" + "|".join(cell.ljust(w)[:w] for cell, w in zip(row, widths)) + "|\n" for row in rows)


def rule(widths, sign="-"):
    return "+" + "+".join(sign * w for w in widths) + "+\n"


MIG = """| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|==================+==================================+===========+=======================|
|  0    1   0   0  |              37MiB / {:5}MiB    | 60      0 |  4   0    4    0    4 |
|                  |                 0MiB / 65535MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""


def nvidia_table(gpus, widths, driver="550.90.07", cuda="12.4", new_words=False, more=""):
    labels = ("KMD Version", "CUDA UMD Version") if new_words else ("Driver Version", "CUDA Version")
    head = f" NVIDIA-SMI {driver}    {labels[0]}: {driver}    {labels[1]}: {cuda}"
    text = rule([sum(widths) + 2]) + f"|{head.ljust(sum(widths) + 2)}|\n" + rule(widths)
    text += box(widths, (" GPU  Name     Persistence-M", " Bus-Id        Disp.A", " Volatile Uncorr. ECC"))
    text += "|" + "+".join("=" * w for w in widths) + "|\n"
    for i, g in enumerate(gpus):
        limit = f"{g['limit']}W" if g["limit"] else "N/A"
        text += box(
            widths,
            (f"   {i}  {g['name']}   On", f"   00000000:{i + 1:02X}:00.0 Off", f"       {g['ecc']} "),
            (f" N/A   33C    P8     16W / {limit} ", f"     1MiB / {g['memory']}MiB ", "      0%      Default "),
            ("", "", f"   {g['mig']} "),
        )
        text += rule(widths)
    text += more + "\n+-----+\n| Processes: |\n|  GPU   GI   CI        PID   Type   Process name   GPU Memory |\n"
    return text + "| No running processes found |\n"


@pytest.mark.parametrize("widths, new", [((31, 22, 22), False), ((41, 22, 22), False), ((41, 24, 22), True)])
def test_nvidia_smis_table(d, widths, new):
    gpus = [
        {"name": "NVIDIA L4", "limit": 72, "memory": 23034, "ecc": "0", "mig": "N/A"},
        {"name": "NVIDIA A100-SXM...", "limit": 400, "memory": 81251, "ecc": "Off", "mig": "Disabled"},
    ]
    found = facts(write(f"{d}/t.txt", "$ nvidia-smi\n" + nvidia_table(gpus, widths, new_words=new)))
    assert found["gpu.0.name"] == "NVIDIA L4" and "gpu.1.name" not in found, "a name that was cut off is none"
    assert found["gpu.0.memory"] == f"{23034 * MIB} bytes" and found["gpu.1.memory"] == f"{81251 * MIB} bytes"
    assert found["gpu.0.power-limit"] == "72000 mW" and found["gpu.1.power-limit"] == "400000 mW"
    assert (found["gpu.0.ecc"], found["gpu.1.ecc"]) == ("1", "0")
    assert "gpu.0.mig" not in found and found["gpu.1.mig"] == "0"
    assert found["driver.nvidia"] == "550.90.07" and found["driver.cuda"] == "12.4" and found["gpu.count"] == "2"
    assert found["gpu.0.compute-mode"] == "0" and found["gpu.0.persistence-mode"] == "1"


def test_slices_and_numbers_of_gpus(d):
    """What serves is a slice of a GPU; a GPU keeps its number where others are not shown."""
    gpus = [{"name": f"NVIDIA H100 {i}", "limit": 700, "memory": 81559, "ecc": "0", "mig": "Enabled"} for i in range(3)]
    a = write(f"{d}/a.txt", nvidia_table(gpus, (41, 24, 22), more=MIG.format(40320)))
    b = write(f"{d}/b.txt", nvidia_table(gpus, (41, 24, 22), more=MIG.format(20096)))
    assert facts(a)["gpu.0.mig.1.0.memory"] == f"{40320 * MIB} bytes"
    r = lynx("diff", a, b, "--json")
    assert [x["key"] for x in json.loads(r.stdout)] == ["gpu.0.mig.1.0.memory"], r.stdout
    whole = nvidia_table(gpus, (41, 24, 22)).split("\n")
    first = [i for i, line in enumerate(whole) if "H100 1" in line][0]
    found = facts(write(f"{d}/c.txt", "\n".join(whole[:first] + whole[first + 4 :])))
    assert found["gpu.2.name"] == "NVIDIA H100 2" and "gpu.1.name" not in found and found["gpu.count"] == "2"


NVIDIA_Q = """==============NVSMI LOG==============

Timestamp{p} : Mon Nov  2 10:00:00 2026
Driver Version{p} : {driver}
CUDA Version{p} : 12.8

Attached GPUs{p} : 1
GPU 00000000:01:00.0
    Product Name{p} : NVIDIA L40S
    Persistence Mode{p} : Enabled
    MIG Mode
        Current{p} : N/A
        Pending{p} : N/A
    VBIOS Version{p} : 95.02.66.00.02
    PCI
        Bus Id{p} : 00000000:01:00.0
        GPU Link Info
            PCIe Generation
                Max{p} : 4
                Current{p} : 1
            Link Width
                Max{p} : 16x
                Current{p} : 8x
        Replays Since Reset{p} : 0
    FB Memory Usage
        Total{p} : 46068 MiB
        Used{p} : 1 MiB
    ECC Mode
        Current{p} : Enabled
        Pending{p} : Disabled
    GPU Power Readings
        Power Draw{p} : 30.51 W
        Current Power Limit{p} : {limit} W
        Max Power Limit{p} : 350.00 W
    GPU Memory Power Readings
        Power Draw{p} : N/A
        Current Power Limit{p} : 11.00 W
    Max Clocks
        Graphics{p} : 2520 MHz
        SM{p} : 2520 MHz
        Memory{p} : 9001 MHz
    Processes{p} : None
"""


@pytest.mark.parametrize("prefix, ends", [("", "\n"), ("> ", "\n"), ("nid005113 out: ", "\r\n"), ("    ", "\n")])
def test_nvidia_smi_q(d, prefix, ends):
    report = NVIDIA_Q.format(p=" " * 20, driver="570.86.10 [Deprecated; use KMD Version instead]", limit="300.00")
    lines = "".join(prefix + line + ends for line in report.split("\n"))
    text = "it was slow:" + ends + lines + "what can I do?" + ends
    found = facts(write(f"{d}/q.txt", text))
    assert found["driver.nvidia"] == "570.86.10" and found["gpu.0.name"] == "NVIDIA L40S"
    assert found["gpu.0.power-limit"] == "300000 mW", "of the GPU, not of its memory"
    assert found["gpu.0.power-limit-most"] == "350000 mW" and found["gpu.0.memory"] == f"{46068 * MIB} bytes"
    pcie = [found[f"gpu.0.pcie-{name}"] for name in ("generation-most", "generation", "width")]
    assert pcie == ["4", "1", "8"]
    assert (found["gpu.0.ecc"], found["gpu.0.ecc-pending"]) == ("1", "0") and "gpu.0.mig" not in found
    assert found["gpu.0.clock.sm-most"] == "2520"


def test_the_text_and_the_xml_of_one_tool_have_one_set_of_keys(d):
    """Where a text and another text of the same machine were written by two layouts, nothing differs."""
    q = write(f"{d}/q.txt", NVIDIA_Q.format(p=" " * 20, driver="570.86.10", limit="300.00"))
    gpu = {"name": "NVIDIA L40S", "limit": 300, "memory": 46068, "ecc": "0", "mig": "N/A"}
    t = write(f"{d}/t.txt", nvidia_table([gpu], (41, 24, 22), driver="570.86.10", cuda="12.8"))
    r = lynx("diff", q, t, "--json")
    changed = [x["key"] for x in json.loads(r.stdout) if x.get("a") and x.get("b")]
    assert changed == [], r.stdout
    other = write(f"{d}/o.txt", NVIDIA_Q.format(p=" " * 25, driver="570.86.10", limit="250.00"))
    r = lynx("diff", q, other)
    assert r.returncode == 1 and "power-limit" in r.stdout and "250000" in r.stdout, r.stdout
    assert "1 difference" in r.stdout, r.stdout


AMD_HEAD = """+------------------------------------------------------------------------------+
| AMD-SMI 26.0.2+39589fda      amdgpu version: {driver} ROCm version: 7.0.2    |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
"""


def amd_rows(i, name, power, partition, used, total):
    first = f"| 0000:{i:02x}:00.0 {name.rjust(22)} | 0 %      43 °C   0         {power.rjust(12)} |\n"
    memory = f"{used}/{total} MB"
    return first + f"|   {i}       {i}       {i}  {partition.rjust(14)} | 0 %        N/A {memory.rjust(22)} |\n"


def test_amd_smis_table(d):
    text = AMD_HEAD.format(driver="6.16.6") + amd_rows(0, "AMD Instinct MI300X", "140/750 W", "SPX/NPS1", 283, 196592)
    text += amd_rows(1, "...adeon AI PRO R9700", "17/0 W", "N/A", 57, 32624)
    found = facts(write(f"{d}/a.txt", text))
    assert found["driver.amdgpu"] == "6.16.6" and found["imported.rocm"] == "7.0.2" and found["amd-gpu.count"] == "2"
    assert found["amd-gpu.0.name"] == "AMD Instinct MI300X" and "amd-gpu.1.name" not in found
    assert found["amd-gpu.0.power-limit"] == "750000 mW" and "amd-gpu.1.power-limit" not in found, "0 W is not a limit"
    assert found["amd-gpu.0.memory"] == f"{196592 * MIB} bytes"
    assert (found["amd-gpu.0.compute-partition"], found["amd-gpu.0.memory-partition"]) == ("SPX", "NPS1")
    assert "amd-gpu.1.compute-partition" not in found
    banner = facts(write(f"{d}/b.txt", text.replace("6.16.6", "Linuxver")))
    assert "driver.amdgpu" not in banner, "the beginning of a kernel's banner is no version"


AMD_STATIC = """$ amd-smi static
CPU: 0
    SMU:
        FW_VERSION: 85.90.0

GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        DEVICE_ID: 0x74a1
        TARGET_GRAPHICS_VERSION: gfx942
        NUM_COMPUTE_UNITS: 304
    BUS:
        BDF: 0000:05:00.0
        MAX_PCIE_WIDTH: 16
        MAX_PCIE_SPEED: 32 GT/s
    IFWI:
        PART_NUMBER: 113-M3000100-102
        VERSION: 022.040.003.043.000001
    LIMIT:
        PPT0:
            MAX_POWER_LIMIT: 750 W
            SOCKET_POWER_LIMIT: {limit} W
    DRIVER:
        NAME: amdgpu
        VERSION: 6.12.12
    RAS:
        ECC_BLOCK_STATE:
            UMC: ENABLED
            SDMA: DISABLED
    PARTITION:
        COMPUTE_PARTITION: {partition}
        MEMORY_PARTITION: NPS1
    VRAM:
        TYPE: HBM3
        SIZE: 196592 MB
    CLOCK: N/A

GPU: 1
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
    BUS: N/A
"""


def test_amd_smi_static(d):
    found = facts(write(f"{d}/s.txt", AMD_STATIC.format(limit=750, partition="SPX")))
    assert found["amd-gpu.count"] == "2" and found["amd-gpu.0.device-id"] == "0x74a1"
    assert found["amd-gpu.0.power-limit"] == "750000 mW" and found["amd-gpu.0.power-limit-most"] == "750000 mW"
    assert found["amd-gpu.0.pcie-generation-most"] == "5" and found["amd-gpu.0.ecc"] == "1"
    assert found["amd-gpu.0.memory"] == f"{196592 * MIB} bytes" and found["amd-gpu.0.vbios"] == "022.040.003.043.000001"
    assert found["driver.amdgpu"] == "6.12.12"
    a = write(f"{d}/a.txt", AMD_STATIC.format(limit=750, partition="SPX"))
    b = write(f"{d}/b.txt", AMD_STATIC.format(limit=600, partition="CPX"))
    r = lynx("diff", a, b, "--json")
    assert {x["key"] for x in json.loads(r.stdout)} == {"amd-gpu.0.power-limit", "amd-gpu.0.compute-partition"}


ROCM = """=================================== ROCm System Management Interface ==================================
============================================= Concise Info ============================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    Fan  Perf    PwrCap  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
========================================================================================================
0       2     0x74a1,   28851  43.0°C      139.0W    NPS1, SPX, 0        132Mhz  0%   auto    750.0W  0%
GPU[1] \t\t: WARNING: Empty SysFS value: pclk
1       3     0x74a1,   51499  37.0°C      135.0W    NPS1, SPX, 0        132Mhz  0%   manual  0.0W    0%
========================================================================================================
======================================= End of ROCm SMI Log ============================================
"""
ROCM_LABELS = """======================= ROCm System Management Interface =======================
============================ VBIOS =============================
GPU[0]\t\t: VBIOS version: 113-D4120100-100
================================================================
=========================== Power Cap ==========================
GPU[0]\t\t: Max Graphics Package Power (W): 293.0
GPU[1]          : Max Graphics Package Power (W): 250.0
=========================== Product Info =======================
GPU[0]\t\t: Card series: \t\tNavi 21 [Radeon RX 6900 XT]
GPU[1]\t\t: Card series: \t\tN/A
=================== Version of System Component ================
Driver version: 6.7.0
===================== End of ROCm SMI Log ======================
"""


def test_rocm_smi(d):
    found = facts(write(f"{d}/r.txt", ROCM))
    assert found["amd-gpu.count"] == "2" and found["amd-gpu.0.device-id"] == "0x74a1"
    assert found["amd-gpu.0.power-limit"] == "750000 mW" and "amd-gpu.1.power-limit" not in found
    assert found["amd-gpu.1.performance-level"] == "manual"
    found = facts(write(f"{d}/l.txt", ROCM_LABELS))
    assert found["amd-gpu.0.vbios"] == "113-D4120100-100" and found["driver.amdgpu"] == "6.7.0"
    assert (found["amd-gpu.0.power-limit"], found["amd-gpu.1.power-limit"]) == ("293000 mW", "250000 mW")
    assert found["amd-gpu.0.name"] == "Navi 21 [Radeon RX 6900 XT]" and "amd-gpu.1.name" not in found


ROCM_6 = """==================================== ROCm System Management Interface ====================================
============================================== Concise Info ==============================================
Device  [Model : Revision]    Temp        Power     Partitions      SCLK    MCLK    Fan  Perf  PwrCap
        Name (20 chars)       (Junction)  (Socket)  (Mem, Compute)
==========================================================================================================
0       [0x74a1 : 0x00]       35.0°C      133.0W    NPS1, SPX       131Mhz  900Mhz  0%   auto  750.0W
        AMD Instinct MI300X
1       [0x740c : 0x01]       37.0°C      131.0W    NPS4, CPX       132Mhz  900Mhz  0%   auto  560.0W
        Aqua Vanjaram [Insti
================================================ End of ROCm SMI Log =====================================
"""
ROCM_1 = """====================    ROCm System Management Interface    ====================
================================================================================
 GPU  Temp    AvgPwr   SCLK     MCLK     Fan      Perf    SCLK OD    MCLK OD
  0   37c     29.225W  300Mhz   300Mhz   42.75%   manual  0%         0%
================================================================================
"""


def test_the_tables_of_rocm_smi_over_time(d):
    found = facts(write(f"{d}/6.txt", ROCM_6))
    names = ("device-id", "memory-partition", "compute-partition", "name")
    assert [found.get(f"amd-gpu.0.{n}") for n in names] == ["0x74a1", "NPS1", "SPX", "AMD Instinct MI300X"]
    assert [found.get(f"amd-gpu.1.{n}") for n in names] == ["0x740c", "NPS4", "CPX", None], "cut off at 20"
    found = facts(write(f"{d}/1.txt", ROCM_1))
    assert found["amd-gpu.0.performance-level"] == "manual" and found["amd-gpu.count"] == "1"
    found = facts(write(f"{d}/two.txt", ROCM_6 + ROCM_6.replace("750.0W", "650.0W")))
    assert found["amd-gpu.0.power-limit"] == "750000 mW" and "of which the first is read" in found["imported.reports"]


def npu_table(widths, hbm, head=True):
    names = (" NPU   Name", " Health", " Power(W)    Temp(C)           Hugepages-Usage(page)")
    memory = " AICore(%)   Memory-Usage(MB)" + ("  HBM-Usage(MB)" if hbm else "")
    text = rule([sum(widths) + 2])
    if head:
        text += "| npu-smi 25.2.0                   Version: 25.2.1".ljust(sum(widths) + 3) + "|\n" + rule(widths)
    text += box(widths, names, (" Chip  Phy-ID", " Bus-Id", memory)) + rule(widths, "=")
    for i in range(2):
        second = "0    / 0         3412 / 65536" if hbm else "1074/ 21534"
        text += box(widths, (" 0     910B3", " OK", f" {'178.9' if i == 0 else '-'}       36      0    / 0"))
        text += box(widths, (f" {i}     {i}", f" 0000:9{i}:00.0", f" 0           {second}")) + rule(widths)
    text += "| NPU     Chip  | Process id | Process name | Process memory(MB) |\n"
    return text + "| 0       0     | 19334      | W            | 58472 |\n"


@pytest.mark.parametrize(
    "widths, hbm, head",
    [((27, 15, 52), True, True), ((19, 17, 54), False, True), ((27, 15, 60), True, False)],
)
def test_npu_smi(d, widths, hbm, head):
    found = facts(write(f"{d}/n.txt", npu_table(widths, hbm, head)))
    assert found["ascend.count"] == "2" and found["ascend.1.name"] == "910B3"
    assert found["ascend.0.memory"] == f"{(65536 if hbm else 21534) * MIB} bytes"
    assert found.get("driver.ascend") == ("25.2.1" if head else None), "the driver's version, not the tool's"


def test_hl_smi(d):
    widths = (31, 22, 22)
    text = rule([sum(widths) + 2]) + "| HL-SMI Version:          hl-1.21.0-fw-59.2.1.0           |\n"
    text += "| Driver Version:          1.20.1-366eb9c          |\n"
    text += "| Nic Driver Version:      1.19.0     |\n" + rule(widths)
    text += box(
        widths,
        ("   0  HL-325L             N/A  ", " 0000:e9:00.0     N/A ", "                   0  "),
        (" N/A   36C   P0  228W /  900W  ", "   672MiB / 131072MiB ", "     1%            0% "),
    )
    text += "| Compute Processes:     AIP Memory |\n|   0   77   C   python\n                      31742Mib\n"
    found = facts(write(f"{d}/h.txt", text))
    assert found["gaudi.0.name"] == "HL-325L" and found["gaudi.0.power-limit"] == "900000 mW"
    assert found["gaudi.0.memory"] == f"{131072 * MIB} bytes" and found["driver.habanalabs"] == "1.20.1-366eb9c"
    log = """================ HL-SMI LOG ================

Driver Version                          : 1.12.1-cb7a7bc

[0] AIP (accel0) 0000:43:00.0
        Product Name                    : HL-225
        PCI
                AIP Link Info
                        Link Speed
                                Max     : 16GT/s
        Fan Speed
                                        : N/A
        Memory Usage
                Total                   : 98304 MB
        Power Readings (54V PSU)
                Power Limit             : 550 W
"""
    found = facts(write(f"{d}/l.txt", log))
    assert found["gaudi.0.name"] == "HL-225" and found["gaudi.0.pcie-generation-most"] == "4"
    assert found["gaudi.0.memory"] == f"{98304 * MIB} bytes" and found["gaudi.0.power-limit"] == "550000 mW"


def test_topology_alone(d):
    text = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    a = text + "GPU0\t X \tNV18\tPXB\t0-47,96-143\t0\t\tN/A\n"
    a += "GPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A\nNIC0\tPXB\tSYS\t X \n"
    b = a.replace("48-95\t1", "0-47,96-143\t0").replace("NV18", "PHB")
    r = lynx("diff", write(f"{d}/a.txt", a), write(f"{d}/b.txt", b), "--json")
    changed = {x["key"]: (x["a"], x["b"]) for x in json.loads(r.stdout)}
    assert changed == {
        "imported.link.GPU0-GPU1": ("NV18", "PHB"),
        "imported.affinity.GPU1.cpu": ("48-95", "0-47,96-143"),
        "imported.affinity.GPU1.numa": ("1", "0"),
    }


def test_what_is_none_of_them(d):
    for name, text in (
        ("empty", "$ nvidia-smi\n"),
        ("words", "nvidia-smi says NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
        ("gpu", "GPU: 0 is slow\n"),
    ):
        r = lynx("capture", "--merge", f"s={write(f'{d}/{name}.txt', text)}", "--json")
        assert r.returncode == 2 and "not an executor" in r.stderr, (name, r.stderr)
    none = AMD_HEAD.format(driver="6.16.6")
    r = lynx("capture", "--merge", f"s={write(f'{d}/none.txt', none)}", "--json")
    assert r.returncode == 2 and "no device in it" in r.stderr, r.stderr


def test_mutations_lose_no_line_and_break_nothing(d):
    """Bytes changed, lines cut and joined: it is read or refused, and never stops otherwise."""
    random.seed(7)
    gpu = {"name": "NVIDIA L4", "limit": 72, "memory": 23034, "ecc": "0", "mig": "N/A"}
    texts = [AMD_STATIC, ROCM, ROCM_LABELS, npu_table((27, 15, 52), True), nvidia_table([gpu], (41, 24, 22)), NVIDIA_Q]
    for i in range(120):
        text = list(random.choice(texts))
        for _ in range(random.randrange(1, 30)):
            at = random.randrange(len(text))
            text[at] = random.choice(["", "\n", "|", "/", ":", "\x00", "é", "9" * 30, " " * 90, text[at] * 3])
        with open(f"{d}/m.txt", "w", errors="surrogatepass") as file:
            file.write("".join(text))
        r = lynx("capture", "--merge", f"s={d}/m.txt", "--json")
        assert r.returncode in (0, 2), (i, r.returncode, r.stderr)
        assert r.returncode == 0 or re.search(r"m\.txt", r.stderr), r.stderr


if __name__ == "__main__":
    main(__file__)
