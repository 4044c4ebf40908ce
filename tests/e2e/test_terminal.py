"""Nothing that others wrote steers a terminal or forges a line; what cannot be written is reported."""

import contextlib
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess

import lynx as l
import pytest
from made import Handler, Stream, usage

# A colour, a title, a return, DEL, C1's CSI, an override, an isolate, a forged line, what is invisible; no UTF-8.
CANARY = "\x1b[31m\x1b]0;t\x07\r\x7f\u009b2J\u202e\u2066\t\nFORGED \u2028\u200b\u061c"
MISLEADING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
COLORS = re.compile("\x1b\\[(0|1|2|31|32|33|1;31)m")
RECORDED = f"{l.SOURCE}/tests/recorded/bundles"
NOTHING = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'


def check_clean(data, what, colors=False):
    text = data.decode()  # UTF-8, whatever came in
    if colors:
        text = COLORS.sub("", text)
    found = MISLEADING.search(text)
    assert found is None, (what, text[max(0, found.start() - 80) : found.end() + 80])
    assert not re.search("^FORGED", text, re.M), (what, text)


def said(*words, env=None, **kw):
    """Both outputs of lynxbench, as bytes, and its exit code."""
    r = subprocess.run([l.LYNX, *words], capture_output=True, env=l.environment(**(env or {})), timeout=60, **kw)
    assert r.returncode >= 0 and b"Sanitizer" not in r.stderr, (words, r)
    return r


def columns():
    """Every column of a bundle that holds text, by the schema of one."""
    with sqlite3.connect(f"file:{RECORDED}/small.lynx?mode=ro", uri=True) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})"):
                if kind in ("TEXT", "BLOB") and table != "section" and name != "root":
                    yield table, name, kind


def forged(table, column, path, whole, kind="TEXT"):
    """A bundle with the canary in that column of each row: at the end of what is there, or alone. Its seal fits."""
    text = f"x'{CANARY.encode().hex()}ff'"
    value = f"CAST({text if whole else f'CAST({column} AS TEXT) || CAST({text} AS TEXT)'} AS {kind})"
    shutil.copy(f"{RECORDED}/{'bisect' if table == 'block' else 'small'}.lynx", path)
    sql = f"UPDATE OR REPLACE {table} SET {column} = {value}"
    if table == "meta":
        sql = f"UPDATE meta SET {column} = {value} WHERE key NOT IN ('format', 'contract')"
    with sqlite3.connect(path) as db:
        db.execute(sql)
        if table == "seal":
            db.execute("UPDATE seal SET ended = 'unsealed'") if column != "ended" else None
    return l.forge(path, f"{path}.sealed.lynx") if table != "seal" else path


@pytest.mark.parametrize(
    "table",
    [
        t if t in ("event", "seal") else pytest.param(t, marks=pytest.mark.long)
        for t in sorted({table for table, _, _ in columns()})
    ],
)
def test_no_column_of_a_bundle_reaches_the_terminal(tmp_path, table):
    """Every command that reads a bundle, in colour and not."""
    n = 0
    for column, kind in [(c, kind) for t, c, kind in columns() if t == table]:
        for whole in (False,) if (table, column) == ("meta", "key") else (False, True):
            path = forged(table, column, f"{tmp_path}/{column}-{whole}.lynx", whole, kind)
            other = f"{RECORDED}/small.lynx"
            for words in (
                ("show", path),
                ("show", path, "--sessions"),
                ("show", "--claim", path),
                ("attribute", path),
                ("show", path, "--html", f"{tmp_path}/r.html"),
                ("audit", path),
                ("diff", path, other),
                ("compare", other, path),
                ("gate", other, path),
                ("history", path, other),
                ("bisect", path),
                ("export", path, "--format", "vllm", "--out", f"{tmp_path}/x"),
                ("export", path, "--format", "csv"),
                ("verify", path, "--plan"),
                ("confirm", path),
            ):
                for colors in (False, True):
                    r = said(*words, env={"CLICOLOR_FORCE": "1"} if colors else None)
                    check_clean(r.stdout, (table, column, words), colors)
                    check_clean(r.stderr, (table, column, words), colors)
                    n += len(r.stdout) + len(r.stderr) > 0
    assert n > 20


def hostile_yaml(text):
    return json.dumps(text)  # a double-quoted scalar of YAML


CONTRACT = """lynxbench: 1
name: {c}
question: {c}
executor: {{endpoint: "http://127.0.0.1:1", declare: {{{key}: {c}}}, expect: {{"accelerator.x": {c}}}}}
workload: {{driver: "null", model: {c}, output_tokens: 2, prompts: {{count: 2, bytes: 8}}}}
owners: {{serving: {c}, {key}: x}}
signatories: [{c}]
{key}: 1
"""


@pytest.mark.parametrize("key", ['"a"', hostile_yaml(CANARY)])
@pytest.mark.parametrize("value", [hostile_yaml("plain"), hostile_yaml(CANARY), hostile_yaml("\u202e" + CANARY[:6])])
def test_no_contract_reaches_the_terminal(tmp_path, key, value):
    path = tmp_path / "c.yaml"
    path.write_text(CONTRACT.format(key=key, c=value))
    for words in (
        ("lint", path),
        ("run", path, "--out", tmp_path / "o.lynx"),
        ("schedule", "add", path, "--print", "cron"),
    ):
        r = said(*words, cwd=tmp_path)
        check_clean(r.stdout + r.stderr, words)


@pytest.mark.parametrize(
    "words",
    [["x" + CANARY], ["show", "--x" + CANARY], ["show", CANARY], ["attribute", b"\xff\x1b[2J"], ["run", CANARY]],
)
def test_no_argument_reaches_the_terminal(words):
    """Names of files, too, which need not be UTF-8."""
    r = said(*words)
    check_clean(r.stdout + r.stderr, words)
    assert r.returncode == 2


class Hostile(Handler):
    """A server whose every word is a canary."""

    def do_GET(self):
        executed = {k: CANARY for k in ("precision", "executed", "requested", "status", "primitive", "library")}
        models = {"data": [{"id": self.server.model, "executed": executed, "owned_by": CANARY}]}
        page = f'vllm:x{{model_name="{self.server.model}"}} 1\n# HELP {CANARY}\n'
        body = (json.dumps(models) if self.path == "/v1/models" else page).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Server", "x\x1b[31m")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.body()
        if not self.server.streams:
            body = json.dumps({"error": {"message": CANARY, "type": CANARY}}).encode()
            self.send_response(400, "bad")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        stream = Stream(self)
        for _ in range(3):
            stream.text(CANARY)
        self.wfile.write(usage(3) + b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    "streams, model",
    [
        pytest.param(True, "tiny", marks=pytest.mark.long),
        (False, "tiny"),
        (True, "tiny" + CANARY),
        (False, "tiny" + CANARY),
    ],
)
def test_no_word_of_a_server_reaches_the_terminal(tmp_path, streams, model):
    import threading
    from http.server import ThreadingHTTPServer

    s = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    s.streams, s.model = streams, model
    threading.Thread(target=s.serve_forever, daemon=True).start()
    url, out = f"http://127.0.0.1:{s.server_port}", tmp_path / "d.lynx"
    try:
        for words in (
            ("run", url, "--for", "6s", "--out", out),
            ("diagnose", url, "--for", "30s", "--at-most", "1", "--out", tmp_path / "e.lynx"),
            ("init", url, "--out", tmp_path / "i.yaml"),
        ):
            r = said(*words, cwd=tmp_path)
            check_clean(r.stdout + r.stderr, words)
    finally:
        s.shutdown()
    for path in (out, tmp_path / "e.lynx"):
        for command in (["show"], ["show", "--claim"], ["attribute"], ["audit"]) if path.exists() else ():
            r = said(*command, path)
            check_clean(r.stdout + r.stderr, command)


def test_json_on_a_terminal_is_escaped(tmp_path):
    """In a file it stays as it is: its bytes are compared. On a terminal it means the same."""
    contract, path = (
        l.contract(f"{tmp_path}/c.yaml", 1, executor="{}", workload=NOTHING, name='"a\\u202eb\\x9bc"'),
        f"{tmp_path}/c.lynx",
    )
    assert said("run", contract, "--quiet", "--out", path).returncode == 0
    plain = said("show", path, "--json").stdout
    assert "\u202e".encode() in plain
    ours, theirs = pty.openpty()
    with subprocess.Popen([l.LYNX, "show", path, "--json"], stdout=theirs, env=l.environment()) as p:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 65536):
                seen += chunk
        except OSError:
            pass
        assert p.wait() == 0
    os.close(ours)
    seen = seen.replace(b"\r\n", b"\n")
    check_clean(seen, "show --json")
    assert json.loads(seen) == json.loads(plain)


# --- what cannot be written ---


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    d = tmp_path_factory.mktemp("team")
    env = {"HOME": str(d), "XDG_STATE_HOME": str(d / "state"), "LYNXBENCH_KEY": str(d / "ml.key")}
    l.contract(f"{d}/c.yaml", 1, executor="{}", workload=NOTHING)
    for words in (
        ("ledger", "key", "ml", "--out", d),
        ("ledger", "create", d / "t.ledger"),
        ("ledger", "sign", d / "c.yaml", "--ledger", d / "t.ledger"),
    ):
        assert said(*words, env=env).returncode == 0, words
    return d, env


SAYS = [
    ("--version",),
    ("--version", "--verbose"),
    ("help",),
    ("--help",),
    ("show", "--help"),
    ("help", "--man", "show"),
    ("export", "--formulas"),
    ("import", "--formats"),
    ("lint", "D/c.yaml"),
    ("lint", "D/c.yaml", "--json"),
    ("lint", "D/c.yaml", "--canonical"),
    ("lint", "--schema"),
    ("lint", "--reference"),
    ("ledger", "list", "D/t.ledger"),
    ("ledger", "list", "D/t.ledger", "--json"),
    ("ledger", "entry", "D/t.ledger", "0"),
    ("ledger", "entry", "D/t.ledger", "0", "--raw"),
    ("ledger", "policy", "D/t.ledger"),
    ("ledger", "checkpoint", "D/t.ledger"),
    ("iterate", "--ledger", "D/t.ledger"),
    ("iterate", "--ledger", "D/t.ledger", "--json"),
    ("history", "R/small.lynx"),
    ("show", "R/small.lynx"),
    ("show", "R/small.lynx", "--json"),
    ("show", "--claim", "R/small.lynx"),
    ("attribute", "R/small.lynx"),
    ("audit", "R/small.lynx"),
    ("export", "R/small.lynx", "--format", "vllm"),
    ("history", "R/small.lynx", "--export", "prometheus"),
    ("capture", "--json"),
    ("run", "D/c.yaml", "--quiet", "--out", "T/o.lynx"),
    ("run", "D/c.yaml", "--quiet", "--out", "T/o.lynx", "--json"),
    ("ledger", "key", "new", "--out", "T"),
    ("ledger", "sign", "D/c.yaml", "--out", "T/s.json"),
]


@pytest.mark.parametrize("way", ["full", "closed"])
@pytest.mark.parametrize("words", SAYS, ids=lambda w: " ".join(w))
def test_what_cannot_be_written_is_an_error(tmp_path, team, words, way):
    """A full disk, or a standard output that is closed: exit 4, or what was wrong before; and a word."""
    d, env = team
    given = [w.replace("D/", f"{d}/").replace("R/", f"{RECORDED}/") for w in words]
    given = [str(tmp_path) if w == "T" else w.replace("T/", f"{tmp_path}/") for w in given]
    to = ">/dev/full" if way == "full" else ">&-"
    r = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {to}', l.LYNX, *given], capture_output=True, text=True, env=l.environment(**env)
    )
    assert r.returncode == 4 and "standard output: " in r.stderr, (r.returncode, r.stderr)


def test_whoever_stops_reading_is_told_nothing():
    r = subprocess.run(
        ["sh", "-c", '"$0" lint --reference | head -n 1', l.LYNX], capture_output=True, text=True, env=l.environment()
    )
    assert r.stderr == "" and r.stdout, r


@pytest.mark.parametrize("by_name", [True, False], ids=["by its name", "by a path"])
def test_a_next_step_begins_as_the_call_did(tmp_path, by_name):
    """What stands on a terminal can be pasted there."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lynxbench").symlink_to(l.LYNX)
    name = "lynxbench" if by_name else "bin/lynxbench"
    env = l.environment(HOME=str(tmp_path), PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    ours, theirs = pty.openpty()
    words = [name, "ledger", "key", "ml", "--out", "."]
    subprocess.run(words, stdout=theirs, stderr=theirs, env=env, cwd=tmp_path, timeout=60)
    os.close(theirs)
    told = os.read(ours, 1 << 16).decode().replace("\r", "")
    os.close(ours)
    (step,) = re.findall(r"^next: (.*)$", told, re.M)
    assert step == f"{name} ledger sign CONTRACT.yaml --key ./ml.key", told
    step = step.replace("CONTRACT.yaml", l.contract(f"{tmp_path}/c.yaml", 1)) + " --for a/ledger"
    r = subprocess.run(["sh", "-c", step], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert r.returncode == 0, (step, r.stderr)
    assert f"next: {name} " not in r.stdout or by_name, "elsewhere than on a terminal it is called by its name"


def test_an_error_takes_the_line_of_progress_away(tmp_path):
    """And where nobody looks there is a line every ten seconds, not one for each step."""
    port = l.free_port()
    path = l.contract(f"{tmp_path}/c.yaml", port, method="{warm_up: 200ms, counted: 600ms, sessions: 4, drain: 1s}")
    with l.reference("--mode", "metronome", port=port):
        plain = said("run", path, "--out", f"{tmp_path}/a.lynx").stderr.decode()
        ours, theirs = pty.openpty()
        words = [l.LYNX, "run", path, "--out", f"{tmp_path}/b.lynx"]
        subprocess.run(words, stderr=theirs, stdout=subprocess.DEVNULL, env=l.environment(TERM="xterm"), timeout=60)
        os.close(theirs)
        told = b""
        with contextlib.suppress(OSError):
            while more := os.read(ours, 1 << 16):
                told += more
        os.close(ours)
    steps = [line for line in plain.splitlines() if re.match(r"\[\d/4\] ", line)]
    assert 1 <= len(steps) <= 2 + 60 // 10, steps
    shown = told.decode().replace("\r\n", "\n").split("\r\x1b[K")
    assert len(shown) > 3 and not [s for s in shown if re.search(r"\d failed.*\n", s)], shown


if __name__ == "__main__":
    l.main(__file__)
