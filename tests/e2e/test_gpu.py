"""What was recorded on an NVIDIA H100 (tests/recorded/gpu; bench/attribution/gpu.py made it): a capture, a trace of
PyTorch's profiler, and traces of inject/cupti.c of servers with planted causes, cut to some 30 ms. Of perturbers what
they say where there is no GPU; launch calls are slowed in a process whose CUPTI is a mock."""

import gzip
import json
import os

import pytest

import lynx as l
import test_server_trace as t

RECORDED = os.path.join(l.SOURCE, "tests", "recorded", "gpu")
LIBRARY = os.path.join(l.BUILD, "inject", "liblynxbench_cupti.so")
BUNDLE = os.path.join(l.SOURCE, "tests", "recorded", "bundles", "small.lynx")


def unpacked(name, folder):
    path = os.path.join(folder, name + ".json")
    with gzip.open(os.path.join(RECORDED, f"h100-{name}.json.gz")) as f, open(path, "wb") as to:
        to.write(f.read())
    return path


def busy_ns(events):
    """When anything ran on the device, by a sweep of our own."""
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    spans = sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in device)
    busy, end = 0, 0
    for a, b in spans:
        busy += max(0, b - max(a, end))
        end = max(end, b)
    return len(device), busy


@pytest.mark.parametrize("name", ["kineto", "cupti-clean", "cupti-launches", "cupti-read-back", "cupti-copies"])
def test_the_account_of_real_kernels(tmp_path, name):
    path = unpacked(name, tmp_path)
    said = json.loads(l.lynx("attribute", path, "--json", "--orphans", "drop").stdout)["traces"][0]
    n, busy = busy_ns(json.load(open(path))["traceEvents"])
    assert sum(s["ns"] for s in said["states"]) == said["wall_ns"]
    assert n - 2 <= said["device_spans"] <= n
    assert abs(said["gpu_timeline_ns"]["busy_time"] - busy) < 10 * n + 60000, "but for an orphan"
    assert "compute.unclassified" not in {s["state"] for s in said["states"] if s["ns"] > 0}, "kernels are of a class"


# the plant: the rule that finds it, and how it is confirmed; of a clean server none of them does
@pytest.mark.parametrize(
    "name, rule, confirm",
    [
        ("clean", None, None),
        ("launches", "gpu_launches", "lynxbench confirm {} gpu_launches"),
        ("read-back", "gpu_read_back", "by hand: take one such read out"),
        ("copies", "gpu_copies", "by hand: copy the same bytes once more"),
    ],
)
def test_what_was_planted_is_found(tmp_path, name, rule, confirm):
    path, out = unpacked(f"cupti-{name}", tmp_path), tmp_path / "merged.lynx"
    r = l.lynx("merge", BUNDLE, path, "--out", out)
    assert r.returncode == 0, r.stderr
    said = json.loads(l.lynx("attribute", out, "--json").stdout)
    found = {f["id"]: f for f in said["findings"] if f["id"].startswith("gpu_")}
    assert set(found) == ({rule} if rule else set()), found
    if rule:
        assert confirm.format(out) in " ".join(l.lynx("attribute", out).stdout.split())


def test_a_capture_of_a_real_gpu(tmp_path):
    path = os.path.join(RECORDED, "h100-capture.json")
    facts = {f["key"]: f for f in json.load(open(path))["facts"]}
    assert facts["gpu.0.name"]["value"] == "NVIDIA H100 80GB HBM3" and facts["gpu.0.memory"]["value"] == "85520809984"
    assert facts["gpu.0.serial"]["status"] == "withheld"
    other = json.load(open(path))
    for f in other["facts"]:
        if f["key"] == "driver.nvidia":
            f["value"] = "570.1"
    (tmp_path / "b.json").write_text(json.dumps(other))
    assert l.lynx("diff", path, path).returncode == 0
    r = l.lynx("diff", path, tmp_path / "b.json")
    assert r.returncode == 1 and "driver.nvidia" in r.stdout and "Infrastructure" in r.stdout, r.stdout


def perturb(here, which):
    words = ["--only", which, "--for", "10s", "--out", f"{here}/p.lynx", "--quiet"]
    return l.lynx("perturb", f"{here}/c.yaml", *words)


def test_without_a_gpu_it_is_said(tmp_path):
    with t.serving(tmp_path, "silent") as (_, here):
        r = perturb(here, "gpu,launches")
        assert r.returncode == 3, r.stdout + r.stderr
        words = " ".join(r.stdout.split())
        assert "gpu: no process of the server has an NVIDIA GPU open" in words, words
        assert "launches: CUPTI's library listens in no process of the server" in words, words


def test_launch_calls_are_slowed_within_the_server(tmp_path):
    """The mock's launches are of a thread that no request waits for: they are slowed as asked, and it costs nothing."""
    if not os.path.exists(LIBRARY):
        pytest.skip("cupti.h is not on this machine: the library is not built")
    import test_inject as inject

    load = f"import ctypes; ctypes.CDLL({LIBRARY!r}).InitializeInjection()\n"
    more = {"LD_LIBRARY_PATH": inject.MOCK, "LYNXBENCH_CUPTI_FOLDER": str(tmp_path)}
    with t.serving(tmp_path, "silent", environment=more, before=load) as (server, here):
        r = perturb(here, "launches")
        assert r.returncode in (0, 3), r.stdout + r.stderr
        said = json.loads(l.lynx("perturb", f"{here}/p.lynx", "--json").stdout)
        [s] = [s for s in said["sensitivities"] if s["perturber"] == "launches"]
        assert [round(level["asked"]) for level in s["levels"]] == [2, 4]
        ratios = [level["given"] / level["asked"] for level in s["levels"]]
        # who is interrupted as it waits has waited longer: a busy machine gives more, and never less
        assert all(ratio > 0.7 for ratio in ratios) and min(ratios) < 1.3, s["levels"]
        assert server.poll() is None
        assert inject.ask(server).startswith("ok "), "the library has stepped back"


# A server that answers as if it were the library: of its launches no more is believed than was asked.
LIAR = """import os, socket, threading
def lie(words):
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"\\0lynxbench-cupti-{os.getpid()}")
    s.listen()
    while True:
        c = s.accept()[0]
        f = c.makefile("rw")
        for line in f:
            f.write("ok\\n" if line == "slow\\n" else words)
            f.flush()
threading.Thread(target=lie, args=(%r,), daemon=True).start()
"""


def test_a_server_that_lies_is_not_believed(tmp_path):
    with t.serving(tmp_path, "silent", before=LIAR % "1 1000000 99000000\n") as (_, here):
        r = perturb(here, "launches")
        assert r.returncode == 3, r.stdout + r.stderr
        r = l.lynx("perturb", f"{here}/p.lynx", "--json")
        assert json.loads(r.stdout)["sensitivities"] == [], r.stdout


if __name__ == "__main__":
    l.main(__file__)
