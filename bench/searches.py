#!/usr/bin/env python3
"""Live searches for the saturation point of servers whose capacity is known, alone and beside a busy process.

Servers   lynxbench-ref's metronome with 8 slots and 200 answers/s: constant times, ten exponential steps, one exponential time
Right     the certificate's resolution about its bracket holds the capacity. docs/simulation.txt has the same three in virtual time
usage: searches.py BUILD [SEED [ONLY]]; some 25 minutes for 24. Nothing here fails for being slow or undecided."""

import collections
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

CAPACITY = 200
KINDS = {  # name: tokens, options; 8 slots of 40 ms each
    "constant": (1, ["--first-token", "40ms"]),
    "ten steps": (10, ["--first-token", "4ms", "--gap", "4ms", "--first-token-distribution", "exponential", "--gap-distribution", "exponential"]),
    "exponential": (1, ["--first-token", "40ms", "--first-token-distribution", "exponential"]),
}
METHOD = (
    "{seed: %d, warm_up: 1s, counted: 3s, sessions: 5, drain: 3s, request_timeout: 20s, steady: reported,"
    " instrument_error_at_most: 1, stolen_at_most: 1}"
)
REGIME = "{load: saturation, rate_per_s: %.4g, to_per_s: 10000, search: {arrivals: poisson, resolution: 0.1, looks_at_most: 6}}"


@contextlib.contextmanager
def running(*words):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def search(build, kind, busy, start, seed, folder):
    tokens, options = KINDS[kind]
    port, beside = free_port(), ["sh", "-c", "while :; do :; done"] if busy else ["sleep", "1000"]
    with open(f"{folder}/c.yaml", "w") as f:
        f.write(f"lynxbench: 1\nname: search\nexecutor: {{endpoint: 'http://127.0.0.1:{port}'}}\n")
        f.write(f"workload: {{model: m, output_tokens: {tokens}, prompts: {{count: 16, bytes: 64}}}}\n")
        f.write(f"regime: {REGIME % start}\nmethod: {METHOD % seed}\n")
    server = [f"{build}/lynxbench-ref", "--mode", "metronome", "--port", str(port), "--slots", "8", "--seed", str(seed), *options]
    with running(*server), running(*beside):
        time.sleep(0.5)
        run = [f"{build}/lynxbench", "run", f"{folder}/c.yaml", "--out", f"{folder}/r.lynx", "--quiet"]
        began = time.monotonic()
        r = subprocess.run(run, capture_output=True, text=True)
        seconds = time.monotonic() - began
    shown = subprocess.run([f"{build}/lynxbench", "show", f"{folder}/r.lynx", "--json"], capture_output=True, text=True)
    if not shown.stdout:
        return None, seconds, r.stderr
    return json.loads(shown.stdout)["precisions"][0]["saturation"], seconds, r.stderr


def main():
    build, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    draw = random.Random(seed)
    cases = [(kind, busy, draw.uniform(0.1, 1.1) * CAPACITY) for kind in KINDS for busy in (False, True) for _ in range(4)]
    draw.shuffle(cases)
    counts, windows = collections.Counter(), collections.defaultdict(list)
    for i, (kind, busy, start) in enumerate(cases[: int(sys.argv[3]) if len(sys.argv) > 3 else None]):
        with tempfile.TemporaryDirectory() as folder:
            s, seconds, said = search(build, kind, busy, start, 100 * seed + i, folder)
        beside = "a busy process" if busy else "nothing"
        if s is None or not s["certified"]:
            verdict, text = "refused", s["text"] if s else said[-300:]
        else:
            r, passing, failing = s["resolution"], s["passing"], s["failing"]
            right = passing <= CAPACITY * (1 + r) and failing >= CAPACITY / (1 + r)
            verdict, text = "right" if right else "WRONG", f"{passing:.1f} to {failing:.1f}, to {100 * r:.2g} %, {s['arrivals']} arrivals"
            windows[kind, beside].append(s["arrivals"] / CAPACITY / 3)
        counts[kind, beside, verdict] += 1
        print(f"{kind:12} beside {beside:15} from {start:5.1f}/s: {verdict:7} {seconds:4.0f} s  {text}", flush=True)
    for (kind, beside, verdict), n in sorted(counts.items()):
        took = sorted(windows[kind, beside])
        print(f"{kind:12} beside {beside:15} {n} {verdict}; windows of 600 arrivals: {', '.join(f'{w:.0f}' for w in took)}")


if __name__ == "__main__":
    main()
