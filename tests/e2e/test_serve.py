"""A ledger over HTTP: other homes read and add to it; strangers add nothing; a server that goes back, forks or serves altered bytes is found
out; tiles are those of the published layout."""
import hashlib
import http.client
import random
import threading
import urllib.request
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from lynx import *


class Serving:
    """lynxbench serve, ready on a port of its own."""

    def __init__(self, ledger, home):
        self.process = subprocess.Popen([LYNX, "serve", ledger, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(HOME=home, XDG_STATE_HOME=home))
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


def subtree(hashes):
    while len(hashes) > 1:
        hashes = [hashlib.sha256(b"\1" + hashes[i] + hashes[i + 1]).digest() for i in range(0, len(hashes), 2)]
    return hashes[0]


with folder() as d:
    def L(*args, home="keeper", key=None, **kw):
        env = {"HOME": f"{d}/{home}", "XDG_STATE_HOME": f"{d}/{home}"}
        if key:
            env["LYNXBENCH_KEY"] = f"{d}/{key}.key"
        os.makedirs(f"{d}/{home}", exist_ok=True)
        return lynx(*args, env=env, **kw)

    ledger = f"{d}/team.ledger"
    for team in ("ml", "sre", "stranger"):
        L("key", team, "--out", d)
    L("log", "create", ledger, key="ml")
    L("log", "policy", ledger, "--team", f"{d}/sre.pub", "--witness", "--quorum", "1", key="ml")
    shutil.copy(f"{SOURCE}/examples/null.yaml", f"{d}/c.yaml")
    server = Serving(ledger, f"{d}/keeper")
    url = server.url
    # Another home: signs, runs, verifies, contests, all over HTTP.
    r = L("sign", f"{d}/c.yaml", "--ledger", url, home="sre", key="sre")
    check_equal(r.returncode, 0, f"sign: {r.stderr}")
    r = L("sign", f"{d}/c.yaml", "--ledger", url, home="stranger", key="stranger")
    check_equal(r.returncode, 2, "a stranger")
    check_in("not signed by a team", r.stderr, "a stranger is refused in the server's words")
    check_equal(L("witness", url, home="sre", key="sre").returncode, 0, "witness")
    r = L("run", f"{d}/c.yaml", "--out", f"{d}/c.lynx", "--ledger", url, "--quiet", home="ml", key="ml")
    check(r.returncode in (0, 4), f"run: {r.stderr}")
    out = json.loads(L("show", f"{d}/c.lynx", "--ledger", url, "--json", home="sre").stdout.splitlines()[1])
    check_equal((out["recorded"], out["runs_started"], out["runs_sealed"]), (True, 1, 1), "the run is recorded")
    check_equal(L("pull", url, f"{d}/copy.ledger", home="third").returncode, 0, "pull")
    root = [json.loads(x) for x in L("log", "list", f"{d}/copy.ledger", "--json", home="third").stdout.splitlines()][-1]["subjects"]["bundle"]
    check_equal(L("log", "get", f"{d}/copy.ledger", root, "--out", f"{d}/pulled.lynx", home="third").returncode, 0, "the bundle came with it")
    check_equal(open(f"{d}/pulled.lynx", "rb").read(), open(f"{d}/c.lynx", "rb").read(), "and is the same")
    check_equal(L("audit", f"{d}/copy.ledger", home="third").returncode, 0, "the copy holds")
    r = L("sign", f"{d}/c.yaml", "--ledger", f"{d}/copy.ledger", home="third", key="sre")
    check_equal(r.returncode, 2, "a copy is not added to")
    check_in("log's key is not at hand", r.stderr, "a copy is not added to")
    check_equal(L("contest", f"{d}/pulled.lynx", "--ground", "method", "--text", "five sessions are few", "--ledger", url, home="sre", key="sre").returncode, 0, "contest over HTTP")
    # A ledger of one's own, pushed: each entry once, its bundle with it; a stranger's is refused by name.
    own = f"{d}/own.ledger"
    L("log", "create", own, home="ml", key="ml")
    L("log", "policy", own, "--team", f"{d}/stranger.pub", home="ml", key="ml")
    L("log", "policy", own, "--team", f"{d}/sre.pub", home="ml", key="ml")
    L("sign", f"{d}/c.yaml", "--ledger", own, "--reservation", "pushed", "--out", f"{d}/p.json", home="ml", key="ml")
    L("log", "put", own, f"{d}/c.lynx", home="ml", key="sre")  # not ml: in the second of its run that would be the entry the server has
    r = L("push", own, url, home="ml")
    check_equal(r.returncode, 0, f"push: {r.stdout} {r.stderr}")
    check_in("3 entries sent", r.stdout, "push")
    r = L("push", own, url, home="ml")
    check_in("0 entries sent, 3 were there already, 0 refused; 0 bundles sent", r.stdout, "push again")
    L("sign", f"{d}/c.yaml", "--ledger", own, "--reservation", "strange", "--out", f"{d}/q.json", home="ml", key="stranger")
    r = L("push", own, url, home="ml")
    check_equal(r.returncode, 1, "a stranger's entry is not taken")
    check_in("by stranger", r.stderr, "and is named")
    # What is no entry, or too much, or names nothing.
    for method, path, body, wanted in (("POST", "/add", b"{}", 400), ("POST", "/add", b"x" * 70000, 413), ("POST", "/cosign", b"no note", 400), ("PUT", "/blob/" + "00" * 32, b"x", 403), ("GET", "/blob/zz", None, 404),
                                       ("GET", "/tile/0/999", None, 404), ("GET", "/tile/0/000", None, 404), ("GET", "/tile/9/000", None, 404), ("GET", "/tile/0/x000/000.p/1", None, 404), ("GET", "/tile/entries/../..", None, 404),
                                       ("GET", "/../../etc/passwd", None, 404), ("DELETE", "/add", None, 404), ("GET", "/", None, 404)):
        status, answer = server.ask(method, path, body)
        check_equal(status, wanted, f"{method} {path}: {answer[:100]}")
    # Many at once: each entry once, none lost.
    names = []

    def many(team):
        for i in range(5 if SANITIZED else 12):
            if L("sign", f"{d}/c.yaml", "--ledger", url, "--reservation", f"{team} no. {i} of many", "--out", f"{d}/{team}{i}.json", home=team, key=team).returncode == 0:
                names.append(f"{team} no. {i} of many")

    threads = [threading.Thread(target=many, args=(t,)) for t in ("ml", "sre")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    listed = L("log", "list", url, home="third").stdout
    check_equal([n for n in names if listed.count(n) != 1], [], "entries lost or twice")
    check_equal(len(names), 10 if SANITIZED else 24, "all were taken")
    # The tiles are those of the published layout: the root from them is the checkpoint's.
    note = urllib.request.urlopen(url + "checkpoint").read().decode()
    size = int(note.splitlines()[1])
    leaves = urllib.request.urlopen(f"{url}tile/0/000.p/{size}").read()
    leaves = [leaves[i:i + 32] for i in range(0, len(leaves), 32)]
    entries = urllib.request.urlopen(f"{url}tile/entries/000.p/{size}").read()
    at = 0
    for leaf in leaves:
        n = int.from_bytes(entries[at:at + 2], "big")
        check(hashlib.sha256(b"\0" + entries[at + 2:at + 2 + n]).digest() == leaf, "an entry's hash is in the tile")
        at += 2 + n
    parts, done = [], 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            parts.append(subtree(leaves[done:done + (1 << level)]))
            done += 1 << level
    root = parts[-1]
    for p in reversed(parts[:-1]):
        root = hashlib.sha256(b"\1" + p + root).digest()
    import base64
    check_equal(base64.b64encode(root).decode(), note.splitlines()[2], "the root from the tiles")
    server.stop()
    # The same bytes as files, served by any web server; rolled back; forked; altered.
    L("log", "export", ledger, f"{d}/www")

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *a, **k):
            super().__init__(*a, directory=f"{d}/www", **k)

        def log_message(self, *a):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    www = f"http://127.0.0.1:{web.server_port}/"
    r = L("pull", www, f"{d}/copy.ledger", home="third")
    check_equal(r.returncode, 0, f"pull from static files: {r.stderr}")
    kept = {os.path.join(p, f): open(os.path.join(p, f), "rb").read() for p, _, fs in os.walk(f"{d}/www") for f in fs}
    for path in sorted(kept) * (1 if SANITIZED else 4):
        if "/tile/0" in path or not kept[path]:
            continue  # a copy makes its own hashes
        data = bytearray(kept[path])
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        open(path, "wb").write(data)
        name = f"{d}/altered{random.random()}.ledger"
        r = L("pull", www, name, home="fourth")
        check_equal(r.returncode, 5 if r.returncode == 5 else 1 if r.returncode == 1 else 2 if r.returncode == 2 else "refused", f"{path}, byte {at}: {r.stdout} {r.stderr}")
        open(path, "wb").write(kept[path])
    shutil.copy(ledger, f"{d}/first.ledger")
    shutil.copy(ledger + ".key", f"{d}/first.ledger.key")
    for name in ("-wal", "-shm"):
        if os.path.exists(ledger + name):
            shutil.copy(ledger + name, f"{d}/first.ledger{name}")
    L("sign", f"{d}/c.yaml", "--ledger", ledger, "--reservation", "one", "--out", f"{d}/x.json", key="ml")
    server = Serving(ledger, f"{d}/keeper")
    check_equal(L("pull", server.url, f"{d}/copy.ledger", home="third").returncode, 0, "it grew")
    server.stop()
    server = Serving(f"{d}/first.ledger", f"{d}/other")
    r = L("pull", server.url, f"{d}/copy.ledger", home="third")
    check_equal(r.returncode, 1, "rolled back")
    check_in("ROLLED BACK", r.stderr, "rolled back")
    L("sign", f"{d}/c.yaml", "--ledger", server.url, "--reservation", "another", "--out", f"{d}/y.json", home="ml2", key="ml")
    r = L("pull", server.url, f"{d}/copy.ledger", home="third")
    check_equal(r.returncode, 1, "forked")
    check_in("FORKED", r.stderr, "forked")
    check_equal(L("audit", f"{d}/copy.ledger", home="third").returncode, 0, "the copy is as it was")
    server.stop()
    r = L("log", "list", server.url, home="fifth")
    check_equal(r.returncode, 2, "nobody serves")
    check_in(server.url.rstrip("/"), r.stderr, "nobody serves")
    web.shutdown()
finish()
