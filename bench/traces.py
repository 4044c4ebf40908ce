#!/usr/bin/env python3
"""How fast traces are read and accounted for, beside simdjson and HolisticTraceAnalysis in the same run: processor seconds per GB, ratios
side by side. What cannot be had here is said to be skipped. usage: traces.py BUILD [MEGABYTES]"""

import os
import resource
import subprocess
import sys
import tempfile

build, megabytes = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
here = os.path.dirname(os.path.abspath(__file__))
lynx = os.path.join(build, "lynxbench")
venv = os.path.join(build, "bench-peers")


def measured(command, discard=False):
    """Processor seconds, the greatest memory in MB, and what it printed."""
    with tempfile.TemporaryFile("w+") if not discard else open(os.devnull, "w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE)
        error = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        if status != 0:
            raise RuntimeError(error[-500:])
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read()


def ours(path, n=3):
    runs = [measured([lynx, "attribute", "--quiet", "--json", path]) for _ in range(n)]
    return min(r[0] for r in runs), max(r[1] for r in runs)


def row(what, seconds, size, memory, other=""):
    print(
        f"{what:<52} {seconds:9.3f} s {seconds / size * 1000:9.2f} s/GB {size / seconds:8.0f} MB/s {memory:8.0f} MB  {other}",
        flush=True,
    )


folder = tempfile.mkdtemp(prefix="lynx-bench-", dir=os.environ.get("TMPDIR", "/tmp"))
big, small = os.path.join(folder, "big.json"), os.path.join(folder, "small.json")
try:
    for size, path in ((megabytes, big), (60, small)):
        subprocess.run([sys.executable, os.path.join(here, "make_trace.py"), str(size), path], check=True)
    print(f"\n{'processor time, the least of three':<52} {'':>9}   {'per GB':>9}      {'rate':>8}      {'memory':>8}")
    size = os.path.getsize(big) / 1e6
    peer = os.path.join(build, "simdjson_peer")
    if not os.path.exists(peer):
        subprocess.run(
            ["g++", "-O3", "-std=c++17", os.path.join(here, "simdjson_peer.cc"), "-o", peer, "-lsimdjson"],
            stderr=subprocess.DEVNULL,
        )
    seconds, memory = ours(big)
    row(
        f"lynxbench attribute, {size:.0f} MB",
        seconds,
        size,
        memory,
        f"memory is {100 * memory / size:.1f} % of the file",
    )
    cat = min(measured(["cat", big], discard=True)[0] for _ in range(3))
    row("cat (reading alone)", cat, size, 1)
    if os.path.exists(peer):
        best = {}
        for _ in range(3):
            _, memory, text = measured([peer, big])
            for line in text.splitlines():
                key, value = line.split()
                best[key] = min(best.get(key, 1e9), float(value))
        for key, value in best.items():
            row(
                f"simdjson {key}, parsing alone",
                value,
                size,
                memory,
                f"lynxbench has {value / seconds:.2f} of its rate, reading, sorting and accounting included",
            )
    else:
        print("simdjson: skipped, because g++ and libsimdjson-dev are not both here")
    size = os.path.getsize(small) / 1e6
    python = os.path.join(venv, "bin/python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    installed = subprocess.run(
        [os.path.join(venv, "bin/pip"), "install", "-q", "HolisticTraceAnalysis"], capture_output=True
    )
    if installed.returncode == 0:
        seconds, theirs = 1e9, 1e9  # in turn, so that a slow moment of the machine meets both
        for _ in range(3):
            own, memory = ours(small)
            _, their_memory, text = measured([python, os.path.join(here, "hta_peer.py"), small])
            seconds, theirs = min(seconds, own), min(theirs, float(text.split()[0]))
        row(f"lynxbench attribute, {size:.0f} MB", seconds, size, memory)
        row(
            "HolisticTraceAnalysis, the same file",
            theirs,
            size,
            their_memory,
            f"{theirs / seconds:.0f} times as long (start-up of Python left out)",
        )
    else:
        print("HolisticTraceAnalysis: skipped, because it could not be installed")
finally:
    for path in (big, small):
        if os.path.exists(path):
            os.remove(path)
    os.rmdir(folder)
