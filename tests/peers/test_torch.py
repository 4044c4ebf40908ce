"""The same contract three times on a real PyTorch server, and on the reference executor: what `compare` makes of each pair."""

import sys

sys.path.insert(0, __import__("os").path.join(__import__("os").environ["SOURCE"], "tests", "e2e"))
from lynx import *

PYTHON = os.environ["PEERS_PYTHON"]
METHOD = "{warm_up: 1s, counted: 4s, sessions: 5, drain: 10s, request_timeout: 20s, instrument_error_at_most: 1, steady: reported}"
EXECUTORS = {
    "torch": f'[{PYTHON}, {SOURCE}/tests/peers/torch_server.py, --port, "{{port}}"]',
    "reference": f'[{REF}, --port, "{{port}}", --weights, {SOURCE}/reference/model/byte.safetensors]',
}

with folder() as d:
    for name, command in EXECUTORS.items():
        port = free_port()
        path = contract(
            f"{d}/{name}.yaml",
            port,
            executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health, start: {{command: {command}}}}}',
            workload=f"{{model: byte, output_tokens: 16, continuous_usage: true, prompts: {{file: {SOURCE}/reference/model/shakespeare.txt, count: 32, bytes: 64}}}}",
            regime="{load: closed, concurrency: 2}",
            method=METHOD,
            decision="{margin: 0.15}",
            checks="[length, usage, failures]",
        )
        for k in range(3):
            r = lynx("run", path, "--out", f"{d}/{name}{k}.lynx", "--quiet", timeout=600)
            check_equal(r.returncode, 0, f"{name} run {k}: {r.stderr}")
            p = show(f"{d}/{name}{k}.lynx")["precisions"][0]
            print(
                f"{name} {k}: {p['output_rate']['estimate']:.0f} tokens/s [{p['output_rate'].get('low', 0):.0f}, {p['output_rate'].get('high', 0):.0f}], {p['status']}, {p['primitive']}"
            )
        for a, b in ((0, 1), (0, 2), (1, 2)):
            r = lynx("compare", f"{d}/{name}{a}.lynx", f"{d}/{name}{b}.lynx", "--json")
            check(r.returncode in (0, 1, 3), f"{name} {a} {b}: exit {r.returncode} {r.stderr}")
            f = {x["figure"]: x for x in json.loads(r.stdout)["figures"]}["output throughput"]
            print(
                f"  {a} against {b}: ratio {f['ratio']:.3f} [{f['low']:.3f}, {f['high']:.3f}]: {f['verdict']}"
                + (f", {f['sessions_needed_per_side']} sessions a side" if "sessions_needed_per_side" in f else "")
            )
            check(
                "margin" in f["verdict"] or f.get("sessions_needed_per_side"),
                f"{name}: neither a verdict nor what it would take: {f}",
            )
            check_equal(json.loads(r.stdout)["executor_differences"], 0, f"{name}: the same executor three times")
finish()
