"""How long a device was busy and what the window is, reckoned from the file itself: by json and sqlite3 alone, with
nothing of the product's. For every recorded trace of a device."""

import glob
import gzip
import json
import sqlite3

import pytest
from lynx import *

PROFILES = os.path.join(SOURCE, "tests", "recorded", "profiles")
DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def union(spans):
    """Of intervals [begin, end): how long at least one of them is open."""
    busy, until = 0, None
    for begin, end in sorted(spans):
        if until is None or begin > until:
            busy += end - begin
            until = end
        elif end > until:
            busy += end - until
            until = end
    return busy


def nanoseconds(text):
    """Microseconds as they are written, without a double in between."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + (int((part + "000")[:3]) if part else 0)


def of_kineto(path):
    with gzip.open(path) as file:
        data = json.loads(file.read(), parse_float=str, parse_int=str)
    devices = {}
    for e in data["traceEvents"] if isinstance(data, dict) else data:
        if e.get("ph") != "X" or e.get("cat") not in DEVICE_WORK:
            continue
        device = e.get("args", {}).get("device", e["pid"])
        begin = nanoseconds(e["ts"])
        devices.setdefault(int(device), []).append((begin, begin + nanoseconds(e["dur"])))
    return devices


def of_nsys(path, d):
    unpacked = f"{d}/t.sqlite"
    with gzip.open(path) as file, open(unpacked, "wb") as to:
        to.write(file.read())
    devices = {}
    db = sqlite3.connect(unpacked)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
            for device, begin, end in db.execute(f"SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_{table}"):
                devices.setdefault(device, []).append((begin, end))
    db.close()
    return devices


TRACES = sorted(
    name
    for pattern in ("*.json.gz", "*.sqlite.gz")
    for name in glob.glob(os.path.join(PROFILES, pattern))
)


@pytest.mark.parametrize("path", TRACES, ids=[os.path.basename(p) for p in TRACES])
def test_window_and_busy_time(d, path):
    devices = of_nsys(path, d) if ".sqlite" in path else of_kineto(path)
    devices = {k: [s for s in v if s[1] > s[0]] for k, v in devices.items()}
    assert devices and all(devices.values()), "a trace of a device"
    busiest = max(devices, key=lambda k: union(devices[k]))
    how = ("--window", "device", "--orphans", "keep", "--device", str(busiest))
    r = lynx("attribute", path, "--json", "--quiet", *how)
    assert r.returncode == 0, r.stderr
    trace = json.loads(r.stdout)["traces"][0]
    spans = devices[busiest]
    window = max(end for _, end in spans) - min(begin for begin, _ in spans)
    # Older files have a microsecond for the least: what they write is exact here, and only rounding lies between.
    assert abs(trace["wall_ns"] - window) <= 0, (trace["wall_ns"], window)
    assert abs(trace["busy_ns"] - union(spans)) <= 0, (trace["busy_ns"], union(spans), len(spans))


def test_there_are_traces_of_several_kinds():
    assert len(TRACES) >= 14 and any(".sqlite" in p for p in TRACES), TRACES


if __name__ == "__main__":
    main(__file__)
