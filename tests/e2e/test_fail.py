"""Every allocation fails, in turn: an exit code and a sentence, never a signal."""
from lynx import *

if SANITIZED:
    skip("a preloaded allocator cannot stand before the sanitizer's")
with folder() as d:
    lynx("run", f"{SOURCE}/tests/e2e/quick.yaml", "--out", f"{d}/a.lynx", "--quiet")
    with reference("--mode", "metronome") as port:
        path = contract(f"{d}/part.yaml", port, method="{warm_up: 0s, counted: 200ms, sessions: 1, drain: 100ms, request_timeout: 5s, instrument_error_at_most: 1}")
        lynx("run", path, "--part", "1/1", "--start", f"@{int(time.time()) + 2}", "--out", f"{d}/p.lynx", "--quiet")
    for args in (["import", f"{SOURCE}/tests/recorded/imports/guidellm-benchmarks.json", "--out", f"{d}/new.lynx"], ["merge", f"{d}/p.part1.lynx", "--out", f"{d}/new.lynx"], ["lint", f"{SOURCE}/examples/demo.yaml"], ["show", f"{d}/a.lynx", "--json"], ["claim", f"{d}/a.lynx"], ["report", f"{d}/a.lynx", "--out", f"{d}/a.html"], ["capture", "--root", f"{SOURCE}/tests/recorded/plain"],
                 ["attribute", "--quiet", f"{SOURCE}/tests/recorded/profiles/torch-compile.json.gz", "--html", f"{d}/b.html", "--folded", f"{d}/b.folded"]):
        lynx(*args, env={"LD_PRELOAD": SHIM, "LYNX_FAIL_COUNT": f"{d}/n"})
        n = int(open(f"{d}/n").read().split()[0])
        check(n > 10, f"{args[0]}: the library sees the allocations ({n})")
        codes = {}
        for at in range(1, n + 1, max(1, n // 120)):
            if os.path.exists(f"{d}/new.lynx"):
                os.unlink(f"{d}/new.lynx")
            r = lynx(*args, env={"LD_PRELOAD": SHIM, "LYNX_FAIL_MALLOC": at})
            codes[r.returncode] = codes.get(r.returncode, 0) + 1
            check(r.returncode in (0, 1, 2, 3, 4, 70), f"{args[0]}, allocation {at}: exit {r.returncode}: {r.stderr[-300:]}")
            check(r.returncode == 0 or r.stderr.strip() or r.stdout.strip(), f"{args[0]}, allocation {at}: failed without a word")
        print(f"{args[0]}: {n} allocations, exit codes {codes}")
    # A ledger: every allocation, write, sync and rename of an addition, and death in the middle of every write. What was acknowledged is
    # there, what was not is there whole or not at all, and the tree holds.
    home = {"HOME": d, "XDG_STATE_HOME": d + "/state"}
    lynx("key", "ml", "--out", d, env=home)
    home["LYNXBENCH_KEY"] = f"{d}/ml.key"
    lynx("log", "create", f"{d}/first.ledger", env=home)
    shutil.copy(f"{SOURCE}/examples/null.yaml", f"{d}/c.yaml")
    lynx("sign", f"{d}/c.yaml", "--ledger", f"{d}/first.ledger", env=home)
    lynx("log", "checkpoint", f"{d}/first.ledger", env=home)
    with sqlite3.connect(f"{d}/first.ledger") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def attempt(text, **env):
        for name in ("t.ledger", "t.ledger-wal", "t.ledger-shm", "s.json"):
            if os.path.exists(f"{d}/{name}"):
                os.unlink(f"{d}/{name}")
        shutil.rmtree(d + "/state", ignore_errors=True)
        shutil.copy(f"{d}/first.ledger", f"{d}/t.ledger")
        shutil.copy(f"{d}/first.ledger.key", f"{d}/t.ledger.key")
        return subprocess.run([LYNX, "sign", f"{d}/c.yaml", "--ledger", f"{d}/t.ledger", "--reservation", text, "--out", f"{d}/s.json"], capture_output=True, text=True,
                              env=environment(**home, LD_PRELOAD=SHIM, **env), timeout=60)

    r = attempt("counting", LYNX_FAIL_COUNT=f"{d}/n")
    check_equal(r.returncode, 0, f"sign: {r.stderr}")
    counts = dict(zip(("FAIL_MALLOC", "FAIL_WRITE", "FAIL_SYNC", "FAIL_RENAME"), map(int, open(f"{d}/n").read().split())))
    counts["KILL_WRITE"] = counts["FAIL_WRITE"]
    print(counts)
    for kind, n in counts.items():
        check(n > 0, f"ledger: the library sees {kind}")
        codes = {}
        for at in range(1, n + 1, max(1, n // 60)):
            r = attempt(f"{kind} {at}", **{"LYNX_" + kind: str(at)})
            codes[r.returncode] = codes.get(r.returncode, 0) + 1
            allowed = (-9,) if kind == "KILL_WRITE" else (0, 2, 3, 4, 70)
            check(r.returncode in allowed, f"ledger, {kind} {at}: exit {r.returncode}: {r.stderr[-300:]}")
            check(r.returncode <= 0 or r.stderr.strip(), f"ledger, {kind} {at}: failed without a word")
            audited = lynx("audit", f"{d}/t.ledger", env=dict(home, XDG_STATE_HOME=d + "/other"))
            check_equal(audited.returncode, 0, f"ledger, {kind} {at}: audit: {audited.stdout} {audited.stderr}")
            shutil.rmtree(d + "/other", ignore_errors=True)
            if "entry" in r.stdout.split("signed by")[-1]:
                check_in(f"{kind} {at}", lynx("log", "list", f"{d}/t.ledger", env=home).stdout, f"ledger, {kind} {at}: acknowledged")
        print(f"ledger, {kind}: {n}, exit codes {codes}")
finish()
