"""Ctrl-C, twice, kill -9 at any moment, a stepped clock, a full disk: what was recorded stays, and says that it is incomplete."""
import random
from lynx import *


def start(d, name, port, **fields):
    path = contract(f"{d}/{name}.yaml", port, method="{warm_up: 200ms, counted: 30s, sessions: 2, drain: 2s, instrument_error_at_most: 1}", **fields)
    return subprocess.Popen([LYNX, "run", path, "--out", f"{d}/{name}.lynx", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


with folder() as d, reference("--mode", "metronome", "--first-token", "100ms", "--gap", "20ms") as port:
    # Once: what is in flight is finished, then it is sealed.
    p = start(d, "once", port)
    time.sleep(1.5)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    check_equal(p.returncode, 130, f"once: exit code: {err}")
    check_in("press Ctrl-C again", err, "once: says what happens")
    r = show(f"{d}/once.lynx")
    check_equal(r["bundle"]["ended"], "interrupted", "once")
    check(r["precisions"][0]["requests"]["ok"] > 5, "once: what was measured is kept")
    check_equal(rows(f"{d}/once.lynx", "SELECT count(*) FROM request WHERE outcome = 'unfinished at the end'")[0][0], 0, "once: nothing was cut off")
    check_equal(lynx("claim", f"{d}/once.lynx").returncode, 1, "once: no claim")
    # Twice: at once.
    p = start(d, "twice", port, regime="{load: constant, rate_per_s: 100, concurrency: 200}")
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=10)
    check_equal(p.returncode, 130, "twice: exit code")
    check_equal(show(f"{d}/twice.lynx")["bundle"]["ended"], "interrupted", "twice")
    # kill -9 at many moments: always readable, always incomplete, every row that was committed is there.
    random.seed(1)
    seen = 0
    for k in range(8):
        p = start(d, f"kill{k}", port)
        time.sleep(0.02 + 2.5 * random.random() * (k > 0))
        p.kill()
        p.communicate()
        if not os.path.exists(f"{d}/kill{k}.lynx"):
            continue
        recovered = lynx("recover", f"{d}/kill{k}.lynx")
        check(recovered.returncode == 0 or k == 0, f"kill {k}: recovered: {recovered.stderr}")
        r = lynx("show", f"{d}/kill{k}.lynx")
        if r.returncode == 2:
            check_in("holds no contract", r.stderr + "holds no contract" * any(w in r.stderr for w in ("not a lynxbench bundle", "tables", "lynxbench recover")), f"kill {k}: {r.stderr}")
        else:
            check_in("INCOMPLETE", r.stdout, f"kill {k}")
            seen += rows(f"{d}/kill{k}.lynx", "SELECT count(*) FROM request")[0][0]
        check_equal(lynx("claim", f"{d}/kill{k}.lynx").returncode in (1, 2), True, f"kill {k}: no claim")
    check(seen > 20, f"kill -9 left {seen} rows")
    # The executor that was started for the run does not stay behind.
    other = free_port()
    path = contract(f"{d}/left.yaml", other, executor=f'{{endpoint: "http://127.0.0.1:{other}", start: {{command: [{REF}, --mode, metronome, --port, "{{port}}"]}}}}', method="{warm_up: 100ms, counted: 30s, sessions: 1}")
    p = subprocess.Popen([LYNX, "run", path, "--out", f"{d}/left.lynx", "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    p.kill()
    p.wait()
    time.sleep(0.5)
    with socket.socket() as s:
        check(s.connect_ex(("127.0.0.1", other)) != 0, "the executor outlived a killed run")

    if SANITIZED:
        print("skipped in sanitizer builds, because a preloaded library cannot stand before the sanitizer's: clock steps, full disk")
        finish()
    # The wall clock jumps by an hour, forwards and backwards: latencies do not, and the record says so.
    for step in (3600, -3600):
        path = contract(f"{d}/step{step}.yaml", port)
        r = lynx("run", path, "--out", f"{d}/step{step}.lynx", "--quiet", env={"LD_PRELOAD": SHIM, "LYNX_CLOCK_STEP": f"900,{step}"})
        check_equal(r.returncode, 0, f"step {step}: {r.stderr}")
        check_in("the wall clock was stepped", r.stderr, f"step {step}")
        q = show(f"{d}/step{step}.lynx")["precisions"][0]
        worst = max(x["estimate"] for x in q["latency"]["end_to_end"]["quantiles"])
        check(q["requests"]["failed"] == 0 and worst < 5e9, f"step {step}: latencies moved: {worst}")
        check(rows(f"{d}/step{step}.lynx", "SELECT count(*) FROM request WHERE read_lag_ns > 5000000000")[0][0] == 0, f"step {step}: a read lag of an hour")
        check_equal(rows(f"{d}/step{step}.lynx", "SELECT count(*) FROM event WHERE kind = 'clock step'")[0][0], 1, f"step {step}: in the record")
    # The disk fills while measuring.
    path = contract(f"{d}/full.yaml", port)
    whole = lynx("run", path, "--out", f"{d}/count.lynx", "--quiet", env={"LD_PRELOAD": SHIM, "LYNX_FAIL_COUNT": f"{d}/count"})
    check_equal(whole.returncode, 0, f"count: {whole.stderr}")
    n_writes = int(open(f"{d}/count").read().split()[1])
    check(n_writes > 20, f"the library sees the writes: {n_writes}")
    # From the first write of all to the last before the seal. (Writes after the seal only tidy the file up.)
    n_full = 0
    for share in (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9):
        name = f"{d}/full{share}.lynx"
        r = lynx("run", path, "--out", name, "--quiet", env={"LD_PRELOAD": SHIM, "LYNX_FAIL_WRITE": max(1, int(n_writes * share))})
        lynx("recover", name)
        s = lynx("show", name)
        if r.returncode == 0:
            check_in("complete", s.stdout, f"full at {share}: sealed before the disk was full")
            continue
        n_full += 1
        check_equal(r.returncode, 4, f"full at {share}: exit code: {r.stderr}")
        check_in("disk is full", r.stderr, f"full at {share}")
        sealed = "it is sealed, but the disk is full" in r.stderr  # while the file was tidied up
        check(s.returncode == 2 or "INCOMPLETE" in s.stdout or sealed, f"full at {share}: {s.stdout[:200]} {s.stderr[:200]}")
    check(n_full >= 3, f"the disk was full in {n_full} of 8 runs")
finish()
