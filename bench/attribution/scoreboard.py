"""Plants causes in real servers, one at a time, and scores what `lynxbench diagnose` says (`make bench-attribution`).

Scored: is the right layer the first finding's, or among the first two findings'; is the right function, setting or
process named; does a clean server come out without a remediable cause; where a bound of the gain is printed, is what
taking the plant out really gains within it. Sizes are drawn by the seed. The rules are frozen: this file only reads what
they say.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import far
from servers import free_port, vllm

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
# nothing can). Two causes are a pair: both are looked for among the first three findings. None: nothing is planted, but
# nobody says that it is clean: shown, not scored.
TORCH, ONNX, REF, VLLM = "torch", "onnx", "ref", "vllm"
ONE = ["taskset", "-c", "0"]
ISA = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
SLOW_TOKENIZER = ({"application"}, "slow_tokenize")
GIL = ({"application"}, "count_characters")
LOCK = ({"application", "serving"}, "step")
SLEEP = ({"application", "serving"}, "step")
LOGGING = ({"application", "serving"}, "logging")
CAST = ({"application", "framework"}, "cast_and_back")
COLD = ({"serving", "framework", "demand"}, "cold")
NAGLE = ({"serving"}, "acknowledgement")
WIRE = ({"facility", "system"}, "wire")
AFFINITY = ({"system"}, "affinity")
HOG = ({"system"}, "python")
QUOTA = ({"system"}, "quota")
# A contract that starts the server for each session and counts from its first request on.
COLD_RUN = """lynxbench: 1
name: cold
executor: {{endpoint: "http://127.0.0.1:{port}", start: {{command: {command}, ready_within: 60s}}}}
workload: {{output_tokens: 8, prompts: {{count: 8, bytes: 64}}}}
regime: {{load: closed, concurrency: 2}}
method: {{warm_up: 0s, counted: 4s, sessions: 3, attribution_sessions: 0, drain: 5s, steady: reported}}
"""
CASES = {
    "clean": (TORCH, {}, []),
    "tokenizer": (TORCH, {"plant": "tokenizer"}, [SLOW_TOKENIZER]),
    "gil": (TORCH, {"plant": "gil"}, [GIL]),
    "lock": (TORCH, {"plant": "lock"}, [LOCK]),
    "sleep": (TORCH, {"plant": "sleep"}, [SLEEP]),
    "batch_of_one": (TORCH, {"plant": "batch_of_one"}, [({"serving"}, None)]),
    "cast": (TORCH, {"plant": "cast"}, [CAST]),
    "logging": (TORCH, {"plant": "logging"}, [LOGGING]),
    "nagle": (TORCH, {"plant": "nagle"}, [NAGLE]),
    "few_threads": (TORCH, {"plant": "few_threads"}, [({"runtime", "serving"}, None)]),
    "many_threads": (TORCH, {"plant": "many_threads"}, [({"runtime"}, None)]),
    "affinity": (TORCH, {"prefix": ONE}, [AFFINITY]),
    "isa": (TORCH, {"environment": ISA}, [({"runtime"}, "_ISA")]),
    "hog": (TORCH, {"hog": "busy"}, [HOG]),
    "bandwidth": (TORCH, {"hog": "copies"}, [HOG]),
    "quota": (TORCH, {"quota": True}, [QUOTA]),
    "clean_again": (TORCH, {}, []),
    "warm": (TORCH, {"plant": "none", "run": COLD_RUN}, []),
    "cold": (TORCH, {"plant": "cold", "run": COLD_RUN}, [COLD]),
    "wire": (TORCH, {"wire": 0.04}, [WIRE]),
    "onnx_clean": (ONNX, {}, []),
    "onnx_clean_again": (ONNX, {}, []),
    "onnx_warm": (ONNX, {"plant": "none", "run": COLD_RUN}, []),
    "onnx_cold": (ONNX, {"plant": "cold", "run": COLD_RUN}, [COLD]),
    "onnx_tokenizer": (ONNX, {"plant": "tokenizer"}, [SLOW_TOKENIZER]),
    "onnx_gil": (ONNX, {"plant": "gil"}, [GIL]),
    "onnx_lock": (ONNX, {"plant": "lock"}, [LOCK]),
    "onnx_sleep": (ONNX, {"plant": "sleep"}, [SLEEP]),
    "onnx_batch_of_one": (ONNX, {"plant": "batch_of_one"}, [({"serving"}, None)]),
    "onnx_cast": (ONNX, {"plant": "cast"}, [({"application", "framework"}, None)]),
    "onnx_logging": (ONNX, {"plant": "logging"}, [LOGGING]),
    "onnx_nagle": (ONNX, {"plant": "nagle"}, [NAGLE]),
    "onnx_affinity": (ONNX, {"prefix": ONE}, [AFFINITY]),
    "onnx_hog": (ONNX, {"hog": "busy"}, [HOG]),
    "ref_clean": (REF, {"arguments": ["--threads", str(processors)]}, []),
    "ref_clean_again": (REF, {"arguments": ["--threads", "1"]}, []),
    "clean_third": (TORCH, {}, []),
    "onnx_clean_third": (ONNX, {}, []),
    "ref_clean_third": (REF, {"arguments": ["--max-batch", "8"]}, []),
    "ref_sleep": (REF, {"arguments": ["--slow", "8ms"]}, [({"application", "serving"}, None)]),
    "ref_batch_of_one": (REF, {"arguments": ["--max-batch", "1"]}, [({"serving"}, None)]),
    "ref_affinity": (REF, {"prefix": ONE, "arguments": ["--threads", "2"]}, [AFFINITY]),
    "ref_hog": (REF, {"hog": "busy"}, [HOG]),
    "ref_quota": (REF, {"quota": True, "arguments": ["--threads", str(processors)]}, [QUOTA]),
    "vllm_affinity": (VLLM, {"prefix": ONE}, [AFFINITY]),
    "vllm_hog": (VLLM, {"hog": "busy"}, [HOG]),
    "vllm_as_it_is": (VLLM, {}, None),
    "vllm_tokenizer": (VLLM, {"planted": "tokenizer"}, [SLOW_TOKENIZER]),
    "vllm_detokenizer": (VLLM, {"planted": "detokenizer"}, [SLOW_TOKENIZER]),
    "vllm_gil": (VLLM, {"planted": "gil"}, [GIL]),
    "vllm_sleep": (VLLM, {"planted": "sleep"}, [({"application", "serving"}, "nap")]),
    "vllm_batch_of_one": (VLLM, {"arguments": ["--max-num-seqs", "1"]}, [({"serving"}, None)]),
    "vllm_quota": (VLLM, {"quota": True}, [QUOTA]),
    "tokenizer+sleep": (TORCH, {"plant": "tokenizer+sleep"}, [SLOW_TOKENIZER, SLEEP]),
    "gil+hog": (TORCH, {"plant": "gil", "hog": "busy"}, [GIL, HOG]),
    "cast+affinity": (TORCH, {"plant": "cast", "prefix": ONE}, [CAST, AFFINITY]),
    "gil+quota": (TORCH, {"plant": "gil", "quota": True}, [GIL, QUOTA]),
    "cast+sleep": (TORCH, {"plant": "cast+sleep"}, [CAST, SLEEP]),
    "tokenizer+hog": (ONNX, {"plant": "tokenizer", "hog": "busy"}, [SLOW_TOKENIZER, HOG]),
    "sleep+affinity": (ONNX, {"plant": "sleep", "prefix": ONE}, [SLEEP, AFFINITY]),
    "logging+quota": (ONNX, {"plant": "logging", "quota": True}, [LOGGING, QUOTA]),
}
# The same server without the plant, where its findings may print a bound on the gain.
CLEAN = {"wire": "clean", "cold": "warm", "onnx_cold": "onnx_warm", "ref_sleep": "ref_clean_again"}
CLEAN.update({case: "clean" for case in "tokenizer gil lock sleep cast logging nagle quota".split()})
CLEAN.update({f"onnx_{case}": "onnx_clean" for case in "tokenizer gil lock sleep cast logging nagle".split()})
HOGS = {
    "busy": "while True: pass",
    "copies": "a = bytearray(256 << 20)\nwhile True: b = bytes(a)",  # each copy goes through the memory
}
FETCH = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)"
QUOTA_GROUP = "/sys/fs/cgroup/cpu/lynxbench-scoreboard"  # of version 1; elsewhere the case is left out


def session_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rpartition(")")[2].split()[3])
    except OSError:
        return -1


def set_quota(pid):
    """Six tenths of one processor, for the process and all that it has started, which are one session."""
    os.makedirs(QUOTA_GROUP, exist_ok=True)
    values = [("cpu.cfs_period_us", 100000), ("cpu.cfs_quota_us", 60000)]
    values += [("cgroup.procs", int(p)) for p in os.listdir("/proc") if p.isdigit() and session_of(p) == pid]
    for name, value in values:
        with contextlib.suppress(ProcessLookupError), open(f"{QUOTA_GROUP}/{name}", "w") as f:
            f.write(str(value))


def cannot(kind, how):
    """Why a case is left out; None: it can be run."""
    if how.get("quota") and not os.access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", os.W_OK) and os.geteuid() != 0:
        return "no group with a quota can be made here"
    if how.get("quota") and not os.path.isdir("/sys/fs/cgroup/cpu"):
        return "control groups are of version 2 here"
    if how.get("wire") and (os.geteuid() != 0 or not os.path.exists("/dev/net/tun")):
        return "no tap devices can be made here"
    if kind == VLLM and not os.path.exists(os.path.join(vllm(args.python).PATH, "done")):
        return "vLLM is not installed (make test-peers installs it)"
    return None


def run_cold(kind, how, port, folder, name):
    """By `run`, not by `diagnose`, whose climb warms the server up."""
    size = f"{rng.uniform(0.7, 2.0):.2f}"
    command = [args.python, os.path.join(HERE, "server.py"), "--port", str(port), "--plant", how["plant"]]
    command += ["--size", size, "--backend", kind]
    contract, out = os.path.join(folder, f"{name}.yaml"), os.path.join(folder, f"{name}.lynx")
    with open(contract, "w") as f:
        f.write(how["run"].format(port=port, command=json.dumps(command)))
    program = os.path.join(ROOT, "build", "lynxbench")
    r = subprocess.run([program, "run", contract, "--out", out, "--quiet"], capture_output=True, text=True)
    if r.returncode not in (0, 4):
        return {"error": (r.stderr or r.stdout)[-300:], "findings": [], "bottleneck": {"id": "failed"}}
    return json.loads(subprocess.run([program, "attribute", out, "--json"], capture_output=True, text=True).stdout)


def start(kind, how, port, log, address="127.0.0.1"):
    if kind == VLLM:
        command = vllm(args.python).command(os.path.join(ROOT, "build"), port)
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
        command += ["--size", size, "--backend", kind, "--address", address]
    else:
        command = [os.path.join(ROOT, "build", "lynxbench-ref"), "--port", str(port), "--shape", "tiny"]
    command = how.get("prefix", []) + command + how.get("arguments", [])
    environment = dict(os.environ, **(vllm(args.python).ENVIRONMENT if kind == VLLM else {}), **how.get("environment", {}))
    if "planted" in how:
        size = f"{rng.uniform(0.7, 2.0):.2f}"
        environment.update(LYNXBENCH_PLANT=how["planted"], LYNXBENCH_PLANT_SIZE=size)
        environment["PYTHONPATH"] = os.path.join(HERE, "vllm_plants")
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
    for _ in range(240):
        try:
            fetch = [*how.get("near", []), "python3", "-c", FETCH, f"http://{address}:{port}/v1/models"]
            if subprocess.run(fetch, stderr=subprocess.DEVNULL).returncode:
                raise ConnectionRefusedError
            if how.get("quota"):
                set_quota(server.pid)
            return server
        except OSError:
            time.sleep(0.25)
            if server.poll() is not None:
                break
    sys.exit(f"the server did not start: {command}")


def diagnose(port, folder, name, near=(), address="127.0.0.1", pid=None):
    out = os.path.join(folder, f"{name}.lynx")
    command = [*near, os.path.join(ROOT, "build", "lynxbench"), "diagnose", f"http://{address}:{port}"]
    command += ["--for", args.length, *(["--pid", str(pid)] if pid else [])]
    command += ["--at-most", "16", "--out", out, "--quiet", "--json"]
    command += ["--py-spy", os.path.join(os.path.dirname(args.python), "py-spy")]
    r = subprocess.run(command, capture_output=True, text=True)
    if r.returncode != 0:
        return {"error": (r.stderr or r.stdout)[-300:], "findings": [], "bottleneck": {"id": "failed"}}
    return json.loads(r.stdout)


def diagnosed(kind, how, port, folder, case):
    hogs = [
        subprocess.Popen([sys.executable, "-c", HOGS[how["hog"]]]) for _ in range(processors if "hog" in how else 0)
    ]
    with contextlib.ExitStack() as stack, open(os.path.join(folder, "server.log"), "w") as log:
        near, address, pid = [], "127.0.0.1", None
        if "wire" in how:
            near, beyond = stack.enter_context(far.long_wire(how["wire"]))
            how, address = dict(how, prefix=beyond, near=near), far.FAR
        server = start(kind, how, port, log, address)
        if "wire" in how:
            pid = server.pid  # `ip netns exec` becomes its command
        try:
            return diagnose(port, folder, case, near, address, pid)
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            for hog in hogs:
                hog.kill()
                hog.wait()
            if how.get("quota"):
                time.sleep(1)  # until the last of its threads is gone
                os.rmdir(QUOTA_GROUP)


def fits(finding, cause):
    layers, name = cause
    words = finding["id"] + " " + finding["named"] + " " + finding["evidence"]
    return bool({c["layer"] for c in finding["contributing"]} & layers) and (name is None or name in words)


def rate(name, folder):
    """Tokens a second at the knee: estimate, low, high."""
    command = [os.path.join(ROOT, "build", "lynxbench"), "show", os.path.join(folder, f"{name}.lynx"), "--json"]
    r = subprocess.run(command, capture_output=True, text=True)
    figure = json.loads(r.stdout)["precisions"][0]["output_rate"] if r.returncode in (0, 3, 4) else {}
    return tuple(figure.get(k) or 0 for k in ("estimate", "low", "high"))


def within_bound(case, folder):
    """None where no bound is printed, or no clean server of this kind was measured. What taking the plant out gains has
    an error of both rates: beyond the bound is what lies beyond it with that error."""
    found = [f for f in verdicts[case]["findings"] if any(fits(f, cause) for cause in CASES[case][2])]
    bounds = [f["gain_at_most"] for f in found if f.get("gain_at_most")]
    if not bounds or CLEAN.get(case) not in verdicts:
        return None
    (planted, _, most), (clean, least, _) = rate(case, folder), rate(CLEAN[case], folder)
    if not planted or not clean or not least:
        return None
    gain, surely = 1 - planted / clean, 1 - most / least
    print(f"    bound {100 * max(bounds):.1f} %; taking it out gains {100 * gain:.1f} %, at least {100 * surely:.1f} %")
    return surely <= max(bounds)


def judge(verdict, causes):
    findings = verdict["findings"]
    if causes is None:
        return {}
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


if args.keep:
    os.makedirs(args.keep, exist_ok=True)
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
        verdict = run_cold(kind, how, port, folder, case) if "run" in how else diagnosed(kind, how, port, folder, case)
        verdicts[case], scores[case] = verdict, judge(verdict, causes)
        if causes:
            scores[case]["bound"] = within_bound(case, folder)
        said = ", ".join(f"{f['id']} {f['named'][:60]}" for f in verdict["findings"][:3]) or verdict.get(
            "error", "nothing"
        )
        print(f"{case:18} {verdict['bottleneck']['id']:16} {scores[case]}  {said}", flush=True)

print(f"\nright layer first      {share(scores, 'first')}")
print(f"among the first two    {share(scores, 'two')}")
print(f"function or setting    {share(scores, 'named')}")
print(f"both of a pair         {share(scores, 'both')}")
print(f"clean without a cause  {share(scores, 'clean')}")
print(f"gain within its bound  {share(scores, 'bound')}")
costs = [v["sampling_cost"] for v in verdicts.values() if v.get("sampling_cost") is not None]
if costs:
    print(f"sampling               at most {100 * max(costs):.2g} % of the processors")
if args.json:
    with open(args.json, "w") as to:
        json.dump(verdicts, to, indent=1)
