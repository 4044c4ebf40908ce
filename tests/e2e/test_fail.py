"""Every allocation fails, in turn: an exit code and a sentence, never a signal."""

import pytest
from lynx import *

pytestmark = pytest.mark.skipif(SANITIZED, reason="a preloaded allocator cannot be put before the sanitizer's")
RECORDED = f"{SOURCE}/tests/recorded"
COMMANDS = {
    "import": ["import", f"{RECORDED}/imports/guidellm-benchmarks.json", "--out", "{d}/new.lynx"],
    "merge": ["merge", "{d}/p.part1.lynx", "--out", "{d}/new.lynx"],
    "lint": ["lint", f"{SOURCE}/examples/demo.yaml"],
    "show": ["show", "{d}/a.lynx", "--json"],
    "claim": ["show", "--claim", "{d}/a.lynx"],
    "report": ["show", "{d}/a.lynx", "--html", "{d}/a.html"],
    "bisect": ["bisect", f"{RECORDED}/bundles/bisect.lynx"],
    "experiment": ["experiment", f"{RECORDED}/bundles/experiment.lynx", "--html", "{d}/x.html"],
    "capture": ["capture", "--root", f"{RECORDED}/plain"],
    "attribute": [
        "attribute",
        "--quiet",
        f"{RECORDED}/profiles/torch-compile.json.gz",
        "--html",
        "{d}/b.html",
        "--folded",
        "{d}/b.folded",
    ],
}


@pytest.fixture(scope="module")
def bundles():
    """A run, and the only part of another."""
    short = "{warm_up: 0s, counted: 200ms, sessions: 1, drain: 100ms, request_timeout: 5s, instrument_error_at_most: 1}"
    with folder() as d, reference("--mode", "metronome") as port:
        lynx("run", f"{SOURCE}/tests/e2e/quick.yaml", "--out", f"{d}/a.lynx", "--quiet")
        path = contract(f"{d}/part.yaml", port, method=short)
        start = f"@{int(time.time()) + 2}"
        lynx("run", path, "--part", "1/1", "--start", start, "--out", f"{d}/p.lynx", "--quiet")
        yield d


def counts_of(path):
    with open(path) as f:
        return dict(zip(("FAIL_MALLOC", "FAIL_WRITE", "FAIL_SYNC", "FAIL_RENAME"), map(int, f.read().split())))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_allocation_of_a_command_fails(bundles, name):
    args = [a.replace("{d}", bundles) for a in COMMANDS[name]]
    lynx(*args, env={"LD_PRELOAD": SHIM, "LYNX_FAIL_COUNT": f"{bundles}/n"})
    n = counts_of(f"{bundles}/n")["FAIL_MALLOC"]
    check(n > 10, f"{name}: the library sees the allocations ({n})")
    for at in range(1, n + 1, max(1, n // 120)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{bundles}/new.lynx")
        r = lynx(*args, env={"LD_PRELOAD": SHIM, "LYNX_FAIL_MALLOC": at})
        check(r.returncode in (0, 1, 2, 3, 4, 70), f"{name}, {at}: exit {r.returncode}: {r.stderr[-300:]}")
        said = r.returncode == 0 or r.stderr.strip() or r.stdout.strip()
        check(said, f"{name}, allocation {at}: failed without a word")


class Ledger:
    """One that has an entry, and what a team adds to copies of it."""

    def __init__(self, d):
        self.d = d
        self.home = {"HOME": d, "XDG_STATE_HOME": d + "/state"}
        lynx("ledger", "key", "ml", "--out", d, env=self.home)
        self.home["LYNXBENCH_KEY"] = f"{d}/ml.key"
        lynx("ledger", "create", f"{d}/first.ledger", env=self.home)
        shutil.copy(f"{SOURCE}/examples/null.yaml", f"{d}/c.yaml")
        lynx("ledger", "sign", f"{d}/c.yaml", "--ledger", f"{d}/first.ledger", env=self.home)
        lynx("ledger", "checkpoint", f"{d}/first.ledger", env=self.home)
        with sqlite3.connect(f"{d}/first.ledger") as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        r = self.add("counting", LYNX_FAIL_COUNT=f"{d}/n")
        assert r.returncode == 0, r.stderr
        self.counts = counts_of(f"{d}/n")
        self.counts["KILL_WRITE"] = self.counts["FAIL_WRITE"]

    def add(self, text, **env):
        d = self.d
        for name in ("t.ledger", "t.ledger-wal", "t.ledger-shm", "s.json"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{d}/{name}")
        shutil.rmtree(d + "/state", ignore_errors=True)
        shutil.copy(f"{d}/first.ledger", f"{d}/t.ledger")
        shutil.copy(f"{d}/first.ledger.key", f"{d}/t.ledger.key")
        more = ["--ledger", f"{d}/t.ledger", "--reservation", text, "--out", f"{d}/s.json"]
        env = environment(**self.home, LD_PRELOAD=SHIM, **env)
        return subprocess.run(
            [LYNX, "ledger", "sign", f"{d}/c.yaml", *more], capture_output=True, text=True, env=env, timeout=60
        )

    def audit(self):
        other = dict(self.home, XDG_STATE_HOME=self.d + "/other")
        r = lynx("audit", f"{self.d}/t.ledger", env=other)
        shutil.rmtree(self.d + "/other", ignore_errors=True)
        return r

    def entries(self):
        return lynx("ledger", "list", f"{self.d}/t.ledger", env=self.home).stdout


@pytest.fixture(scope="module")
def ledger():
    with folder() as d:
        yield Ledger(d)


@pytest.mark.parametrize("kind", ["FAIL_MALLOC", "FAIL_WRITE", "FAIL_SYNC", "FAIL_RENAME", "KILL_WRITE"])
def test_what_a_ledger_acknowledged_is_there(ledger, kind):
    """Every allocation, write, sync and rename of an addition fails, and it dies in the middle of every write: what was
    acknowledged is there, what was not is there whole or not at all, and the tree holds."""
    n = ledger.counts[kind]
    check(n > 0, f"ledger: the library sees {kind}")
    for at in range(1, n + 1, max(1, n // 60)):
        what = f"ledger, {kind} {at}"
        r = ledger.add(f"{kind} {at}", **{"LYNX_" + kind: str(at)})
        allowed = (-9,) if kind == "KILL_WRITE" else (0, 2, 3, 4, 70)
        check(r.returncode in allowed, f"{what}: exit {r.returncode}: {r.stderr[-300:]}")
        check(r.returncode <= 0 or r.stderr.strip(), f"{what}: failed without a word")
        audited = ledger.audit()
        check_equal(audited.returncode, 0, f"{what}: audit: {audited.stdout} {audited.stderr}")
        if "entry" in r.stdout.split("signed by")[-1]:
            check_in(f"{kind} {at}", ledger.entries(), f"{what}: acknowledged")


if __name__ == "__main__":
    main(__file__)
