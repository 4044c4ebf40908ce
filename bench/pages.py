#!/usr/bin/env python3
"""The pages of `lynxbench serve` over a large ledger: how long until the first one, memory, processor time of the server per page, cold and
warm, and by wrk how many it answers, at rest and while runs are added. Nothing here fails for being slow. usage: pages.py BUILD [RESULTS
[PROGRAM]] (PROGRAM: another lynxbench than BUILD's)"""

import http.client
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

build, results = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "100000"
lynx = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else os.path.join(build, "lynxbench")
WARM, SECONDS, PUSHED_PER_S, PAINTS = 200, 10, 10, 15
CONNECTIONS = (30, 200)  # serve gives one address 32 places, of which this program takes two


class Serving:
    """lynxbench serve, listening on a port of its own, with a home in the ledger's folder."""

    def __init__(self, folder):
        env = {k: v for k, v in os.environ.items() if not k.startswith("LYNXBENCH")}
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [lynx, "serve", f"{folder}/pages.ledger", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**env, "HOME": folder, "XDG_STATE_HOME": folder},
        )
        line = self.process.stdout.readline()
        if "serving" not in line:
            self.process.kill()
            sys.exit(f"{lynx} serve: {line}{self.process.stdout.read()}")
        self.url = line.split(" on ")[1].split()[0].rstrip("/")
        self.listening_s = time.monotonic() - self.begun

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def connect(self):
        return http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=600)

    def processor_s(self):
        """utime and stime of all its threads, to the nanosecond: /proc/PID/stat has them in steps of 10 ms."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def ask(connection, path, method="GET", body=None, **headers):
    connection.request(method, path, body, headers)
    r = connection.getresponse()
    return r.status, r.read()


def good(connection, path, **headers):
    status, body = ask(connection, path, **headers)
    if status != 200:
        raise RuntimeError(f"{path}: {status}: {body[:300]!r}")
    return body


def row(name, *values):
    print(f"  {name:<44}{''.join(f'{v!s:>17}' for v in values)}", flush=True)


def read_in(server, connection):
    """Asks for a page that costs nothing until the ledger is read. Returns how often it was told to come again."""
    again = 0
    while (status := ask(connection, "/entry/0.json")[0]) != 200:
        if status != 503:
            raise RuntimeError(f"/entry/0.json: {status}")
        again += 1
        time.sleep(0.01)
    return again


def first_page(server, connection):
    again = read_in(server, connection)
    read_s, read_cpu = time.monotonic() - server.begun, server.processor_s()
    cold_s, _ = cold(server, connection, "/")
    page_s = time.monotonic() - server.begun
    print("\nfrom the start")
    row("it listens after", f"{server.listening_s:.2f} s")
    row("the ledger is read after", f"{read_s:.2f} s", f"{read_cpu:.2f} s of CPU")
    row("the first page is there after", f"{page_s:.2f} s")
    row("'come again' before it", again)
    row("so a browser, which asks each second, has it after", f"{math.ceil(page_s)} s")
    row("resident memory", f"{server.memory_mb():.0f} MB")
    return cold_s


def cold(server, connection, path):
    before = server.processor_s()
    body = good(connection, path)
    return server.processor_s() - before, body


def per_page(server, connection, pages, known):
    """known: what was cold already, {path: seconds}"""
    print(f"\none client, one connection: processor time of the server per request (warm: mean of {WARM})")
    row("", "cold, ms CPU", "warm, ms CPU", "warm, ms elapsed", "bytes", "bytes, gzip")
    for name, path in pages.items():
        cold_s, body = cold(server, connection, path)
        packed = len(good(connection, path, **{"Accept-Encoding": "gzip"}))
        before, begun = server.processor_s(), time.monotonic()
        for _ in range(WARM):
            good(connection, path)
        elapsed, warm = time.monotonic() - begun, server.processor_s() - before
        cold_ms = 1e3 * known.get(path, cold_s)
        row(name, f"{cold_ms:.2f}", f"{1e3 * warm / WARM:.3f}", f"{1e3 * elapsed / WARM:.3f}", len(body), packed)
    row("resident memory", f"{server.memory_mb():.0f} MB")


class Pushing:
    """Adds runs, an intent and a bundle's entry of each in turn, one after another, no faster than that."""

    def __init__(self, server, envelopes):
        self.server, self.envelopes = server, envelopes
        self.n, self.spent_s, self.worst_s, self.wrong = 0, 0, 0, None
        self.connection = server.connect()
        self.connection.connect()  # before others take all places
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.begun = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.connection.close()
        if self.wrong:
            print(f"  adding ended early: {self.wrong}")

    def run(self):
        while self.envelopes and not self.stop.is_set():
            begun = time.monotonic()
            try:
                status, body = ask(self.connection, "/add", "POST", self.envelopes.pop(0))
            except OSError as e:
                status, body = 0, repr(e)
            if status != 200:
                self.wrong = f"{status}: {body[:300]!r}"
                return
            spent = time.monotonic() - begun
            self.n, self.spent_s, self.worst_s = self.n + 1, self.spent_s + spent, max(self.worst_s, spent)
            self.stop.wait(max(0, self.begun + self.n / PUSHED_PER_S - time.monotonic()))

    def __str__(self):
        rate = self.n / (time.monotonic() - self.begun)
        return f"{rate:.1f}/s, {1e3 * self.spent_s / max(self.n, 1):.0f} ms each"


def wrk(server, name, path, connections):
    before = server.processor_s()
    r = subprocess.run(
        ["wrk", "-t2", f"-c{connections}", f"-d{SECONDS}s", "--timeout", "10s", "--latency"]
        + ["-H", "Accept-Encoding: gzip", server.url + path],
        capture_output=True,
        text=True,
    )
    cpu = server.processor_s() - before
    time.sleep(1)  # its connections go

    def found(pattern):
        m = re.search(pattern, r.stdout)
        return m.group(1) if m else "0"

    n, not_ok = int(found(r"(\d+) requests in")), int(found(r"Non-2xx or 3xx responses: (\d+)"))
    errors = found(r"Socket errors: (.*)")
    broken = sum(map(int, re.findall(r"\d+", errors)))
    row(
        f"{name}, {connections} connections",
        found(r"Requests/sec:\s+(\S+)"),
        found(r"\s50%\s+([\d.]+\w+)"),
        found(r"\s99%\s+([\d.]+\w+)"),
        f"{1e3 * cpu / n:.3f}" if n else "none",
        f"{cpu / SECONDS:.2f}",
        not_ok,
        broken,
    )


def first_paint(server, pages):
    """As headless Chromium says: from asking for a page to its first contentful paint. The browser shares the processors with the server."""
    os.environ.update(BUILD=build, SOURCE=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, f"{os.environ['SOURCE']}/tests/e2e")
    import browser as b

    if b.missing() is not None:
        print(f"\nskipped: {b.missing()}")
        return
    browser = b.Browser()
    paint = "return performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)[0]"
    parts = "const n = performance.getEntriesByType('navigation')[0]; return [n.responseEnd, n.domContentLoadedEventEnd]"
    print(f"\nfirst contentful paint in headless Chromium, loopback, ms ({PAINTS} times each; median, least, most)")
    row("", "first paint", "least", "most", "answer is there", "page is parsed")
    for name, path in pages.items():
        painted, rest = [], []
        for i in range(PAINTS + 1):
            browser.go("about:blank")
            browser.go(server.url + path)
            until = time.monotonic() + 5
            while (at := browser.run(paint)) is None and time.monotonic() < until:
                time.sleep(0.02)
            if i > 0 and at is not None:  # the first one starts the browser's own processes
                painted.append(at)
                rest.append(browser.run(parts))
        middle = lambda values: f"{sorted(values)[len(values) // 2]:.0f}"
        if painted:
            answer, parsed = zip(*rest)
            row(name, middle(painted), f"{min(painted):.0f}", f"{max(painted):.0f}", middle(answer), middle(parsed))
    browser.close()


def by_wrk(server, pages, envelopes):
    if not shutil.which("wrk"):
        print("\nskipped: wrk is not installed")
        return
    print(f"\nwrk, two threads, {SECONDS} s each, on this machine's own processors; gzip, as browsers ask")
    row("", "requests/s", "p50", "p99", "ms CPU/request", "processors", "not 200", "socket errors")
    for name, path in pages.items():
        for n in CONNECTIONS:
            wrk(server, name, path, n)
    print(f"\nthe same while runs are added, {PUSHED_PER_S} entries/s wanted (processor time is of both)")
    for name, path in pages.items():
        for n in CONNECTIONS:
            with Pushing(server, envelopes) as pushing:
                wrk(server, name, path, n)
            row("  entries added", pushing, f"worst {pushing.worst_s:.2f} s")
    row("resident memory", f"{server.memory_mb():.0f} MB")


def main():
    folder = tempfile.mkdtemp(prefix="lynx-bench-", dir=os.environ.get("TMPDIR", "/tmp"))
    try:
        print(f"pages of a ledger, {os.cpu_count()} processors, load before {os.getloadavg()[0]:.1f}", flush=True)
        subprocess.run([f"{build}/bench/pages", folder, results], check=True)
        with open(f"{folder}/more.jsonl") as f:
            envelopes = f.read().splitlines()
        with Serving(folder) as server:
            connection = server.connect()
            known = {"/": first_page(server, connection)}
            known["/index.json"], index = cold(server, connection, "/index.json")
            contracts = [c["digest"] for c in json.loads(index)]
            pages = {
                "home": "/",
                "a contract that got worse": f"/contract/{contracts[0]}.html",
                "a contract without a change": f"/contract/{contracts[-1]}.html",
                "a meeting page": f"/meeting/{contracts[1]}.html",
                "index.json": "/index.json",
                "a contract as CSV": f"/contract/{contracts[0]}.csv",
            }
            per_page(server, connection, pages, known)
            first_paint(server, {k: pages[k] for k in list(pages)[:4]})
            by_wrk(server, {k: pages[k] for k in list(pages)[:2]}, envelopes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
