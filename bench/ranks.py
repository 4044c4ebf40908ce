#!/usr/bin/env python3
"""Time and memory of a page of all ranks, by their number: predicted from 16 and 32 ranks, measured at 64 and beyond.
usage: ranks.py LYNXBENCH [RANKS ...] (default: 64 256). Traces are made for it and removed."""

import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
import job_traces

STEPS, REPEATS, LAW = 200, 5, (16, 32)


def once(words):
    """Processor seconds, and the most memory in MB."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        subprocess.run(words, check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(write, f"{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    seconds, megabytes = map(float, os.read(read, 100).split())
    os.close(read)
    return seconds, megabytes


def least(words, repeats=REPEATS):
    runs = [once(words) for _ in range(repeats)]
    return min(r[0] for r in runs), min(r[1] for r in runs)


def main():
    program, wanted = sys.argv[1], [int(w) for w in sys.argv[2:]] or [64, 256]
    with tempfile.TemporaryDirectory() as folder:
        paths = job_traces.write(folder, max(wanted), STEPS)
        parts = []
        for k in range(0, len(paths), 16):
            parts.append(f"{folder}/{k}.ranks")
            subprocess.run([program, "attribute", "--quiet", "--part", parts[-1], *paths[k : k + 16]], check=True)
        size = os.path.getsize(paths[0]) / 1e6, os.path.getsize(parts[0]) / 16e6
        print(f"a trace has {size[0]:.1f} MB, its part {size[1]:.2f} MB; processor time and most memory, least of {REPEATS}")
        for what, of in (("traces", lambda n: paths[:n]), ("parts", lambda n: parts[: (n + 15) // 16])):
            law = {n: least([program, "attribute", "--quiet", "--ranks", "--json", *of(n)], 4 * REPEATS) for n in LAW}
            slope = [(law[LAW[1]][k] - law[LAW[0]][k]) / (LAW[1] - LAW[0]) for k in (0, 1)]
            for n in [*LAW, *wanted]:
                found = law.get(n) or least([program, "attribute", "--quiet", "--ranks", "--json", *of(n)])
                said = [law[LAW[0]][k] + slope[k] * (n - LAW[0]) for k in (0, 1)]
                off = [f"{found[k] / said[k] - 1:+.0%}" for k in (0, 1)]
                by_law = "" if n in law else f"   by the law {said[0]:.3f} s ({off[0]}), {said[1]:.1f} MB ({off[1]})"
                print(f"{what:<7} {n:>5} ranks {found[0]:>9.3f} s {found[1]:>8.1f} MB{by_law}", flush=True)
            said = [law[LAW[0]][k] + slope[k] * (1024 - LAW[0]) for k in (0, 1)]
            print(f"{what:<7}  1024 ranks, by the law {said[0]:.2f} s, {said[1]:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
