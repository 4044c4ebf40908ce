"""Command lines that the documents show, run as they are pasted, from a tree as a fresh clone leaves it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import lynx as l

# What makes a line quick enough for a test, or keeps it from the system.
SHORTER = [
    (r"^(build/lynxbench diagnose .*)$", r"\1 --for 30s --at-most 4"),
    (r"--for 1min", "--for 8s"),
    (r"^(build/lynxbench schedule add .*)$", r"\1 --print cron"),
]
# 3: too few runs for a verdict; 1 and 4: what was measured in a second supports no claim.
DONE = (0, 1, 3, 4)


def page_text(page):
    with open(f"{l.SOURCE}/{page}") as f:
        return f.read()


def blocks(page):
    """The language and the lines of each block of code."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page_text(page), flags=re.S | re.M)
    return [(language, text.splitlines()) for language, text in found]


def lines(page, begin=r"build/lynxbench"):
    for _, block in blocks(page):
        for line in block:
            if re.match(begin, line):
                yield re.sub(r"\s+#.*", "", line)


def make_tree(tree, port):
    """The server of the examples, whose process is returned, and earlier runs in runs/."""
    for part in ("examples", "reference", "tests", "docs", "python"):
        (tree / part).symlink_to(f"{l.SOURCE}/{part}")
    (tree / "build").mkdir()
    for program in ("lynxbench", "lynxbench-ref"):
        (tree / "build" / program).symlink_to(f"{l.BUILD}/{program}")
    server = [sys.executable, f"{l.SOURCE}/examples/slow_server.py", str(port)]
    with open(tree / "ready", "w") as out:
        process = subprocess.Popen(server, stdout=out, stderr=subprocess.DEVNULL)
    while not (tree / "ready").read_text():
        time.sleep(0.05)
    shutil.copy(f"{l.SOURCE}/tests/e2e/quick.yaml", tree / "nightly.yaml")
    (tree / "runs").mkdir()
    for i in range(3):
        r = l.lynx("run", tree / "nightly.yaml", "--out", tree / "runs" / f"{i}.lynx", "--quiet")
        assert r.returncode in l.RAN, r.stderr
    return process


def environment_of(tree, **more):
    env = l.environment(HOME=tree, XDG_STATE_HOME=tree / "state", XDG_CACHE_HOME=tree / "cache", **more)
    env.pop("LYNXBENCH_LEDGER", None)
    return env


def ran(line, tree, env, port=None):
    """Its exit code and the end of what it says; of one that serves until it is stopped, what stopping it gives."""
    if " serve " in line:
        words = shlex.split(line) + ["--port", str(port or l.free_port())]
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = subprocess.Popen(words, cwd=tree, env=env, **said)
        first = process.stdout.readline()
        process.terminate()
        process.communicate(timeout=30)
        return 0 if "://" in first else 2, first
    r = subprocess.run(["sh", "-c", line], cwd=tree, env=env, capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout[-1000:] + r.stderr[-2000:]
