#!/usr/bin/env python3
"""What watching tells, beside the truth, and what it costs. lynxbench-ref answers by a schedule and logs every write; lynxbench brings the
load; `watch` reads the packets between them. Printed: how many requests are matched, whether their tokens are the same, how far the watch's
times are from the server's own log, and how much of a processor the parser took at several rates of tokens.
usage: watch.py BUILD [SECONDS]"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

build, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
folder = tempfile.mkdtemp(prefix="lynx-bench-", dir=os.environ.get("TMPDIR", "/tmp"))
lynx, ref = os.path.join(build, "lynxbench"), os.path.join(build, "lynxbench-ref")


def start_server(name, gap):
    words = [ref, "--mode", "metronome", "--port", "0", "--first-token", "20ms", "--gap", gap, "--log", f"{folder}/{name}.log"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return server, int(re.search(r":(\d+)", server.stdout.readline()).group(1))


def rows(bundle, columns):
    with sqlite3.connect(bundle) as db:
        zero = dict(db.execute("SELECT id, start_realtime_ns FROM session"))
        got = db.execute(f"SELECT session, {', '.join(columns)} FROM request WHERE outcome = 'ok'").fetchall()
    return sorted([zero[r[0]] + v if c.endswith("_ns") else v for c, v in zip(columns, r[1:])] for r in got)


def quantile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p * len(values)))] if values else float("nan")


def one(name, gap, rate):
    server, port = start_server(name, gap)
    contract = f"""lynxbench: 1
name: {name}
executor: {{endpoint: "http://127.0.0.1:{port}"}}
workload: {{driver: http, model: m, output_tokens: 64, prompts: {{count: 8, bytes: 256}}}}
regime: {{load: poisson, rate_per_s: {rate}}}
method: {{warm_up: 0s, counted: {seconds}s, sessions: 1, drain: 20s, steady: reported}}
"""
    with open(f"{folder}/{name}.yaml", "w") as f:
        f.write(contract)
    watch = [lynx, "watch", f"http://127.0.0.1:{port}", "--for", f"{seconds + 4}s", "--fine", "--out", f"{folder}/{name}-w.lynx"]
    watching = subprocess.Popen(watch, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watching.stderr.readline()
    subprocess.run([lynx, "run", f"{folder}/{name}.yaml", "--out", f"{folder}/{name}.lynx", "--quiet"], capture_output=True)
    said = watching.communicate()[1]
    server.send_signal(signal.SIGTERM)
    server.wait()
    columns = ["written_ns", "first_token_ns", "end_ns", "output_tokens", "n_text_events"]
    client, seen = rows(f"{folder}/{name}.lynx", columns), rows(f"{folder}/{name}-w.lynx", columns)
    n, equal, at = 0, 0, 0
    pairs = []
    for c in client:  # both in order of time; the wire's request passes after it was written, and before it was read
        while at < len(seen) and seen[at][0] < c[0] - 1e6:
            at += 1
        near = [s for s in seen[at : at + 64] if s[0] - c[0] < 5e8 and s[2] <= c[2] + 1e6]
        if near:
            s = min(near, key=lambda s: abs(s[0] - c[0]))
            n += 1
            equal += s[3:] == c[3:]
            pairs.append(((c[1] - c[0]) - (s[1] - s[0])))
    cost = re.search(r"cost: ([\d.e-]+) % of a processor to read (\d+) packets a second; .* about ([\d.e-]+) %", said)
    with sqlite3.connect(f"{folder}/{name}-w.lynx") as db:
        tokens = db.execute("SELECT sum(n_text_events) FROM request").fetchone()[0] or 0
    print(
        f"{name:10} {rate * 64:7.0f} {len(client):7} {100 * n / max(1, len(client)):8.2f} % {100 * equal / max(1, n):8.2f} % "
        f"{quantile(pairs, 0.5) / 1e3:10.0f} µs {quantile(pairs, 0.99) / 1e3:10.0f} µs "
        f"{cost.group(1) if cost else '-':>8} % {cost.group(3) if cost else '-':>8} % {tokens / (seconds + 4):8.0f}",
        flush=True,
    )
    return said


print("TTFT of the client less that of the packets: what lies between the kernel's stamp and the client that reads")
print("           tokens/s requests  matched  same tokens   p50           p99        parser   on others  tokens/s seen")
for name, gap, rate in (("slow", "5ms", 8), ("usual", "2ms", 30), ("fast", "1ms", 80)):
    one(name, gap, rate)
print(f"kept in {folder}")
