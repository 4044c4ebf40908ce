"""Who calls the library that the time is in: stacks of code without frame pointers, unwound by its files' tables."""

import contextlib
import json
import random
import re
import socket
import sqlite3
import subprocess
import sys
import time

import pytest

import lynx as l
import machine

INNER = """
#include <math.h>
double inner_part(double x, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += pow(x + i, 0.37);
  return sum;
}
double inner_loop(double x, int n) {
  for (int i = 0; i < n; i++) x = x * 0.999 + (double)i / (x + 3);
  return x;
}
"""
OUTER = """
double inner_part(double x, int n);
double inner_loop(double x, int n);
static __attribute__((noinline)) double middle(double x, int n) { return inner_part(x, n) + inner_loop(x, 8 * n) + 1; }
double outer_work(double x, int n) { return middle(x, n) * 0.5; }
"""
BEFORE = """
import ctypes
outer = ctypes.CDLL(sys.argv[2])
outer.outer_work.restype = ctypes.c_double
outer.outer_work.argtypes = [ctypes.c_double, ctypes.c_int]
"""
METHOD = """{warm_up: 200ms, counted: 1500ms, sessions: 2, attribution_sessions: 1, drain: 10s, steady: reported,
  instrument_error_at_most: 1}"""

pytestmark = pytest.mark.skipif(l.SANITIZED, reason="the unwinder's limit of memory is below the sanitizer's map")


def compile_library(folder, name, source, *with_these):
    (folder / f"{name}.c").write_text(source)
    flags = ["-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-w", "-Wl,-rpath,$ORIGIN"]
    path = folder / f"lib{name}.so"
    subprocess.run(["cc", *flags, "-o", path, folder / f"{name}.c", *with_these, "-lm"], check=True)
    return path


@contextlib.contextmanager
def serving(folder):
    port = l.free_port()
    (folder / "server.py").write_text(l.answering("        outer.outer_work(2.0, 100000)", BEFORE))
    words = [sys.executable, folder / "server.py", str(port), folder / "libouter.so"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for _ in range(400):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield port
        finally:
            process.kill()


def measured(folder, port):
    path, out = folder / "c.yaml", folder / "c.lynx"
    workload = "{model: tiny, output_tokens: 2, stream: false, prompts: {count: 8, bytes: 64}}"
    l.contract(path, port, workload=workload, regime="{load: closed, concurrency: 1}", method=METHOD)
    r = l.lynx("run", path, "--out", out, "--quiet")
    assert r.returncode == 0, r.stderr
    return out


def attributed_not_seen(out):
    return json.loads(l.lynx("attribute", out, "--json").stdout)["not_seen"]


def chains(out):
    with sqlite3.connect(out) as db:
        return db.execute("SELECT n, frames FROM stack WHERE source = 'calls'").fetchall()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    machine.need("perf", machine.perf() == "stacks", "stacks may not be copied: root or CAP_PERFMON")
    folder = tmp_path_factory.mktemp("calls")
    compile_library(folder, "inner", INNER)
    compile_library(folder, "outer", OUTER, folder / "libinner.so")
    with serving(folder) as port:
        out = measured(folder, port)
    assert chains(out), attributed_not_seen(out)
    return out


def threads(out):
    r = l.lynx("attribute", out, "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)["account"]["threads"]


def parts(out, name):
    return [p for t in threads(out) for p in t["parts"] if p["what"].startswith(name)]


def test_every_frame_outward_is_there(plain):
    wanted = r"outer_work \([^;]*/libouter.so\);middle \([^;]*/libouter.so\);inner_loop \([^;]*/libinner.so\)$"
    seen = sum(n for n, frames in chains(plain) if re.search(wanted, frames))
    assert seen > 0.2 * sum(n for n, _ in chains(plain)), chains(plain)


def test_a_library_that_nobody_knows_is_named_with_its_caller(plain):
    inner = max(parts(plain, "libinner.so"), key=lambda p: p["share"])
    assert inner["layer"] == "not attributed" and inner["where"].startswith("called by middle (libouter.so)"), inner


def test_the_c_librarys_time_is_its_callers(plain):
    """Not of the team that owns the system; and the parts still sum to the running time."""
    most = max(parts(plain, "libm.so"), key=lambda p: p["share"])
    assert most["layer"] == "not attributed" and most["where"] == "called by libinner.so", most
    for t in threads(plain):
        assert not t["parts"] or abs(sum(p["share"] for p in t["parts"]) - t["running"]) < 0.01 * t["running"], t


@pytest.mark.parametrize("seed", range(3))
def test_tables_that_lie_lose_nothing_else(plain, tmp_path, seed):
    """The file that runs has unwind tables of random bytes: its own stacks end, everything else is recorded."""
    compile_library(tmp_path, "inner", INNER)
    compile_library(tmp_path, "outer", OUTER, tmp_path / "libinner.so")
    headers = subprocess.run(["readelf", "-SW", tmp_path / "libinner.so"], capture_output=True, text=True, check=True)
    data, draw = bytearray((tmp_path / "libinner.so").read_bytes()), random.Random(seed)
    for name in (".eh_frame_hdr", ".eh_frame"):
        at, size = (int(x, 16) for x in re.search(rf" {name} +\S+ +\S+ (\S+) (\S+)", headers.stdout).groups())
        # The first seed keeps what is searched by, so that the lies are believed.
        kept = 0 if seed > 0 else size if name == ".eh_frame_hdr" else 24
        data[at + kept : at + size] = draw.randbytes(size - kept)
    (tmp_path / "libinner.so").write_bytes(data)
    with serving(tmp_path) as port:
        out = measured(tmp_path, port)
    assert parts(out, "libinner.so"), threads(out)
    assert not any("middle" in frames and "inner_loop" in frames for _, frames in chains(out)), chains(out)


FORGED = [
    "UPDATE OR IGNORE stack SET frames = replace(frames, char(59), '') WHERE source = 'calls'",
    "UPDATE OR IGNORE stack SET frames = '<script>)(:' || char(59) || frames || '(' || char(59) || ')'"
    " WHERE source = 'calls'",
    "UPDATE OR IGNORE stack SET frames = '?' || substr(frames, instr(frames, ' ')) WHERE source = 'calls'",
    "UPDATE stack SET n = 9223372036854775807 WHERE source = 'calls'",
]


@pytest.mark.parametrize("sql", FORGED)
def test_forged_calls_are_read_or_refused(plain, tmp_path, sql):
    l.forge(plain, tmp_path / "f.lynx", sql)
    r = l.lynx("attribute", tmp_path / "f.lynx", "--json", "--html", tmp_path / "f.html")
    assert r.returncode == 0 and "<script" not in (tmp_path / "f.html").read_text(), r.stderr


if __name__ == "__main__":
    l.main(__file__)
