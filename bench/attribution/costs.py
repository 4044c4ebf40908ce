"""What each profiler takes of the throughput of real servers (`make bench-profilers`).

On each executor a closed loop of 4; windows without profilers and windows with one of them follow one another, in one
run for each profiler, for all together, and for none: the last says how much the order and chance alone come to."""

import argparse
import json
import os
import random
import subprocess
import tempfile

from servers import free_port, serving, vllm

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
LYNX = os.path.join(ROOT, "build", "lynxbench")
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--python", default=os.path.join(ROOT, "build", "peers", "bin", "python"))
parser.add_argument("--windows", type=int, default=10, help="of each kind, for each profiler")
parser.add_argument("--window", default="3s")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--only", default="", help="executors, with commas between")
parser.add_argument("--json", help="write every cost there")
args = parser.parse_args()
rng = random.Random(args.seed)
PROFILERS = {"none": "none", "native_stacks": "native_stacks", "py_spy": "py_spy", "both": "native_stacks,py_spy"}


def server(backend):
    return [args.python, os.path.join(HERE, "server.py"), "--plant", "none", "--backend", backend]


# The command that starts it, without its port; tokens of an answer.
EXECUTORS = {
    "lynxbench-ref": ([os.path.join(ROOT, "build", "lynxbench-ref"), "--shape", "tiny"], 16),
    "PyTorch server": (server("torch"), 16),
    "ONNX Runtime server": (server("onnx"), 16),
    "vLLM for processors": (None, 16),
}


def cost(port, model, tokens, names, folder):
    contract, out = os.path.join(folder, f"{names}.yaml"), os.path.join(folder, f"{names}.lynx")
    with open(contract, "w") as f:
        f.write(f"""lynxbench: 1
executor: {{endpoint: "http://127.0.0.1:{port}"}}
workload: {{model: "{model}", output_tokens: {tokens}, prompts: {{count: 16, bytes: 64}}}}
regime: {{load: closed, concurrency: 4}}
method: {{warm_up: 500ms, counted: {args.window}, sessions: {args.windows}, attribution_sessions: {args.windows},
  drain: 30s, steady: reported, server_profiler: never, instrument_error_at_most: 1, stolen_at_most: 1}}
""")
    words = [LYNX, "run", contract, "--out", out, "--quiet", "--profilers", PROFILERS[names]]
    words += ["--py-spy", os.path.join(os.path.dirname(args.python), "py-spy")]
    r = subprocess.run(words, capture_output=True, text=True)
    if r.returncode not in (0, 4):
        return {"error": (r.stderr or r.stdout)[-300:]}
    said = json.loads(subprocess.run([LYNX, "attribute", out, "--json"], capture_output=True, text=True).stdout)
    wanted = ("profiling_cost", "profiling_cost_low", "profiling_cost_high", "sampling_cost")
    return {name: said[name] for name in wanted}


def text(found):
    if "error" in found or found["profiling_cost"] is None:
        return found.get("error", "the windows differ too much to tell")
    low, high = found["profiling_cost_low"], found["profiling_cost_high"]
    return f"{100 * found['profiling_cost']:.2g} % [{100 * low:.2g}, {100 * high:.2g}]"


def main():
    every = {}
    for name, (command, tokens) in EXECUTORS.items():
        if args.only and name not in args.only.split(","):
            continue
        if command is None and not os.path.exists(os.path.join(vllm(args.python).PATH, "done")):
            print(f"{name}: left out, it is not installed (make test-peers installs it)")
            continue
        port, environment = free_port(), dict(os.environ)
        words = [*(command or []), "--port", str(port)]
        if command is None:
            words = vllm(args.python).command(os.path.join(ROOT, "build"), port)
            environment.update(vllm(args.python).ENVIRONMENT)
        with serving(words, environment, port) as model, tempfile.TemporaryDirectory() as folder:
            order = list(PROFILERS)
            rng.shuffle(order)
            cost(port, model, tokens, "none", folder)  # warm
            os.remove(os.path.join(folder, "none.lynx"))
            for names in order:
                found = every.setdefault(name, {})[names] = cost(port, model, tokens, names, folder)
                print(f"{name:22} {names:14} {text(found)}", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(every, f, indent=1)


main()
