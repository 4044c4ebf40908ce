"""A ledger over HTTP: other homes read and add to it; strangers add nothing; a server that goes back, forks or serves
altered bytes is found out; tiles are those of the published layout."""

import base64
import concurrent.futures
import functools
import glob
import http.client
import random
import re
import sqlite3
import threading
import time
import urllib.request
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lynx import *


class Serving:
    """lynxbench serve, ready on a port of its own."""

    def __init__(self, ledger, home, *more, **env):
        self.process = subprocess.Popen(
            [LYNX, "serve", ledger, "--port", "0", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(HOME=home, XDG_STATE_HOME=home, **env),
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

    def answer(self, method, path, body=None, headers={}, source=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20, source_address=source)
        c.request(method, path, body, headers)
        r = c.getresponse()
        return r, r.read()

    def ask(self, *args, **more):
        r, body = self.answer(*args, **more)
        return r.status, body


class Teams:
    """A ledger that its keeper serves, and homes of others. Each step is taken when a case first needs it."""

    def __init__(self, d):
        self.d, self.ledger = d, f"{d}/team.ledger"
        for team in ("ml", "sre", "stranger"):
            self.must("ledger", "key", team, "--out", d)
        self.must("ledger", "create", self.ledger, key="ml")
        self.must("ledger", "policy", self.ledger, "--team", f"{d}/sre.pub", "--witness", "--quorum", "1", key="ml")
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
        return self("ledger", "sign", f"{self.d}/c.yaml", "--ledger", ledger, *more, **kw)

    @functools.cached_property
    def run(self):
        """The bundle of a run that was recorded over HTTP."""
        r = self.sign(self.url, home="sre", key="sre")
        assert r.returncode == 0, r.stderr
        self.must("ledger", "witness", self.url, home="sre", key="sre")
        out = f"{self.d}/c.lynx"
        r = self("run", f"{self.d}/c.yaml", "--out", out, "--ledger", self.url, "--quiet", home="ml", key="ml")
        assert r.returncode in RAN, f"run: {r.stderr}"
        return out

    @functools.cached_property
    def copy(self):
        """A third home's copy of the ledger."""
        assert self.run
        self.must("ledger", "pull", self.url, f"{self.d}/copy.ledger", home="third")
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
    listed = teams("ledger", "list", teams.copy, "--json", home="third").stdout.splitlines()
    root = next(e for e in map(json.loads, listed) if e["kind"] == "bundle")["subjects"]["bundle"]
    teams.must("ledger", "get", teams.copy, root, "--out", f"{d}/pulled.lynx", home="third")
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
    teams.must("ledger", "create", own, "--origin", "team.ledger", home="ml", key="ml")
    for team in ("stranger", "sre"):
        teams.must("ledger", "policy", own, "--team", f"{teams.d}/{team}.pub", home="ml", key="ml")
    teams.sign(own, "pushed", home="ml", key="ml")
    # Not ml: in the second of its run that would be the entry the server has.
    teams("ledger", "put", own, teams.run, home="ml", key="sre")
    r = teams("ledger", "push", own, teams.url, home="ml")
    check_equal(r.returncode, 0, f"push: {r.stdout} {r.stderr}")
    check_in("3 entries sent", r.stdout, "push")
    r = teams("ledger", "push", own, teams.url, home="ml")
    check_in("0 entries sent, 3 were there already, 0 refused; 0 bundles sent", r.stdout, "push again")
    teams.sign(own, "strange", home="ml", key="stranger")
    r = teams("ledger", "push", own, teams.url, home="ml")
    check_equal(r.returncode, 1, "a stranger's entry is not taken")
    check_in("by stranger", r.stderr, "and is named")


def test_an_entry_is_for_the_ledger_that_it_was_signed_for(teams, d):
    """Who has an entry of another ledger, or a signature of none, cannot enter it here."""
    teams.must("ledger", "create", f"{d}/b.ledger", home="ml", key="ml")
    teams.sign(f"{d}/b.ledger", "for-another", home="ml", key="ml")
    r = teams("ledger", "add", teams.url, f"{teams.d}/for-another.json", home="third")
    check_equal(r.returncode, 2, "an entry of another ledger")
    check_in("signed for the ledger 'b.ledger', and this one is 'team.ledger'", r.stderr, "and which")
    r = teams("ledger", "sign", f"{teams.d}/c.yaml", "--out", f"{d}/s.json", home="ml", key="ml")
    check_in("--for ORIGIN", r.stdout, "of none")
    r = teams("ledger", "add", teams.url, f"{d}/s.json", home="third")
    check_equal((r.returncode, "signed for no ledger" in r.stderr), (2, True), r.stderr)
    more = ("--for", "team.ledger", "--reservation", "later", "--out", f"{d}/t.json")
    teams.must("ledger", "sign", f"{teams.d}/c.yaml", *more, home="ml", key="ml")
    check_equal(teams("ledger", "add", teams.url, f"{d}/t.json", home="third").returncode, 0, "signed for this one")


def test_a_ledger_of_format_1_is_read_and_says_so(teams, d):
    """Its entries name no ledger; what is added to it from now on does, and it takes no others once its policy does."""
    shutil.copy(f"{SOURCE}/tests/recorded/ledger/format-1.ledger", f"{d}/old.ledger")
    r = teams("audit", f"{d}/old.ledger", "--json", home="third")
    check_equal(r.returncode, 0, r.stderr)
    check_in("4 entries are of format 1", r.stdout, "said by an audit")
    check_equal(len(teams.must("ledger", "list", f"{d}/old.ledger", home="third").stdout.splitlines()), 4, "read")
    b = f"{d}/new.ledger"
    teams.must("ledger", "create", b, "--origin", "old.ledger", home="ml", key="ml")
    teams.must("ledger", "policy", b, "--team", f"{teams.d}/sre.pub", home="ml", key="ml")
    for i in (2, 3):
        with open(f"{d}/{i}.json", "w") as f:
            f.write(teams.must("ledger", "entry", f"{d}/old.ledger", i, "--raw", home="third").stdout)
        r = teams("ledger", "add", b, f"{d}/{i}.json", home="third", key="ml")
        check_equal(r.returncode, 2, r.stdout)
        check_in("format 1, which names no ledger", r.stderr, "an old entry into a new ledger")


def test_what_a_team_may_bring(teams, d):
    """Entries and the files that they name count against a quota of the policy, whoever signs it."""
    teams.must("ledger", "create", f"{d}/q.ledger", home="q", key="ml")
    quota = ("--team", f"{teams.d}/sre.pub", "--quota")
    for size, code in (("5", 0), ("3 KiB", 2), ("-1", 2), ("9999999TiB", 2), ("0", 2), ("20KiB", 0)):
        check_equal(teams("ledger", "policy", f"{d}/q.ledger", *quota, size, home="q", key="ml").returncode, code, size)
    server = Serving(f"{d}/q.ledger", f"{d}/q")
    r = teams("ledger", "put", server.url, teams.run, home="sre", key="sre")
    check_equal(r.returncode, 2, "a bundle above the quota")
    check_in("at most 20480 are agreed", r.stderr, "and what is agreed")
    more = ("--out", f"{d}/s.json", "--ledger", server.url, "--reservation")
    codes = []
    for i in range(6):
        codes.append(
            teams("ledger", "sign", f"{teams.d}/c.yaml", *more, f"{i}" * 3000, home="sre", key="sre").returncode
        )
    check(codes[0] == 0 and codes[-1] == 2, f"entries count too: {codes}")
    check_equal(teams.sign(server.url, "of another", home="ml", key="ml").returncode, 0, "another team has its own")
    teams.must("ledger", "policy", f"{d}/q.ledger", *quota, "500KiB", home="q", key="ml")  # beside the server
    codes = [
        teams("ledger", "sign", f"{teams.d}/c.yaml", *more, "more", home="sre", key="sre").returncode for _ in range(2)
    ]
    check_equal(codes, [0, 0], "what an admin agrees holds from the next entry on, and a replay stays one entry")
    server.stop()


def test_what_was_counted_is_remembered(teams, d):
    """A server that is started again does not count again, unless what it finds is of another tree, or damaged."""
    home = f"{d}/again"
    teams.must("ledger", "create", f"{d}/again.ledger", home="again", key="ml")
    teams.must("ledger", "policy", f"{d}/again.ledger", "--team", f"{teams.d}/sre.pub", home="again", key="ml")

    def serve_and_sign(words):
        server = Serving(f"{d}/again.ledger", home)
        more = ("--out", f"{d}/again.json", "--ledger", server.url, "--reservation", words)
        r = teams("ledger", "sign", f"{teams.d}/c.yaml", *more, home="sre", key="sre")
        server.stop()
        return r

    check_equal(serve_and_sign("first").returncode, 0, "before anything is remembered")
    (path,) = glob.glob(f"{home}/lynxbench/ledgers/*.counted")
    check_equal(os.stat(path).st_mode & 0o777, 0o600, "for its owner alone")
    with open(path) as f:
        text = f.read()
    kept = json.loads(text)
    n = kept["entries"]
    check_equal(n, 4, "the policy, its change, the contract, the signature")
    much = kept | {"teams": [{"team": t["team"], "bytes": 1 << 50} for t in kept["teams"]]}
    with open(path, "w") as f:
        json.dump(much, f)
    check_in("at most", serve_and_sign("second").stderr, "what is remembered is not counted again")
    other_tree, longer = json.dumps(much | {"root": "0" * 64}), json.dumps(much | {"entries": 99})
    greatest = json.dumps(much | {"teams": [t | {"bytes": (1 << 63) - 1} for t in much["teams"]]})
    twice = json.dumps(much | {"teams": much["teams"] + much["teams"]})
    other_way = json.dumps(much | {"counting": 0})
    for i, wrong in enumerate((other_tree, longer, text[:40], "", "[]", greatest, twice, other_way), 1):
        with open(path, "w") as f:
            f.write(wrong)
        check_equal(serve_and_sign(f"again {i}").returncode, 0, f"counted again, not by {wrong[:60]!r}")
        with open(path) as f:
            check_equal(json.load(f)["entries"], n + i, "and remembered")


def test_a_file_is_as_long_as_its_entry_says(teams, blob):
    path, data = blob
    for n in (len(data) + 1, len(data) - 1, 0, 1 << 40):
        with socket.create_connection(("127.0.0.1", teams.server.port), timeout=20) as s:
            s.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {n}\r\n\r\n".encode())
            check_equal(s.recv(100)[9:12], b"400", f"{n} bytes")
    with socket.create_connection(("127.0.0.1", teams.server.port), timeout=20) as s:
        head = (
            f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: {len(data)}\r\n"
        )
        s.sendall(f"{head}\r\n5\r\nhello\r\n0\r\n\r\n".encode())
        check_in(s.recv(100)[9:12], (b"400", b"411"), "in chunks")
    check_equal(teams.server.ask("PUT", path, data)[0], 200, "as long as it says")


def test_a_ledger_is_read_while_it_is_written(teams, d):
    """Whoever writes takes SQLite's files away at the end; a caged reader cannot make them again."""
    path = f"{d}/w.ledger"
    teams.must("ledger", "create", path, home="w", key="ml")
    stop = threading.Event()

    def write():
        while not stop.is_set():
            teams("ledger", "policy", path, "--quorum", "0", home="w", key="ml")

    writer = threading.Thread(target=write)
    writer.start()
    found = [teams("audit", path, home="r") for _ in range(30)]
    stop.set()
    writer.join()
    wrong = [r.stdout + r.stderr for r in found if r.returncode != 0]
    check_equal(wrong, [], "every audit holds")


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
    ("GET", "/nothing", None, 404),
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
    listed = teams("ledger", "list", teams.url, home="fourth").stdout
    check_equal([x for x in names if listed.count(x) != 1], [], "entries lost or twice")
    check_equal(len(names), 2 * n, "all were taken")


def entries_of(server):
    """As they lie in its tile of entries."""
    width = int(server.ask("GET", "/checkpoint")[1].split()[1])
    tile, found = server.ask("GET", f"/tile/entries/000.p/{width}")[1], []
    while tile:
        n = int.from_bytes(tile[:2], "big")
        found.append(tile[2 : 2 + n])
        tile = tile[2 + n :]
    return found


def post_at_once(server, ledger, bodies):
    """All of them are there before the first can be added. Answers each one's status and what it says."""
    sent = threading.Barrier(len(bodies) + 1)

    def post(body):
        c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        c.request("POST", "/add", body)
        sent.wait()
        r = c.getresponse()
        return r.status, r.read()

    with sqlite3.connect(ledger, isolation_level=None) as db, concurrent.futures.ThreadPoolExecutor(64) as pool:
        db.execute("begin immediate")
        answers = [pool.submit(post, body) for body in bodies]
        sent.wait()
        time.sleep(0.5)
        db.execute("rollback")
        return [a.result() for a in answers]


def test_what_comes_at_once_is_added_at_once(teams, d):
    """In few transactions; nobody's entry suffers from another's, and together they stay under the quota."""
    teams.must("ledger", "create", f"{d}/o.ledger", home="o", key="ml")
    teams.must(
        "ledger", "policy", f"{d}/o.ledger", "--team", f"{teams.d}/sre.pub", "--quota", "20KiB", home="o", key="ml"
    )
    for suffix in ("ledger", "ledger.key"):
        shutil.copy(f"{d}/o.{suffix}", f"{d}/twin.{suffix}")
    for team in ("ml", "sre"):
        for i in range(10):
            more = ("--ledger", f"{d}/twin.ledger", "--reservation", f"{i}" * 3000, "--out", f"{d}/s.json")
            teams.must("ledger", "sign", f"{teams.d}/c.yaml", *more, home="twin", key=team)
    twin = Serving(f"{d}/twin.ledger", f"{d}/twin")
    entries = entries_of(twin)[3:]  # the policies and the contract came first
    twin.stop()
    ours, theirs = entries[:10], entries[10:]
    server = Serving(f"{d}/o.ledger", f"{d}/o")

    def checkpoints():
        with sqlite3.connect(f"{d}/o.ledger") as db:
            return db.execute("select count(*) from checkpoint").fetchone()[0]

    before = checkpoints()
    answers = post_at_once(server, f"{d}/o.ledger", ours[:5] * 2)
    check_equal([status for status, _ in answers], [200] * 10, answers)
    check_equal(answers[:5], answers[5:], "the same entry is at one place")
    check(checkpoints() - before < 5, f"{checkpoints() - before} checkpoints for 5 entries")
    altered = [x.replace(b'"sig":"', b'"sig":"AAAA') for x in ours]
    bad = [b"{}", b"", *altered]
    answers = post_at_once(server, f"{d}/o.ledger", [*bad, *ours[5:]])
    check_equal([status for status, _ in answers], [400] * len(bad) + [200] * 5, answers)
    answers = post_at_once(server, f"{d}/o.ledger", theirs)
    size = max(len(x) for x in theirs)
    wanted = 20480 // size
    check_equal(sorted(status for status, _ in answers), [200] * wanted + [413] * (10 - wanted), f"{size} bytes each")
    check_equal(len(entries_of(server)), 2 + 10 + wanted, "each once, and nothing else")
    server.stop()
    check_equal(teams("audit", f"{d}/o.ledger", home="o").returncode, 0, "it holds")


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
    teams.must("ledger", "export", teams.ledger, f"{d}/www")

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
    r = teams("ledger", "pull", www, f"{d}/copy.ledger", home="third")
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
        r = teams("ledger", "pull", www, f"{d}/altered{k}.ledger", home="fourth")
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
    teams.must("ledger", "pull", teams.url, copy, home="watching")
    server = Serving(ledger, f"{d}/other")
    yield server, copy
    server.stop()


def test_rolled_back(teams, older):
    server, copy = older
    r = teams("ledger", "pull", server.url, copy, home="watching")
    check_equal(r.returncode, 1, "rolled back")
    check_in("ROLLED BACK", r.stderr, "rolled back")


def test_forked(teams, older):
    server, copy = older
    assert teams.sign(server.url, "another", home="ml2", key="ml").returncode == 0
    r = teams("ledger", "pull", server.url, copy, home="watching")
    check_equal(r.returncode, 1, "forked")
    check_in("FORKED", r.stderr, "forked")
    check_equal(teams("audit", copy, home="watching").returncode, 0, "the copy is as it was")


# --- strangers at the door ---


@pytest.fixture(scope="module")
def blob(teams):
    """The path of the run's bundle, and its bytes."""
    with open(teams.run, "rb") as f:
        data = f.read()
    return "/blob/" + hashlib.sha256(data).hexdigest(), data


@pytest.mark.parametrize("slow", ["heads that do not come", "answers that are not read"])
def test_a_crowd_keeps_nobody_out(teams, blob, slow):
    """Three addresses take all the places that they can: who comes then is served at once."""
    crowd = []
    whole = f"GET {blob[0]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    head = whole[:20] if slow.startswith("heads") else whole
    try:
        for i in range(3 * 250):
            with contextlib.suppress(OSError):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                s.settimeout(5)
                s.bind((f"127.0.1.{1 + i % 3}", 0))
                crowd.append(s)
                s.connect(("127.0.0.1", teams.server.port))
                s.sendall(head)
        waits = []
        for _ in range(5):  # whoever had to wait for a place would wait for a head's ten seconds, each time
            began = time.monotonic()
            check_equal(teams.server.ask("GET", "/checkpoint", source=("127.0.2.9", 0))[0], 200, "a newcomer")
            waits.append(time.monotonic() - began)
        check(min(waits) < 9, f"answers took {waits} s; a head is waited for 10 s")
    finally:
        for s in crowd:
            s.close()


def test_who_does_not_read_takes_little_memory(teams, blob):
    """Of an answer of megabytes the system keeps little for one who does not read: there may be a crowd of them."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.connect(("127.0.0.1", teams.server.port))
        s.sendall(f"GET {blob[0]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.5)
        ends = f"0100007F:{teams.server.port:04X} 0100007F:{s.getsockname()[1]:04X}"
        with open("/proc/net/tcp") as f:
            [kept] = [int(line.split()[4].split(":")[0], 16) for line in f if ends in line]
    check(len(blob[1]) > 1 << 20, "a large answer")
    check(0 < kept < 1 << 19, f"{kept} bytes are kept")


@pytest.mark.parametrize(
    "head, code",
    [
        ("Host: localhost\r\nContent-Length: 2\r\nContent-Length: 5", "400"),
        ("Host: localhost\r\nContent-Length : 2", "400"),
        ("Host: localhost\r\nContent-Length: 0\0 2", "400"),
        ("Host: localhost\r\nContent-Length: 2\0", "400"),
        ("Host: localhost\r\nContent-Length: 2\0,5", "400"),
        ("Host: localhost\r\nX y: 1", "400"),
        ("Content-Length: 2", "400"),
        ("Host: localhost\r\nHost: evil.example\r\nContent-Length: 2", "400"),
        ("Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\nContent-Length: 2", "400"),
        ("Host: [::1]evil.example\r\nContent-Length: 2", "403"),
        ("Host: [::1\r\nContent-Length: 2", "403"),
        ("Host: localhost:80x\r\nContent-Length: 2", "403"),
        ("Host: localhost\r\nOrigin: https://\r\nContent-Length: 2", "403"),
        ("Host: localhost\r\nOrigin: null\r\nContent-Length: 2", "403"),
        ("Host: localhost\r\nOrigin: http://localhost:81\r\nContent-Length: 2", "403"),
    ],
)
def test_whom_a_request_is_for_is_said_once_and_whole(teams, head, code):
    with socket.create_connection(("127.0.0.1", teams.server.port), timeout=20) as s:
        second = "GET /checkpoint HTTP/1.1\r\nHost: localhost\r\n\r\n"
        s.sendall(f"POST /add HTTP/1.1\r\n{head}\r\n\r\n{{}}xyz{second}".encode())
        answer = b""
        while code == "400" and (more := s.recv(4096)):  # the rest of it is no second request
            answer += more
        check_equal((answer or s.recv(200)).decode()[9:12], code, head)
        check(len(re.findall(rb"HTTP/1\.1 \d{3} ", answer)) <= 1, answer)


@pytest.mark.long
def test_half_heads_keep_nobody_out(teams):
    """Each address has so many places, and a head must come within ten seconds."""
    halves = []
    for _ in range(64):
        s = socket.create_connection(("127.0.0.1", teams.server.port), timeout=20)
        with contextlib.suppress(OSError):
            s.sendall(b"GET /checkpoint HTTP/1.1\r\nHost: ")
        halves.append(s)
    status, _ = teams.server.ask("GET", "/checkpoint", source=("127.0.0.2", 0))
    check_equal(status, 200, "from another address meanwhile")
    began = time.time()
    for s in halves:
        with contextlib.suppress(OSError):
            s.sendall(b"x")  # a byte now and then holds no place
        with contextlib.suppress(OSError):
            check_equal(s.recv(1), b"", "it is shown the door")
        s.close()
    check(time.time() - began < 60, "all of them are gone")
    status, until = 0, time.time() + 30  # the server counts a place as free once it has seen the end of its connection
    while status != 200 and time.time() < until:
        with contextlib.suppress(OSError, http.client.HTTPException):
            status = teams.server.ask("GET", "/checkpoint")[0]
    check_equal(status, 200, "and others come in")


@pytest.mark.long
def test_a_body_that_does_not_come_is_not_waited_for_long(teams):
    """30 s, and a second more for every 64 KiB that it said it has."""
    with socket.create_connection(("127.0.0.1", teams.server.port), timeout=60) as s:
        s.sendall(b"POST /add HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
        began = time.time()
        with contextlib.suppress(OSError):
            while time.time() - began < 50 and s.recv(100):
                pass
        check(time.time() - began < 45, f"it took {time.time() - began:.0f} s")


def test_head_and_range(teams, blob):
    path, data = blob
    r, body = teams.server.answer("HEAD", path)
    check_equal((r.status, int(r.getheader("Content-Length")), body), (200, len(data), b""), "HEAD")
    whole = len(data)
    for header, first, last in (
        ("bytes=0-9", 0, 9),
        (f"bytes={whole - 5}-", whole - 5, whole - 1),
        ("bytes=-7", whole - 7, whole - 1),
        (f"bytes=3-{whole + 99}", 3, whole - 1),
    ):
        r, body = teams.server.answer("GET", path, headers={"Range": header})
        found = (r.status, r.getheader("Content-Range"), body == data[first : last + 1])
        check_equal(found, (206, f"bytes {first}-{last}/{whole}", True), header)
    check_equal(teams.server.ask("GET", path, headers={"Range": f"bytes={whole}-"})[0], 416, "beyond the end")
    for header in ("bytes=0-1,5-6", "lines=1-2", "bytes=9-3", "bytes=-", "bytes=x-1"):
        check_equal(teams.server.ask("GET", path, headers={"Range": header}), (200, data), f"{header}: the whole")


def test_nothing_is_copied_to_be_sent(teams, blob):
    """Ten at once: a file is read from the ledger a part at a time."""
    before = set(os.listdir("/tmp"))
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        bodies = list(pool.map(lambda _: teams.server.ask("GET", blob[0])[1], range(10)))
    check_equal([b == blob[1] for b in bodies], [True] * 10, "each whole")
    left = [x for x in set(os.listdir("/tmp")) - before if "lynxbench-serve" in x]
    check_equal(left, [], "files in /tmp")


def test_an_upload_leaves_nothing_behind_when_the_server_is_killed(teams, blob, d):
    """What has come lies in a file without a name."""
    shutil.copy(teams.ledger, f"{d}/own.ledger")
    for name in ("-wal", "-shm", ".key"):
        if os.path.exists(teams.ledger + name):
            shutil.copy(teams.ledger + name, f"{d}/own.ledger{name}")
    server = Serving(f"{d}/own.ledger", f"{d}/home")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        head = f"PUT {blob[0]} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(blob[1])}\r\n\r\n"
        s.sendall(head.encode() + blob[1][: len(blob[1]) // 2])
        time.sleep(0.5)
        server.process.kill()
        server.process.communicate()
    left = sorted(x for x in os.listdir(d) if not x.startswith("own.ledger") and x != "home")
    check_equal(left, [], "beside the ledger")


NOT_OURS = [
    ({"Host": "evil.example"}, 403),
    ({"Host": "127.0.0.1.evil.example"}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Host": "ledger.example"}, 200),
    ({"Host": "LOCALHOST:80"}, 200),
    ({"Host": "[::1]:80"}, 200),
    ({"Origin": "http://6.6.6.6"}, 403),
    ({"Origin": "http://127.0.0.1:1"}, 403),
    ({"Origin": "http://localhost:1"}, 403),
    ({"Origin": "https://ledger.example"}, 200),
    ({"Host": "localhost:80", "Origin": "http://LOCALHOST:80"}, 200),
]


def test_whom_a_request_is_for(teams, d):
    """A page elsewhere, or a name that was pointed here, cannot make a browser read or write."""
    with sqlite3.connect(teams.ledger) as source, sqlite3.connect(f"{d}/own.ledger") as to:
        source.backup(to)
    shutil.copy(teams.ledger + ".key", f"{d}/own.ledger.key")
    server = Serving(f"{d}/own.ledger", f"{d}/home", "--name", "ledger.example,other.example")
    for headers, wanted in NOT_OURS:
        check_equal(server.ask("GET", "/checkpoint", headers=headers)[0], wanted, f"{headers}")
        check_equal(server.ask("POST", "/add", b"{}", headers)[0], 400 if wanted == 200 else wanted, f"POST {headers}")
    server.stop()


def test_https(teams, d):
    with sqlite3.connect(teams.ledger) as source, sqlite3.connect(f"{d}/own.ledger") as to:
        source.backup(to)
    shutil.copy(teams.ledger + ".key", f"{d}/own.ledger.key")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*make, *names, "-keyout", f"{d}/k.pem", "-out", f"{d}/c.pem"], check=True, capture_output=True)
    pair = ("--certificate", f"{d}/c.pem", "--certificate-key", f"{d}/k.pem")
    server = Serving(f"{d}/own.ledger", f"{d}/home", *pair)
    check(server.url.startswith("https://"), server.url)
    trusting = {"HOME": d, "XDG_STATE_HOME": f"{d}/state", "LYNXBENCH_CA_FILE": f"{d}/c.pem"}
    r = lynx("ledger", "pull", server.url, f"{d}/copy.ledger", env=trusting)
    check_equal(r.returncode, 0, f"by who trusts the certificate: {r.stderr}")
    r = lynx("ledger", "pull", server.url, f"{d}/other.ledger", env={"HOME": d, "XDG_STATE_HOME": f"{d}/state2"})
    check_equal(r.returncode, 5, f"by who does not: {r.stderr}")
    server.stop()
    r = lynx("serve", f"{d}/own.ledger", "--port", "0", "--certificate", f"{d}/c.pem")
    check_equal(r.returncode, 2, "a certificate without its key")
    check_in("--certificate-key", r.stderr, "and what is missing")


def test_pull_says_what_is_missing_and_asks_again(teams, blob, d):
    """A file that is not served yet: success is not said of it, and the next pull brings it."""
    teams.must("ledger", "export", teams.ledger, f"{d}/www")
    stored = f"{d}/www{blob[0]}"
    os.rename(stored, f"{d}/aside")
    r = teams("ledger", "pull", f"{d}/www", f"{d}/copy.ledger", home="sixth")
    check_equal(r.returncode, 3, f"a file is missing: {r.stdout}")
    check_in(f"missing: the file {blob[0][6:22]}", r.stderr, "which")
    r = teams("ledger", "pull", f"{d}/www", f"{d}/copy.ledger", home="sixth")
    check_equal(r.returncode, 3, "it is still missing")
    r = teams("ledger", "pull", f"{d}/www", f"{d}/copy.ledger", "--no-bundles", home="sixth")
    check_equal(r.returncode, 0, "without")
    os.rename(f"{d}/aside", stored)
    r = teams("ledger", "pull", f"{d}/www", f"{d}/copy.ledger", home="sixth")
    check_equal(r.returncode, 0, f"now it is served: {r.stderr}")
    teams.must("ledger", "get", f"{d}/copy.ledger", blob_root(teams), "--out", f"{d}/out.lynx", home="sixth")


def blob_root(teams):
    listed = teams("ledger", "list", teams.url, "--json", home="seventh").stdout.splitlines()
    return next(e for e in map(json.loads, listed) if e["kind"] == "bundle")["subjects"]["bundle"]


def test_nobody_serves(teams):
    url = f"http://127.0.0.1:{free_port()}/"
    r = teams("ledger", "list", url, home="fifth")
    check_equal(r.returncode, 2, "nobody serves")
    check_in(url.rstrip("/"), r.stderr, "nobody serves")


if __name__ == "__main__":
    main(__file__)
