"""py-spy beside a Python server: whose it may be, what it may do, what it costs, and what it names."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import pytest

import lynx as l
import machine
from test_diagnose import PROFILED, SLEEPING, attributed, climb


def test_a_planted_profiler_is_not_run(tmp_path):
    """A py-spy that others may write is whoever's, although the user names it."""
    port, marker = l.free_port(), tmp_path / "ran"
    source, bin_ = tmp_path / "server.py", tmp_path / "bin"
    source.write_text(SERVER)
    bin_.mkdir()
    (bin_ / "py-spy").write_text(f"#!/bin/sh\ntouch {marker}\n")
    os.chmod(bin_ / "py-spy", 0o777)
    process = subprocess.Popen([sys.executable, str(source), str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert "ready" in process.stdout.readline()
        _, out = climb(port, tmp_path, "m", code=(0, 3), more=("--py-spy", f"{bin_}/py-spy"))
    finally:
        process.kill()
        process.wait()
    assert not marker.exists()
    assert any("others may write it" in text for text in attributed(out)["not_seen"]), attributed(out)["not_seen"]


# Ours, and of the right name; one of the three takes a processor until it is told to end, and writes a stack.
GREEDY = """#!/bin/sh
case "$*" in *--gil*|*--idle*) exec sleep 30;; esac
while [ "$1" != --output ]; do shift; done
touch "$0.begun"
trap 'times > "$0.times"; echo "process 1:\\"x\\";thread (1): main;f (/srv/app.py:1) 2" > "$2"; exit 0' INT
while :; do :; done
"""


@pytest.mark.long
def test_a_profiler_that_takes_too_much_is_ended(tmp_path):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "py-spy").write_text(GREEDY)
    os.chmod(bin_ / "py-spy", 0o755)
    (tmp_path / "server.py").write_text(SERVER)
    port, out = l.free_port(), tmp_path / "d.lynx"
    # at 0.35 of a processor the budget is used up after 20 s
    method = PROFILED.replace("counted: 400ms", "counted: 24s").replace("sessions: 2", "sessions: 1", 1)
    words = [sys.executable, str(tmp_path / "server.py"), str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert "ready" in server.stdout.readline()
            path = l.contract(tmp_path / "c.yaml", port, workload="{model: m, output_tokens: 8}", method=method)
            py_spy = ("--profilers", "py_spy", "--py-spy", f"{bin_}/py-spy")
            r = l.lynx("run", path, "--out", out, "--quiet", *py_spy)
        finally:
            server.kill()
    assert r.returncode in (0, 3, 4), r.stderr
    told = [text for text in attributed(out)["not_seen"] if "took more than 25 % of a processor" in text]
    times = bin_ / "py-spy.times"
    used = re.match(r"(\d+)m([\d.]+)s", times.read_text()) if times.exists() else None
    ran_s = times.stat().st_mtime - (bin_ / "py-spy.begun").stat().st_mtime if used else 0
    if ran_s > 2 and 60 * int(used[1]) + float(used[2]) < 0.35 * ran_s:
        pytest.skip("other processes left it less than a third of a processor, by its own count")
    rates = l.rows(out, "SELECT value FROM sample WHERE series = 'profile.python.rate'")
    assert told and rates and rates[0][0] < 20, (told, rates, attributed(out)["not_seen"])


HOSTILE = """#!/bin/sh
out=; for word; do [ "$before" = --output ] && out=$word; before=$word; done
folder=$(dirname "$out")
id -u >>"$(dirname "$0")/ids"
mv "$folder" "$folder.mine" 2>/dev/null && ln -s "$(dirname "$0")/trap" "$folder"
rm -f "$out" && ln -s "$(dirname "$0")/secret" "$out"
rm -f "$folder"/*.log; mkfifo "$folder/python_gil.log" "$folder/python_all.log"
echo 'thread (1): x;planted (/srv/p.py:1) 5' >"$out"
sleep 1
"""


def test_a_profiled_user_gets_nothing_of_roots(tmp_path):
    """py-spy runs as the server's user, who may do what py-spy may: nothing in our folder, but to its own file."""
    if os.geteuid() != 0:
        pytest.skip("only root gives rights up")
    port, folder = l.free_port(), tempfile.mkdtemp(prefix="lynx-hostile-")
    try:
        os.chmod(folder, 0o755)
        for name, text, mode in (("py-spy", HOSTILE, 0o755), ("secret", "root's", 0o600), ("server.py", SERVER, 0o644)):
            with open(f"{folder}/{name}", "w") as f:
                f.write(text)
            os.chmod(f"{folder}/{name}", mode)
        os.mkdir(f"{folder}/trap", 0o700)
        os.close(os.open(f"{folder}/ids", os.O_CREAT, 0o666))
        os.chmod(f"{folder}/ids", 0o666)
        words = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "/usr/bin/python3",
            f"{folder}/server.py",
        ]
        process = subprocess.Popen([*words, str(port)], stdout=subprocess.PIPE, text=True)
        try:
            assert "ready" in process.stdout.readline()
            _, out = climb(port, tmp_path, "m", code=(0, 3), more=("--py-spy", f"{folder}/py-spy"))
        finally:
            process.kill()
            process.wait()
        ids = set(open(f"{folder}/ids").read().split())
        assert ids and ids <= {"65534", "0"}, ids
        assert os.listdir(f"{folder}/trap") == [] and os.stat(f"{folder}/trap").st_uid == 0
        with sqlite3.connect(out) as db:
            assert not db.execute("SELECT frames FROM stack WHERE frames LIKE '%root%s%'").fetchall()
        assert not [name for name in os.listdir("/tmp") if name.startswith("lynxbench-") and name.endswith(".mine")]
    finally:
        shutil.rmtree(folder)


SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def burn():
    total = 0
    for i in range(60000):
        total += i * i % 7
    return total

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": [{"id": "m"}]}).encode())

    def event(self, choice, **more):
        self.wfile.write(b"data: " + json.dumps({"choices": [dict(choice, index=0)], **more}).encode() + b"\\n\\n")
        self.wfile.flush()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for n in range(8):
            burn()
            self.event({"text": "a", "finish_reason": None})
        usage = {"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11}
        self.event({"text": "", "finish_reason": "length"}, usage=usage)
        self.wfile.write(b"data: [DONE]\\n\\n")

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""


@contextlib.contextmanager
def python_server(folder):
    """The server above, four of whose threads want one lock: its port, and its process."""
    port = l.free_port()
    (folder / "server.py").write_text(SERVER)
    words = [sys.executable, str(folder / "server.py"), str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert "ready" in process.stdout.readline()
            yield port, process.pid
        finally:
            process.kill()


def processor_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded(folder, py_spy):
    """A closed loop of four: what is said of it, and how many processors the server used, by the kernel's own count."""
    folder.mkdir()
    workload, regime = "{model: m, output_tokens: 8, prompts: {count: 8, bytes: 64}}", "{load: closed, concurrency: 4}"
    with python_server(folder) as (port, pid):
        path = l.contract(folder / "c.yaml", port, workload=workload, regime=regime, method=SLEEPING)
        before, began = processor_s(pid), time.monotonic()
        r = l.lynx("run", path, "--out", folder / "c.lynx", "--quiet", "--py-spy", py_spy)
        used = (processor_s(pid) - before) / (time.monotonic() - began)
    assert r.returncode == 0, r.stderr
    return attributed(folder / "c.lynx"), used


@pytest.mark.long
@pytest.mark.quiet
def test_python_of_the_server_is_not_attributed_without_py_spy(tmp_path):
    """That time is nobody's, and it says what would tell whose; the lock is found all the same."""
    machine.need("perf", machine.perf(), "perf_event_open is refused")
    said, used = machine.beside_nothing(lambda k: loaded(tmp_path / str(k), tmp_path / "none"))
    assert sum(t["looks"] for t in said["account"]["threads"]) >= 100, said["not_seen"]
    assert 0.5 < used < 1.2, f"four threads take turns on one processor: {used}"
    assert "interpreter_lock" in [f["id"] for f in said["findings"]], said["findings"]
    parts = [p for t in said["account"]["threads"] for p in t["parts"] if p["kind"] == "python"]
    assert sum(p["share"] for p in parts) > 0.4 * said["account"]["running"], said["account"]
    assert all(p["layer"] == "not attributed" and "py-spy" in p["would_be_attributed_by"] for p in parts), parts
    assert any("py-spy" in text for text in said["not_seen"]), said["not_seen"]


@pytest.mark.long
@pytest.mark.quiet
def test_python_of_the_server_is_named_by_py_spy(tmp_path):
    path = machine.need("py-spy", machine.py_spy(), "py-spy is not installed, or may not look")
    said, _ = machine.beside_nothing(lambda k: loaded(tmp_path / str(k), path))
    named = [f for f in said["findings"] if "burn" in f["named"]]
    assert named and named[0]["contributing"][0]["layer"] == "application", said["findings"]


if __name__ == "__main__":
    l.main(__file__)
