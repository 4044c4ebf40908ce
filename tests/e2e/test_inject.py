"""The injection library for CUPTI, in a process whose libcupti is a mock (no GPU is needed), asked by hand and by a
run."""

import contextlib
import json
import os
import socket
import stat
import statistics
import subprocess
import sys
import time

import pytest

import lynx as l
import test_server_trace as t

LIBRARY = os.path.join(l.BUILD, "inject", "liblynxbench_cupti.so")
MOCK = os.path.join(l.BUILD, "tests", "inject")
if not os.path.exists(LIBRARY):
    l.skip("cupti.h is not on this machine: the library is not built")
LOAD = """import ctypes, sys
ctypes.CDLL("libstdc++.so.6")
ctypes.CDLL(sys.argv[1]).InitializeInjection()
print("ready", flush=True)
sys.stdin.read()"""


@contextlib.contextmanager
def process(folder, manner="", **more):
    env = {**os.environ, "LD_LIBRARY_PATH": MOCK, "LYNXBENCH_CUPTI_FOLDER": str(folder), "MOCK_CUPTI": manner, **more}
    p = subprocess.Popen([sys.executable, "-c", LOAD, LIBRARY], stdin=-1, stdout=-1, stderr=-1, env=env, text=True)
    try:
        assert p.stdout.readline() == "ready\n"
        yield p
        assert p.poll() is None, p.stderr.read()
    finally:
        p.kill()
        p.wait()


def ask(p, words="trace 20\n"):
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as s:
            with contextlib.suppress(ConnectionRefusedError):
                s.connect(f"\0lynxbench-cupti-{p.pid}")
                s.sendall(words.encode())
                s.settimeout(20)
                return s.makefile().read()
        time.sleep(0.02)  # its thread begins to listen
    raise AssertionError("nobody listens")


def attributed(path):
    return json.loads(l.lynx("attribute", path, "--json").stdout)["traces"][0]


def test_the_real_cupti_without_a_device(tmp_path):
    real = "/usr/local/cuda/lib64"
    if not os.path.exists(f"{real}/libcupti.so.13") or os.path.exists("/dev/nvidia0"):
        pytest.skip("CUPTI is not on this machine, or there is a device")
    with process(tmp_path, LD_LIBRARY_PATH=real) as p:
        assert ask(p).startswith("no CUPTI") and os.listdir(tmp_path) == []


def test_calls_kernels_and_copies(tmp_path):
    with process(tmp_path) as p:
        word, path = ask(p).split()
        assert word == "ok"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        said = attributed(path)
        calls = {e["name"] for e in json.load(open(path))["traceEvents"] if e["cat"] == "cuda_runtime"}
        assert calls == {"cudaLaunchKernel"}, "a call that only asks is left out"
        assert "void gemm<float>(float*)" in open(path).read(), "names as other profilers write them"
        assert said["host_process"] == p.pid and said["spans"] == {"runtime call": 2, "kernel": 1, "copy": 1}
        states = {s["state"]: s["ns"] for s in said["states"]}
        assert states["compute.matrix_product"] == 20000 and states["exposed.copy_to_host"] == 10001, states
        again = ask(p).split()
        assert again[0] == "ok" and again[1] != path, "as often as one asks"


@pytest.mark.parametrize("manner, why", [("taken", "another profiler"), ("denied", "CUPTI records nothing")])
def test_it_steps_aside(tmp_path, manner, why):
    with process(tmp_path, manner) as p:
        assert ask(p).startswith("no " + why[:7]) and os.listdir(tmp_path) == []


def slowing(p):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(f"\0lynxbench-cupti-{p.pid}")
    s.sendall(b"slow\n")
    return s, s.makefile()


def interruptions(p):
    """How often another process took a processor from one of its threads."""
    pages = [open(f"/proc/{p.pid}/task/{t}/status").read() for t in os.listdir(f"/proc/{p.pid}/task")]
    return sum(int(page.split("nonvoluntary_ctxt_switches:")[1]) for page in pages)


def test_launches_take_longer(tmp_path):
    """By as much as is asked, by the library's own count; and by nothing once who asked has gone."""
    with process(tmp_path) as p:
        assert ask(p).startswith("ok ")
        s, answers = slowing(p)
        assert answers.readline() == "ok\n"
        for thousandths in (1000, 3000, 1000):
            wanted, shares = (thousandths - 1000) / 1000, []
            for _ in range(40):
                before = interruptions(p)
                s.sendall(f"{thousandths} 60\n".encode())
                calls, own, added = map(int, answers.readline().split())
                assert calls > 0 and own / calls > 150e3, "the mock's launches take 0.2 ms"
                if interruptions(p) == before:  # who is interrupted as it waits has waited longer
                    shares.append(added / own)
                if len(shares) == 5:
                    break
            else:
                pytest.skip("another process interrupted the launches each time")
            share = statistics.median(shares)  # a hypervisor's pauses are not counted as interruptions
            assert abs(share - wanted) < 0.15, f"nested calls are one, each lengthened by its own time: {shares}"
        answers.close()
        s.close()
        for _ in range(2):  # it has stepped back: it can be asked again, for either
            assert ask(p).startswith("ok ")
            s, answers = slowing(p)
            assert answers.readline() == "ok\n"
            answers.close()
            s.close()


def test_a_launch_that_was_open_as_it_ended_is_forgotten(tmp_path):
    """The mock is within a launch most of the time: what a thread remembers of one must not count in the next."""
    with process(tmp_path) as p:
        assert ask(p).startswith("ok ")
        for _ in range(12):
            begun = time.monotonic()
            s, answers = slowing(p)
            assert answers.readline() == "ok\n"
            s.sendall(b"3000 60\n")
            calls, own, added = map(int, answers.readline().split())
            assert calls > 0 and own + added <= (time.monotonic() - begun) * 1e9, "one thread launches, since then"
            answers.close()
            s.close()
            time.sleep(0.05)


@pytest.mark.parametrize("words", ["999 100\n", "99999 100\n", "2000\n", "2000 0\n", "rubbish\n", "2000 100 1\n"])
def test_what_is_no_amount_ends_it(tmp_path, words):
    with process(tmp_path) as p:
        assert ask(p).startswith("ok ")
        s, answers = slowing(p)
        assert answers.readline() == "ok\n"
        s.sendall(words.encode())
        with contextlib.suppress(ConnectionResetError):
            assert answers.read() == ""
        s.close()
        assert ask(p).startswith("ok ")


def test_who_has_no_right_slows_nothing(tmp_path):
    with process(tmp_path, "denied") as p:
        assert ask(p).startswith("no CUPTI")
        assert slowing(p)[1].readline().startswith("no CUPTI")


def test_a_program_without_calls_is_left_subscribed_to_nothing(tmp_path):
    with process(tmp_path, "quiet") as p:
        assert ask(p).startswith("ok ")


def test_hostile_records(tmp_path):
    with process(tmp_path, "hostile") as p:
        path = ask(p).split()[1]
    text = json.load(open(path))
    names = [e["name"] for e in text["traceEvents"]]
    assert 'odd"\\??[31m?' in names and "kernel" in names and "without times" not in names, names
    assert text["lynxbench_dropped"] == 7 and text["lynxbench_without_times"] == 2
    assert attributed(path)["spans"]["kernel"] == 3


@pytest.mark.parametrize("words", ["trace 0\n", "trace 99999999\n", "trace -1\n", "rubbish\n", "x" * 1000])
def test_what_is_no_question_gets_no_answer(tmp_path, words):
    with process(tmp_path) as p:
        with contextlib.suppress(ConnectionResetError):
            assert ask(p, words) == ""
        assert ask(p).startswith("ok ")


def test_a_folder_that_cannot_be_written(tmp_path):
    with process(tmp_path / "nothing") as p:
        assert ask(p).startswith("no the folder")
    with process("relative") as p:  # it does not listen at all
        with socket.socket(socket.AF_UNIX) as s, pytest.raises(ConnectionRefusedError):
            s.connect(f"\0lynxbench-cupti-{p.pid}")


def test_a_run_asks_it(tmp_path):
    """A server that has it loaded: what its device did is in the account."""
    load = f"import ctypes; ctypes.CDLL({LIBRARY!r}).InitializeInjection()\n"
    more = {"LD_LIBRARY_PATH": MOCK, "LYNXBENCH_CUPTI_FOLDER": str(tmp_path)}
    with t.serving(tmp_path, "silent", environment=more, before=load) as (server, here):
        said = t.measured(here)
        (traced,) = said["traced"]
        assert traced["process"] == server.pid
        assert {p["state"] for p in traced["parts"]} >= {"compute.matrix_product", "exposed.copy_to_host"}
    assert open(f"{here}/calls").read() == "", "its routes are not asked"


if __name__ == "__main__":
    l.main(__file__)
