"""Plants causes in real servers, one at a time, and scores what `lynxbench diagnose` says (`make bench-attribution`).

Scored: is the right layer the first finding's, or among the first two findings'; is the right function, setting or
process named; does a clean server come out without a remediable cause. Sizes are drawn by the seed. The rules are
frozen: this file only reads what they say.
"""

import argparse
import contextlib
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
parser.add_argument("--keep", help="a folder for the bundles")
args = parser.parse_args()
rng = random.Random(args.seed)
processors = os.cpu_count() or 1

# plant: (server, how it is planted, what is right: for each cause its layers and a word that names it, None where
# nothing can). Two causes are a pair: both are looked for among the first three findings.
TORCH, ONNX, REF, VLLM = "torch", "onnx", "ref", "vllm"
ONE = ["taskset", "-c", "0"]
ISA = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
SLOW_TOKENIZER = ({"application"}, "slow_tokenize")
GIL = ({"application"}, "count_characters")
LOCK = ({"application", "serving"}, "step")
SLEEP = ({"application", "serving"}, "step")
LOGGING = ({"application", "serving"}, "logging")
CAST = ({"application", "framework"}, "cast_and_back")
AFFINITY = ({"system"}, "affinity")
HOG = ({"system"}, "python")
QUOTA = ({"system"}, "quota")
CASES = {
    "clean": (TORCH, {}, []),
    "tokenizer": (TORCH, {"plant": "tokenizer"}, [SLOW_TOKENIZER]),
    "gil": (TORCH, {"plant": "gil"}, [GIL]),
    "lock": (TORCH, {"plant": "lock"}, [LOCK]),
    "sleep": (TORCH, {"plant": "sleep"}, [SLEEP]),
    "batch_of_one": (TORCH, {"plant": "batch_of_one"}, [({"serving"}, None)]),
    "cast": (TORCH, {"plant": "cast"}, [CAST]),
    "logging": (TORCH, {"plant": "logging"}, [LOGGING]),
    "few_threads": (TORCH, {"plant": "few_threads"}, [({"runtime", "serving"}, None)]),
    "many_threads": (TORCH, {"plant": "many_threads"}, [({"runtime"}, None)]),
    "affinity": (TORCH, {"prefix": ONE}, [AFFINITY]),
    "isa": (TORCH, {"environment": ISA}, [({"runtime"}, "_ISA")]),
    "hog": (TORCH, {"hog": "busy"}, [HOG]),
    "bandwidth": (TORCH, {"hog": "copies"}, [HOG]),
    "quota": (TORCH, {"quota": True}, [QUOTA]),
    "onnx_clean": (ONNX, {}, []),
    "onnx_tokenizer": (ONNX, {"plant": "tokenizer"}, [SLOW_TOKENIZER]),
    "onnx_gil": (ONNX, {"plant": "gil"}, [GIL]),
    "onnx_lock": (ONNX, {"plant": "lock"}, [LOCK]),
    "onnx_sleep": (ONNX, {"plant": "sleep"}, [SLEEP]),
    "onnx_batch_of_one": (ONNX, {"plant": "batch_of_one"}, [({"serving"}, None)]),
    "onnx_cast": (ONNX, {"plant": "cast"}, [({"application", "framework"}, None)]),
    "onnx_logging": (ONNX, {"plant": "logging"}, [LOGGING]),
    "onnx_affinity": (ONNX, {"prefix": ONE}, [AFFINITY]),
    "onnx_hog": (ONNX, {"hog": "busy"}, [HOG]),
    "ref_clean": (REF, {"arguments": ["--threads", str(processors)]}, []),
    "ref_sleep": (REF, {"arguments": ["--slow", "8ms"]}, [({"application", "serving"}, None)]),
    "ref_batch_of_one": (REF, {"arguments": ["--max-batch", "1"]}, [({"serving"}, None)]),
    "ref_affinity": (REF, {"prefix": ONE, "arguments": ["--threads", "2"]}, [AFFINITY]),
    "ref_hog": (REF, {"hog": "busy"}, [HOG]),
    "ref_quota": (REF, {"quota": True, "arguments": ["--threads", str(processors)]}, [QUOTA]),
    "vllm_affinity": (VLLM, {"prefix": ONE}, [AFFINITY]),
    "vllm_hog": (VLLM, {"hog": "busy"}, [HOG]),
    "tokenizer+sleep": (TORCH, {"plant": "tokenizer+sleep"}, [SLOW_TOKENIZER, SLEEP]),
    "gil+hog": (TORCH, {"plant": "gil", "hog": "busy"}, [GIL, HOG]),
    "cast+affinity": (TORCH, {"plant": "cast", "prefix": ONE}, [CAST, AFFINITY]),
    "logging+quota": (ONNX, {"plant": "logging", "quota": True}, [LOGGING, QUOTA]),
}
HOGS = {
    "busy": "while True: pass",
    "copies": "a = bytearray(256 << 20)\nwhile True: b = bytes(a)",  # each copy goes through the memory
}
QUOTA_GROUP = "/sys/fs/cgroup/cpu/lynxbench-scoreboard"  # of version 1; elsewhere the case is left out


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def vllm():
    """How the tests of other files start it."""
    os.environ.update(SOURCE=ROOT, PEERS_PYTHON=args.python)
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    import vllm_server

    return vllm_server


def set_quota(pid):
    """Six tenths of one processor, for the process and what it starts."""
    os.makedirs(QUOTA_GROUP, exist_ok=True)
    for name, value in (("cpu.cfs_period_us", 100000), ("cpu.cfs_quota_us", 60000), ("cgroup.procs", pid)):
        with open(f"{QUOTA_GROUP}/{name}", "w") as f:
            f.write(str(value))


def cannot(kind, how):
    """Why a case is left out; None: it can be run."""
    if how.get("quota") and not os.access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", os.W_OK) and os.geteuid() != 0:
        return "no group with a quota can be made here"
    if how.get("quota") and not os.path.isdir("/sys/fs/cgroup/cpu"):
        return "control groups are of version 2 here"
    if kind == VLLM and not os.path.exists(os.path.join(vllm().PATH, "done")):
        return "vLLM is not installed (make test-peers installs it)"
    return None


def start(kind, how, port, log):
    if kind == VLLM:
        command = vllm().command(os.path.join(ROOT, "build"), port)
    elif kind in (TORCH, ONNX):
        size = f"{rng.uniform(0.7, 2.0):.2f}"
        command = [
            args.python,
            os.path.join(HERE, "server.py"),
            "--port",
            str(port),
            "--plant",
            how.get("plant", "none"),
        ]
        command += ["--size", size, "--backend", kind]
    else:
        command = [os.path.join(ROOT, "build", "lynxbench-ref"), "--port", str(port), "--shape", "tiny"]
    command = how.get("prefix", []) + command + how.get("arguments", [])
    environment = dict(os.environ, **(vllm().ENVIRONMENT if kind == VLLM else {}), **how.get("environment", {}))
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
    for _ in range(240):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1)
            if how.get("quota"):
                set_quota(server.pid)
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


def fits(finding, cause):
    layers, name = cause
    words = finding["id"] + " " + finding["named"] + " " + finding["evidence"]
    return bool({c["layer"] for c in finding["contributing"]} & layers) and (name is None or name in words)


def judge(verdict, causes):
    findings = verdict["findings"]
    if not causes:
        return {"clean": not findings}
    found = [{c["layer"] for c in f["contributing"]} for f in findings]
    layers = set().union(*(cause[0] for cause in causes))
    if len(causes) > 1:
        return {"both": all(any(fits(f, cause) for f in findings[:3]) for cause in causes)}
    named = causes[0][1]
    return {
        "first": bool(found) and bool(found[0] & layers),
        "two": any(f & layers for f in found[:2]),
        "named": None if named is None else any(fits(f, causes[0]) for f in findings[:2]),
    }


def share(scores, key):
    values = [s[key] for s in scores.values() if s.get(key) is not None]
    return f"{sum(values)} of {len(values)}" if values else "none"


wanted = [c for c in args.only.split(",") if c] or list(CASES)
verdicts, scores = {}, {}
with contextlib.nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory() as folder:
    for case in wanted:
        kind, how, causes = CASES[case]
        why = cannot(kind, how)
        if why:
            print(f"{case:18} left out: {why}", flush=True)
            continue
        port = free_port()
        hogs = [
            subprocess.Popen([sys.executable, "-c", HOGS[how["hog"]]]) for _ in range(processors if "hog" in how else 0)
        ]
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
                if how.get("quota"):
                    time.sleep(1)  # until the last of its threads is gone
                    os.rmdir(QUOTA_GROUP)
        verdicts[case], scores[case] = verdict, judge(verdict, causes)
        said = ", ".join(f"{f['id']} {f['named'][:60]}" for f in verdict["findings"][:3]) or verdict.get(
            "error", "nothing"
        )
        print(f"{case:18} {verdict['bottleneck']['id']:16} {scores[case]}  {said}", flush=True)

print(f"\nright layer first      {share(scores, 'first')}")
print(f"among the first two    {share(scores, 'two')}")
print(f"function or setting    {share(scores, 'named')}")
print(f"both of a pair         {share(scores, 'both')}")
print(f"clean without a cause  {share(scores, 'clean')}")
costs = [v["sampling_cost"] for v in verdicts.values() if v.get("sampling_cost") is not None]
if costs:
    print(f"sampling               at most {100 * max(costs):.2g} % of the processors")
if args.json:
    with open(args.json, "w") as to:
        json.dump(verdicts, to, indent=1)
