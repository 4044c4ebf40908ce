"""Plants causes in real servers, one at a time, and scores what `lynxbench diagnose` says (`make bench-attribution`).

Scored: is the right layer the first finding's, or among the first two findings'; is the right function, setting or
process named; does a clean server come out without a remediable cause. Sizes are drawn by the seed. The rules are
frozen: this file only reads what they say.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "--python", default=os.path.join(ROOT, "build", "peers", "bin", "python"), help="with torch and py-spy"
)
parser.add_argument("--for", dest="length", default="40s", help="each diagnosis")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--only", default="", help="plants, with commas between")
parser.add_argument("--json", help="write every verdict there")
args = parser.parse_args()
rng = random.Random(args.seed)
processors = os.cpu_count() or 1

# plant: (server, how it is planted, layers that are right, a word that names it or None where nothing can)
TORCH, REF = "torch", "ref"
CASES = {
    "clean": (TORCH, {}, set(), None),
    "tokenizer": (TORCH, {"plant": "tokenizer"}, {"application"}, "slow_tokenize"),
    "gil": (TORCH, {"plant": "gil"}, {"application"}, "count_characters"),
    "lock": (TORCH, {"plant": "lock"}, {"application", "serving"}, "step"),
    "sleep": (TORCH, {"plant": "sleep"}, {"application", "serving"}, "step"),
    "batch_of_one": (TORCH, {"plant": "batch_of_one"}, {"serving"}, None),
    "cast": (TORCH, {"plant": "cast"}, {"application", "framework"}, "cast_and_back"),
    "logging": (TORCH, {"plant": "logging"}, {"application", "serving"}, "logging"),
    "few_threads": (TORCH, {"plant": "few_threads"}, {"runtime", "serving"}, None),
    "many_threads": (TORCH, {"plant": "many_threads"}, {"runtime"}, None),
    "affinity": (TORCH, {"prefix": ["taskset", "-c", "0"]}, {"system"}, "affinity"),
    "isa": (
        TORCH,
        {"environment": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}},
        {"runtime"},
        "_ISA",
    ),
    "hog": (TORCH, {"hog": True}, {"system"}, "python"),
    "ref_clean": (REF, {"arguments": ["--threads", str(processors)]}, set(), None),
    "ref_sleep": (REF, {"arguments": ["--slow", "8ms"]}, {"application", "serving"}, None),
    "ref_batch_of_one": (REF, {"arguments": ["--max-batch", "1"]}, {"serving"}, None),
    "ref_affinity": (REF, {"prefix": ["taskset", "-c", "0"], "arguments": ["--threads", "2"]}, {"system"}, "affinity"),
    "ref_hog": (REF, {"hog": True}, {"system"}, "python"),
}
HOG = "import time\nwhile True: pass"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(kind, how, port, log):
    if kind == TORCH:
        size = f"{rng.uniform(0.7, 2.0):.2f}"
        command = [
            args.python,
            os.path.join(HERE, "server.py"),
            "--port",
            str(port),
            "--plant",
            how.get("plant", "none"),
        ]
        command += ["--size", size]
    else:
        command = [os.path.join(ROOT, "build", "lynxbench-ref"), "--port", str(port), "--shape", "tiny"]
    command = how.get("prefix", []) + command + how.get("arguments", [])
    environment = dict(os.environ, **how.get("environment", {}))
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
    for _ in range(240):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1)
            return server
        except OSError:
            time.sleep(0.25)
            if server.poll() is not None:
                break
    sys.exit(f"the server did not start: {command}")


def diagnose(port, folder, name):
    out = os.path.join(folder, f"{name}.lynx")
    path = os.path.dirname(args.python) + ":" + os.environ["PATH"]
    command = [os.path.join(ROOT, "build", "lynxbench"), "diagnose", f"http://127.0.0.1:{port}", "--for", args.length]
    command += ["--at-most", "16", "--out", out, "--quiet", "--json"]
    r = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, PATH=path))
    if r.returncode != 0:
        return {"error": (r.stderr or r.stdout)[-300:], "findings": [], "bottleneck": {"id": "failed"}}
    return json.loads(r.stdout)


def judge(verdict, layers, name):
    findings = verdict["findings"]
    found = [{c["layer"] for c in f["contributing"]} for f in findings]
    words = [f["id"] + " " + f["named"] + " " + f["evidence"] for f in findings]
    if not layers:
        return {"clean": not findings}
    return {
        "first": bool(found) and bool(found[0] & layers),
        "two": any(f & layers for f in found[:2]),
        "named": None if name is None else any(name in w for w in words[:2]),
    }


def share(scores, key):
    values = [s[key] for s in scores.values() if s.get(key) is not None]
    return f"{sum(values)} of {len(values)}" if values else "none"


wanted = [c for c in args.only.split(",") if c] or list(CASES)
verdicts, scores = {}, {}
with tempfile.TemporaryDirectory() as folder:
    for case in wanted:
        kind, how, layers, name = CASES[case]
        port = free_port()
        hogs = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(processors if how.get("hog") else 0)]
        with open(os.path.join(folder, "server.log"), "w") as log:
            server = start(kind, how, port, log)
            try:
                verdict = diagnose(port, folder, case)
            finally:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
                for hog in hogs:
                    hog.kill()
                    hog.wait()
        verdicts[case], scores[case] = verdict, judge(verdict, layers, name)
        said = ", ".join(f"{f['id']} {f['named'][:60]}" for f in verdict["findings"][:3]) or verdict.get(
            "error", "nothing"
        )
        print(f"{case:18} {verdict['bottleneck']['id']:16} {scores[case]}  {said}", flush=True)

print(f"\nright layer first      {share(scores, 'first')}")
print(f"among the first two    {share(scores, 'two')}")
print(f"function or setting    {share(scores, 'named')}")
print(f"clean without a cause  {share(scores, 'clean')}")
costs = [v["sampling_cost"] for v in verdicts.values() if v.get("sampling_cost") is not None]
if costs:
    print(f"sampling               at most {100 * max(costs):.2g} % of the processors")
if args.json:
    with open(args.json, "w") as to:
        json.dump(verdicts, to, indent=1)
