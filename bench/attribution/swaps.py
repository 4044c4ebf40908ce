"""Two start commands of a PyTorch server that differ in a dozen facts, of which it is known which carry the difference,
and what `lynxbench bisect` says of them (`make bench-bisect`). The others are facts that change nothing here."""

import argparse
import json
import os
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--lynxbench", default=os.path.join(ROOT, "build", "lynxbench"))
parser.add_argument("--python", default=os.path.join(ROOT, "build", "peers", "bin", "python"))
parser.add_argument("--for", dest="length", default="12min", help="each, at most")
parser.add_argument("--session", default="3s")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--only", default="", help="cases, with commas between")
parser.add_argument("--json", help="write every answer there")
args = parser.parse_args()

INERT_A = {
    "LANG": "C",
    "TZ": "UTC",
    "PYTHONHASHSEED": "1",
    "PYTHONUNBUFFERED": "1",
    "HF_HUB_OFFLINE": "1",
    "TMPDIR": "/tmp",
}
INERT_B = {"LANG": "C.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "HF_HUB_OFFLINE": "0", "TMPDIR": "/var/tmp"}
INERT_B.update({"TOKENIZERS_PARALLELISM": "false", "TF_CPP_MIN_LOG_LEVEL": "3", "NO_COLOR": "1", "COLUMNS": "120"})
ISA = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
NONE, GIL = ["--plant", "none", "--size", "0.5"], ["--plant", "gil", "--size", "0.5"]

# case: A's arguments and variables, B's, and what carries the difference; None: it is not known beforehand
CASES = {
    "noise": (NONE, {}, NONE, {}, set()),
    "plant": (NONE, {}, GIL, {}, {"--plant"}),
    "plant x size": (NONE, {}, ["--plant", "gil", "--size", "2"], {}, {"--plant", "--size"}),
    "instructions": (NONE, {}, NONE, ISA, None),
}


def contract(path, port, arguments, variables):
    command = [args.python, os.path.join(HERE, "server.py"), "--port", str(port), *arguments]
    environment = [f"{k}={v}" for k, v in {"PATH": os.environ["PATH"], **variables}.items()]
    with open(path, "w") as f:
        f.write(
            f"lynxbench: 1\nname: bisect\nexecutor: {{endpoint: 'http://127.0.0.1:{port}', ready_path: /v1/models, "
            f"start: {{command: {json.dumps(command)}, environment: {json.dumps(environment)}}}}}\n"
            "workload: {model: planted, output_tokens: 16, prompts: {count: 8, bytes: 64}}\n"
            "regime: {load: closed, concurrency: 2}\n"
            f"method: {{warm_up: 1s, counted: 10s, drain: 10s, stolen_at_most: 1, seed: {args.seed}}}\n"
        )


said, right, judged = {}, 0, 0
with tempfile.TemporaryDirectory() as folder:
    for name in [c for c in args.only.split(",") if c] or CASES:
        a, a_more, b, b_more, wanted = CASES[name]
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        contract(f"{folder}/a.yaml", port, a, {**INERT_A, **a_more})
        contract(f"{folder}/b.yaml", port, b, {**INERT_B, **b_more})
        began = time.monotonic()
        r = subprocess.run(
            [args.lynxbench, "bisect", f"{folder}/a.yaml", f"{folder}/b.yaml", "--for", args.length, "--json"]
            + ["--session", args.session, "--quiet", "--out", f"{folder}/{name.replace(' ', '-')}.lynx"],
            capture_output=True,
            text=True,
        )
        x = said[name] = (
            json.loads(r.stdout) if r.stdout.startswith("{") else {"verdict": "failed", "why": r.stderr[-400:]}
        )
        if "parts" not in x:
            print(f"{name:14} failed: {x['why']}", flush=True)
            continue
        parts = [" or ".join(f["name"] for f in p["facts"]) for p in x["parts"]]
        good = wanted is not None and (set(parts) == wanted and x["decided"])
        right, judged = right + good, judged + (wanted is not None)
        print(
            f"{name:14} {x['verdict']:12} {', '.join(parts) or '-':44} {'right' if good else '' if wanted is None else 'NOT RIGHT'}  "
            f"{x['facts']} facts, {x['sessions']} sessions of {2 ** x['facts']} combinations, {(time.monotonic() - began) / 60:.1f} min; "
            f"A to B {x['whole']['ln']:+.3f} [{x['whole']['low'] or 0:+.3f}, {x['whole']['high'] or 0:+.3f}], session by session "
            f"{x['deviation'] or 0:.3f}, rest {x['rest']['ln'] or 0:+.3f}",
            flush=True,
        )
print(f"right            {right} of {judged}")
if args.json:
    with open(args.json, "w") as to:
        json.dump(said, to, indent=1)
