"""The server's own profiler, asked by its routes in a session of its own. The server here has vLLM's routes and
writes a recorded trace of PyTorch's profiler under its own process number; vLLM itself is in
tests/peers/test_diagnose_peers.py."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import lynx as l

SERVER = '''
import gzip, json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
port, recorded, manner = int(sys.argv[1]), sys.argv[2], sys.argv[3]
folder = os.environ.get("VLLM_TORCH_PROFILER_DIR", "")
if len(sys.argv) > 5: folder = json.loads(sys.argv[5])["torch_profiler_dir"]
calls = open(os.path.join(os.path.dirname(sys.argv[2]), "calls"), "a", buffering=1)
class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def say(self, code, body):
        self.send_response(code); self.send_header("Content-Length", str(len(body)))
        self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        self.say(200, json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode())
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("_profile"):
            calls.write(self.path + "\\n")
            if manner == "refuses": return self.say(500, b"no")
            if manner == "hangs" and self.path == "/stop_profile": time.sleep(100)
            if self.path == "/stop_profile" and manner != "silent":
                os.makedirs(folder, exist_ok=True)
                text = gzip.decompress(open(recorded, "rb").read())
                if manner == "rubbish": text = b'{"traceEvents": [' + b"x" * 100000
                else:
                    trace = json.loads(text)
                    hosts = {e["pid"] for e in trace["traceEvents"] if e.get("cat") == "python_function"}
                    for e in trace["traceEvents"]:
                        if e.get("pid") in hosts: e["pid"] = os.getpid()
                    text = json.dumps(trace).encode()
                with open(os.path.join(folder, "rank0.pt.trace.json"), "wb") as f: f.write(text)
                if manner == "traps":
                    os.symlink("/etc/shadow", os.path.join(folder, "a.json"))
                    os.mkfifo(os.path.join(folder, "b.json.gz"))
                    os.mkdir(os.path.join(folder, "c.json"))
            return self.say(200, b"")
        q = json.loads(body)
        self.send_response(200); self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
        def chunk(d):
            t = b"data: " + (d if isinstance(d, bytes) else json.dumps(d).encode()) + b"\\n\\n"
            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(t), t))
        for n in range(q.get("max_tokens", 4)):
            sum(range(20000))
            chunk({"choices": [{"index": 0, "text": "a", "finish_reason": None}]})
        usage = {"prompt_tokens": 1, "completion_tokens": q.get("max_tokens", 4), "total_tokens": 9}
        chunk({"choices": [], "usage": usage})
        chunk(b"[DONE]"); self.wfile.write(b"0\\r\\n\\r\\n")
class S(ThreadingHTTPServer):
    daemon_threads = True
print("ready", flush=True)
S(("127.0.0.1", port), H).serve_forever()
'''
RECORDED = os.path.join(l.SOURCE, "tests", "recorded", "profiles", "h100-bert.json.gz")
CONTRACT = """lynxbench: 1
name: traced
executor: {{endpoint: "http://127.0.0.1:{port}"}}
workload: {{output_tokens: 4, prompts: {{count: 4, bytes: 16}}}}
regime: {{load: closed, concurrency: 2}}
method:
  {{warm_up: 100ms, counted: 400ms, sessions: 2, drain: 5s, attribution_sessions: 1, steady: reported,
    instrument_error_at_most: 1}}
"""


@contextlib.contextmanager
def serving(folder, manner="good", environment=True, before=""):
    port, here = l.free_port(), str(folder)
    os.symlink(RECORDED, f"{here}/recorded.gz")
    with open(f"{here}/server.py", "w") as f:
        f.write(before + SERVER)
    config = json.dumps({"profiler": "torch", "torch_profiler_dir": "traces"})  # below the server's folder
    words = [sys.executable, f"{here}/server.py", str(port), f"{here}/recorded.gz", manner]
    words += [] if environment else ["--profiler-config", config]
    more = {"VLLM_TORCH_PROFILER_DIR": f"{here}/traces"} if environment is True else environment or {}
    server = subprocess.Popen(words, stdout=-1, stderr=subprocess.DEVNULL, env={**os.environ, **more}, cwd=here)
    try:
        assert b"ready" in server.stdout.readline()
        with open(f"{here}/c.yaml", "w") as f:
            f.write(CONTRACT.format(port=port))
        yield server, here
    finally:
        server.kill()
        server.wait()


def run_until(here, called):
    """A run that has asked for that route."""
    words = [l.LYNX, "run", f"{here}/c.yaml", "--out", f"{here}/r.lynx", "--quiet"]
    run = subprocess.Popen(words, env=l.environment(), stderr=subprocess.DEVNULL)
    for _ in range(600):
        if called in open(f"{here}/calls").read():
            break
        time.sleep(0.05)
    return run


def measured(here):
    r = l.lynx("run", f"{here}/c.yaml", "--out", f"{here}/r.lynx", "--quiet")
    assert r.returncode in l.RAN, r.stderr
    return json.loads(l.lynx("attribute", f"{here}/r.lynx", "--json").stdout)


@pytest.mark.parametrize("environment", [True, False])
def test_its_trace_is_in_the_account(tmp_path, environment):
    with serving(tmp_path, environment=environment) as (server, here):
        said = measured(here)
        pid = server.pid
    assert open(f"{here}/calls").read().split() == ["/start_profile", "/stop_profile"]
    (traced,) = said["traced"]
    assert traced["process"] == pid and traced["program"].startswith("python")
    assert abs(sum(p["share"] for p in traced["parts"]) - 1) < 1e-6, "the parts sum to the window"
    forward = [p for p in traced["parts"] if p["where"].startswith("torch/nn/modules/linear.py")]
    assert forward and forward[0]["layer"] == "framework" and forward[0]["what"] == "forward"
    own = json.loads(l.lynx("attribute", f"{here}/traces/rank0.pt.trace.json", "--json").stdout)["traces"][0]
    assert abs(traced["window_s"] - own["wall_ns"] / 1e9) < 1e-9
    states = {s["state"] for s in own["states"]}
    assert {p["state"] for p in traced["parts"]} <= states
    assert any(f"{here}/traces/rank0.pt.trace.json" in where for where in said["trace_files"])
    # It counts into no figure, and the bundle is whole.
    sessions = l.rows(f"{here}/r.lynx", "select purpose, count(*) from session group by purpose")
    assert dict(sessions) == {"measure": 2, "attribute": 1, "trace": 1}
    assert l.lynx("audit", f"{here}/r.lynx").returncode in (0, 4)
    text = l.lynx("attribute", f"{here}/r.lynx").stdout
    assert "its own profiler recorded" in text and "linear.py:124" in text
    page = l.lynx("attribute", f"{here}/r.lynx", "--html", f"{here}/p.html")
    assert page.returncode == 0 and "own profiler recorded" in open(f"{here}/p.html").read()


def test_it_is_left_alone_where_one_says_so(tmp_path):
    with serving(tmp_path) as (_, here):
        text = open(f"{here}/c.yaml").read()
        with open(f"{here}/c.yaml", "w") as f:
            f.write(text.replace("drain: 5s,", "drain: 5s, server_profiler: never,"))
        said = measured(here)
    assert said["traced"] == [] and open(f"{here}/calls").read() == ""


def test_what_lies_there_already_is_left_alone(tmp_path):
    with serving(tmp_path) as (_, here):
        os.mkdir(f"{here}/traces")
        with open(f"{here}/traces/old.json", "w") as f:
            f.write("somebody's")
        said = measured(here)
    assert len(said["traced"]) == 1
    assert open(f"{here}/traces/old.json").read() == "somebody's"
    assert sorted(os.listdir(f"{here}/traces")) == ["old.json", "rank0.pt.trace.json"]


@pytest.mark.parametrize(
    "manner, word", [("refuses", "answers 500"), ("silent", "no trace appeared"), ("rubbish", "cannot be read")]
)
def test_why_there_is_none(tmp_path, manner, word):
    with serving(tmp_path, manner) as (_, here):
        said = measured(here)
    assert said["traced"] == []
    text = l.lynx("attribute", f"{here}/r.lynx").stdout
    assert "own profiler" in text and word in " ".join(text.split()), text


def test_traps_in_its_folder(tmp_path):
    with serving(tmp_path, "traps") as (_, here):
        said = measured(here)
    assert len(said["traced"]) == 1, "a pipe, a folder and a link to somebody's file are no traces"


def test_interrupted_it_is_stopped(tmp_path):
    """Whoever stops the run leaves no profiler running."""
    with serving(tmp_path) as (_, here):
        run = run_until(here, "start")
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 130
        assert open(f"{here}/calls").read().split() == ["/start_profile", "/stop_profile"]


def test_a_trace_is_merged_by_hand(tmp_path):
    """Of a profiler that has no routes: PyTorch's Python package, ONNX Runtime's option."""
    with serving(tmp_path, "silent") as (_, here):
        measured(here)
    run, whole = f"{here}/r.lynx", f"{here}/w.lynx"
    r = l.lynx("merge", run, RECORDED, "--out", whole)
    assert r.returncode == 0 and "0.00 s of process" in r.stdout, r.stderr
    said = json.loads(l.lynx("attribute", whole, "--json").stdout)
    (traced,) = said["traced"]
    assert abs(sum(p["share"] for p in traced["parts"]) - 1) < 1e-6
    assert any(RECORDED in f and "by hand" in f for f in said["trace_files"])
    figures = [l.show(b)["precisions"][0]["output_rate"] for b in (run, whole)]
    assert figures[0] == figures[1], "no figure of the run changes"
    assert l.lynx("audit", whole).returncode == l.lynx("audit", run).returncode
    twice = f"{here}/t.lynx"
    assert l.lynx("merge", whole, RECORDED, "--out", twice).returncode == 0
    (both,) = json.loads(l.lynx("attribute", twice, "--json").stdout)["traced"]
    assert abs(sum(p["share"] for p in both["parts"]) - 1) < 1e-6 and len(both["parts"]) == len(traced["parts"])
    for bad in (f"{here}/c.yaml", here, f"{here}/nothing"):
        r = l.lynx("merge", run, bad, "--out", f"{here}/x.lynx")
        assert r.returncode == 2 and bad in r.stderr and not os.path.exists(f"{here}/x.lynx"), r.stderr


def test_who_stops_twice_does_not_wait_for_it(tmp_path):
    with serving(tmp_path, "hangs") as (_, here):
        run = run_until(here, "stop")
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        run.send_signal(signal.SIGTERM)
        assert run.wait(15) == 130
    assert l.lynx("show", f"{here}/r.lynx").returncode in (0, 3, 4, 130)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts processes of other users")
def test_a_child_of_another_user_names_no_folder(tmp_path):
    """What it may open, and who chose its environment, are two matters: a program that gains rights is such a child."""
    child = "import subprocess\nwords = ['setpriv', '--reuid=65534', '--clear-groups', 'sleep', '60']\n"
    environment = {"VLLM_TORCH_PROFILER_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    child += f"other = subprocess.Popen(words, env={environment!r})\n"
    with serving(tmp_path, environment={"PATH": os.environ["PATH"]}, before=child) as (_, here):
        said = measured(here)
    assert said["traced"] == [] and open(f"{here}/calls").read() == ""


if __name__ == "__main__":
    l.main(__file__)
