#!/usr/bin/env python3
"""What it costs to drive load, beside wrk, an asyncio client, AIPerf and GuideLLM in the same run: processor seconds of the client per million
requests and per million streamed events, pacing, memory, and what a long run takes to seal and open. What cannot be had here is said to be
skipped. usage: load.py BUILD [SECONDS]"""

import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

from clients import Server, TOKENIZER, free_port, measured, venv

build, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 6
here = os.path.dirname(os.path.abspath(__file__))
lynx = os.path.join(build, "lynxbench")
folder = tempfile.mkdtemp(prefix="lynx-bench-", dir=os.environ.get("TMPDIR", "/tmp"))
ROUNDS = 3


def lynxbench(name, workload, regime, method="", port=None, counted=None):
    path, bundle = f"{folder}/{name}.yaml", f"{folder}/{name}.lynx"
    with open(path, "w") as f:
        f.write(
            f'lynxbench: 1\nname: "{name}"\n' + (f'executor: {{endpoint: "http://127.0.0.1:{port}"}}\n' if port else "")
        )
        f.write(
            f"workload: {workload}\nregime: {regime}\nmethod: {{warm_up: 0s, counted: {counted or seconds}s, sessions: 1, steady: reported, drain: 60s, request_timeout: 120s, stolen_at_most: 1, failures_at_most: 1, instrument_error_at_most: 1{method}}}\n"
        )
    if os.path.exists(bundle):
        os.remove(bundle)
    cpu, memory, text = measured([lynx, "run", path, "--out", bundle, "--quiet"], folder)
    if cpu is None:
        raise RuntimeError(text)
    with sqlite3.connect(bundle) as db:
        n, events = db.execute("SELECT count(*), sum(n_text_events) FROM request WHERE outcome = 'ok'").fetchone()
        failed = db.execute(
            "SELECT count(*) FROM request WHERE outcome NOT IN ('ok', 'abandoned, not counted')"
        ).fetchone()[0]
        instrument = json.loads(db.execute("SELECT instrument FROM session").fetchone()[0])
        all_events = db.execute("SELECT sum(n_text_events) FROM request").fetchone()[0]
    return {
        "cpu": cpu,
        "thread": instrument["cpu_ns"] / 1e9,
        "n": n,
        "events": all_events or 0,
        "failed": failed,
        "memory": memory,
        "bundle": bundle,
    }


def plain_http():
    print(
        "\nplain HTTP: one thread, 32 kept connections, a small JSON answer from nginx; the least of three rounds, turn by turn"
    )
    if not shutil.which("nginx") or not shutil.which("wrk"):
        print("skipped: nginx or wrk is not installed")
        return
    port = free_port()
    answer = '{"object":"text_completion","choices":[{"index":0,"text":"ok","finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}'
    with open(f"{folder}/nginx.conf", "w") as f:
        f.write(
            f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log /dev/null; events {{ worker_connections 4096; }}\nhttp {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 300s; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};\n server {{ listen 127.0.0.1:{port}; location / {{ default_type application/json; return 200 '{answer}'; }} }} }}\n"
        )
    with open(f"{folder}/post.lua", "w") as f:
        f.write(
            'wrk.method = "POST"; wrk.headers["Content-Type"] = "application/json"; wrk.body = \'{"model":"","prompt":"'
            + "x" * 64
            + '","max_tokens":1,"temperature":0,"seed":1,"stream":false}\'\n'
        )
    best = {}
    with Server(["nginx", "-c", f"{folder}/nginx.conf"], port):
        for _ in range(ROUNDS):
            ours = lynxbench(
                "plain",
                "{stream: false, ignore_eos: false, output_tokens: 1, prompts: {count: 8, bytes: 64}}",
                "{load: closed, concurrency: 32}",
                port=port,
            )
            cpu, _, text = measured(
                [
                    "wrk",
                    "-t1",
                    "-c32",
                    f"-d{seconds:.0f}s",
                    "-s",
                    f"{folder}/post.lua",
                    f"http://127.0.0.1:{port}/v1/completions",
                ],
                folder,
            )
            n = next((int(line.split()[0]) for line in text.splitlines() if "requests in" in line), 0)
            for key, value in (
                ("wrk", cpu / n * 1e6),
                ("thread", ours["thread"] / ours["n"] * 1e6),
                ("whole", ours["cpu"] / ours["n"] * 1e6),
            ):
                best[key] = min(best.get(key, 1e9), value)
            best["failed"] = best.get("failed", 0) + ours["failed"]
        pacing = lynxbench(
            "pacing",
            "{stream: false, ignore_eos: false, output_tokens: 1, prompts: {count: 8, bytes: 64}}",
            "{load: constant, rate_per_s: 1000}",
            port=port,
        )
    print(f"  wrk                                        {best['wrk']:7.2f} s per million requests")
    print(
        f"  lynxbench, the load thread                 {best['thread']:7.2f} s per million requests: {best['thread'] / best['wrk']:.2f} of wrk's; failed: {best['failed']}"
    )
    print(
        f"  lynxbench, the whole process               {best['whole']:7.2f} s per million requests: every row recorded, sealed, read back and judged; wrk keeps a histogram"
    )
    with sqlite3.connect(pacing["bundle"]) as db:
        for what, sql in (("handed to the driver", "issued_ns"), ("first byte written", "written_ns")):
            late = sorted(x for (x,) in db.execute(f"SELECT {sql} - scheduled_ns FROM request WHERE outcome = 'ok'"))
            print(
                f"  pacing at 1,000 requests/s, {what:<20} p50 {late[len(late) // 2] / 1e3:.1f} us, p99 {late[int(len(late) * 0.99)] / 1e3:.1f} us, worst {late[-1] / 1e3:.0f} us late"
            )


ASYNCIO = """
import asyncio, aiohttp, json, sys, time
n, seconds, url = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
stamps = []
async def one(session, until):
    body = {"model": "m", "prompt": "x" * 64, "max_tokens": 200, "stream": True, "stream_options": {"include_usage": True}}
    while time.monotonic() < until:
        async with session.post(url + "/v1/completions", json=body) as answer:
            async for line in answer.content:
                if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                    choices = json.loads(line[6:])["choices"]
                    if choices and choices[0]["text"]: stamps.append(time.perf_counter_ns())
async def main():
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)) as session:
        until = time.monotonic() + seconds
        await asyncio.gather(*[one(session, until) for _ in range(n)])
asyncio.run(main())
print(len(stamps))
"""
EVENTS = 200


def streams():
    source, server = os.path.join(here, "sse_server.c"), os.path.join(build, "sse_server")
    floor = os.path.join(build, "sse_floor")
    for program, code in ((server, source), (floor, os.path.join(here, "sse_floor.c"))):
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, code], check=True)
    clients = venv(build, "asyncio", "aiohttp", ["aiohttp"])
    aiperf = venv(build, "aiperf", "aiperf", ["aiperf"])
    guidellm = venv(build, "guidellm", "guidellm", ["torch==2.13.0", "guidellm"])
    tokenizer = f"{folder}/tokenizer"
    if aiperf:
        subprocess.run([f"{aiperf}/bin/python", "-c", TOKENIZER, tokenizer], capture_output=True)
    for n, gap_us in ((100, 4000), (1000, 40000)):
        print(f"\nstreamed events: {n} streams of {EVENTS} events, {1000000 * n // gap_us} events/s offered")
        port = free_port()
        with Server([server, str(port), str(EVENTS), str(gap_us)], port):
            best = {}
            for _ in range(ROUNDS):
                ours = lynxbench(
                    "sse",
                    f"{{output_tokens: {EVENTS}, prompts: {{count: 8, bytes: 64}}}}",
                    f"{{load: closed, concurrency: {n}}}",
                    port=port,
                )
                best["thread"] = min(best.get("thread", 1e9), ours["thread"] / ours["events"] * 1e6)
                best["whole"] = min(best.get("whole", 1e9), ours["cpu"] / ours["events"] * 1e6)
                cpu, _, text = measured(
                    [floor, str(port), str(n), str(max(seconds, 2 * EVENTS * gap_us / 1e6)), str(EVENTS)]
                )  # an answer must end in it
                best["floor"] = min(best.get("floor", 1e9), cpu / int(text) * 1e6)
                if clients:
                    cpu, _, text = measured(
                        [f"{clients}/bin/python", "-c", ASYNCIO, str(n), str(seconds), f"http://127.0.0.1:{port}"],
                        folder,
                    )
                    best["asyncio (aiohttp)"] = min(
                        best.get("asyncio (aiohttp)", 1e9), cpu / int(text.split()[-1]) * 1e6
                    )
            print(
                f"  a client in C that only reads              {best['floor']:8.2f} s per million events: epoll, recvmsg and nothing else, so the least that a client of sockets pays here"
            )
            print(f"  lynxbench, the load thread                 {best['thread']:8.2f} s per million events")
            print(
                f"  lynxbench, the whole process               {best['whole']:8.2f} s per million events: recorded, sealed, read back and judged"
            )
            requests = max(n, int(seconds * 1e6 / gap_us / EVENTS * n))
            if aiperf:
                cpu, _, text = measured(
                    [
                        f"{aiperf}/bin/aiperf",
                        "profile",
                        "-m",
                        "m",
                        "-u",
                        f"http://127.0.0.1:{port}",
                        "--endpoint-type",
                        "completions",
                        "--streaming",
                        "--concurrency",
                        str(n),
                        "--request-count",
                        str(requests),
                        "--tokenizer",
                        tokenizer,
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
                    PATH=f"{aiperf}/bin:{os.environ['PATH']}",
                )
                if cpu is None:
                    print(f"  AIPerf: skipped, because it failed here: {text[-300:]}")
                else:
                    best["AIPerf"] = cpu / (requests * EVENTS) * 1e6
            if guidellm:
                cpu, _, text = measured(
                    [
                        f"{guidellm}/bin/guidellm",
                        "run",
                        "--backend",
                        f"kind=openai_http,target=http://127.0.0.1:{port},model=m,request_format=/v1/completions",
                        "--profile",
                        f"kind=concurrent,streams={n}",
                        "--constraint",
                        f"kind=max_requests,count={requests}",
                        "--data",
                        "kind=synthetic_text,prompt_tokens=16,output_tokens=200",
                        "--tokenizer",
                        f"kind=huggingface_auto,model={tokenizer}",
                        "--output",
                        f"kind=json,path={folder}/guidellm.json",
                        "--disable-console",
                    ],
                    folder,
                    HF_HUB_OFFLINE="1",
                )
                if cpu is None:
                    print(f"  GuideLLM: skipped, because it failed here: {text[-300:]}")
                else:
                    best["GuideLLM"] = cpu / (requests * EVENTS) * 1e6
            for name in ("asyncio (aiohttp)", "AIPerf", "GuideLLM"):
                if name in best:
                    print(
                        f"  {name:<42} {best[name]:8.2f} s per million events: {best[name] / best['thread']:.1f} times the load thread, {best[name] / best['whole']:.1f} times the whole process, {best[name] / best['floor']:.1f} times the client that only reads"
                    )
    port = free_port()
    with Server([server, str(port), "20", "400000"], port):
        ours = lynxbench(
            "many",
            "{output_tokens: 20, prompts: {count: 8, bytes: 64}}",
            "{load: closed, concurrency: 10000}",
            port=port,
            counted=max(seconds, 9),
        )
    print(
        f"\n10,000 streams in one thread: {ours['memory']:.0f} MB resident at most, {ours['n']} answers, {ours['failed']} failed, {ours['thread'] / ours['events'] * 1e6:.2f} s per million events"
    )


def long_run():
    ours = lynxbench(
        "long",
        '{driver: "null", output_tokens: 1000, prompts: {count: 8, bytes: 64}}',
        "{load: closed, concurrency: 1}",
        counted=4,
    )
    size = os.path.getsize(ours["bundle"]) / 1e6
    begun = time.time()
    subprocess.run([os.path.join(build, "bench", "open_bundle"), ours["bundle"]], check=True)
    print(
        f"a run of {ours['events'] / 1e6:.0f} million token times: {size:.0f} MB, opened and checked (structure, every digest, the root) in {time.time() - begun:.2f} s"
    )
    begun = time.time()
    subprocess.run([lynx, "show", ours["bundle"]], check=True, capture_output=True)
    print(f"  with every figure computed anew (`lynxbench show`): {time.time() - begun:.1f} s")


try:
    plain_http()
    streams()
    long_run()
finally:
    shutil.rmtree(folder, ignore_errors=True)
