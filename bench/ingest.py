#!/usr/bin/env python3
"""A ledger in which one contract has many results: how long `history` takes over one of its series, and how many entries a second `serve`
takes from one and from four clients that push further runs, each with its intent. Nothing here fails for being slow. usage: ingest.py BUILD
[RESULTS [PROGRAM]] (PROGRAM: another lynxbench than BUILD's). With POSTGRES=1 in the environment the same ledger is also copied into a
PostgreSQL server that is started here, and asked there."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

build, results = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "10000"
lynx = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else os.path.join(build, "lynxbench")
PUSHED = {1: 400, 4: 400}  # runs by so many clients
FIGURE = "output throughput"


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


def measure(ledger, lines, env):
    for _ in range(3):
        begun = time.monotonic()
        subprocess.run([lynx, "history", ledger, "--figure", FIGURE], env=env, capture_output=True)
        print(f"history of one series of {results} values: {time.monotonic() - begun:.2f} s", flush=True)
    words = [lynx, "serve", ledger, "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    port = int(re.search(r":(\d+)", server.stdout.readline().split("//")[1])[1])
    try:
        for clients, runs in PUSHED.items():
            rate = pushed_per_s(port, lines[: 2 * runs], clients)
            lines = lines[2 * runs :]
            print(f"{clients} clients: {rate:.0f} entries a second, two for each run", flush=True)
    finally:
        server.kill()
        server.wait()


def copied(ledger, folder, env):
    """The same ledger, in a PostgreSQL that is started for it."""
    os.environ.update(BUILD=build, SOURCE=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, f"{os.environ['SOURCE']}/tests/e2e")
    import test_postgres

    os.mkdir(f"{folder}/postgres")
    os.chmod(folder, 0o755)
    server = test_postgres.Server(f"{folder}/postgres")
    begun = time.monotonic()
    subprocess.run([lynx, "log", "export", ledger, f"{folder}/www"], env=env, check=True, capture_output=True)
    subprocess.run([lynx, "pull", f"{folder}/www", server.url("team")], env=env, check=True, capture_output=True)
    print(f"\nPostgreSQL; the copy took {time.monotonic() - begun:.0f} s")
    return server


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([os.path.join(build, "bench", "pages"), folder, results, "1"], check=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("LYNXBENCH")} | {"HOME": folder, "XDG_STATE_HOME": folder}
    with open(f"{folder}/more.jsonl") as f:
        lines = f.read().splitlines()
    ledger = f"{folder}/pages.ledger"
    if os.environ.get("POSTGRES"):
        shutil.copy(ledger, f"{folder}/copy.ledger")
    measure(ledger, lines, env)
    if os.environ.get("POSTGRES"):
        server = copied(f"{folder}/copy.ledger", folder, env)
        # It goes on with the log's own key, and is another log to who remembers the first.
        env |= {"XDG_STATE_HOME": f"{folder}/state", "LYNXBENCH_LOG_KEY": f"{ledger}.key"}
        try:
            measure(server.url("team"), lines, env)
        finally:
            server.kill()
