"""The contract holds: keys, agreement, intents, standing, verification (reproduced; another library; a slowdown),
contests, audits, evidence, and what happens to each where a byte is changed or a program is killed."""

import concurrent.futures
import functools
import random
import shlex
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from lynx import *

PHRASE = {"LYNXBENCH_PASSPHRASE": "far sight"}
METHOD = (
    "{warm_up: 200ms, counted: 1s, sessions: 3, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, "
    "steady: reported}"
)
SERVER = """
import ctypes, json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
library = ctypes.CDLL(sys.argv[2])
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers()
        self.wfile.write(b"{}")
    def do_POST(self):
        n = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["max_tokens"]
        gap = library.gap_ms() / 1000 + float(open(sys.argv[3]).read())
        self.send_response(200); self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close"); self.end_headers()
        self.close_connection = True
        start = time.monotonic()
        for i in range(n):
            wait = start + (i + 1) * gap - time.monotonic()
            if wait > 0: time.sleep(wait)
            self.wfile.write(b'data: {"choices":[{"index":0,"text":"x"}]}\\n\\n'); self.wfile.flush()
        usage = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\\n\\n' % n
        self.wfile.write(usage + b'data: [DONE]\\n\\n')
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def places_of(data, n):
    """Every byte of a small file, n random ones of a large one."""
    return range(len(data)) if len(data) <= n else sorted(random.sample(range(len(data)), n))


def build_library(d, gap_ms):
    """A library of a name that captures look at; which one it is decides how fast the server answers."""
    write(f"{d}/gap.c", f"int gap_ms(void) {{ return {gap_ms}; }}\n".encode())
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{d}/new-library", f"{d}/gap.c"], check=True)
    os.replace(f"{d}/new-library", f"{d}/libopenblas.so.0")


class Story:
    """Two teams, a contract that they agree to, and its runs. A step is taken when a case first needs it."""

    def __init__(self, d):
        self.d, self.home = d, {"HOME": d + "/home", "XDG_STATE_HOME": d + "/state"}
        self.ledger, self.path, self.bundle = f"{d}/team.ledger", f"{d}/c.yaml", f"{d}/pulled.lynx"
        for team in ("ml", "sre", "platform"):
            check_equal(self("ledger", "key", team, "--out", d).returncode, 0, f"key {team}")
        check_equal(self("ledger", "key", "boss", "--out", d, env=PHRASE).returncode, 0, "a key under a passphrase")
        self.must("ledger", "create", self.ledger, key="ml")
        self.must("ledger", "policy", self.ledger, "--team", f"{d}/sre.pub", "--witness", "--quorum", "1", key="ml")
        self.must("ledger", "policy", self.ledger, "--team", f"{d}/boss.pub", key="ml")
        self.port = free_port()
        build_library(d, 40)
        write(f"{d}/extra", b"0")
        write(f"{d}/server.py", SERVER.encode())
        self.write_contract()

    def __call__(self, *args, key=None, env=None, **kw):
        more = dict(self.home, **(env or {}))
        if key:
            more["LYNXBENCH_KEY"] = f"{self.d}/{key}.key"
        return lynx(*args, env=more, **kw)

    def must(self, *args, **kw):
        r = self(*args, **kw)
        assert r.returncode == 0, f"{args}: {r.stdout} {r.stderr}"
        return r

    def write_contract(self):
        d = self.d
        command = f'[{sys.executable}, "{d}/server.py", "{{port}}", "{d}/libopenblas.so.0", "{d}/extra"]'
        start = f"ready_path: /health, start: {{command: {command}}}"
        contract(
            self.path,
            self.port,
            name="story",
            signatories="[ml, sre]",
            executor=f'{{endpoint: "http://127.0.0.1:{self.port}", {start}}}',
            workload="{model: metronome, output_tokens: 4, prompts: {count: 8, bytes: 32}}",
            regime="{load: closed, concurrency: 2}",
            checks="[]",
            method=METHOD,
            decision="{margin: 0.2}",
        )

    def sign(self, *more, key, **kw):
        return self("ledger", "sign", self.path, "--ledger", self.ledger, *more, key=key, **kw)

    def standing(self, bundle):
        return json.loads(self("show", bundle, "--ledger", self.ledger, "--json").stdout.splitlines()[1])

    def entries(self):
        return [json.loads(e) for e in self("ledger", "list", self.ledger, "--json").stdout.splitlines()]

    def check_audit(self, what):
        r = self("audit", self.ledger)
        check_equal(r.returncode, 0, f"{what}: {r.stdout} {r.stderr}")

    @functools.cached_property
    def agreed(self):
        """Both teams signed, and a witness saw it."""
        self.must("ledger", "sign", self.path, "--ledger", self.ledger, key="ml")
        r = self.sign("--reservation", "the cooling is not ours", key="sre")
        assert r.returncode == 0, r.stderr
        self.must("ledger", "witness", self.ledger, key="sre")
        time.sleep(1.1)  # the witness's word is to the second
        return True

    @functools.cached_property
    def recorded(self):
        """The standing of a run that was recorded."""
        assert self.agreed
        out = f"{self.d}/c.lynx"
        r = self("run", self.path, "--out", out, "--ledger", self.ledger, "--quiet", key="ml", timeout=300)
        assert r.returncode == 0, f"run: {r.returncode}: {r.stderr}"
        return self.standing(out)

    @functools.cached_property
    def pulled(self):
        """The bundle as another checkout gets it, and its contract's digest."""
        assert self.recorded
        root = next(e for e in self.entries() if e["kind"] == "bundle")["subjects"]["bundle"]
        self.must("ledger", "get", self.ledger, root, "--out", self.bundle)
        return json.loads(self("show", self.bundle, "--json").stdout)["contract"]["digest"]

    def verify(self, name):
        out = ("--run", self.pulled, "--sessions-at-most", 30)
        out += ("--out", f"{self.d}/{name}.lynx", "--ledger", self.ledger)
        return self("verify", self.bundle, *out, "--quiet", "--json", key="sre", timeout=300)

    @functools.cached_property
    def again(self):
        return self.verify("again")

    @functools.cached_property
    def hidden(self):
        """Verified while every token takes a tenth of a second more, which no probe sees."""
        assert self.pulled
        write(f"{self.d}/extra", b"0.100")
        try:
            return self.verify("hidden")
        finally:
            write(f"{self.d}/extra", b"0")

    @functools.cached_property
    def contest(self):
        """What the hook was told, and the command's result."""
        told = []

        class Hook(BaseHTTPRequestHandler):
            def do_POST(self):
                told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *a):
                pass

        assert self.hidden
        server = HTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        why = ("--ground", "figure", "--text", "ten milliseconds more per token here", "--layer", "system")
        hook = ("--with", f"{self.d}/hidden.lynx", "--hook", f"http://127.0.0.1:{server.server_port}/")
        r = self("contest", self.bundle, *why, *hook, "--ledger", self.ledger, key="sre")
        server.shutdown()
        return told, r, self.standing(self.bundle)["contests"]


@pytest.fixture(scope="module")
def story():
    random.seed(7)
    with folder() as d:
        yield Story(d)


# --- keys, the ledger and its policy ---


def test_keys(story, d):
    check_equal(oct(os.stat(f"{story.d}/ml.key").st_mode & 0o777), "0o600", "a private key is its owner's")
    check_equal(story("ledger", "key", "ml", "--out", story.d).returncode, 2, "a key is never overwritten")
    check_equal(story("ledger", "key", "two words", "--out", d).returncode, 2, "a name with a blank")
    check_in(b"ENCRYPTED", read(f"{story.d}/boss.key"), "a key under a passphrase is encrypted")


def test_a_ledger_is_never_begun_twice(story):
    check_equal(story("ledger", "create", story.ledger, key="ml").returncode, 2, "it is there")


def test_who_is_no_admin_admits_nobody(story):
    r = story("ledger", "policy", story.ledger, "--team", f"{story.d}/platform.pub", key="sre")
    check_equal(r.returncode, 2, "sre is no admin")
    check_in("no admin", r.stderr, "sre is no admin")


def test_a_policy_keeps_what_a_team_was(story):
    story.must("ledger", "policy", story.ledger, "--team", f"{story.d}/sre.pub", key="ml")
    lines = story("ledger", "policy", story.ledger).stdout.splitlines()
    check(any("sre+" in line and "witness" in line for line in lines), "named again, sre is still a witness")


def test_a_making_that_was_cut_short_says_so(story, d):
    r = story("ledger", "list", write(f"{d}/cut.ledger", b""))
    check_equal(r.returncode, 2, "an empty file")
    check_in("cut short", r.stderr, "an empty file")


# --- an agreed contract ---


def test_a_signature_holds(story):
    assert story.agreed
    check_equal(story("ledger", "sign", story.path, "--check", f"{story.d}/sre.pub").returncode, 0, "sre's")
    envelope = f"{story.path}.sre.dsse.json"
    kept, held = read(envelope), []
    for at in places_of(kept, 150 if SANITIZED else 400):
        write(envelope, flipped(kept, at))
        if story("ledger", "sign", story.path, "--check", f"{story.d}/sre.pub").returncode == 0:
            held.append(at)
    write(envelope, kept)
    check_equal(held, [], "bytes of a signature that can change unnoticed")


def test_a_contract_with_another_margin_is_not_what_was_signed(story):
    assert story.agreed
    text = read(story.path)
    write(story.path, text.replace(b"margin: 0.2", b"margin: 0.5"))
    r = story("ledger", "sign", story.path, "--check", f"{story.d}/sre.pub")
    write(story.path, text)
    check_equal(r.returncode, 1, "another margin")


def test_a_strangers_signature_is_refused(story):
    r = story.sign(key="platform")
    check_equal(r.returncode, 2, "it is refused")
    check_in("ledger policy", r.stderr, "and the way is said")


def test_a_passphrase(story):
    r = story("ledger", "sign", story.path, key="boss")
    check_equal(r.returncode, 2, "none was given")
    check_in("LYNXBENCH_PASSPHRASE", r.stderr, "none was given")
    check_equal(story("ledger", "sign", story.path, key="boss", env=PHRASE).returncode, 0, "with it")


def test_who_is_no_witness(story):
    check_equal(story("ledger", "witness", story.ledger, key="ml").returncode, 2, "ml is none")


# --- a run, recorded ---


def test_a_run_is_recorded_with_its_standing(story):
    out = story.recorded
    check_equal((out["agreed"], out["witnessed"], out["missing"]), (True, True, []), "agreed before the run, witnessed")
    check_equal(out["contract_signatures"][1]["reservation"], "the cooling is not ours", "the reservation is shown")
    check_equal((out["runs_started"], out["runs_sealed"], out["runs_abandoned"]), (1, 1, 0), "runs")


def kill_servers(d):
    """Those that a killed run had started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if f"{d}/server.py".encode() in read(f"/proc/{pid}/cmdline"):
                os.kill(int(pid), signal.SIGKILL)


def test_a_killed_run_counts_as_abandoned(story):
    """It leaves its intent."""
    before = story.recorded and story.standing(f"{story.d}/c.lynx")
    command = [LYNX, "run", story.path, "--out", f"{story.d}/killed.lynx", "--ledger", story.ledger, "--quiet"]
    env = environment(**story.home, LYNXBENCH_KEY=f"{story.d}/ml.key")
    p = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(2)
    p.kill()
    p.wait()
    kill_servers(story.d)
    time.sleep(0.3)
    check_in("abandoned", story("show", "--claim", f"{story.d}/c.lynx", "--ledger", story.ledger).stdout, "claim")
    out = story.standing(f"{story.d}/c.lynx")
    more = [out[k] - before[k] for k in ("runs_started", "runs_sealed", "runs_abandoned")]
    check_equal(more, [1, 0, 1], "the abandoned run shows")


@pytest.fixture(scope="module")
def late(story):
    """A run whose contract was signed after it."""
    workload = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'
    path = contract(f"{story.d}/late.yaml", 1, name="late", signatories="[ml]", executor="{}", workload=workload)
    out = f"{story.d}/late.lynx"
    r = story("run", path, "--out", out, "--ledger", story.ledger, "--quiet", key="ml")
    assert os.path.exists(out), f"late: {r.stdout} {r.stderr}"
    story("ledger", "sign", path, "--ledger", story.ledger, key="ml")
    return out


def test_signatures_that_came_after_a_run_do_not_agree_to_it(story, late):
    out = story.standing(late)
    check_equal((out["agreed"], out["missing"]), (False, ["ml"]), "signed after the run is not agreed")


# --- another checkout verifies ---


def test_what_comes_out_is_what_went_in(story):
    assert story.pulled
    check(read(story.bundle) == read(f"{story.d}/c.lynx"), "the same bytes")
    r = story("verify", story.bundle, "--plan")
    check(r.returncode in (0, 3), f"plan: {r.stdout}{r.stderr}")
    check_in("sessions", r.stdout, "plan")


def test_an_unchanged_executor_is_reproduced(story):
    r = story.again
    out = json.loads(r.stdout)
    found = (r.returncode, out["decision"], out["same_configuration"])
    check_equal(found, (0, "reproduced", True), f"unchanged: {r.stdout} {r.stderr}")


def test_a_slower_library_is_named_by_layer_and_owner(story):
    assert story.pulled
    build_library(story.d, 80)
    r = story.verify("library")
    build_library(story.d, 40)
    out = json.loads(r.stdout)
    check_equal((r.returncode, out["decision"]), (1, "not the same configuration"), f"another library: {r.stderr}")
    named = [x for x in out["differences"] if "openblas" in x["key"] or "openblas" in x["sealed"]]
    good = named and named[0]["layer"] == "runtime" and named[0]["owner"] and not named[0]["allowed"]
    check(good, f"the library is named with its layer: {out['differences']}")


def test_a_slowdown_that_no_probe_sees(story):
    r = story.hidden
    check_equal(r.returncode, 1, f"hidden: {r.stdout} {r.stderr}")
    check_equal(json.loads(r.stdout)["decision"], "not reproduced", "hidden slowdown")
    r = story("verify", story.bundle, "--against", f"{story.d}/hidden.lynx")
    check_in("next: lynxbench contest", r.stdout, f"and what can be done: {r.stderr}")


# --- a contest, told to its owner ---


def test_a_contest_is_told_to_its_owner(story):
    told, r, contests = story.contest
    check_equal(r.returncode, 0, f"contest: {r.stdout} {r.stderr}")
    check_in("B story", r.stdout, "both are shown side by side")
    said = [(t["ground"], t["by"], t["layer"]) for t in told]
    check_equal(said, [("figure", "sre", "system")], "the hook was told")
    found = [(c["by"], c["ground"], c["closed"]) for c in contests]
    check_equal(found, [("sre", "figure", None)], "the contest is open")


def test_a_contest_is_its_teams_to_withdraw(story):
    digest = story.contest[2][0]["entry_digest"]
    r = story("contest", story.bundle, "--withdraw", digest, "--ledger", story.ledger, key="ml")
    check_equal(r.returncode, 2, "not ml's")
    why = ("--ground", "taste", "--text", "x", "--ledger", story.ledger)
    check_equal(story("contest", story.bundle, *why, key="sre").returncode, 2, "no such ground")


def test_a_re_measurement_closes_a_contest(story):
    digest = story.contest[2][0]["entry_digest"]
    assert story.again
    args = ("--against", f"{story.d}/again.lynx", "--contest", digest, "--ledger", story.ledger)
    r = story("verify", story.bundle, *args, key="sre", timeout=120)
    closed = next(c["closed"] for c in story.standing(story.bundle)["contests"] if c["entry_digest"] == digest)
    check_equal(r.returncode, 0, r.stdout + r.stderr)
    check_in("re-measured by sre", closed or "", "a re-measurement closes it")
    story("show", story.bundle, "--ledger", story.ledger, "--html", f"{story.d}/r.html")
    check_in(b"Standing", read(f"{story.d}/r.html"), "the report shows it")


# --- audits ---


@pytest.fixture(scope="module")
def figures(story):
    """The figures of the bundle, as they were published."""
    assert story.pulled
    return write(f"{story.d}/figures.json", story("show", story.bundle, "--json").stdout.encode())


def test_published_figures_are_those_of_the_bundle(story, figures, d):
    page = ("--figures", figures, "--html", f"{d}/audit.html")
    r = story("audit", story.bundle, "--ledger", story.ledger, *page, "--json")
    failed = [c for c in json.loads(r.stdout)["checks"] if c["verdict"] == "failed"]
    check({c["check"] for c in failed} <= {"verifications", "claim"}, f"audit: {failed}")
    check_in("byte for byte", r.stdout, "the figures are those that were published")
    check_in(b"What could not be established", read(f"{d}/audit.html"), "the page")


def test_a_headline_that_was_edited(story, figures, d):
    published = read(figures).decode()
    at = published.index('"output_rate"') + 30  # somewhere in the first throughput
    digit = next(i for i in range(at, len(published)) if published[i].isdigit())
    edited = published[:digit] + str((int(published[digit]) + 1) % 10) + published[digit + 1 :]
    r = story("audit", story.bundle, "--figures", write(f"{d}/edited.json", edited.encode()))
    check_equal(r.returncode, 1, "a headline that was edited")
    check_in("are not those that were published", r.stdout, "a headline that was edited")
    check_in("An unsigned bundle can be altered", r.stdout, "without a ledger, it says so")


def test_no_byte_of_a_recorded_bundle_can_change(story, late, d):
    """Rows altered and sealed again would pass without a ledger; rows altered alone do not."""
    data, held = read(late), []
    for at in places_of(data, 20 if SANITIZED else 60):
        write(f"{d}/changed.lynx", flipped(data, at))
        said = story("audit", f"{d}/changed.lynx", "--ledger", story.ledger, "--json").stdout
        found = json.loads(said or '{"checks": []}')["checks"]
        judged = [c["verdict"] for c in found if c["check"] in ("seal", "signature", "inclusion", "file")]
        if found and all(v == "passed" for v in judged):
            held.append(at)
    check_equal(held, [], "bytes that can change unnoticed")


def test_no_byte_of_a_ledger_can_change(story, d):
    """Of entries, the last checkpoint and hashes; a value that is spread over pages is passed over."""
    assert story.recorded
    story.check_audit("as it is")
    with sqlite3.connect(story.ledger) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        last = "SELECT value FROM (SELECT value FROM checkpoint ORDER BY key DESC LIMIT 1)"
        sql = f"SELECT value FROM entry UNION ALL {last} UNION ALL SELECT value FROM hash"
        values = [bytes(x) for (x,) in db.execute(sql)]
    data, unnoticed, n_changed = read(story.ledger), [], 0
    for _ in range(10 if SANITIZED else 40):
        value = random.choice(values)
        at = data.find(value)
        if at < 0 or not value:
            continue
        n_changed += 1
        at += random.randrange(len(value))
        write(f"{d}/changed.ledger", flipped(data, at))
        if story("audit", f"{d}/changed.ledger", env={"XDG_STATE_HOME": f"{d}/state2"}).returncode == 0:
            unnoticed.append(at)
    check(n_changed > 2, f"{n_changed} bytes were changed")
    check_equal(unnoticed, [], "bytes that can change unnoticed")


# --- evidence, checked with a shell, openssl and sha256sum alone ---


@pytest.fixture
def evidence(story, d):
    assert story.pulled
    story.must("evidence", story.bundle, "--ledger", story.ledger, "--out", f"{d}/e.tar")
    check_equal(subprocess.run(["tar", "xf", "e.tar"], cwd=d).returncode, 0, "tar reads it")
    return f"{d}/evidence"


def verified(evidence):
    r = subprocess.run(["sh", "verify.sh"], cwd=evidence, capture_output=True, text=True)
    return r.returncode, r.stdout


def test_evidence_holds(evidence):
    code, said = verified(evidence)
    words = "all that is signed holds, if the keys in keys.txt are those teams keys"
    check_equal((code, said.splitlines()[-1]), (0, words), f"evidence: {said}")


def test_evidence_of_which_a_byte_was_changed(evidence):
    made = ("README.txt", "verify.sh", "SHA256SUMS")
    members = [os.path.join(p, f) for p, _, fs in os.walk(evidence) for f in fs if f not in made]
    for member in random.sample(sorted(members), 5):
        kept = read(member)
        write(member, flipped(kept, random.randrange(len(kept))) if kept else b"\1")
        code, said = verified(evidence)
        check(code == 1 and "it does NOT hold" in said, f"{member}: {said[-300:]}")
        write(member, kept)


@pytest.mark.parametrize("part", ["envelope.json", "path.txt", "team.pub.pem"])
def test_whoever_makes_the_sums_anew_is_found_out_by_the_signatures(evidence, part):
    member = f"{evidence}/entries/{sorted(os.listdir(f'{evidence}/entries'))[0]}/{part}"
    kept = read(member)
    i = kept.rfind(b"a") if b"a" in kept else len(kept) // 2
    write(member, kept[:i] + b"b" + kept[i + 1 :])
    if part == "team.pub.pem":  # somebody else's key, as a forger would have it
        forged = f"openssl genpkey -algorithm ed25519 | openssl pkey -pubout > {shlex.quote(member)}"
        subprocess.run(forged, shell=True, check=True)
    again = "sha256sum $(cut -c67- SHA256SUMS) > s && mv s SHA256SUMS"
    subprocess.run(again, shell=True, check=True, cwd=evidence)
    code, said = verified(evidence)
    check_equal(code, 1, f"{part}: {said[-300:]}")


# --- findings, and the iteration that answers one: both on the record, signed ---

TRACE = f"{SOURCE}/tests/recorded/profiles/h100-bert.json.gz"


@pytest.fixture(scope="module")
def findings(story):
    """What attribute said, and the entries of it."""
    assert story.pulled
    r = story.must(
        "attribute", TRACE, "--record", story.bundle, "--ledger", story.ledger, "--json", "--quiet", key="ml"
    )
    said = [f["title"] for t in json.loads(r.stdout)["traces"] for f in t["findings"]]
    return said, [e for e in story.entries() if e["kind"] == "finding"]


def test_somebody_is_told_of_each_finding(story, findings, tmp_path):
    program, out = tmp_path / "hook.sh", tmp_path / "out"
    program.write_text(f"#!/bin/sh\ncat >>{out}\n")
    program.chmod(0o755)
    words = ("attribute", TRACE, "--record", story.bundle, "--ledger", story.ledger, "--quiet", "--hook")
    story.must(*words, str(program), key="ml")
    told = [json.loads(line) for line in out.read_text().splitlines()]
    check_equal([t["title"] for t in told], findings[0], "each finding is sent, once")
    signed = all(t["kind"] == "finding" and t["owner"] and t["envelope"]["signatures"] for t in told)
    check(signed, f"as it was signed: {told}")
    r = story(*words, "/bin/false", key="ml")
    check_equal((r.returncode, "the entry remains" in r.stderr), (5, True), f"a hook fails: {r.stderr}")
    r = story("attribute", TRACE, "--hook", str(program))
    check_equal((r.returncode, "with --record" in r.stderr), (2, True), f"a hook of nothing: {r.stderr}")


def predicate(story, entry):
    return json.loads(story("ledger", "entry", story.ledger, entry).stdout.split("\n", 1)[1])["predicate"]


def test_a_finding_is_an_entry(story, findings):
    said, found = findings
    check_equal((len(found), len(found) > 0), (len(said), True), "a finding, an entry")
    digest = hashlib.sha256(read(TRACE)).hexdigest()
    check_equal(found[0]["subjects"]["trace"], digest, "it names the trace's bytes")
    words = predicate(story, found[0]["entry"])
    check_equal(words["title"], said[0], "and says the same")
    good = words["symptom"]["owner"] and words["rung"] == "accounted" and words["not_established"]
    check(good, f"and what it rests on: {words}")


def test_findings_are_recorded_of_a_run_in_a_ledger(story):
    assert story.pulled
    r = story("attribute", TRACE, "--record", story.path, "--ledger", story.ledger, "--quiet", key="ml")
    check_equal(r.returncode, 2, f"a contract is no run: {r.stderr}")
    r = story("attribute", TRACE, "--record", story.bundle, "--quiet", key="ml")
    check_equal(r.returncode, 2, "without a ledger")
    check_in("LYNXBENCH_LEDGER", r.stderr, "and the way is said")


def test_an_iteration_has_a_finding_and_two_bundles(story, findings):
    assert story.hidden
    change = ("--change", "the pause is gone", "--finding", "00" * 32, "--ledger", story.ledger)
    r = story("iterate", "measure", f"{story.d}/hidden.lynx", story.bundle, *change, key="ml")
    check_equal(r.returncode, 2, f"no such finding: {r.stderr}")
    copy = f"{story.d}/copy.lynx"
    shutil.copy(story.bundle, copy)
    r = story("iterate", "measure", story.bundle, copy, "--change", "nothing", "--ledger", story.ledger, key="ml")
    check_equal(r.returncode, 2, f"one bundle is no iteration: {r.stderr}")


def test_an_iteration_answers_a_finding(story, findings):
    assert story.hidden
    finding = findings[1][0]["entry"]
    n = len(story.entries())
    change = ("--change", "a pause", "--finding", finding, "--ledger", story.ledger, "--json")
    bundles = (story.bundle, f"{story.d}/hidden.lynx")
    r = story("iterate", "measure", *bundles, *change, key="ml")
    check(r.returncode in (0, 1, 3), f"iterate measure: {r.returncode} {r.stderr}")
    check_equal(json.loads(r.stdout)["change"], "a pause", "and its words")
    added = story.entries()[n:]
    kinds = [e["kind"] for e in added]
    check(kinds in (["bundle", "iteration"], ["iteration"]), f"a bundle not entered yet, and an iteration: {kinds}")
    check_equal(added[-1]["subjects"]["finding"], finding, "it answers the finding")
    words = predicate(story, added[-1]["entry"])
    check_equal(words["change"], "a pause", "what was changed")
    compared = json.loads(story("compare", *bundles, "--json").stdout)["figures"]
    inverse = [round(f["after_to_before"] * c["ratio"], 9) for f, c in zip(words["figures"], compared)]
    check_equal(inverse, [1.0] * len(compared), f"and the effect that was measured: {words}")
    check(all(f["low"] <= f["after_to_before"] <= f["high"] for f in words["figures"]), f"within bounds: {words}")
    check(any(f["low"] > 1 for f in words["figures"]), f"latencies rose: {words}")
    check_in("a pause", story("ledger", "list", story.ledger).stdout, "the list says it")
    story.check_audit("after them")


# --- two writers, and writers that are killed: what was acknowledged is there, the tree holds ---


def check_nothing_is_lost(story, acknowledged):
    listed = story("ledger", "list", story.ledger).stdout
    check_equal([a for a in acknowledged if a not in listed], [], "acknowledged entries that are lost")
    story.check_audit("afterwards")


def test_a_digest_may_be_named_by_its_beginning(story, d):
    """What is printed in eight digits is accepted in eight; fewer, and what begins nothing, is not."""
    assert story.pulled
    root = next(e for e in story.entries() if e["kind"] == "bundle")["subjects"]["bundle"]
    for digits in (root, root[:8], root[:13].upper()):
        r = story("ledger", "get", story.ledger, digits, "--out", f"{d}/{len(digits)}.lynx")
        check_equal(r.returncode, 0, f"log get {digits}: {r.stderr}")
        check_equal(read(f"{d}/{len(digits)}.lynx"), read(story.bundle), "the same file")
    wrong = ((root[:7], "its first 8 and more"), ("0" * 16, "no digest that begins"), ("x" * 8, "accepted"))
    for digits, word in wrong:
        r = story("ledger", "get", story.ledger, digits, "--out", f"{d}/none.lynx")
        check(r.returncode == 2 and word in r.stderr, f"{digits}: {r.returncode} {r.stderr}")
    raw = [LYNX, "ledger", "entry", story.ledger, "1", "--raw"]
    envelope = subprocess.run(raw, capture_output=True, check=True).stdout
    leaf = hashlib.sha256(b"\0" + envelope).hexdigest()
    first = story("ledger", "entry", story.ledger, "1").stdout
    for name in (leaf, leaf[:8], leaf[:15].upper()):
        check_equal(story("ledger", "entry", story.ledger, name).stdout, first, name)


def test_two_writers(story):
    def sign_many(team, n):
        for i in range(n):
            r = story.sign("--reservation", f"{team} {i}", "--out", f"{story.d}/{team}.{i}.json", key=team)
            check_equal(r.returncode, 0, f"{team} {i}: {r.stderr}")
        return [f"{team} {i}" for i in range(n)]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = pool.map(sign_many, ("ml", "sre"), [6 if SANITIZED else 15] * 2)
        check_nothing_is_lost(story, [name for names in done for name in names])


def test_writers_that_are_killed(story):
    acknowledged = []
    env = environment(**story.home, LYNXBENCH_KEY=f"{story.d}/ml.key")
    for i in range(10 if SANITIZED else 30):
        command = [LYNX, "ledger", "sign", story.path, "--ledger", story.ledger, "--reservation", f"killed {i}"]
        command += ["--out", f"{story.d}/k{i}.json"]
        p = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(random.random() * 0.03)
        p.kill()
        if "entry" in p.communicate()[0].split("signed by")[-1]:
            acknowledged.append(f"killed {i}")
    check_nothing_is_lost(story, acknowledged)


if __name__ == "__main__":
    main(__file__)
