"""The README's quick starts as a newcomer pastes them, in a tree where `make demo` has run: what each line printed, how
long it took, as Markdown on standard output. usage: python3 scripts/quick_starts.py (scripts/fresh.sh calls it)"""

import os
import re
import subprocess
import sys
import time
import urllib.request

SECTIONS = ["My server is slow", "A trace, and a meeting tomorrow", "We must agree before we buy", "CI must not get slower"]
# What the README says instead where there is no systemd.
INSTEAD = [(r"^(build/lynxbench schedule add .*)$", r"\1 --print cron")] if not os.path.isdir("/run/systemd/system") else []
SHOWN, WIDTH = 16, 110


def lines(section):
    with open("README.md") as f:
        text = re.search(rf"^## {re.escape(section)}\n(.*?)^## ", f.read(), flags=re.S | re.M).group(1)
    for block in re.findall(r"^```\n(.*?)^```$", text, flags=re.S | re.M):
        for line in block.splitlines():
            line = re.sub(r"\s+#.*", "", line)
            for pattern, instead in INSTEAD:
                line = re.sub(pattern, instead, line)
            yield line


def served(line):
    """One that serves until it is stopped: its first page, and then Ctrl-C."""
    process = subprocess.Popen(line.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = process.stdout.readline()
    status = 503
    for _ in range(100):
        try:
            status = urllib.request.urlopen("http://127.0.0.1:8300/", timeout=10).status
            break
        except OSError:
            time.sleep(0.2)
    process.terminate()
    more, _ = process.communicate(timeout=30)
    return process.returncode if status == 200 else 1, f"{said}{more}(the first page: HTTP {status}; stopped)\n"


def run(line):
    begun = time.monotonic()
    if " serve " in line:
        code, said = served(line)
    else:
        r = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
        code, said = r.returncode, r.stdout
    return code, said, time.monotonic() - begun


def shown(said):
    # Of a line that was written over, what was there last.
    rows = [row.split("\r")[-1].replace("\x1b[K", "") for row in said.rstrip("\n").split("\n")]
    rows = [row for row in rows if not re.match(r"\[\d+(/\d+)?\] ", row)]  # progress
    rows = [row if len(row) <= WIDTH else row[: WIDTH - 2] + " …" for row in rows]
    return rows if len(rows) <= SHOWN else rows[:SHOWN] + [f"... {len(rows) - SHOWN} lines more"]


def prepare():
    """A server that is slow on the README's port, a contract that measures in seconds, and three nights of it."""
    server = subprocess.Popen([sys.executable, "examples/slow_server.py", "8000"], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    os.makedirs("runs", exist_ok=True)
    with open("tests/e2e/quick.yaml") as f, open("nightly.yaml", "w") as to:
        to.write(f.read())
    for night in range(3):
        subprocess.run(["build/lynxbench", "run", "nightly.yaml", "--out", f"runs/{night}.lynx", "--quiet"], stdout=subprocess.DEVNULL)
    return server


def main():
    server, worst = prepare(), 0
    try:
        for section in SECTIONS:
            out, begun = [], time.monotonic()
            for line in lines(section):
                code, said, took = run(line)
                out += [f"$ {line}", *shown(said), f"(exit code {code}, {took:.0f} s)", ""]
                worst = max(worst, code if code not in (0, 1, 3, 4) else 0)
            print(f"### {section}: {(time.monotonic() - begun) / 60:.1f} minutes\n\n```\n" + "\n".join(out).rstrip() + "\n```\n", flush=True)
    finally:
        server.kill()
    return worst


sys.exit(main())
