#!/usr/bin/env python3
"""A ledger in which one contract has many results: how long `history` takes over one of its series, how many entries a second `serve`
takes from one and from four clients that push further runs, each with its intent, and how long its first page takes, which has the newest
results of all contracts: again, and as the first after an entry. Nothing here fails for being slow. usage: ingest.py BUILD
[RESULTS [PROGRAM]] (PROGRAM: another lynxbench than BUILD's). With CONTRACTS=N the results are of so many
contracts; with POSTGRES=1 the ledger is in a PostgreSQL server that is started for it, and with FEW=1 as well each result has two figures."""

import http.client
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

build, results = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "10000"
lynx = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else os.path.join(build, "lynxbench")
PUSHED = {1: 400, 4: 400}  # runs by so many clients
PAGES = 20
FIGURE = "output throughput"
# As PostgreSQL's manual has it for filling a database; none of it counts later.
FILLED_BY = {"wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "'8GB'", "maintenance_work_mem": "'1GB'"}
SIZES = """SELECT relname, pg_size_pretty(pg_table_size(oid)), pg_size_pretty(pg_indexes_size(oid)) FROM pg_class
WHERE relnamespace = 'lynxbench'::regnamespace AND relkind = 'r' ORDER BY pg_total_relation_size(oid) DESC"""


def push(port, lines, refused):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    for line in lines:
        connection.request("POST", "/add", line, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            refused.append(said)


def pushed_per_s(port, lines, clients):
    each, refused = len(lines) // clients // 2 * 2, []  # an intent and its bundle stay together
    threads = [threading.Thread(target=push, args=(port, lines[i * each : (i + 1) * each], refused)) for i in range(clients)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if refused:
        sys.exit(f"refused: {refused[0][:300]!r}")
    return each * clients / (time.monotonic() - begun)


def first_page_ms(port):
    """From when it is there: until the ledger is read, 503 is answered."""
    while True:
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("GET", "/")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == 200:
            return 1e3 * (time.monotonic() - begun)
        if answer.status != 503:
            sys.exit(f"/: {answer.status}: {body[:300]!r}")
        time.sleep(0.1)


def first_pages(port, lines):
    first_page_ms(port)
    again, after, refused = [first_page_ms(port) for _ in range(PAGES)], [], []
    for i in range(PAGES):
        push(port, lines[2 * i : 2 * i + 2], refused)
        after.append(first_page_ms(port))
    if refused:
        sys.exit(f"refused: {refused[0][:300]!r}")
    for name, ms in (("again", again), ("after an entry", after)):
        print(f"the first page, {name}: {statistics.median(ms):.1f} ms (median), {max(ms):.1f} ms (greatest of {PAGES})", flush=True)


def measure(ledger, contract, lines, env):
    for _ in range(3):
        begun = time.monotonic()
        r = subprocess.run([lynx, "history", ledger, "--contract", contract, "--figure", FIGURE], env=env, capture_output=True, text=True)
        print(f"history of a contract's series: {time.monotonic() - begun:.2f} s", flush=True)
        if r.returncode not in (0, 1):
            sys.exit(r.stderr)
    words = [lynx, "serve", ledger, "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    port = int(re.search(r":(\d+)", server.stdout.readline().split("//")[1])[1])
    try:
        begun, refused = time.monotonic(), []
        push(port, lines[:1], refused)
        print(f"the first entry waits until all are counted: {time.monotonic() - begun:.1f} s, {refused or 'added'}", flush=True)
        lines = lines[2:]
        for clients, runs in PUSHED.items():
            rate = pushed_per_s(port, lines[: 2 * runs], clients)
            lines = lines[2 * runs :]
            print(f"{clients} clients: {rate:.0f} entries a second, two for each run", flush=True)
        first_pages(port, lines)
    finally:
        server.kill()
        server.wait()


def postgres(folder):
    """A server of its own, and the address of an empty database."""
    os.environ.update(BUILD=build, SOURCE=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, f"{os.environ['SOURCE']}/tests/e2e")
    import test_postgres

    os.chmod(folder, 0o755)
    os.mkdir(f"{folder}/postgres")
    server = test_postgres.Server(f"{folder}/postgres")
    for name, value in FILLED_BY.items():
        server.sql("team", f"ALTER SYSTEM SET {name}={value}")
    server.kill()
    server.start()
    return server, server.url("team")


def main():
    folder = tempfile.mkdtemp(prefix="lynx-bench-", dir=os.environ.get("TMPDIR", "/tmp"))
    server, ledger = None, f"{folder}/pages.ledger"
    try:
        if os.environ.get("POSTGRES"):
            server, ledger = postgres(folder)
        made = [os.path.join(build, "bench", "pages"), folder, results, os.environ.get("CONTRACTS", "1")]
        if server:
            made += [ledger] + ["few"] * bool(os.environ.get("FEW"))
        said = subprocess.run(made, check=True, capture_output=True, text=True).stdout
        print(said, flush=True)
        contract = re.search(r"digest is (\w+)", said)[1]
        env = {k: v for k, v in os.environ.items() if not k.startswith("LYNXBENCH")} | {"HOME": folder, "XDG_STATE_HOME": folder}
        if server:
            env["LYNXBENCH_LOG_KEY"] = f"{folder}/pages.ledger.key"
            print("tables and their indexes:\n" + server.sql("team", SIZES).stdout)
        with open(f"{folder}/more.jsonl") as f:
            measure(ledger, contract, f.read().splitlines(), env)
    finally:
        if server:
            server.kill()
        shutil.rmtree(folder)


main()
