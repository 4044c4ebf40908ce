"""The code of one library, the wire to another machine, traffic on the memory, the demand: each by a known part."""

import contextlib
import json
import os
import subprocess
import sys
import time

import pytest

import lynx as l
import machine

sys.path.insert(0, os.path.join(l.SOURCE, "bench/attribution"))
import far  # noqa: E402

METHOD = "{warm_up: 500ms, counted: 2s, sessions: 2, drain: 5s, steady: reported, instrument_error_at_most: 1}"


def said(bundle):
    return json.loads(l.lynx("perturb", bundle, "--json").stdout)


PROGRAM = """
import ctypes, os, struct, sys, threading, time
folder, zlib = sys.argv[1], ctypes.CDLL("libz.so.1")
data, out = os.urandom(1 << 20), ctypes.create_string_buffer(1 << 21)


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        size = ctypes.c_ulong(len(out))
        assert zlib.compress2(out, ctypes.byref(size), data, len(data), 6) == 0
    return bytes(out[:16])


def counts():
    with open(os.path.join(folder, str(os.getpid())), "rb") as f:
        return struct.unpack("<5q", f.read(40))


def amount(share):
    with open(os.path.join(folder, "amount"), "r+b") as f:
        f.write(struct.pack("<d", share))


def both(share):
    amount(share)
    before, began = counts(), time.thread_time()
    work(0.6)
    after = counts()
    return after[1], (after[3] - before[3]) / 1e9, (after[4] - before[4]) / 1e9, time.thread_time() - began


def in_thread(share):
    kept = []
    t = threading.Thread(target=lambda: kept.append(both(share)))
    t.start()
    t.join()
    return kept[0]


for _ in range(100):  # it looks for the library from time to time
    if counts()[1]:
        break
    work(0.01)
results = [both(0), both(1), in_thread(0.5)]
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, repr(both(1)).encode())
    os._exit(0)
os.wait()
results.append(eval(os.read(read, 4096)))
amount(0)
for _ in range(6000):  # more threads than it has room for at once
    t = threading.Thread(target=lambda: None)
    t.start()
    t.join()
print(repr((results, in_thread(1))))
"""


def run_slowed(tmp_path, name, text=PROGRAM):
    folder, program = tmp_path / "folder", tmp_path / "program.py"
    folder.mkdir()
    (folder / "amount").write_bytes(bytes(8))
    program.write_text(text)
    shim = os.path.join(l.BUILD, "src/experiment/slow_library.so")
    env = dict(os.environ, LD_PRELOAD=shim, LYNXBENCH_SLOW_LIBRARY=f"{folder}|{name}")
    r = subprocess.run([sys.executable, program, folder], capture_output=True, text=True, env=env, timeout=60)
    assert r.returncode == 0, r.stderr
    return eval(r.stdout)


def test_a_library_takes_longer_by_its_own_time(tmp_path):
    """In the main thread, in another, in a child; what it counts is what it did."""
    (plain, twice, half, child), last = run_slowed(tmp_path, "libz.so.1")
    for found, own, added, whole in (plain, twice, half, child, last):
        assert found == 1 and 0.5 * whole < own + added < 1.2 * whole, "nearly all of the time is the library's"
    assert plain[2] == 0
    for (_, own, added, _), share in ((twice, 1), (half, 0.5), (child, 1), (last, 1)):
        assert 0.8 * share * own < added < 1.3 * share * own, (own, added, share)


def test_another_library_is_left_alone(tmp_path):
    results, _ = run_slowed(tmp_path, "libc.so.6")
    assert all(own < 0.3 * whole for _, own, _, whole in results), results


SIGNALS = """
import ctypes, os, signal, sys, time
zlib, out = ctypes.CDLL("libz.so.1"), ctypes.create_string_buffer(1 << 17)


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.compress2(out, ctypes.byref(ctypes.c_ulong(len(out))), bytes(1 << 16), 1 << 16, 6)


work(0.3)
if os.fork() == 0:  # as a shell prepares a child
    for number in range(1, signal.SIGRTMAX + 1):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_DFL)
    work(0.3)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 3
os.closerange(3, 64)  # as a daemon does
pipe = os.pipe()
if os.fork() == 0:
    work(0.1)
    os.write(pipe[1], b"whole")
    os._exit(0)
os.wait()
assert os.read(pipe[0], 9) == b"whole"
came = []
signal.signal(signal.SIGRTMAX - 13, lambda *_: came.append(1))  # that signal is the program's from here on
work(0.3)
assert not came
os.kill(os.getpid(), signal.SIGRTMAX - 13)
time.sleep(0.1)
assert came
print(len(os.listdir("/proc/self/task")))
"""


def test_a_slowed_program_does_what_it_did(tmp_path):
    """It resets signals, closes descriptors and uses the shim's own signal; it gets no thread that it did not make."""
    assert run_slowed(tmp_path, "libz.so.1", SIGNALS) == 1


SERVER = l.answering(
    """
        for _ in range(8):
            size = ctypes.c_ulong(len(out))
            zlib.compress2(out, ctypes.byref(size), data, len(data), 6)
""",
    """
import ctypes, os
zlib, data, out = ctypes.CDLL("libz.so.1"), os.urandom(1 << 16), ctypes.create_string_buffer(1 << 17)
""",
)


def started(tmp_path, port, **more):
    (tmp_path / "server.py").write_text(SERVER)
    path = os.path.join(tmp_path, "p.yaml")
    command = f"[{sys.executable}, {tmp_path}/server.py, '{port}']"
    executor = f"{{endpoint: 'http://127.0.0.1:{port}', start: {{command: {command}}}}}"
    workload = "{model: tiny, output_tokens: 4, prompts: {count: 4, bytes: 16}, stream: false}"
    regime = "{load: closed, concurrency: 1}"
    l.contract(path, port, workload=workload, regime=regime, method=METHOD, executor=executor, **more)
    return path


@pytest.mark.long
@pytest.mark.quiet
def test_perturb_slows_a_library(tmp_path):
    path = started(tmp_path, l.free_port())
    words = ("--library", "libz.so.1", "--only", "library,memory,wire", "--for", "24s", "--quiet")

    def run(k):
        r = l.lynx("perturb", path, *words, "--out", tmp_path / f"l{k}.lynx")
        assert r.returncode == 0, r.stdout + r.stderr
        return said(tmp_path / f"l{k}.lynx")

    result = machine.beside_nothing(run)
    [library] = result["sensitivities"]
    assert library["target"] == "library: libz.so.1" and library["perturber"] == "library", library
    for level in library["levels"]:
        assert 0.8 * level["asked"] < level["given"] < 1.2 * level["asked"], level
    unprobed = " ".join(result["unprobed"])
    assert "memory: the server may use every processor" in unprobed, unprobed
    assert "wire: lynxbench starts the server on this machine" in unprobed, unprobed
    machine.holds(library["throughput"], 0.9, within=0.2, widest=0.8)  # eight compressions are nearly all of an answer
    assert not [name for name in os.listdir(tmp_path) if name.startswith("lynxbench-")]


@pytest.mark.long
def test_a_library_that_is_not_there_is_said(tmp_path):
    path, out = started(tmp_path, l.free_port()), tmp_path / "n.lynx"
    r = l.lynx("perturb", path, "--library", "libnone.so", "--only", "library", "--for", "10s", "--quiet", "--out", out)
    assert r.returncode == 3 and "libnone.so is not loaded by that name" in r.stdout, r.stdout + r.stderr
    for name in ("/usr/lib/libz.so.1", "a|b", ""):
        r = l.lynx("perturb", path, "--library", name, "--for", "10s", "--out", tmp_path / "w.lynx")
        assert r.returncode == 2 and "last part of a library's file" in r.stderr, r.stderr
    assert not (tmp_path / "w.lynx").exists()


@pytest.fixture
def long_wire():
    """20 ms each way: of a request of some 53 ms the wire takes 40."""
    able = False
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        with far.long_wire(0):
            able = True
    machine.need("tun", able, "no wire can be made: it takes root, /dev/net/tun and network namespaces")
    with far.long_wire(0.02) as ends:
        yield ends


@pytest.mark.long
@pytest.mark.quiet
def test_a_wire_is_found_lengthened_and_confirmed(tmp_path, long_wire):
    """A server that is only seen from outside, 20 ms away each way; with so few in flight that no processor is full."""
    out = tmp_path / "f.lynx"
    with contextlib.nullcontext(long_wire) as (near, away):
        command = [*away, l.REF, "--address", "0.0.0.0", "--port", "9300", "--mode", "metronome"]
        server = subprocess.Popen([*command, "--first-token", "6ms", "--gap", "100us"], stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            lynx = [*near, l.LYNX]
            words = ["diagnose", f"http://{far.FAR}:9300", "--for", "30s", "--at-most", "8", "--out", out, "--quiet"]
            r = subprocess.run([*lynx, *words], capture_output=True, text=True)
            assert "slow_wire" in l.lynx("confirm", out).stdout, r.stdout + r.stderr
            words = ["confirm", out, "slow_wire", "--for", "60s", "--out", tmp_path / "c.lynx", "--quiet"]
            r = subprocess.run([*lynx, *words], capture_output=True, text=True)
        finally:
            server.kill()
            server.wait()
    assert r.returncode == 0 and "wire" in r.stdout, r.stdout + r.stderr
    [wire] = said(tmp_path / "c.lynx")["sensitivities"]
    machine.holds(wire["e2e_p50"], 0.75, within=0.2, widest=0.7)


def of_demand(folder, concurrency, *words):
    """What fewer requests in flight cost a server of that kind."""
    folder.mkdir()
    out = folder / "d.lynx"
    with l.reference(*words) as port:
        path = str(folder / "d.yaml")
        workload = "{model: tiny, output_tokens: 8, prompts: {count: 8, bytes: 64}}"
        regime = f"{{load: closed, concurrency: {concurrency}}}"
        l.contract(path, port, workload=workload, regime=regime, method=METHOD)
        r = l.lynx("perturb", path, "--for", "24s", "--only", "demand", "--out", out, "--quiet")
    assert r.returncode == 0, r.stdout + r.stderr
    return r.stdout, said(out), out


@pytest.mark.long
@pytest.mark.quiet
def test_fewer_requests_in_flight_cost_a_server_with_room(tmp_path):
    """Each request is served by itself: throughput follows what is in flight, and nobody waits less."""
    words = ("--mode", "metronome", "--gap", "5ms", "--first-token", "5ms")
    text, x, _ = machine.beside_nothing(lambda k: of_demand(tmp_path / str(k), 8, *words))
    [demand] = x["sensitivities"]
    assert (demand["target"], demand["layer"]) == ("demand: requests in flight", "demand"), demand
    assert sorted({level["given"] for level in demand["levels"]}) == [8 / 7, 8 / 5], demand["levels"]
    machine.holds(demand["throughput"], 1, within=0.05, widest=0.4)
    assert "the server has room" in text, text
    assert "sum_of_processes" not in x, "the demand is no resource"


@pytest.mark.long
@pytest.mark.quiet
def test_fewer_requests_in_flight_cost_a_full_server_nothing(tmp_path):
    """One request at a time: the others only wait, and those that are left wait less."""
    words = ("--mode", "metronome", "--gap", "1ms", "--first-token", "5ms", "--slots", "1")
    text, x, _ = machine.beside_nothing(lambda k: of_demand(tmp_path / str(k), 8, *words))
    [demand] = x["sensitivities"]
    machine.holds(demand["throughput"], 0, within=0.05, widest=0.3)
    assert demand["ttft_p50"]["high"] < -0.5, demand
    assert "the server is full" in text, text


@pytest.mark.long
def test_demand_that_is_not_a_closed_loop_is_not_probed(tmp_path):
    out = tmp_path / "d.lynx"
    with l.reference("--mode", "metronome") as port:
        path = str(tmp_path / "d.yaml")
        l.contract(path, port, regime="{load: poisson, rate_per_s: 20}", method=METHOD)
        r = l.lynx("perturb", path, "--for", "10s", "--only", "demand", "--out", out, "--quiet")
        assert "the load is no closed loop of one load thread" in r.stdout, r.stdout + r.stderr
        l.contract(path, port, regime="{load: closed, concurrency: 1}", method=METHOD)
        r = l.lynx("perturb", path, "--for", "10s", "--only", "demand", "--out", str(out) + "2", "--quiet")
        assert "one request is in flight" in r.stdout, r.stdout + r.stderr


def test_load_threads_that_are_not_alike_are_no_gap(tmp_path):
    """Three threads keep 3, 3 and 2 requests in flight: they number their requests as fast as these are answered."""
    with l.reference("--mode", "metronome", "--gap", "1ms", "--first-token", "1ms") as port:
        path, out = str(tmp_path / "t.yaml"), tmp_path / "t.lynx"
        method = METHOD.replace("sessions: 2", "sessions: 2, threads: 3")
        workload = "{model: tiny, output_tokens: 2, prompts: {count: 8, bytes: 64}}"
        l.contract(path, port, workload=workload, regime="{load: closed, concurrency: 8}", method=method)
        r = l.lynx("run", path, "--out", out, "--quiet")
        assert r.returncode in l.RAN, r.stderr
    ids = [row[0] for row in l.rows(out, "SELECT id FROM request WHERE session = 0")]
    assert max(ids) + 1 - len(ids) > 24, "one thread is far ahead"
    assert "IMPOSSIBLE" not in l.lynx("show", out).stdout
    l.forge(out, tmp_path / "f.lynx", f"DELETE FROM request WHERE session = 0 AND id % 3 = 1 AND id < {max(ids) // 2}")
    shown = l.lynx("show", tmp_path / "f.lynx")
    assert "numbers have gaps" in shown.stdout + shown.stderr, shown.stdout + shown.stderr


if __name__ == "__main__":
    l.main(__file__)
