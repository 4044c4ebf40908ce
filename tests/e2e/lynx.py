"""What the end-to-end tests share: the built programs, a reference executor on a free port, and checks that print both values."""
import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["BUILD"]
SOURCE = os.environ["SOURCE"]
SANITIZED = os.environ.get("SANITIZED", "none") != "none"
LYNX = os.path.join(BUILD, "lynxbench")
REF = os.path.join(BUILD, "lynxbench-ref")
SHIM = os.path.join(BUILD, "tests", "failing.so")
failures = []
n_checks = 0


def check(condition, what):
    global n_checks
    n_checks += 1
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)


def check_equal(found, wanted, what):
    check(found == wanted, f"{what}: is {found!r}, should be {wanted!r}")


def check_in(part, whole, what):
    check(part in whole, f"{what}: {part!r} is not in {whole[:2000]!r}")


def finish():
    print(f"{n_checks} checks, {len(failures)} failed")
    sys.exit(1 if failures or n_checks == 0 else 0)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("LYNXBENCH")}
    env.update({k: str(v) for k, v in more.items()})
    return env


STOLEN = "condition: the hypervisor took"


def machine_was_busy(r):
    """Did a run end with exit 4 for what others did to this machine?"""
    return STOLEN in r.stderr or "the instrument was later than method.lag_p99_at_most" in r.stderr


def lynx(*args, timeout=120, env=None, **kw):
    """Runs lynxbench; a signal (a crash) is always a failure."""
    r = subprocess.run([LYNX, *map(str, args)], capture_output=True, text=True, timeout=timeout, env=environment(**(env or {})), errors="replace", **kw)
    check(r.returncode >= 0, f"lynxbench {args} was ended by signal {-r.returncode}: {r.stderr[-500:]}")
    if "Sanitizer" in r.stderr:
        check(False, f"lynxbench {args}: {r.stderr[-3000:]}")
    return r


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="lynx-e2e-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def reference(*args, port=None, log=None):
    """lynxbench-ref, ready on a port of its own."""
    port = port or free_port()
    out = open(log, "w") if log else subprocess.DEVNULL
    process = subprocess.Popen([REF, "--port", str(port), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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


def contract(path, port, **fields):
    """A short contract for the endpoint; fields replace sections as YAML text."""
    sections = {
        "name": "test",
        "executor": f'{{endpoint: "http://127.0.0.1:{port}"}}',
        "workload": "{model: metronome, output_tokens: 5, prompts: {count: 8, bytes: 32}}",
        "regime": "{load: constant, rate_per_s: 20}",
        "method": "{warm_up: 200ms, counted: 1s, sessions: 2, drain: 2s, request_timeout: 5s, lag_p99_at_most: 2s, steady: reported}",
    }
    sections.update(fields)
    if "stolen_at_most" not in sections["method"]:  # a neighbour on this machine is not what a test is about
        sections["method"] = sections["method"].rstrip()[:-1] + ", stolen_at_most: 1}"
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
    with sqlite3.connect(f"file:{bundle}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()
