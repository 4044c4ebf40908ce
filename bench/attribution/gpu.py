"""Plants causes in a server that computes on an NVIDIA GPU and scores what lynxbench says (`make bench-gpu`, where there
is one, with PyTorch): what `diagnose` suspects first, whether taking the cause out gains as much as it bounds, and what
`perturb` finds that the GPU's time and the launch calls cost. The GPU's settings are not touched."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--lynxbench", default=os.path.join(ROOT, "build", "lynxbench"))
parser.add_argument("--library", default=os.path.join(ROOT, "build", "inject", "liblynxbench_cupti.so"))
parser.add_argument("--keep", required=True, help="a folder for bundles and traces")
parser.add_argument("--only", default="", help="plants, with commas between")
parser.add_argument("--perturb", default="none,launches", help="plants of which `perturb` is asked too")
args = parser.parse_args()
PORT = 8200
# plant: the rule that must come first; None: nothing is to be found
CASES = {"none": None, "launches": "gpu_launches", "sync": "gpu_read_back", "copy": "gpu_copies", "gil": "interpreter_lock"}


def lynx(*words):
    r = subprocess.run([args.lynxbench, *words], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def serve(plant, traces):
    environment = dict(os.environ, CUDA_INJECTION64_PATH=args.library, LYNXBENCH_CUPTI_FOLDER=traces)
    command = [sys.executable, os.path.join(HERE, "gpu_server.py"), "--port", str(PORT), "--plant", plant]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=-1, text=True)
    if server.stdout.readline() != "ready\n":
        sys.exit(f"the server did not start: {command}")
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v1/models", timeout=2).read()
            return server
        except OSError:
            time.sleep(0.05)
    sys.exit("the server does not answer")


def percent(figure):
    return f"{figure['estimate']:.3g} [{figure['low']:.3g}, {figure['high']:.3g}]"


def diagnosed(plant, out):
    code, said, error = lynx(*f"diagnose http://127.0.0.1:{PORT} --for 30s --at-most 32 --quiet --json --out {out}".split())
    if code != 0:
        print(f"{plant:10} diagnose: {code} {error[-300:]}", flush=True)
        return None
    verdict = json.loads(said)
    found = verdict["findings"]
    first = found[0]["id"] if found else None
    right = first == CASES[plant] if CASES[plant] else not found
    names = ", ".join(f"{f['id']} {100 * f['share']:.0f} % {f['named'][:40]}" for f in found[:3]) or "nothing"
    print(f"{plant:10} {'right' if right else 'WRONG'}: {verdict['bottleneck']['id']}; {names}", flush=True)
    for traced in verdict["traced"]:
        parts = [f"{p['state']} {100 * p['share']:.1f} %" for p in traced["parts"][:7]]
        print(f"{'':10} traced {traced['window_s']:.3f} s: {', '.join(parts)}", flush=True)
    return right, verdict


def perturbed(plant, run, out):
    code, said, error = lynx("perturb", run, "--only", "gpu,launches", "--for", "40s", "--quiet", "--json", "--out", out)
    if code != 0:
        print(f"{plant:10} perturb: {code} {error[-300:]}", flush=True)
        return
    print(lynx("perturb", out)[1], flush=True)


def confirmed(plant, run, out):
    code, said, error = lynx("confirm", run, CASES[plant], "--for", "60s", "--quiet", "--out", out)
    print(f"{plant:10} confirm {CASES[plant]}: {code}\n{said}{error[-300:]}", flush=True)


os.makedirs(args.keep, exist_ok=True)
wanted = [c for c in args.only.split(",") if c] or list(CASES)
scores = []
for plant in wanted:
    traces, out = os.path.join(args.keep, "traces"), os.path.join(args.keep, f"{plant}.lynx")
    os.makedirs(traces, exist_ok=True)
    server = serve(plant, traces)
    try:
        verdict = diagnosed(plant, out)
        scores.append(verdict is not None and verdict[0])
        if verdict is not None and CASES[plant] == "gpu_launches":
            confirmed(plant, out, os.path.join(args.keep, f"{plant}-confirmed.lynx"))
        if verdict is not None and plant in args.perturb.split(","):
            perturbed(plant, out, os.path.join(args.keep, f"{plant}-perturbed.lynx"))
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
print(f"right first        {sum(scores)} of {len(scores)}")
