#!/usr/bin/env python3
"""How far off are the tools' figures? usage: accuracy.py BUILD [TOOL ...]

Each tool drives the same load against a server that logs when the kernel had each request and when
it wrote each event; each tool's figure is checked against the log's by that tool's own formula.

Processor seconds are printed with the tool's start-up, and without: a brief run of its own, of as many
answers as are taken off again, is what the start-up costs.

Time to first token: from the send (which the server sees as the arrival) to the first event.
Between them lies the loopback path, which is part of every tool's error here. A tool that is not
installed is skipped, and that is said."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

from clients import Server, TOKENIZER, free_port, measured, venv

build = os.path.abspath(sys.argv[1])
wanted = sys.argv[2:] or ["lynxbench", "AIPerf", "GuideLLM", "vLLM bench"]
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp(prefix="lynx-accuracy-", dir=os.environ.get("TMPDIR", "/tmp"))
EVENTS, GAP_US, FIRST_US = 20, 5000, 50000
LOADS = {
    "10 requests/s": {"rate": 10, "n": 150},
    "a closed loop of 16": {"closed": 16, "n": 600},
    "200 requests/s, one stall of 1.5 s": {"rate": 200, "n": 1600, "stall": (4000, 1500)},
}


BRIEF = {"closed": 16, "n": 32}


def quantile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p * len(values)))]


def truth(path, tokens):
    rows = [tuple(map(int, line.split())) for line in open(path)]
    first = [(f - a) / 1e6 for a, f, _ in rows]
    each = [(last - f) / 1e6 / (tokens - 1) for _, f, last in rows]
    return {
        "n": len(rows),
        "TTFT p50": quantile(first, 0.5),
        "TTFT p99": quantile(first, 0.99),
        "TPOT p50": quantile(each, 0.5),
    }


def ours(load, port):
    seconds = (
        load["n"] / load["rate"] if "rate" in load else load["n"] / load["closed"] * (FIRST_US + EVENTS * GAP_US) / 1e6
    )
    regime = (
        f"{{load: constant, rate_per_s: {load['rate']}}}"
        if "rate" in load
        else f"{{load: closed, concurrency: {load['closed']}}}"
    )
    with open(f"{folder}/c.yaml", "w") as f:
        f.write(
            f'lynxbench: 1\nexecutor: {{endpoint: "http://127.0.0.1:{port}"}}\n'
            f"workload: {{model: m, output_tokens: {EVENTS}, prompts: {{count: 8, bytes: 64}}}}\nregime: {regime}\n"
            f"method: {{warm_up: 0s, counted: {seconds:.3f}s, sessions: 1, steady: reported, drain: 30s, "
            f"request_timeout: 60s, stolen_at_most: 1, instrument_error_at_most: 1}}\n"
            f"counting: {{latency_from: sent}}\nchecks: []\n"
        )
    cpu, _, text = measured(
        [f"{build}/lynxbench", "run", f"{folder}/c.yaml", "--out", f"{folder}/c.lynx", "--quiet"], folder
    )
    if cpu is None:
        return None, text
    p = json.loads(
        subprocess.run(
            [f"{build}/lynxbench", "show", f"{folder}/c.lynx", "--json"], capture_output=True, text=True
        ).stdout
    )["precisions"][0]
    os.unlink(f"{folder}/c.lynx")
    at = {
        (name, q["p"]): q["estimate"] / 1e6
        for name, x in p["latency"].items()
        for q in x["quantiles"]
        if q["estimate"] != "infinite"
    }
    return {
        "TTFT p50": at["time_to_first_token", 0.5],
        "TTFT p99": at["time_to_first_token", 0.99],
        "TPOT p50": at["time_per_output_token", 0.5],
        "cpu": cpu,
    }, ""


def aiperf(load, port):
    shutil.rmtree(f"{folder}/aiperf", ignore_errors=True)
    how = (
        ["--request-rate", str(load["rate"]), "--arrival-pattern", "constant"]
        if "rate" in load
        else ["--concurrency", str(load["closed"])]
    )
    cpu, _, text = measured(
        [
            f"{installed['AIPerf']}/bin/aiperf",
            "profile",
            "-m",
            "m",
            "-u",
            f"http://127.0.0.1:{port}",
            "--endpoint-type",
            "completions",
            "--streaming",
            *how,
            "--request-count",
            str(load["n"]),
            "--tokenizer",
            f"{folder}/tokenizer",
            "--isl",
            "16",
            "--osl",
            str(EVENTS),
            "--ui-type",
            "none",
            "--artifact-dir",
            f"{folder}/aiperf",
        ],
        folder,
        PATH=f"{installed['AIPerf']}/bin:{os.environ['PATH']}",
    )
    found = glob.glob(f"{folder}/aiperf/**/profile_export_aiperf.json", recursive=True)
    if cpu is None or not found:
        return None, text
    d = json.load(open(found[0]))
    each = d.get("inter_token_latency", {})
    return {
        "TTFT p50": d["time_to_first_token"]["p50"],
        "TTFT p99": d["time_to_first_token"]["p99"],
        "TPOT p50": each.get("p50"),
        "cpu": cpu,
    }, ""


def guidellm(load, port):
    how = f"kind=constant,rate={load['rate']}" if "rate" in load else f"kind=concurrent,streams={load['closed']}"
    cpu, _, text = measured(
        [
            f"{installed['GuideLLM']}/bin/guidellm",
            "run",
            "--backend",
            f"kind=openai_http,target=http://127.0.0.1:{port},model=m,request_format=/v1/completions",
            "--profile",
            how,
            "--constraint",
            f"kind=max_requests,count={load['n']}",
            "--data",
            f"kind=synthetic_text,prompt_tokens=16,output_tokens={EVENTS}",
            "--tokenizer",
            f"kind=huggingface_auto,model={folder}/tokenizer",
            "--output",
            f"kind=json,path={folder}/guidellm.json",
            "--disable-console",
        ],
        folder,
        HF_HUB_OFFLINE="1",
    )
    if cpu is None or not os.path.exists(f"{folder}/guidellm.json"):
        return None, text
    m = json.load(open(f"{folder}/guidellm.json"))["benchmarks"][0]["metrics"]
    of = lambda name, key: m[name]["successful"]["percentiles"][key]
    return {
        "TTFT p50": of("time_to_first_token_ms", "p50"),
        "TTFT p99": of("time_to_first_token_ms", "p99"),
        "TPOT p50": of("inter_token_latency_ms", "p50"),
        "cpu": cpu,
    }, ""


def vllm(load, port):
    how = (
        ["--request-rate", str(load["rate"]), "--burstiness", "1000"]
        if "rate" in load
        else ["--max-concurrency", str(load["closed"])]
    )
    cpu, _, text = measured(
        [
            f"{installed['vLLM bench']}/bin/vllm",
            "bench",
            "serve",
            "--backend",
            "openai",
            "--base-url",
            f"http://127.0.0.1:{port}",
            "--endpoint",
            "/v1/completions",
            "--model",
            "m",
            "--tokenizer",
            f"{folder}/tokenizer",
            "--dataset-name",
            "random",
            "--random-input-len",
            "16",
            "--random-output-len",
            str(EVENTS),
            "--num-prompts",
            str(load["n"]),
            *how,
            "--ignore-eos",
            "--percentile-metrics",
            "ttft,tpot",
            "--metric-percentiles",
            "50,99",
            "--save-result",
            "--result-dir",
            folder,
            "--result-filename",
            "vllm.json",
        ],
        folder,
        timeout=600,
    )
    if cpu is None or not os.path.exists(f"{folder}/vllm.json"):
        return None, text
    d = json.load(open(f"{folder}/vllm.json"))
    return {
        "TTFT p50": d["median_ttft_ms"],
        "TTFT p99": d["p99_ttft_ms"],
        "TPOT p50": d["median_tpot_ms"],
        "cpu": cpu,
    }, ""


# AIPerf counts tokens by the tokenizer that it is given (bytes: " word" is five), the others by the server's usage.
TOKENS_PER_EVENT = {"AIPerf": 5}


def driven(tool, load):
    """The tool's figures (None, and why, where it failed), and the truth."""
    port, log = free_port(), f"{folder}/log"
    stall = [str(x) for x in load.get("stall", ())]
    with Server([server, str(port), str(EVENTS), str(GAP_US), str(FIRST_US), log, *stall], port):
        found, why = TOOLS[tool](load, port)
    return found, why, truth(log, EVENTS * TOKENS_PER_EVENT.get(tool, 1)) if found else None


TOOLS = {"lynxbench": ours, "AIPerf": aiperf, "GuideLLM": guidellm, "vLLM bench": vllm}
installed = {"lynxbench": build}
try:
    if "AIPerf" in wanted:
        installed["AIPerf"] = venv(build, "aiperf", "aiperf", ["aiperf"])
    if "GuideLLM" in wanted:
        installed["GuideLLM"] = venv(build, "guidellm", "guidellm", ["torch==2.13.0", "guidellm"])
    if "vLLM bench" in wanted:  # make test-peers installs it
        at = next((p for p in glob.glob(f"{build}/peers*") if os.path.exists(f"{p}/bin/vllm")), None)
        installed["vLLM bench"] = at
        if at is None:
            print("vLLM bench: skipped, because vLLM is not installed; make test-peers installs it")
    python = next(
        (f"{installed[t]}/bin/python" for t in ("AIPerf", "GuideLLM", "vLLM bench") if installed.get(t)), None
    )
    if python:
        subprocess.run([python, "-c", TOKENIZER, f"{folder}/tokenizer"], capture_output=True)
    server = os.path.join(build, "sse_server")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", server, os.path.join(here, "sse_server.c")], check=True)
    wanted = [tool for tool in wanted if installed.get(tool)]
    brief = {tool: driven(tool, BRIEF)[0] for tool in wanted}
    for name, load in LOADS.items():
        print(
            f"\n{name}: {load['n']} answers of {EVENTS} events, the first after {FIRST_US / 1000:.0f} ms, "
            f"then every {GAP_US / 1000:.0f} ms",
            flush=True,
        )
        for tool in wanted:
            found, why, true = driven(tool, load)
            if found is None:
                print(f"  {tool:<12} skipped, because it failed here: {why[-300:]}")
                continue
            parts = [
                f"{k} {found[k]:8.2f} ms, by the log {true[k]:8.2f} ({100 * (found[k] / true[k] - 1):+.2f} %)"
                for k in ("TTFT p50", "TTFT p99", "TPOT p50")
                if found.get(k)
            ]
            without = "unknown"
            if brief[tool] is not None and true["n"] > BRIEF["n"]:
                without = f"{(found['cpu'] - brief[tool]['cpu']) / (true['n'] - BRIEF['n']) * 1000:.2f}"
            print(
                f"  {tool:<12} {'; '.join(parts)}; {true['n']} answers, processor seconds per 1,000: "
                f"{found['cpu'] / true['n'] * 1000:.2f}, without the start-up {without}",
                flush=True,
            )
finally:
    shutil.rmtree(folder, ignore_errors=True)
