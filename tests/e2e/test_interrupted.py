"""Ctrl-C, kill -9 at any moment, a stepped clock, a full disk: what was recorded stays, and says what it lacks."""

import random
import time

import pytest
from lynx import *

LONG = "{warm_up: 200ms, counted: 30s, sessions: 2, drain: 2s, instrument_error_at_most: 1}"
preloads = pytest.mark.skipif(SANITIZED, reason="a preloaded library cannot stand before the sanitizer's")


@pytest.fixture(scope="module")
def port():
    with reference("--mode", "metronome", "--first-token", "100ms", "--gap", "20ms") as port:
        yield port


def start(d, name, port, quiet=("--quiet",), **fields):
    path = contract(f"{d}/{name}.yaml", port, method=LONG, **fields)
    command = [LYNX, "run", path, "--out", f"{d}/{name}.lynx", *quiet]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_window(p):
    """Until it says that it counts: how long it takes to begin does not matter."""
    for line in iter(p.stderr.readline, ""):
        if "counted" in line:
            break


def n_requests(bundle):
    return rows(bundle, "SELECT count(*) FROM request")[0][0]


def wait_for_requests(bundle, n):
    """Until so many are in the record of a run that still measures; how many there are then."""
    end = time.monotonic() + 60
    while n_requests(bundle) < n and time.monotonic() < end:
        time.sleep(0.02)
    return n_requests(bundle)


def test_once_finishes_what_is_in_flight(d, port):
    p = start(d, "once", port, quiet=())
    wait_for_window(p)
    wait_for_requests(f"{d}/once.lynx", 6)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=20)
    check_equal(p.returncode, 130, f"exit code: {err}")
    check_in("press Ctrl-C again", err, "it says what happens")
    r = show(f"{d}/once.lynx")
    check_equal(r["bundle"]["ended"], "interrupted", "the record")
    check(r["precisions"][0]["requests"]["ok"] > 5, "what was measured is kept")
    cut = rows(f"{d}/once.lynx", "SELECT count(*) FROM request WHERE outcome = 'unfinished at the end'")
    check_equal(cut, [(0,)], "nothing was cut off")
    check_equal(lynx("show", "--claim", f"{d}/once.lynx").returncode, 1, "no claim")


def test_twice_ends_at_once(d, port):
    p = start(d, "twice", port, quiet=(), regime="{load: constant, rate_per_s: 100, concurrency: 200}")
    wait_for_window(p)
    p.send_signal(signal.SIGINT)
    time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=10)
    check_equal(p.returncode, 130, "exit code")
    check_equal(show(f"{d}/twice.lynx")["bundle"]["ended"], "interrupted", "the record")


UNREADABLE = ("not a lynxbench bundle", "tables", "lynxbench recover", "holds no contract")


def rows_after_kill(d, name, early):
    """How many requests the record of a killed run holds, which says that it is incomplete."""
    bundle = f"{d}/{name}.lynx"
    if not os.path.exists(bundle):
        return 0
    recovered = lynx("recover", bundle)
    check(recovered.returncode == 0 or early, f"{name}: recovered: {recovered.stderr}")
    r = lynx("show", bundle)
    check(lynx("show", "--claim", bundle).returncode in (1, 2), f"{name}: no claim")
    if r.returncode == 2:
        check(any(words in r.stderr for words in UNREADABLE), f"{name}: {r.stderr}")
        return 0
    check_in("INCOMPLETE", r.stdout, name)
    return n_requests(bundle)


def test_kill_at_many_moments(d, port):
    """Always readable, always incomplete, and every row that was committed is there."""
    random.seed(1)
    for k in range(4):
        p = start(d, f"early{k}", port)
        time.sleep(0.02 if k == 0 else random.random())
        p.kill()
        p.communicate()
        rows_after_kill(d, f"early{k}", k == 0)
    for k in range(4):
        p = start(d, f"kill{k}", port, quiet=())
        wait_for_window(p)
        committed = wait_for_requests(f"{d}/kill{k}.lynx", 10)
        time.sleep(random.random())
        p.kill()
        p.communicate()
        kept = rows_after_kill(d, f"kill{k}", False)
        check(kept >= committed >= 10, f"kill -9 left {kept} rows of at least {committed}")


def test_the_executor_of_a_killed_run_does_not_stay_behind(d):
    other = free_port()
    command = f'[{REF}, --mode, metronome, --port, "{{port}}"]'
    executor = f'{{endpoint: "http://127.0.0.1:{other}", start: {{command: {command}}}}}'
    method = "{warm_up: 100ms, counted: 30s, sessions: 1}"
    path = contract(f"{d}/left.yaml", other, executor=executor, method=method)
    command = [LYNX, "run", path, "--out", f"{d}/left.lynx"]
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for_window(p)
    p.kill()
    p.wait()
    time.sleep(0.5)
    with socket.socket() as s:
        check(s.connect_ex(("127.0.0.1", other)) != 0, "the executor outlived a killed run")


@preloads
@pytest.mark.parametrize("step", [3600, -3600])
def test_the_wall_clock_jumps_by_an_hour(d, port, step):
    """Latencies do not, and the record says so."""
    bundle = f"{d}/step.lynx"
    path = contract(f"{d}/step.yaml", port, method="{warm_up: 200ms, counted: 3s, sessions: 2, drain: 2s}")
    env = {**os.environ, "LD_PRELOAD": SHIM, "LYNX_CLOCK_STEP": str(step)}
    p = subprocess.Popen([LYNX, "run", path, "--out", bundle], stderr=subprocess.PIPE, text=True, env=env)
    wait_for_window(p)
    p.send_signal(signal.SIGUSR2)
    _, err = p.communicate(timeout=60)
    check_equal(p.returncode, 0, err)
    check_in("the wall clock was stepped", err, "it is said")
    q = show(bundle)["precisions"][0]
    worst = max(x["estimate"] for x in q["latency"]["end_to_end"]["quantiles"])
    check(q["requests"]["failed"] == 0 and worst < 5e9, f"latencies moved: {worst}")
    late = rows(bundle, "SELECT count(*) FROM request WHERE read_lag_ns > 5000000000")
    check_equal(late, [(0,)], "a read lag of an hour")
    check_equal(rows(bundle, "SELECT count(*) FROM event WHERE kind = 'clock step'"), [(1,)], "in the record")


@preloads
def test_the_disk_fills_while_measuring(d, port):
    """From the first write of all to the last before the seal. (Writes after the seal only tidy the file up.)"""
    path = contract(f"{d}/full.yaml", port)
    count = {"LD_PRELOAD": SHIM, "LYNX_FAIL_COUNT": f"{d}/count"}
    whole = lynx("run", path, "--out", f"{d}/count.lynx", "--quiet", env=count)
    check_equal(whole.returncode, 0, f"count: {whole.stderr}")
    with open(f"{d}/count") as f:
        n_writes = int(f.read().split()[1])
    check(n_writes > 20, f"the library sees the writes: {n_writes}")
    n_full = 0
    for share in (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9):
        bundle = f"{d}/full{share}.lynx"
        env = {"LD_PRELOAD": SHIM, "LYNX_FAIL_WRITE": max(1, int(n_writes * share))}
        r = lynx("run", path, "--out", bundle, "--quiet", env=env)
        lynx("recover", bundle)
        s = lynx("show", bundle)
        if r.returncode == 0:
            check_in("complete", s.stdout, f"at {share}: sealed before the disk was full")
            continue
        n_full += 1
        check_equal(r.returncode, 4, f"at {share}: exit code: {r.stderr}")
        check_in("disk is full", r.stderr, f"at {share}")
        sealed = "it is sealed, but the disk is full" in r.stderr  # while the file was tidied up
        incomplete = s.returncode == 2 or "INCOMPLETE" in s.stdout
        check(incomplete or sealed, f"at {share}: {s.stdout[:200]} {s.stderr[:200]}")
    check(n_full >= 3, f"the disk was full in {n_full} of 8 runs")


def test_no_entry_names_what_was_not_sealed(tmp_path):
    whole, cut = f"{SOURCE}/tests/recorded/bundles/small.lynx", tmp_path / "cut.lynx"
    shutil.copy(whole, cut)
    with sqlite3.connect(cut) as db:
        db.execute("DELETE FROM seal")
    db.close()
    ledger, signs = tmp_path / "t.ledger", ("--ledger", tmp_path / "t.ledger", "--key", tmp_path / "ml.key")
    assert lynx("ledger", "key", "ml", "--out", tmp_path).returncode == 0
    assert lynx("ledger", "create", *signs[1:]).returncode == 0
    for words in (
        ("contest", cut, "--ground", "figure", "--text", "x"),
        ("contest", whole, "--with", cut, "--ground", "figure", "--text", "x"),
        ("iterate", "open", cut, "--layer", "serving", "--title", "x"),
    ):
        r = lynx(*words, *signs)
        assert r.returncode == 2 and "not sealed" in r.stderr, (words, r.stderr)
    assert len(lynx("ledger", "list", ledger).stdout.splitlines()) == 1, "the policy alone"


if __name__ == "__main__":
    main(__file__)
