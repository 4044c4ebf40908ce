"""Killed with -9 at random moments: what was acknowledged is there, nothing is half visible, and the next one goes on.

KILLS=100 makes as many of each."""

import random

import pytest
from lynx import *
from test_postgres import Server, found

KILLS = int(os.environ.get("KILLS", "5"))
SHORT = "warm_up: 100ms, counted: 300ms, sessions: 1, drain: 100ms"
pytestmark = pytest.mark.long


class Place:
    """A ledger, a key, a contract, a bundle of a run."""

    def __init__(self, d):
        self.d, self.ledger, self.bundle = d, f"{d}/a.ledger", f"{d}/a.lynx"
        self.env = {"HOME": d, "XDG_STATE_HOME": f"{d}/state", "LYNXBENCH_KEY": f"{d}/ml.key"}
        self.must("ledger", "key", "ml", "--out", d)
        self.must("ledger", "create", self.ledger)
        with open(f"{SOURCE}/examples/null.yaml") as f:
            text = f.read().replace("warm_up: 1s, counted: 2s, sessions: 5, drain: 1s", SHORT)
        with open(f"{d}/c.yaml", "w") as f:
            f.write(text)
        self("run", f"{d}/c.yaml", "--out", self.bundle, "--quiet")
        assert os.path.exists(self.bundle)

    def __call__(self, *args, **env):
        return lynx(*args, env={**self.env, **env})

    def must(self, *args):
        r = self(*args)
        assert r.returncode == 0, f"{args}: {r.stdout} {r.stderr}"
        return r

    def killed(self, *args, within=0.1, **env):
        """Its output, and whether it was killed before it had ended by itself."""
        p = subprocess.Popen(
            [LYNX, *args], env=environment(**self.env, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(random.random() * within)
        p.kill()
        out, err = p.communicate()
        check("Sanitizer" not in err, err[-2000:])
        return out, p.returncode == -9

    def entries(self, ledger=None):
        listed = self.must("ledger", "list", ledger or self.ledger, "--json").stdout.splitlines()
        return [json.loads(line) for line in listed]

    def holds(self, ledger=None):
        r = self("audit", ledger or self.ledger)
        check_equal(r.returncode, 0, f"audit: {r.stdout} {r.stderr}")


@pytest.fixture
def place(d):
    random.seed(int(os.environ.get("SEED", "1")))
    return Place(d)


def signs(place, ledger, k):
    """An entry of its own each time."""
    where = ("--ledger", ledger, "--reservation", f"n{k}", "--out", f"{place.d}/s.json")
    return "ledger", "sign", f"{place.d}/c.yaml", *where


def serve(place):
    command = [LYNX, "serve", place.ledger, "--port", "0"]
    env = environment(**place.env)
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return process, process.stdout.readline().split(" on ")[1].split()[0]


def test_run(place):
    """Sealed and whole, or incomplete; what was there before stays as it was."""
    before = open(place.bundle, "rb").read()
    n_sealed = 0
    for k in range(KILLS):
        out = f"{place.d}/k{k}.lynx"
        place.killed("run", f"{place.d}/c.yaml", "--out", out, "--quiet", within=1.2)
        if not os.path.exists(out):
            continue
        r = place("show", out)
        if r.returncode == 2:
            r = place("recover", out)
            check_equal(r.returncode, 0, f"recover: {r.stderr}")
            r = place("show", out)
        check(r.returncode in (0, 1, 2, 3), f"{r.returncode}: {r.stdout} {r.stderr}")
        n_sealed += ", complete" in r.stdout
        check(
            ", complete" in r.stdout or "INCOMPLETE" in r.stdout or "holds no contract" in r.stderr,
            r.stdout[:300] + r.stderr,
        )
        os.unlink(out)
        for x in os.listdir(place.d):
            if x.startswith(f"k{k}.lynx"):
                os.unlink(f"{place.d}/{x}")
    check(open(place.bundle, "rb").read() == before, "the earlier record is as it was")
    check_equal(place("show", place.bundle).returncode, 0, "and is read")


def test_log_put(place):
    """The bundle's entry and its file, or neither; and what was acknowledged is there."""
    for k in range(KILLS):
        ledger = f"{place.d}/p{k}.ledger"
        place.must("ledger", "create", ledger)
        out, _ = place.killed("ledger", "put", ledger, place.bundle)
        place.holds(ledger)
        there = [e for e in place.entries(ledger) if e["kind"] == "bundle"]
        check("entry" not in out or there, f"acknowledged and not there: {out}")
        check_equal(place("ledger", "put", ledger, place.bundle).returncode, 0, "again")
        bundle = next(e for e in place.entries(ledger) if e["kind"] == "bundle")["subjects"]["bundle"]
        check_equal(place("ledger", "get", ledger, bundle, "--out", f"{place.d}/g{k}").returncode, 0, "its file")
        with open(place.bundle, "rb") as a, open(f"{place.d}/g{k}", "rb") as b:
            check(a.read() == b.read(), "the same bytes")
        os.unlink(f"{place.d}/g{k}")


def test_push(place):
    """A server that is not killed, and a sender that is: what arrived holds, and the rest follows."""
    own = f"{place.d}/own.ledger"
    place.must("ledger", "create", own, "--origin", "a.ledger")
    process, url = serve(place)
    try:
        for k in range(KILLS):
            place.must(*signs(place, own, k))
            if k == 0:
                place.must("ledger", "put", own, place.bundle)
            place.killed("ledger", "push", own, url)
            if k % 10 == 0:
                place.holds()
        r = place("ledger", "push", own, url)
        check_equal(r.returncode, 0, f"the rest: {r.stdout} {r.stderr}")
        check(" 0 entries sent" in place("ledger", "push", own, url).stdout, "nothing is left to send")
        place.holds()
    finally:
        process.terminate()
        process.communicate()


def test_pull(place):
    place.must("ledger", "put", place.ledger, place.bundle)
    process, url = serve(place)
    try:
        for k in range(KILLS):
            place.must(*signs(place, url, k))
            place.killed("ledger", "pull", url, f"{place.d}/copy.ledger", within=0.15)
            if k % 10 == 0:
                place.must("ledger", "pull", url, f"{place.d}/copy.ledger")
                place.holds(f"{place.d}/copy.ledger")
        place.must("ledger", "pull", url, f"{place.d}/copy.ledger")
        check_equal(len(place.entries(f"{place.d}/copy.ledger")), len(place.entries()), "all of them")
    finally:
        process.terminate()
        process.communicate()


def test_serve(place):
    """A server that is killed while others write to it."""
    acknowledged = 0
    for k in range(KILLS):
        process, url = serve(place)
        command = [LYNX, *signs(place, url, k)]
        client = subprocess.Popen(
            command, env=environment(**place.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(random.random() * 0.15)
        process.kill()
        process.communicate()
        out = client.communicate(timeout=60)[0]
        if "entry" in out.split("signed by")[-1]:
            acknowledged += 1
            told = [
                place.must("ledger", "entry", place.ledger, e["index"], "--raw").stdout for e in place.entries()[-2:]
            ]
            check(
                any(json.load(open(f"{place.d}/s.json"))["payload"] in t for t in told),
                f"acknowledged and not there: {out}",
            )
        if k % 10 == 0:
            place.holds()
    place.holds()


@pytest.mark.skipif(not found, reason="there is no PostgreSQL (the package postgresql)")
def test_postgresql(place):
    with folder() as pg:
        check_postgresql(place, Server(pg))


def check_postgresql(place, server):
    try:
        url, key = server.url("team"), {"LYNXBENCH_LOG_KEY": f"{place.d}/log.key"}
        for _ in range(100):
            if place("ledger", "create", url, **key).returncode == 0:
                break
            time.sleep(0.1)
        acknowledged = []
        for k in range(KILLS):
            out, _ = place.killed(*signs(place, url, k), within=0.12, **key)
            if "entry" in out.split("signed by")[-1]:
                acknowledged.append(json.load(open(f"{place.d}/s.json"))["payload"])
        r = place("audit", url, **key)
        check_equal(r.returncode, 0, f"{r.stdout} {r.stderr}")
        n = len(place("ledger", "list", url, **key).stdout.splitlines())
        every = "".join(place("ledger", "entry", url, i, "--raw", **key).stdout for i in range(n))
        check_equal([a for a in acknowledged if a not in every], [], "acknowledged and not there")
    finally:
        server.kill()


if __name__ == "__main__":
    main(__file__)
