#!/usr/bin/env python3
"""Verifications on servers that know the truth, beside neighbours: the same work again, or three tenths more of it.

Kinds       wait: each answer sleeps 20 ms; one: it computes on the server's one thread; pool: in one of four; mixed: both
Neighbours  beside the sealed run and beside the re-run: none, a busy process, busy ones that come and go, two of nice 19
Right       the same work is reproduced, more of it is not; whatever is undecided is counted apart
usage: neighbours.py BUILD [SEED [ONLY]]; some 27 minutes. Nothing here fails for being slow or undecided."""

import asyncio
import collections
import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

KINDS = ("wait", "one", "pool", "mixed")
NEIGHBOURS = {
    "alone, alone": (None, None),
    "alone, one busy": (None, (1, 0, False)),
    "one busy, one busy": ((1, 0, False), (1, 0, False)),
    "come and go": ((1, 0, True), (2, 0, True)),
    "alone, two of nice 19": (None, (2, 19, False)),
}
ANSWER = (
    b'data: {"choices":[{"index":0,"text":"a"}]}\n\n'
    b'data: {"choices":[{"index":0,"text":"","finish_reason":"length"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\ndata: [DONE]\n\n'
)
METHOD = (
    "{warm_up: 500ms, counted: 1500ms, sessions: 8, drain: 3s, request_timeout: 10s, steady: reported,"
    " instrument_error_at_most: 1, stolen_at_most: 1}"
)
HASHES = 45  # some 10 ms of one thread
BUSY = """
import random, sys, time
while True:
    end = time.time() + (random.uniform(.5, 4) if sys.argv[1] == "True" else 1)
    while time.time() < end:
        pass
    if sys.argv[1] == "True":
        time.sleep(random.uniform(.5, 4))
"""


# --- the server ---


def serve(kind, port, factor_file):
    factor, block = float(open(factor_file).read()), b"x" * 100_000
    pool = ThreadPoolExecutor(4)

    def compute():
        for _ in range(int(HASHES * factor)):
            hashlib.sha256(block).digest()

    async def answer(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0]) if lengths else 0)
                if head.startswith(b"GET"):
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    continue
                if kind in ("one", "mixed"):
                    compute()
                if kind == "pool":
                    await asyncio.get_running_loop().run_in_executor(pool, compute)
                if kind in ("wait", "mixed"):
                    await asyncio.sleep(0.02 * factor)
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
                writer.write(head % len(ANSWER) + ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main():
        server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=512)
        print("ready", flush=True)
        await server.serve_forever()

    asyncio.run(main())


# --- one verification ---


class Beside:
    """A server of that kind, and the processes beside it."""

    def __init__(self, kind, port, factor, folder, neighbours):
        with open(f"{folder}/factor", "w") as f:
            f.write(str(factor))
        words = [sys.executable, os.path.abspath(__file__), "serve", kind, str(port), f"{folder}/factor"]
        self.processes = [subprocess.Popen(words, stdout=subprocess.PIPE)]
        self.processes[0].stdout.readline()
        n, nice, goes = neighbours or (0, 0, False)
        busy = ["nice", "-n", str(nice), sys.executable, "-c", BUSY, str(goes)]
        self.processes += [subprocess.Popen(busy) for _ in range(n)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            p.kill()
            p.wait()


def verified(lynx, kind, neighbours, factor, folder):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with open(f"{folder}/c.yaml", "w") as f:
        f.write(f"lynxbench: 1\nname: {kind}\nexecutor: {{endpoint: '{url}'}}\nmethod: {METHOD}\n")
        f.write("workload: {model: m, output_tokens: 1, prompts: {count: 16, bytes: 64}}\n")
        f.write("regime: {load: closed, concurrency: 2}\ndecision: {margin: 0.1}\n")
    with Beside(kind, port, 1, folder, neighbours[0]):
        run = [lynx, "run", f"{folder}/c.yaml", "--out", f"{folder}/a.lynx", "--quiet"]
        assert subprocess.run(run, capture_output=True).returncode in (0, 4)
    words = [lynx, "verify", f"{folder}/a.lynx", "--out", f"{folder}/b.lynx", "--json", "--quiet", "--endpoint", url]
    words += ["--sessions-at-most", "10"]
    with Beside(kind, port, factor, folder, neighbours[1]):
        asked = subprocess.run(words, capture_output=True, text=True)
        digest = asked.stderr.split("--run ")[1].split()[0]
        return json.loads(subprocess.run([*words, "--run", digest], capture_output=True, text=True).stdout)


def main():
    lynx, seed = os.path.join(os.path.abspath(sys.argv[1]), "lynxbench"), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    cases = [(k, p, f) for f in (1, 1.3) for p in NEIGHBOURS for k in KINDS]
    random.Random(seed).shuffle(cases)
    counts = collections.Counter()
    for kind, pattern, factor in cases[: int(sys.argv[3]) if len(sys.argv) > 3 else None]:
        with tempfile.TemporaryDirectory() as folder:
            said = verified(lynx, kind, NEIGHBOURS[pattern], factor, folder)
        right = "reproduced" if factor == 1 else "not reproduced"
        verdict = "right" if said["decision"] == right else "undecided" if said["decision"] == "inconclusive" else "WRONG"
        counts[factor, verdict] += 1
        figure = said["figures"][0]
        print(f"{kind:6} {pattern:24} x {factor:<4} {said['decision']:15} ratio {figure['ratio']:.3f}  {verdict}", flush=True)
        print(f"       {figure.get('conditions', 'conditions alike')}", flush=True)
        time.sleep(1)
    for (factor, verdict), n in sorted(counts.items()):
        print(f"x {factor}: {n} {verdict}")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
