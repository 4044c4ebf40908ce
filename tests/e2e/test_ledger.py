"""The contract holds: keys, agreement, intents, standing, verification (reproduced; another library; a hidden slowdown), contests,
audits, evidence, and what happens to each where a byte is changed or a program is killed."""
import random
import shlex
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from lynx import *

SERVER = '''
import ctypes, json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
library = ctypes.CDLL(sys.argv[2])
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def do_POST(self):
        n = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["max_tokens"]
        gap = library.gap_ms() / 1000 + float(open(sys.argv[3]).read())
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Connection", "close"); self.end_headers()
        self.close_connection = True
        start = time.monotonic()
        for i in range(n):
            wait = start + (i + 1) * gap - time.monotonic()
            if wait > 0: time.sleep(wait)
            self.wfile.write(b'data: {"choices":[{"index":0,"text":"x"}]}\\n\\n'); self.wfile.flush()
        self.wfile.write(b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\\n\\ndata: [DONE]\\n\\n' % n)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def build_library(d, gap_ms):
    """A library of a name that captures look at; which one it is decides how fast the server answers."""
    with open(f"{d}/gap.c", "w") as f:
        f.write(f"int gap_ms(void) {{ return {gap_ms}; }}\n")
    compiled = f"{d}/new-library"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", compiled, f"{d}/gap.c"], check=True)
    os.replace(compiled, f"{d}/libopenblas.so.0")


def change_bytes(path, changed, n, holds, what):
    """Every byte of a small file, n random ones of a large one: what must not hold any more."""
    data = open(path, "rb").read()
    places = range(len(data)) if len(data) <= n else sorted(random.sample(range(len(data)), n))
    n_held = [at for at in places if write(changed, data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1:]) and holds(changed)]
    check_equal(n_held, [], f"{what}: bytes that can change unnoticed")


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return True


random.seed(7)
with folder() as d:
    home = {"HOME": d + "/home", "XDG_STATE_HOME": d + "/state"}
    ledger = f"{d}/team.ledger"

    def L(*args, key=None, env=None, **kw):
        more = dict(home, **(env or {}))
        if key:
            more["LYNXBENCH_KEY"] = f"{d}/{key}.key"
        return lynx(*args, env=more, **kw)

    # --- keys ---
    for team in ("ml", "sre", "platform"):
        check_equal(L("key", team, "--out", d).returncode, 0, f"key {team}")
    check_equal(oct(os.stat(f"{d}/ml.key").st_mode & 0o777), "0o600", "a private key is its owner's")
    check_equal(L("key", "ml", "--out", d).returncode, 2, "a key is never overwritten")
    check_equal(L("key", "two words", "--out", d).returncode, 2, "a name with a blank")
    check_equal(L("key", "boss", "--out", d, env={"LYNXBENCH_PASSPHRASE": "far sight"}).returncode, 0, "a key under a passphrase")
    check_in("ENCRYPTED", open(f"{d}/boss.key").read(), "it is encrypted")

    # --- the ledger and its policy ---
    r = L("log", "create", ledger, key="ml")
    check_equal(r.returncode, 0, f"create: {r.stderr}")
    check_equal(L("log", "create", ledger, key="ml").returncode, 2, "a ledger is never begun twice")
    check_equal(L("log", "policy", ledger, "--team", f"{d}/sre.pub", "--witness", "--quorum", "1", key="ml").returncode, 0, "policy: sre is admitted")
    r = L("log", "policy", ledger, "--team", f"{d}/platform.pub", key="sre")
    check_equal(r.returncode, 2, "sre is no admin")
    check_in("no admin", r.stderr, "sre is no admin")
    check_equal(L("log", "policy", ledger, "--team", f"{d}/boss.pub", key="ml").returncode, 0, "policy: boss is admitted")

    # --- an agreed contract ---
    build_library(d, 4)
    write(f"{d}/extra", b"0")
    write(f"{d}/server.py", SERVER.encode())
    port = free_port()
    path = contract(f"{d}/c.yaml", port, name="story", signatories="[ml, sre]",
                    executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health, start: {{command: [{sys.executable}, "{d}/server.py", "{{port}}", "{d}/libopenblas.so.0", "{d}/extra"]}}}}',
                    workload="{model: metronome, output_tokens: 12, prompts: {count: 8, bytes: 32}}", regime="{load: closed, concurrency: 2}", checks="[]",
                    method="{warm_up: 200ms, counted: 1s, sessions: 3, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, steady: reported}", decision="{margin: 0.2}")
    r = L("sign", path, "--ledger", ledger, key="ml")
    check_equal(r.returncode, 0, f"ml signs: {r.stderr}")
    r = L("sign", path, "--ledger", ledger, "--reservation", "the cooling is not ours", key="sre")
    check_equal(r.returncode, 0, f"sre signs: {r.stderr}")
    check_equal(L("sign", path, "--check", f"{d}/sre.pub").returncode, 0, "the signature holds")
    r = L("sign", path, "--ledger", ledger, key="platform")
    check_equal(r.returncode, 2, "a stranger's signature is refused")
    check_in("log policy", r.stderr, "and the way is said")
    r = L("sign", path, key="boss")
    check_equal(r.returncode, 2, "no passphrase")
    check_in("LYNXBENCH_PASSPHRASE", r.stderr, "no passphrase")
    check_equal(L("sign", path, key="boss", env={"LYNXBENCH_PASSPHRASE": "far sight"}).returncode, 0, "with the passphrase")
    envelope = f"{path}.sre.dsse.json"
    kept = open(envelope, "rb").read()
    change_bytes(envelope, envelope, 150 if SANITIZED else 400, lambda p: L("sign", path, "--check", f"{d}/sre.pub").returncode == 0, "a signature")
    write(envelope, kept)
    text = open(path).read()
    write(path, text.replace("margin: 0.2", "margin: 0.5").encode())
    check_equal(L("sign", path, "--check", f"{d}/sre.pub").returncode, 1, "a contract with another margin is not what was signed")
    write(path, text.encode())
    r = L("witness", ledger, key="sre")
    check_equal(r.returncode, 0, f"witness: {r.stderr}")
    check_equal(L("witness", ledger, key="ml").returncode, 2, "ml is no witness")
    time.sleep(1.1)  # the witness's word is to the second

    # --- a run, recorded ---
    r = L("run", path, "--out", f"{d}/c.lynx", "--ledger", ledger, "--quiet", key="ml", timeout=300)
    check(r.returncode == 0 or machine_was_busy(r), f"run: {r.returncode}: {r.stderr}")
    out = json.loads(L("show", f"{d}/c.lynx", "--ledger", ledger, "--json").stdout.splitlines()[1])
    check_equal((out["agreed"], out["witnessed"], out["missing"]), (True, True, []), "agreed before the run, witnessed")
    check_equal(out["contract_signatures"][1]["reservation"], "the cooling is not ours", "the reservation is shown")
    check_equal((out["runs_started"], out["runs_sealed"], out["runs_abandoned"]), (1, 1, 0), "runs")
    # One that is killed leaves its intent, and counts as abandoned.
    p = subprocess.Popen([LYNX, "run", path, "--out", f"{d}/killed.lynx", "--ledger", ledger, "--quiet"], env=environment(**home, LYNXBENCH_KEY=f"{d}/ml.key"), stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(2)
    p.kill()
    p.wait()
    for pid in filter(str.isdigit, os.listdir("/proc")):  # the server that it had started
        with contextlib.suppress(OSError):
            if f"{d}/server.py" in open(f"/proc/{pid}/cmdline").read():
                os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.3)
    check_in("abandoned", L("claim", f"{d}/c.lynx", "--ledger", ledger).stdout, "claim")
    out = json.loads(L("show", f"{d}/c.lynx", "--ledger", ledger, "--json").stdout.splitlines()[1])
    check_equal((out["runs_started"], out["runs_sealed"], out["runs_abandoned"]), (2, 1, 1), "the abandoned run shows")
    # Signatures that came after a run do not agree to it.
    late = contract(f"{d}/late.yaml", port, name="late", signatories="[ml]", executor="{}", workload='{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}')
    r = L("run", late, "--out", f"{d}/late.lynx", "--ledger", ledger, "--quiet", key="ml")
    check(os.path.exists(f"{d}/late.lynx"), f"late: {r.stdout} {r.stderr}")
    L("sign", late, "--ledger", ledger, key="ml")
    out = json.loads(L("show", f"{d}/late.lynx", "--ledger", ledger, "--json").stdout.splitlines()[1])
    check_equal((out["agreed"], out["missing"]), (False, ["ml"]), "signed after the run is not agreed")

    # --- another checkout verifies ---
    root = [e for e in map(json.loads, L("log", "list", ledger, "--json").stdout.splitlines()) if e["kind"] == "bundle"][0]["subjects"]["bundle"]
    r = L("log", "get", ledger, root, "--out", f"{d}/pulled.lynx")
    check_equal(r.returncode, 0, f"get: {r.stderr}")
    check_equal(open(f"{d}/pulled.lynx", "rb").read(), open(f"{d}/c.lynx", "rb").read(), "what comes out is what went in")
    digest = json.loads(L("show", f"{d}/pulled.lynx", "--json").stdout)["contract"]["digest"]
    r = L("verify", f"{d}/pulled.lynx", "--plan")
    check(r.returncode in (0, 3), f"plan: {r.stdout}{r.stderr}")
    check_in("sessions", r.stdout, "plan")
    r = L("verify", f"{d}/pulled.lynx", "--run", digest, "--out", f"{d}/again.lynx", "--ledger", ledger, "--quiet", "--json", key="sre", timeout=300)
    noisy = r.returncode == 3 and max(f["again_deviation"] for f in json.loads(r.stdout)["figures"]) > 0.05
    if r.returncode == 4 or noisy:  # by what the re-run itself measured
        print("the machine was busy:", r.stderr, r.stdout if noisy else "")
    else:
        out = json.loads(r.stdout)
        check_equal((r.returncode, out["decision"], out["same_configuration"]), (0, "reproduced", True), f"unchanged: {r.stdout} {r.stderr}")
    # A slower library, planted: named by layer and owner.
    build_library(d, 8)
    r = L("verify", f"{d}/pulled.lynx", "--run", digest, "--out", f"{d}/library.lynx", "--ledger", ledger, "--quiet", "--json", key="sre", timeout=300)
    if r.returncode != 4:
        out = json.loads(r.stdout)
        check_equal((r.returncode, out["decision"]), (1, "not the same configuration"), f"another library: {r.stderr}")
        named = [x for x in out["differences"] if "openblas" in x["key"] or "openblas" in x["sealed"]]
        check(named and named[0]["layer"] == "runtime" and named[0]["owner"] and not named[0]["allowed"], f"the library is named with its layer: {out['differences']}")
    build_library(d, 4)
    # A slowdown that no probe sees.
    write(f"{d}/extra", b"0.010")
    r = L("verify", f"{d}/pulled.lynx", "--run", digest, "--out", f"{d}/hidden.lynx", "--ledger", ledger, "--quiet", key="sre", timeout=300)
    if r.returncode != 4:
        check_equal(r.returncode, 1, f"hidden: {r.stdout} {r.stderr}")
        check_in("not reproduced", r.stdout, "hidden slowdown")
        check_in("next: lynxbench contest", r.stdout, "and what can be done")
    write(f"{d}/extra", b"0")

    # --- a contest, told to its owner ---
    told = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *a):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bundle = f"{d}/pulled.lynx"
    r = L("contest", bundle, "--ground", "figure", "--text", "ten milliseconds more per token here", "--with", f"{d}/hidden.lynx", "--layer", "system", "--hook",
          f"http://127.0.0.1:{server.server_port}/", "--ledger", ledger, key="sre")
    check_equal(r.returncode, 0, f"contest: {r.stdout} {r.stderr}")
    check_in("B story", r.stdout, "both are shown side by side")
    check_equal([(t["ground"], t["by"], t["layer"]) for t in told], [("figure", "sre", "system")], "the hook was told")
    server.shutdown()
    out = json.loads(L("show", bundle, "--ledger", ledger, "--json").stdout.splitlines()[1])
    check_equal([(c["by"], c["ground"], c["closed"]) for c in out["contests"]], [("sre", "figure", None)], "the contest is open")
    contest = out["contests"][0]["entry_digest"]
    check_equal(L("contest", bundle, "--withdraw", contest, "--ledger", ledger, key="ml").returncode, 2, "not ml's to withdraw")
    check_equal(L("contest", bundle, "--ground", "taste", "--text", "x", "--ledger", ledger, key="sre").returncode, 2, "no such ground")
    r = L("verify", bundle, "--against", f"{d}/again.lynx", "--contest", contest, "--ledger", ledger, key="sre", timeout=120)
    out = json.loads(L("show", bundle, "--ledger", ledger, "--json").stdout.splitlines()[1])
    if r.returncode in (0, 1):
        check_in("re-measured by sre", out["contests"][0]["closed"] or "", "a re-measurement closes it")
    else:
        L("contest", bundle, "--withdraw", contest, "--ledger", ledger, key="sre")
    L("report", bundle, "--ledger", ledger, "--out", f"{d}/r.html")
    check_in("Standing", open(f"{d}/r.html").read(), "the report shows it")

    # --- audits ---
    figures = f"{d}/figures.json"
    write(figures, L("show", bundle, "--json").stdout.encode())
    r = L("audit", bundle, "--ledger", ledger, "--figures", figures, "--html", f"{d}/audit.html", "--json")
    out = json.loads(r.stdout)
    failed = {c["check"] for c in out["checks"] if c["verdict"] == "failed"}
    check(failed <= {"verifications", "claim"}, f"audit: {[c for c in out['checks'] if c['verdict'] == 'failed']}")
    check_in("byte for byte", json.dumps(out), "the figures are those that were published")
    check_in("What could not be established", open(f"{d}/audit.html").read(), "the page")
    published = open(figures).read()
    at = published.index('"output_rate"') + 30  # somewhere in the first throughput
    digit = next(i for i in range(at, len(published)) if published[i].isdigit())
    write(figures, (published[:digit] + str((int(published[digit]) + 1) % 10) + published[digit + 1:]).encode())
    r = L("audit", bundle, "--figures", figures)
    check_equal(r.returncode, 1, "a headline that was edited")
    check_in("are not those that were published", r.stdout, "a headline that was edited")
    check_in("An unsigned bundle can be altered", r.stdout, "without a ledger, it says so")
    changed = f"{d}/changed.lynx"
    # Rows altered and sealed anew would pass without a ledger; rows altered alone do not.
    change_bytes(f"{d}/late.lynx", changed, 20 if SANITIZED else 60, lambda p: json.loads(L("audit", p, "--ledger", ledger, "--json").stdout or '{"checks": []}')["checks"]
                 and all(c["verdict"] == "passed" for c in json.loads(L("audit", p, "--ledger", ledger, "--json").stdout)["checks"] if c["check"] in ("seal", "signature", "inclusion", "file")), "a sealed and recorded bundle")
    r = L("audit", ledger)
    check_equal(r.returncode, 0, f"audit of the ledger: {r.stdout} {r.stderr}")
    with sqlite3.connect(ledger) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    n = 10 if SANITIZED else 40
    data = open(ledger, "rb").read()
    with sqlite3.connect(ledger) as db:
        entries = [bytes(x[0]) for x in db.execute("SELECT value FROM entry")] + [bytes(x[0]) for x in db.execute("SELECT value FROM checkpoint ORDER BY key DESC LIMIT 1")] + \
            [bytes(x[0]) for x in db.execute("SELECT value FROM hash")]
    unnoticed = []
    for _ in range(n):
        value = random.choice(entries)
        at = data.find(value)
        if at < 0 or not value:
            continue  # it is spread over pages
        at += random.randrange(len(value))
        write(f"{d}/changed.ledger", data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1:])
        if L("audit", f"{d}/changed.ledger", env={"XDG_STATE_HOME": f"{d}/state2"}).returncode == 0:
            unnoticed.append(at)
    check_equal(unnoticed, [], "bytes of entries, checkpoint and hashes that can change unnoticed")

    # --- evidence, checked with a shell, openssl and sha256sum alone ---
    r = L("evidence", bundle, "--ledger", ledger, "--out", f"{d}/e.tar")
    check_equal(r.returncode, 0, f"evidence: {r.stderr}")
    check_equal(subprocess.run(["tar", "xf", "e.tar"], cwd=d).returncode, 0, "tar reads it")
    r = subprocess.run(["sh", "evidence/verify.sh"], cwd=d, capture_output=True, text=True)
    check_equal((r.returncode, r.stdout.splitlines()[-1]), (0, "all that is signed holds, if the keys in keys.txt are those teams keys"), f"evidence: {r.stdout} {r.stderr}")
    members = [os.path.join(p, f) for p, _, fs in os.walk(f"{d}/evidence") for f in fs if f not in ("README.txt", "verify.sh", "SHA256SUMS")]
    for member in random.sample(sorted(members), 5):
        kept = open(member, "rb").read()
        at = random.randrange(len(kept)) if kept else 0
        write(member, kept[:at] + bytes([(kept[at] if kept else 0) ^ 1]) + kept[at + 1:])
        r = subprocess.run(["sh", "evidence/verify.sh"], cwd=d, capture_output=True, text=True)
        check(r.returncode == 1 and "it does NOT hold" in r.stdout, f"{member}, byte {at}: {r.stdout[-300:]}")
        write(member, kept)
    # Whoever makes the sums anew is found out by the signatures: an entry's envelope, its path, the checkpoint.
    for name in sorted(os.listdir(f"{d}/evidence/entries"))[:1]:
        for part in ("envelope.json", "path.txt", "team.pub.pem"):
            member = f"{d}/evidence/entries/{name}/{part}"
            kept = open(member, "rb").read()
            sums = open(f"{d}/evidence/SHA256SUMS").read()
            i = kept.rfind(b"a") if b"a" in kept else len(kept) // 2
            write(member, kept[:i] + b"b" + kept[i + 1:])
            if part == "team.pub.pem":  # somebody else's key, as a forger would have it
                subprocess.run(f"openssl genpkey -algorithm ed25519 | openssl pkey -pubout > {shlex.quote(member)}", shell=True, check=True)
            subprocess.run(f"cd {shlex.quote(d)}/evidence && sha256sum $(cut -c67- SHA256SUMS) > s && mv s SHA256SUMS", shell=True, check=True)
            r = subprocess.run(["sh", "evidence/verify.sh"], cwd=d, capture_output=True, text=True)
            check(r.returncode == 1, f"{name}/{part}: {r.stdout[-300:]}")
            write(member, kept)
            write(f"{d}/evidence/SHA256SUMS", sums.encode())

    # --- findings, and the iteration that answers one: both on the record, signed ---
    trace = f"{SOURCE}/tests/recorded/profiles/h100-bert.json.gz"
    r = L("attribute", trace, "--record", bundle, "--ledger", ledger, "--json", "--quiet", key="ml")
    check_equal(r.returncode, 0, f"attribute --record: {r.stderr}")
    said = [f["title"] for t in json.loads(r.stdout)["traces"] for f in t["findings"]]
    found = [e for e in map(json.loads, L("log", "list", ledger, "--json").stdout.splitlines()) if e["kind"] == "finding"]
    check_equal((len(found), len(found) > 0), (len(said), True), "a finding, an entry")
    check_equal(found[0]["subjects"]["trace"], hashlib.sha256(open(trace, "rb").read()).hexdigest(), "it names the trace's bytes")
    words = json.loads(L("log", "entry", ledger, found[0]["entry"]).stdout.split("\n", 1)[1])["predicate"]
    check_equal(words["title"], said[0], "and says the same")
    check(words["symptom"]["owner"] and words["rung"] == "accounted" and words["not_established"], f"and what it rests on: {words}")
    r = L("attribute", trace, "--record", path, "--ledger", ledger, "--quiet", key="ml")
    check_equal(r.returncode, 2, f"a contract is no run: {r.stderr}")
    r = L("attribute", trace, "--record", bundle, "--quiet", key="ml")
    check_equal(r.returncode, 2, "without a ledger")
    check_in("LYNXBENCH_LEDGER", r.stderr, "and the way is said")
    n = len(L("log", "list", ledger).stdout.splitlines())
    r = L("compare", f"{d}/hidden.lynx", bundle, "--change", "the pause is gone", "--finding", "00" * 32, "--ledger", ledger, key="ml")
    check_equal(r.returncode, 2, "no such finding")
    check_in("the digest of a finding's entry", r.stderr, "and what would be one")
    r = L("compare", bundle, f"{d}/pulled.lynx", "--change", "nothing", "--ledger", ledger, key="ml")
    check_equal(r.returncode, 2, f"one bundle is no iteration: {r.stderr}")
    r = L("compare", f"{d}/hidden.lynx", bundle, "--change", "the pause is gone", "--finding", found[0]["entry"], "--ledger", ledger, "--json", key="ml")
    check(r.returncode in (1, 3), f"compare --change: {r.returncode} {r.stderr}")
    entries = [json.loads(e) for e in L("log", "list", ledger, "--json").stdout.splitlines()]
    check_equal((len(entries), entries[-2]["kind"], entries[-1]["kind"], entries[-1]["subjects"]["finding"]), (n + 2, "bundle", "iteration", found[0]["entry"]), "the bundle that ml had not entered yet, and an iteration that answers the finding")
    words = json.loads(L("log", "entry", ledger, entries[-1]["entry"]).stdout.split("\n", 1)[1])["predicate"]
    check_equal(words["change"], "the pause is gone", "what was changed")
    compared = json.loads(r.stdout)["figures"]
    check_equal([round(f["after_to_before"] * c["ratio"], 9) for f, c in zip(words["figures"], compared)], [1.0] * len(compared), f"and the effect that was measured: {words}")
    check(all(f["low"] <= f["after_to_before"] <= f["high"] for f in words["figures"]) and any(f["high"] < 1 for f in words["figures"]), f"latencies fell: {words}")
    check_in("the pause is gone", L("log", "list", ledger).stdout, "the list says it")
    check_equal(L("audit", ledger).returncode, 0, "the ledger after them")

    # --- what a policy keeps of a team, and what --remove takes ---
    L("log", "policy", ledger, "--team", f"{d}/sre.pub", key="ml")
    check(any("sre+" in line and "witness" in line for line in L("log", "policy", ledger).stdout.splitlines()), "named again, sre is still a witness")
    # --- a making that was cut short says so ---
    write(f"{d}/cut.ledger", b"")
    r = L("log", "list", f"{d}/cut.ledger")
    check_equal(r.returncode, 2, "an empty file")
    check_in("cut short", r.stderr, "an empty file")

    # --- two writers, and writers that are killed: what was acknowledged is there, the tree holds ---
    acknowledged = []

    def sign_many(team, n):
        for i in range(n):
            r = L("sign", path, "--ledger", ledger, "--reservation", f"{team} {i}", "--out", f"{d}/{team}.{i}.json", key=team)
            check_equal(r.returncode, 0, f"{team} {i}: {r.stderr}")
            acknowledged.append(f"{team} {i}")

    threads = [threading.Thread(target=sign_many, args=(team, 6 if SANITIZED else 15)) for team in ("ml", "sre")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(10 if SANITIZED else 30):
        p = subprocess.Popen([LYNX, "sign", path, "--ledger", ledger, "--reservation", f"killed {i}", "--out", f"{d}/k{i}.json"], env=environment(**home, LYNXBENCH_KEY=f"{d}/ml.key"),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(random.random() * 0.03)
        p.kill()
        if "entry" in p.communicate()[0].split("signed by")[-1]:
            acknowledged.append(f"killed {i}")
    listed = L("log", "list", ledger).stdout
    check_equal([a for a in acknowledged if a not in listed], [], "acknowledged entries that are lost")
    check_equal(L("audit", ledger).returncode, 0, "the ledger after two writers and kills")
finish()
