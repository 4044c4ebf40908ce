"""What the end-to-end tests share: the programs, a reference executor on a free port, checks that print both values."""

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import printed_steps

BUILD = os.environ["BUILD"]
SOURCE = os.environ["SOURCE"]
SANITIZED = os.environ.get("SANITIZED", "none") != "none"
LYNX = os.path.join(BUILD, "lynxbench")
REF = os.path.join(BUILD, "lynxbench-ref")
SHIM = os.path.join(BUILD, "tests", "failing.so")
RAN = (0, 3, 4)  # a run came to its end: what a busy machine lets it claim, or not, is no matter
STEPS = os.environ.get("LYNX_TESTS_STEPS")  # a file: next steps are run, and what came of them is added there
failures = []
n_checks = 0

# What this user's own runs left behind (an envelope, contracts, ledgers) is no part of a test, and the other way round.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="lynx-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)


def check(condition, what):
    global n_checks
    n_checks += 1
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)


def check_equal(found, wanted, what):
    check(found == wanted, f"{what}: is {found!r}, should be {wanted!r}")


def check_in(part, whole, what):
    check(part in whole, f"{what}: {part!r} is not in {str(whole)[:2000]!r}")


def finish():
    print(f"{n_checks} checks, {len(failures)} failed")
    sys.exit(1 if failures or n_checks == 0 else 0)


class Ran:
    """How many cases ran; those that did not say why, as scripts/test.sh reads it."""

    n = 0

    def pytest_runtest_logreport(self, report):
        if report.outcome == "skipped":
            print(f"\nskipped: {report.longrepr[2].removeprefix('Skipped: ')}")
        elif report.when == "call":
            self.n += 1


def main(path):
    """The cases of a file, by pytest: -k NAME selects. 77: all were skipped, or none has the mark asked for."""
    import pytest

    ran = Ran()
    code = pytest.main([path, "-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[ran])
    sys.exit(77 if code in (0, 5) and ran.n == 0 else code)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port, seconds=20):
    for _ in range(seconds * 20):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens at port {port}")


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("LYNXBENCH")}
    env.update({k: str(v) for k, v in more.items()})
    return env


STOLEN = "condition: the hypervisor took"


def machine_was_busy(r):
    """Did a run end with exit 4 for what others did to this machine?"""
    return STOLEN in r.stderr or "own lateness can have changed" in r.stderr


def lynx(*args, timeout=120, env=None, **kw):
    """Runs lynxbench; a signal (a crash) is always a failure."""
    pipes = {"capture_output": True, "text": True, "errors": "replace"}
    r = subprocess.run([LYNX, *map(str, args)], timeout=timeout, env=environment(**(env or {})), **pipes, **kw)
    check(r.returncode >= 0, f"lynxbench {args} was ended by signal {-r.returncode}: {r.stderr[-500:]}")
    if "Sanitizer" in r.stderr:
        check(False, f"lynxbench {args}: {r.stderr[-3000:]}")
    if STEPS:
        printed_steps.run_steps(r.stdout + r.stderr, kw.get("cwd"), environment(**(env or {})), STEPS)
    return r


def open_files(pid):
    """The paths a running process has open; what it closes, and its end, while one looks is no failure."""
    paths = []
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                paths.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return paths


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="lynx-e2e-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def reference(*args, port=None, log=None, env=None):
    """lynxbench-ref, ready on a port of its own."""
    port = port or free_port()
    out = open(log, "w") if log else subprocess.DEVNULL
    process = subprocess.Popen(
        [REF, "--port", str(port), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        line = process.stdout.readline()
        if "ready" not in line:
            process.wait(10)
            raise RuntimeError(f"lynxbench-ref is not ready: {line}")
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        rest = process.stdout.read()
        check("Sanitizer" not in rest, f"lynxbench-ref: {rest[-3000:]}")
        if log:
            out.close()


def answering(work, before=""):
    """The source of a server, its port as argument, that does this work (a body, indented by eight) for each answer;
    before: what it runs once."""
    return f"""
import http.server, json, sys, time
{before}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1
    def log_message(self, *words): pass
    def do_GET(self):
        self.answer({{"data": [{{"id": "tiny"}}]}})
    def answer(self, what):
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
{work}
        self.answer({{"choices": [{{"index": 0, "text": "a b", "finish_reason": "length"}}]}})
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def contract(path, port, **fields):
    """A short contract for the endpoint; fields replace sections as YAML text."""
    sections = {
        "name": "test",
        "executor": f'{{endpoint: "http://127.0.0.1:{port}"}}',
        "workload": "{model: metronome, output_tokens: 5, prompts: {count: 8, bytes: 32}}",
        "regime": "{load: constant, rate_per_s: 40}",
        "method": "{warm_up: 200ms, counted: 500ms, sessions: 2, drain: 2s, request_timeout: 5s, "
        "instrument_error_at_most: 1, steady: reported}",
    }
    sections.update(fields)
    if "stolen_at_most" not in sections["method"]:  # a neighbour on this machine is not what a test is about
        sections["method"] = sections["method"].rstrip()[:-1] + ", stolen_at_most: 1}"
    given = sections.get("decision", "{}").strip()[1:-1]  # nor are neighbours of one run and not of the other
    if "conditions_differ_at_most" not in given:
        sections["decision"] = "{" + (given + ", " if given else "") + "conditions_differ_at_most: 1}"
    with open(path, "w") as f:
        f.write("lynxbench: 1\n")
        for key, value in sections.items():
            f.write(f"{key}: {value}\n")
    return path


def show(bundle):
    r = lynx("show", bundle, "--json")
    check(r.returncode in (0, 3), f"show {bundle}: exit {r.returncode}: {r.stderr}")
    return json.loads(r.stdout)


def rows(bundle, sql):
    with contextlib.closing(sqlite3.connect(f"file:{bundle}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


# --- a bundle's digests, in another program than the one that wrote it: docs/bundle.md ---

BUNDLE_SECTIONS = [
    ("meta", "key, value", "key"),
    ("input", "id, text", "id"),
    ("fact", "moment, layer, key, kind, status, value, unit, source, at_ns", "moment, layer, key"),
    (
        "session",
        "id, precision, number, seed, executor_started, status, start_realtime_ns, warm_up_ns, counted_ns, drain_ns, "
        "schedule_digest, executed, instrument, purpose, rate_per_s, concurrency, began",
        "id",
    ),
    (
        "request",
        "session, id, phase, outcome, reason, http_status, input, scheduled_ns, issued_ns, written_ns, first_byte_ns, "
        "first_token_ns, last_token_ns, end_ns, prompt_tokens, output_tokens, n_text_events, read_lag_ns, flags, "
        "events, first_answer_ns, first_tool_call_ns",
        "session, id",
    ),
    ("phase", "session, request, place, name, from_ns, took_ns", "session, request, place"),
    ("sample", "session, series, at_ns, value", "session, series, at_ns"),
    ("accuracy", "session, measure, window, value, weight", "session, measure, window"),
    ("answer", "session, input, text", "session, input"),
    ("event", "id, realtime_ns, kind, text", "id"),
    ("thread", "session, process, thread, program, name, processors", "session, process, thread"),
    (
        "activity",
        "session, process, thread, at_ns, span_ns, running_ns, system_ns, ready_ns, timer, lock, network, disk, other, "
        "unknown, processor",
        "session, process, thread, at_ns",
    ),
    ("stack", "session, source, process, thread, frames, n", "session, source, process, thread, frames"),
    (
        "block",
        "session, number, cycle, target, asked, given, from_ns, to_ns, running_ns, ready_ns",
        "session, number",
    ),
]


def bundle_digests(db):
    """Of every section: what is withheld keeps the digest that the record names."""
    digests = {}
    for name, columns, order in BUNDLE_SECTIONS:
        sql = "SELECT salt, digest, withheld FROM section WHERE name = ?"
        salt, digest, withheld = db.execute(sql, (name,)).fetchone()
        h = hashlib.sha256(salt)
        if db.execute("PRAGMA user_version").fetchone()[0] == 5:
            columns = columns.removesuffix(", first_answer_ns, first_tool_call_ns")
        for row in db.execute(f"SELECT {columns} FROM {name} ORDER BY {order}"):
            h.update(b"R")
            for v in row:
                if v is None:
                    h.update(b"n")
                elif isinstance(v, int):
                    h.update(b"i" + struct.pack(">q", v))
                elif isinstance(v, float):
                    h.update(b"r" + struct.pack(">d", v))
                else:
                    data = v.encode(errors="surrogateescape") if isinstance(v, str) else v
                    h.update((b"t" if isinstance(v, str) else b"b") + struct.pack(">Q", len(data)) + data)
        digests[name] = digest if withheld else h.digest()
    return digests


def bundle_root(db, digests):
    ended, why = db.execute("SELECT ended, why FROM seal").fetchone()
    lines = "".join(f"{name} {digests[name].hex()}\n" for name, _, _ in BUNDLE_SECTIONS)
    return hashlib.sha256(f"lynx-bundle-1\n{lines}{ended}\n{why}\n".encode(errors="surrogateescape")).digest()


def forge(bundle, to, *sql):
    """Alters a copy and seals it anew, as anybody can whose bundle nobody signed."""
    shutil.copy(bundle, to)
    with sqlite3.connect(to) as db:
        db.text_factory = lambda b: b.decode(errors="surrogateescape")  # a stranger's text need not be UTF-8
        for s in sql:
            db.execute(s)
        digests = bundle_digests(db)
        for name, digest in digests.items():
            db.execute("UPDATE section SET digest = ? WHERE name = ?", (digest, name))
        db.execute("UPDATE seal SET root = ?", (bundle_root(db, digests),))
    return to
