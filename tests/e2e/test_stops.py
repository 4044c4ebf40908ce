"""Stops that hit all answers at once: a server whose loop stands at known times, one whose answers stop one by one, and
one that does not stop."""

import re
import subprocess
import sys
import threading

import pytest
import machine
from lynx import *

# One loop makes all tokens, one a step; every EVERY seconds it does WHAT for LONG seconds. `each`: every answer by
# itself; `prompt`: it works on each new prompt; `burst`: tokens come by eight.
SERVER = """
import http.server, json, sys, threading, time
PORT, WHAT, EVERY, LONG = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
turn = threading.Condition()
step, new = 0, []
def loop():
    global step
    due = time.monotonic() + EVERY
    while True:
        time.sleep(0.004)
        if WHAT == "prompt" and new:
            new.clear()
            until = time.monotonic() + 0.06
            while time.monotonic() < until: sum(range(1000))
        if WHAT in ("spin", "sleep") and time.monotonic() >= due:
            due += EVERY
            until = time.monotonic() + LONG
            if WHAT == "sleep": time.sleep(LONG)
            while time.monotonic() < until: sum(range(1000))
        with turn:
            step += 1
            turn.notify_all()
class H(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 0, True
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def do_POST(self):
        n = json.loads(self.rfile.read(int(self.headers["Content-Length"]))).get("max_tokens", 1)
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nConnection: close\\r\\n\\r\\n")
        with turn:
            new.append(1)
            seen = step
        for i in range(n):
            with turn:
                turn.wait_for(lambda: step > seen)
                seen = step
            if WHAT == "each" and i == n // 2: time.sleep(LONG)
            if WHAT != "burst" or i % 8 == 7 or i == n - 1:  # of eight steps at once
                for _ in range(i % 8 + 1 if WHAT == "burst" else 1):
                    self.wfile.write(b'data: {"choices":[{"index":0,"text":"w "}]}\\n\\n')
        self.wfile.write(b'data: {"choices":[{"index":0,"text":"","finish_reason":"length"}]}\\n\\n')
        usage = {"prompt_tokens": 1, "completion_tokens": n}
        self.wfile.write(b"data: %s\\n\\ndata: [DONE]\\n\\n" % json.dumps({"choices": [], "usage": usage}).encode())
class S(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128
threading.Thread(target=loop, daemon=True).start()
print("ready", flush=True)
S(("127.0.0.1", PORT), H).serve_forever()
"""
EVERY, LONG, WINDOW, SESSIONS = 0.8, 0.2, 7, 1


@pytest.fixture(params=["spin", "sleep", "prompt", "each", "burst", "none"])
def measured(request, tmp_path):
    port = free_port()
    with open(tmp_path / "server.py", "w") as f:
        f.write(SERVER)
    words = [sys.executable, tmp_path / "server.py", str(port), request.param, str(EVERY), str(LONG)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert "ready" in server.stdout.readline()
        path = contract(
            f"{tmp_path}/c.yaml",
            port,
            # Prompts come at known times: by Poisson some windows hold few that find an answer in flight.
            regime=f"{{load: {'constant, rate_per_s: 2' if request.param == 'prompt' else 'poisson, rate_per_s: 20'}}}",
            workload=f"{{model: m, output_tokens: {250 if request.param == 'prompt' else 40}, "
            "prompts: {count: 8, bytes: 32}}",
            method=f"{{warm_up: 500ms, counted: {WINDOW}s, sessions: {SESSIONS}, drain: 3s, request_timeout: 10s, "
            "instrument_error_at_most: 1, steady: reported}",
        )
        with machine.Watch() as others:
            r = lynx("run", path, "--out", f"{tmp_path}/r.lynx", "--quiet")
        assert r.returncode in (0, 1), r.stderr
    finally:
        server.kill()
        server.wait()
    return request.param, f"{tmp_path}/r.lynx", others.others


def test_stops(measured):
    what, bundle, others = measured
    r = lynx("attribute", bundle, "--json")
    assert r.returncode in (0, 1), r.stderr
    found = json.loads(r.stdout)
    stops, rules = found.get("stops"), [f["id"] for f in found["findings"]]
    if what != "prompt":  # 20 requests a second are answered: nothing is at its limit, where others leave room
        assert found["bottleneck"]["id"] in ("load_met", *(["processors"] if others > 0.3 else [])), found["bottleneck"]
    if what in ("each", "burst", "none"):
        # Neighbours stop it, too, and where there are many for as long as they like. In `each` one answer or another
        # stops for most of the time: that would be seen.
        shared = others > 0.15
        assert stops is None or stops["share"] < (0.5 if shared else 0.1), (stops, others)
        assert stops is None or shared or stops["longest_s"] < 0.9 * LONG, (stops, others)
        assert "stops" not in rules or stops["n"] >= 5, (rules, stops)
        return
    assert rules.count("stops") == 1, (rules, stops)
    if what == "prompt":  # each prompt takes 60 ms in which nobody gets a token
        if others > 0.15:  # whose stops are among them, and are no prompts; theirs hide some of the prompts'
            assert stops["n"] * stops["end_at_a_first_token"] >= 2, stops
            return
        assert stops["n"] * stops["end_at_a_first_token"] >= 6, stops
        assert stops["end_at_a_first_token"] >= 0.6 and 0.04 <= stops["mean_s"] <= 0.12, stops
        of = next(f for f in found["findings"] if f["id"] == "stops")
        assert {x["layer"] for x in of["contributing"]} == {"serving", "demand"}, of
        return
    assert stops["end_at_a_first_token"] < 0.3, stops
    # Neighbours stop it, too, for some ms; the planted stops are the long ones.
    want = WINDOW * SESSIONS / EVERY
    assert want - 3 <= stops["n"] <= 4 * want and LONG - 0.03 <= stops["longest_s"] <= LONG + 0.3, stops
    assert 0.6 * LONG / EVERY <= stops["share"] <= 1.6 * LONG / EVERY, stops
    assert stops.get("every_s", EVERY) == pytest.approx(EVERY, rel=0.1), stops
    assert stops["share"] == pytest.approx(stops["n"] * stops["mean_s"] / (WINDOW * SESSIONS), rel=0.01), stops
    assert stops["of_the_longest_gaps"] >= 0.5, stops
    assert stops["p99_without_s"] < stops["p99_s"], stops
    text = lynx("attribute", bundle).stdout
    assert "All answers stop at once" in text and "all answers in flight stop at once" in " ".join(text.split()), text
    load = re.search(r"load +([\d.]+) in flight: ([\d.]+) requests/s", text)  # by Little's law, of an open load
    assert 2 < float(load.group(1)) < 12, load.group(0)
    if what == "spin" and "thread" in stops:  # half seconds can show it
        assert stops["thread"]["state"] in ("runs", "waits for a processor"), stops


if __name__ == "__main__":
    main(__file__)
