"""A ledger in PostgreSQL: the suite of all stores, the commands, two writers, and a server that is killed meanwhile."""

import concurrent.futures
import glob
import pwd
import random

import pytest
from lynx import *

found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
BIN = found[-1] if found else ""
ROOT = os.getuid() == 0
pytestmark = pytest.mark.skipif(not found, reason="there is no PostgreSQL (the package postgresql)")


def as_user(*command):
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command] if ROOT else list(command)


class Server:
    def __init__(self, d):
        self.d, self.port = d, free_port()
        os.chmod(d, 0o755)
        self.data = f"{d}/data"
        os.mkdir(self.data, 0o700)
        if ROOT:
            shutil.chown(self.data, "postgres", "postgres")
        r = subprocess.run(
            as_user(f"{BIN}/initdb", "-D", self.data, "-U", "lynx", "--auth=trust", "-E", "UTF8", "--locale=C"),
            capture_output=True,
            text=True,
            cwd="/",
        )
        if r.returncode:
            raise RuntimeError(r.stderr)
        self.start()
        for name in ("suite", "team", "settings"):
            subprocess.run([f"{BIN}/createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "lynx", name], check=True)

    def url(self, name):
        return f"postgresql://lynx@127.0.0.1:{self.port}/{name}"

    def start(self):
        self.process = subprocess.Popen(
            as_user(
                f"{BIN}/postgres",
                "-D",
                self.data,
                "-p",
                str(self.port),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                f"unix_socket_directories={self.data}",
            ),
            stderr=open(f"{self.d}/server.log", "a"),
            cwd="/",
        )
        for _ in range(300):
            if subprocess.run([f"{BIN}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(open(f"{self.d}/server.log").read()[-2000:])

    def kill(self):
        """All of it, at once, as when the machine fails."""
        children = (
            subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
            ).stdout.split()
            if shutil.which("ps")
            else []
        )
        self.process.kill()
        for pid in children:
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        self.process.wait()
        time.sleep(0.3)
        with contextlib.suppress(OSError):
            os.unlink(f"{self.data}/postmaster.pid")

    def sql(self, name, text):
        return subprocess.run(
            [f"{BIN}/psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "lynx", "-d", name, "-Atc", text],
            capture_output=True,
            text=True,
        )


class Team:
    """A ledger in a server of its own, and a team that may add to it."""

    def __init__(self, d):
        self.d, self.server = d, Server(d)
        self.url = self.server.url("team")
        self.env = {
            "HOME": d,
            "XDG_STATE_HOME": f"{d}/state",
            "LYNXBENCH_KEY": f"{d}/ml.key",
            "LYNXBENCH_LOG_KEY": f"{d}/log.key",
        }
        self("ledger", "key", "ml", "--out", d)
        self.none_yet = self("ledger", "list", self.url)
        r = self("ledger", "create", self.url)
        assert r.returncode == 0, r.stderr
        shutil.copy(f"{SOURCE}/examples/null.yaml", f"{d}/c.yaml")
        r = self("ledger", "sign", f"{d}/c.yaml", "--ledger", self.url)
        assert r.returncode == 0, r.stderr
        r = self("run", f"{d}/c.yaml", "--out", f"{d}/c.lynx", "--ledger", self.url, "--quiet")
        assert r.returncode in RAN, r.stderr

    def __call__(self, *args, **env):
        return lynx(*args, env={**self.env, **env})

    def write(self, team, n):
        """n entries under a state of the team's own; those that were acknowledged, and the others."""
        acknowledged, failed = [], []
        for i in range(n):
            name = f"{team} {i}"
            to = ("--reservation", name, "--out", f"{self.d}/{team}.{i}.json")
            r = self(
                "ledger", "sign", f"{self.d}/c.yaml", "--ledger", self.url, *to, XDG_STATE_HOME=f"{self.d}/state-{team}"
            )
            (acknowledged if r.returncode == 0 else failed).append(name)
        return acknowledged, failed

    def audit(self, state):
        env = {"XDG_STATE_HOME": f"{self.d}/state-{state}"}
        check_equal(self("audit", self.url, **env).returncode, 0, f"{state}: audit")
        return self("ledger", "list", self.url, **env).stdout


@pytest.fixture(scope="module")
def team():
    if ROOT and not any(u.pw_name == "postgres" for u in pwd.getpwall()):
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres to run it as")
    with folder() as d:
        team = Team(d)
        try:
            yield team
        finally:
            team.server.process.terminate()
            team.server.process.wait(20)


def test_the_suite_of_all_stores(team):
    env = environment(LYNXBENCH_TEST_POSTGRES=team.server.url("suite"))
    r = subprocess.run([f"{BUILD}/tests/test_store"], env=env, capture_output=True, text=True, timeout=300)
    check_equal(r.returncode, 0, f"the suite: {r.stdout[-2000:]} {r.stderr[-500:]}")
    check(int(r.stdout.split()[-4]) > 600, f"the suite ran on both stores: {r.stdout}")


def test_a_ledger_is_begun_once(team):
    check_equal(team.none_yet.returncode, 2, "no ledger yet")
    check_equal(team("ledger", "create", team.url).returncode, 2, "a ledger is never begun twice")


def test_settings_in_an_address_are_not_its_name(team):
    url = team.server.url("settings") + "?connect_timeout=9"
    r = team("ledger", "create", url, LYNXBENCH_LOG_KEY=f"{team.d}/settings.key")
    check_in("the ledger settings,", r.stdout, r.stderr)


def test_the_bundle_comes_out_as_it_went_in(team):
    listed = team("ledger", "list", team.url, "--json").stdout.splitlines()
    root = [e["subjects"]["bundle"] for e in map(json.loads, listed) if "bundle" in e["subjects"]][-1]
    check_equal(team("ledger", "get", team.url, root, "--out", f"{team.d}/out.lynx").returncode, 0, "get")
    with open(f"{team.d}/out.lynx", "rb") as a, open(f"{team.d}/c.lynx", "rb") as b:
        check(a.read() == b.read(), "the same bytes")
    shown = team("show", f"{team.d}/c.lynx", "--ledger", team.url).stdout
    check_in("1 run of it started, 1 sealed", shown, "standing")
    team.audit("out")


def test_a_password_in_the_address_is_nobodys_to_read(team):
    secret = team.url.replace("lynx@", "lynx:s3cret@")
    for args in (
        ["ledger", "list", secret],
        ["audit", secret],
        ["ledger", "sign", f"{team.d}/c.yaml", "--ledger", secret],
        ["ledger", "create", secret],
        ["show", f"{team.d}/c.lynx", "--ledger", secret],
        ["ledger", "entry", secret, "99"],
        ["ledger", "list", secret.replace("/team", "/nothing")],
        ["ledger", "list", "postgresql://lynx:s3cret@127.0.0.1:1/team"],
    ):
        r = team(*args)
        check("s3cret" not in r.stdout + r.stderr, f"{args[:2]}: {r.stdout[-300:]} {r.stderr}")


CHANGES = ["UPDATE lynxbench.entry SET value=''", "DELETE FROM lynxbench.hash", "TRUNCATE lynxbench.blob"]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_there_stays(team, change):
    check_in("only added to", team.server.sql("team", change).stderr, change)


def at_once(team, names, n, meanwhile=None):
    """Writers beside one another: all that was acknowledged, and all that was not."""
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        writing = [pool.submit(team.write, name, n) for name in names]
        if meanwhile:
            meanwhile()
        done = [w.result() for w in writing]
    return sum((a for a, _ in done), []), sum((f for _, f in done), [])


def test_two_writers_at_once(team):
    acknowledged, failed = at_once(team, ["one", "two"], 12)
    check_equal((len(acknowledged), failed), (24, []), "two writers")
    listed = team.audit("writers")
    check_equal([a for a in acknowledged if a not in listed], [], "acknowledged entries that are lost")


@pytest.mark.parametrize("k", range(3))
def test_a_server_that_is_killed_under_two_writers(team, k):
    """What was acknowledged is there afterwards, and the tree holds."""

    def kill():
        time.sleep(0.1 + random.random() * 0.3)
        team.server.kill()

    acknowledged, failed = at_once(team, [f"r{k}a", f"r{k}b"], 10, kill)
    team.server.start()
    print(f"{len(acknowledged)} acknowledged, {len(failed)} refused while the server was down")
    listed = team.audit(f"round{k}")
    check_equal([a for a in acknowledged if a not in listed], [], "acknowledged entries that are lost")


def test_a_served_ledger_whose_database_is_cut_off_or_started_again(team):
    """What was answered is there; the server goes on by itself."""
    words = [LYNX, "serve", team.url, "--port", "0"]
    server = subprocess.Popen(words, env=environment(**team.env), stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().split(" on ")[1].split("/ ")[0]

    def sign(text):
        more = ("--reservation", text, "--out", f"{team.d}/{text}.json")
        return team("ledger", "sign", f"{team.d}/c.yaml", "--ledger", url, *more, HOME=f"{team.d}/other").returncode

    try:
        check_equal(sign("before"), 0, "before")
        team.server.sql("team", "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        found = [sign(f"cut {i}") == 0 for i in range(3)]
        check_equal(found[1:], [True] * 2, "after a cut, at the latest the second time")
        team.server.kill()
        check(sign("gone") != 0, "without a database")
        team.server.start()
        check_equal([sign(f"again {i}") == 0 for i in range(3)][1:], [True] * 2, "a database that is back")
    finally:
        server.send_signal(signal.SIGINT)
        check_equal(server.wait(20), 0, "serve ends")
    listed = team("ledger", "list", team.url).stdout
    for text in ("before", "cut 2", "again 2"):
        check_equal(listed.count(text), 1, text)
    check_equal(team("audit", team.url).returncode, 0, "it holds")


def test_no_server_and_no_such_store(team):
    r = team("ledger", "list", f"postgresql://lynx@127.0.0.1:{free_port()}/team")
    check_equal(r.returncode, 2, "no server")
    check_in("cannot be reached", r.stderr, "no server")
    check_equal(team("ledger", "list", "mysql://x/y").returncode, 2, "no such store")


if __name__ == "__main__":
    main(__file__)
