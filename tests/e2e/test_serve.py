"""A ledger over HTTP: other homes read and add to it; strangers add nothing; a server that goes back, forks or serves
altered bytes is found out; tiles are those of the published layout."""

import base64
import concurrent.futures
import functools
import http.client
import random
import threading
import urllib.request
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lynx import *


class Serving:
    """lynxbench serve, ready on a port of its own."""

    def __init__(self, ledger, home):
        self.process = subprocess.Popen(
            [LYNX, "serve", ledger, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(HOME=home, XDG_STATE_HOME=home),
        )
        line = self.process.stdout.readline()
        if "serving" not in line:
            raise RuntimeError(line)
        self.url = line.split(" on ")[1].split()[0]
        self.port = int(self.url.rsplit(":", 1)[1].strip("/"))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        rest = self.process.communicate(timeout=20)[0]
        check("Sanitizer" not in rest, rest[-2000:])
        check_equal(self.process.returncode, 0, "serve ends with 0")

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request(method, path, body)
        r = c.getresponse()
        return r.status, r.read()


class Teams:
    """A ledger that its keeper serves, and homes of others. Each step is taken when a case first needs it."""

    def __init__(self, d):
        self.d, self.ledger = d, f"{d}/team.ledger"
        for team in ("ml", "sre", "stranger"):
            self.must("key", team, "--out", d)
        self.must("log", "create", self.ledger, key="ml")
        self.must("log", "policy", self.ledger, "--team", f"{d}/sre.pub", "--witness", "--quorum", "1", key="ml")
        shutil.copy(f"{SOURCE}/examples/null.yaml", f"{d}/c.yaml")
        self.server = Serving(self.ledger, f"{d}/keeper")
        self.url = self.server.url

    def __call__(self, *args, home="keeper", key=None, **kw):
        env = {"HOME": f"{self.d}/{home}", "XDG_STATE_HOME": f"{self.d}/{home}"}
        if key:
            env["LYNXBENCH_KEY"] = f"{self.d}/{key}.key"
        os.makedirs(f"{self.d}/{home}", exist_ok=True)
        return lynx(*args, env=env, **kw)

    def must(self, *args, **kw):
        r = self(*args, **kw)
        assert r.returncode == 0, f"{args}: {r.stdout} {r.stderr}"
        return r

    def sign(self, ledger, name=None, **kw):
        more = ("--reservation", name, "--out", f"{self.d}/{name}.json") if name else ()
        return self("sign", f"{self.d}/c.yaml", "--ledger", ledger, *more, **kw)

    @functools.cached_property
    def run(self):
        """The bundle of a run that was recorded over HTTP."""
        r = self.sign(self.url, home="sre", key="sre")
        assert r.returncode == 0, r.stderr
        self.must("witness", self.url, home="sre", key="sre")
        out = f"{self.d}/c.lynx"
        r = self("run", f"{self.d}/c.yaml", "--out", out, "--ledger", self.url, "--quiet", home="ml", key="ml")
        assert r.returncode in (0, 4), f"run: {r.stderr}"
        return out

    @functools.cached_property
    def copy(self):
        """A third home's copy of the ledger."""
        assert self.run
        self.must("pull", self.url, f"{self.d}/copy.ledger", home="third")
        return f"{self.d}/copy.ledger"


@pytest.fixture(scope="module")
def teams():
    with folder() as d:
        teams = Teams(d)
        yield teams
        teams.server.stop()


def test_a_stranger_is_refused_in_the_servers_words(teams):
    r = teams.sign(teams.url, home="stranger", key="stranger")
    check_equal(r.returncode, 2, "a stranger")
    check_in("not signed by a team", r.stderr, "the server's words")


def test_a_run_is_recorded_over_http(teams):
    shown = teams("show", teams.run, "--ledger", teams.url, "--json", home="sre").stdout
    out = json.loads(shown.splitlines()[1])
    check_equal((out["recorded"], out["runs_started"], out["runs_sealed"]), (True, 1, 1), "the run is recorded")


def test_pull_brings_entries_and_bundles(teams, d):
    listed = teams("log", "list", teams.copy, "--json", home="third").stdout.splitlines()
    root = next(e for e in map(json.loads, listed) if e["kind"] == "bundle")["subjects"]["bundle"]
    teams.must("log", "get", teams.copy, root, "--out", f"{d}/pulled.lynx", home="third")
    with open(f"{d}/pulled.lynx", "rb") as a, open(teams.run, "rb") as b:
        check(a.read() == b.read(), "the same bytes")
    check_equal(teams("audit", teams.copy, home="third").returncode, 0, "the copy holds")
    why = ("--ground", "method", "--text", "five sessions are few", "--ledger", teams.url)
    r = teams("contest", f"{d}/pulled.lynx", *why, home="sre", key="sre")
    check_equal(r.returncode, 0, f"contest over HTTP: {r.stderr}")


def test_a_copy_is_not_added_to(teams):
    r = teams.sign(teams.copy, home="third", key="sre")
    check_equal(r.returncode, 2, "a copy")
    check_in("log's key is not at hand", r.stderr, "a copy")


def test_a_ledger_of_ones_own_pushed(teams):
    """Each entry once, its bundle with it; a stranger's is refused by name."""
    own = f"{teams.d}/own.ledger"
    teams.must("log", "create", own, home="ml", key="ml")
    for team in ("stranger", "sre"):
        teams.must("log", "policy", own, "--team", f"{teams.d}/{team}.pub", home="ml", key="ml")
    teams.sign(own, "pushed", home="ml", key="ml")
    # Not ml: in the second of its run that would be the entry the server has.
    teams("log", "put", own, teams.run, home="ml", key="sre")
    r = teams("push", own, teams.url, home="ml")
    check_equal(r.returncode, 0, f"push: {r.stdout} {r.stderr}")
    check_in("3 entries sent", r.stdout, "push")
    r = teams("push", own, teams.url, home="ml")
    check_in("0 entries sent, 3 were there already, 0 refused; 0 bundles sent", r.stdout, "push again")
    teams.sign(own, "strange", home="ml", key="stranger")
    r = teams("push", own, teams.url, home="ml")
    check_equal(r.returncode, 1, "a stranger's entry is not taken")
    check_in("by stranger", r.stderr, "and is named")


NOTHING = [
    ("POST", "/add", b"{}", 400),
    ("POST", "/add", b"x" * 70000, 413),
    ("POST", "/cosign", b"no note", 400),
    ("PUT", "/blob/" + "00" * 32, b"x", 403),
    ("GET", "/blob/zz", None, 404),
    ("GET", "/tile/0/999", None, 404),
    ("GET", "/tile/0/000", None, 404),
    ("GET", "/tile/9/000", None, 404),
    ("GET", "/tile/0/x000/000.p/1", None, 404),
    ("GET", "/tile/entries/../..", None, 404),
    ("GET", "/../../etc/passwd", None, 404),
    ("DELETE", "/add", None, 404),
    ("GET", "/", None, 404),
]


@pytest.mark.parametrize("method, path, body, wanted", NOTHING)
def test_what_is_no_entry_or_too_much_or_names_nothing(teams, method, path, body, wanted):
    status, answer = teams.server.ask(method, path, body)
    check_equal(status, wanted, f"{method} {path}: {answer[:100]}")


def test_many_at_once(teams):
    """Each entry once, none lost."""
    n = 5 if SANITIZED else 12

    def many(team):
        names = [f"{team} no. {i} of many" for i in range(n)]
        return [x for x in names if teams.sign(teams.url, x, home=team, key=team).returncode == 0]

    assert teams.run
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = [x for taken in pool.map(many, ("ml", "sre")) for x in taken]
    listed = teams("log", "list", teams.url, home="fourth").stdout
    check_equal([x for x in names if listed.count(x) != 1], [], "entries lost or twice")
    check_equal(len(names), 2 * n, "all were taken")


def hash_of(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def subtree(hashes):
    while len(hashes) > 1:
        hashes = [hash_of(b"\1", hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
    return hashes[0]


def root_of(leaves):
    parts, done = [], 0
    for level in range(len(leaves).bit_length() - 1, -1, -1):
        if len(leaves) >> level & 1:
            parts.append(subtree(leaves[done : done + (1 << level)]))
            done += 1 << level
    root = parts[-1]
    for p in reversed(parts[:-1]):
        root = hash_of(b"\1", p, root)
    return root


def test_the_tiles_are_those_of_the_published_layout(teams):
    """The root from them is the checkpoint's."""
    assert teams.run
    read = lambda path: urllib.request.urlopen(teams.url + path).read()
    note = read("checkpoint").decode().splitlines()
    size = int(note[1])
    leaves, entries = read(f"tile/0/000.p/{size}"), read(f"tile/entries/000.p/{size}")
    leaves, at = [leaves[i : i + 32] for i in range(0, len(leaves), 32)], 0
    for leaf in leaves:
        n = int.from_bytes(entries[at : at + 2], "big")
        check(hash_of(b"\0", entries[at + 2 : at + 2 + n]) == leaf, "an entry's hash is in the tile")
        at += 2 + n
    check_equal(base64.b64encode(root_of(leaves)).decode(), note[2], "the root from the tiles")


# --- the same bytes as files, served by any web server; altered ---


@pytest.fixture
def www(teams, d):
    assert teams.copy
    teams.must("log", "export", teams.ledger, f"{d}/www")

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *a, **k):
            super().__init__(*a, directory=f"{d}/www", **k)

        def log_message(self, *a):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_port}/"
    web.shutdown()


def test_pull_from_static_files(teams, www, d):
    shutil.copy(teams.copy, f"{d}/copy.ledger")
    r = teams("pull", www, f"{d}/copy.ledger", home="third")
    check_equal(r.returncode, 0, f"pull from static files: {r.stderr}")


def test_pull_from_altered_files(teams, www, d):
    """A copy makes its own hashes: tiles of those are not read."""
    files = sorted(os.path.join(p, f) for p, _, fs in os.walk(f"{d}/www") for f in fs)
    files = [f for f in files if "/tile/0" not in f and os.path.getsize(f)]
    for k, path in enumerate(files * (1 if SANITIZED else 4)):
        with open(path, "rb") as f:
            kept = f.read()
        data, at = bytearray(kept), random.randrange(len(kept))
        data[at] ^= 1 << random.randrange(8)
        with open(path, "wb") as f:
            f.write(data)
        r = teams("pull", www, f"{d}/altered{k}.ledger", home="fourth")
        check(r.returncode in (1, 2, 5), f"{path}, byte {at}: exit {r.returncode}: {r.stdout} {r.stderr}")
        with open(path, "wb") as f:
            f.write(kept)


# --- a server that goes back, or forks ---


@pytest.fixture
def older(teams, d):
    """A ledger that is served, as it was before an entry that a copy has; and that copy."""
    assert teams.copy
    ledger = f"{d}/first.ledger"
    with sqlite3.connect(teams.ledger) as source, sqlite3.connect(ledger) as to:
        source.backup(to)
    shutil.copy(teams.ledger + ".key", ledger + ".key")
    assert teams.sign(teams.url, os.path.basename(d), home="ml", key="ml").returncode == 0
    copy = f"{d}/copy.ledger"
    teams.must("pull", teams.url, copy, home="watching")
    server = Serving(ledger, f"{d}/other")
    yield server, copy
    server.stop()


def test_rolled_back(teams, older):
    server, copy = older
    r = teams("pull", server.url, copy, home="watching")
    check_equal(r.returncode, 1, "rolled back")
    check_in("ROLLED BACK", r.stderr, "rolled back")


def test_forked(teams, older):
    server, copy = older
    assert teams.sign(server.url, "another", home="ml2", key="ml").returncode == 0
    r = teams("pull", server.url, copy, home="watching")
    check_equal(r.returncode, 1, "forked")
    check_in("FORKED", r.stderr, "forked")
    check_equal(teams("audit", copy, home="watching").returncode, 0, "the copy is as it was")


def test_nobody_serves(teams):
    url = f"http://127.0.0.1:{free_port()}/"
    r = teams("log", "list", url, home="fifth")
    check_equal(r.returncode, 2, "nobody serves")
    check_in(url.rstrip("/"), r.stderr, "nobody serves")


if __name__ == "__main__":
    main(__file__)
