"""A run that is recorded in a served ledger is seen while it goes on; nobody else speaks for it."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import time

import pytest
from lynx import *
from test_serve import Serving, Teams


@pytest.fixture(scope="module")
def teams(tmp_path_factory):
    teams = Teams(str(tmp_path_factory.mktemp("teams")))
    yield teams
    teams.server.stop()


def running(server):
    while True:
        status, body = server.ask("GET", "/running.json")
        if status == 200:
            return json.loads(body)
        time.sleep(0.05)


class Run:
    """One of two sessions of two seconds, recorded over HTTP, beside what the test does."""

    def __init__(self, teams, port, out, counted="2s", **env):
        path = f"{out}.yaml"
        workload = "{model: metronome, output_tokens: 5, prompts: {count: 8, bytes: 32}}"
        fields = {"name": "<b>live</b>", "workload": workload, "regime": "{load: closed, concurrency: 4}"}
        lax = "instrument_error_at_most: 1, steady: reported"
        method = f"{{warm_up: 300ms, counted: {counted}, sessions: 2, drain: 1s, {lax}}}"
        contract(path, port, method=method, **fields)
        home = f"{teams.d}/ml"
        env = environment(HOME=home, XDG_STATE_HOME=home, LYNXBENCH_KEY=f"{teams.d}/ml.key", **env)
        words = [LYNX, "run", path, "--out", str(out), "--ledger", teams.url, "--quiet"]
        self.process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self):
        said = self.process.communicate(timeout=60)[0]
        return self.process.returncode, said


def test_a_run_is_seen_while_it_goes_on(teams, tmp_path):
    seen, pages = [], []
    with reference("--mode", "metronome", "--gap", "5ms", "--first-token", "10ms") as port:
        run = Run(teams, port, tmp_path / "r.lynx")
        while run.process.poll() is None:
            seen += running(teams.server)
            r, body = teams.server.answer("GET", "/running.html")
            pages.append(body.decode())
            time.sleep(0.1)
        code, said = run.end()
    check(code in RAN, said)
    check_equal(running(teams.server), [], "when it is over, it is no more in progress")
    counted = [x for x in seen if "tokens_per_s" in x and x["step"] == "counted"]
    check({x["session"] for x in seen} >= {1, 2}, {x["session"] for x in seen})
    x = counted[-1]
    whose = tuple(x[key] for key in ("by", "name", "sessions", "in_flight", "failed"))
    check_equal(whose, ("ml", "<b>live</b>", 2, 4, 0), "whose")
    p = show(str(tmp_path / "r.lynx"))["precisions"][0]
    rate = x["tokens_per_s"] / p["output_rate"]["estimate"]
    check(0.5 < rate < 2, f"about what the bundle says then: {rate}")
    first = x["time_to_first_token_ns"] / p["latency"]["time_to_first_token"]["mean"]["estimate"]
    check(0.5 < first < 2, f"and the first token: {first}")
    check(0 <= x["steal"] <= 1 and 0 <= x["idle"] <= 1, x)
    shown = [page for page in pages if "counted" in page and "1 run in progress" in page]
    check(shown and "&lt;b&gt;live" in shown[0] and "<b>live" not in shown[0], "its page")
    ended = lambda: "No run in progress" in teams.server.ask("GET", "/running.html")[1].decode()
    until = time.monotonic() + 10
    while not ended() and time.monotonic() < until:
        time.sleep(0.1)
    check(ended(), "afterwards")


def test_events_are_for_a_browser(teams):
    r, body = teams.server.answer("GET", "/running/events.txt")
    check_equal((r.status, r.getheader("Content-Type")), (200, "text/event-stream"), "events")
    check(body.startswith(b"retry: 1000\ndata: [") and body.endswith(b"]\n\n"), body)
    check_equal(r.getheader("Cache-Control"), "no-store", "of now")


def told(teams, what, body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return teams.server.ask("POST", f"/running/{what}", body, {"Content-Type": "application/json"})


def altered(teams, kind, subjects, **members):
    """A signed envelope of a team, of which the statement was exchanged."""
    teams.must("ledger", "sign", f"{teams.d}/c.yaml", "--key", f"{teams.d}/sre.key", "--out", f"{teams.d}/x.json")
    with open(f"{teams.d}/x.json") as f:
        envelope = json.load(f)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicateType"] = statement["predicateType"].replace("signature", kind)
    statement["subject"] = subjects
    statement["predicate"].update(members)
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    return json.dumps(envelope).encode()


def test_nobody_else_tells_of_it(teams, tmp_path):
    with reference("--mode", "metronome", "--gap", "5ms", "--first-token", "10ms") as port:
        run = Run(teams, port, tmp_path / "r.lynx", counted="4s")
        until = time.monotonic() + 20
        while not running(teams.server) and time.monotonic() < until:
            time.sleep(0.05)
        [x] = running(teams.server)
        for secret in ("", "0" * 64, None, 7, hashlib.sha256(b"").hexdigest()):
            words = {"intent": x["intent"], "secret": secret, "step": "another word", "over": True}
            status, body = told(teams, "update", words)
            check(status == 400 and b"not its secret" in body, (status, body))
        check(told(teams, "update", {"intent": "0" * 64, "secret": "x"})[0] == 400, "no such run")
        subject = [{"name": "intent", "digest": {"sha256": x["intent"]}}]
        forged = altered(teams, "progress", subject, secret=hashlib.sha256(b"mine").hexdigest())
        status, body = told(teams, "begin", forged)
        check(status == 400, (status, body))
        status, body = teams.server.ask("POST", "/add", forged, {"Content-Type": "application/json"})
        check(status == 400, "nor is it an entry")
        for body in (b"", b"{}", b"[", b"\0", b"{" * 4000, b'{"intent": []}', b"x" * 5000):
            for what in ("begin", "update", "nothing"):
                check(told(teams, what, body)[0] in (400, 404, 413), (what, body[:20]))
        [y] = running(teams.server)
        check(y["step"] != "another word", "as before")
        run.process.send_signal(signal.SIGKILL)
        run.end()
    check_equal(len(running(teams.server)), 1, "a killed one is shown until it has not been heard of for long")


def test_a_server_that_was_started_again_is_told_again(teams, tmp_path):
    ledger, home = f"{tmp_path}/t.ledger", {"HOME": teams.d, "XDG_STATE_HOME": teams.d}
    lynx("ledger", "create", ledger, env={**home, "LYNXBENCH_KEY": f"{teams.d}/ml.key"})
    server = Serving(ledger, teams.d)
    seen = lambda: [x for x in running(server) if x["step"] != "starting"]
    with reference("--mode", "metronome", "--gap", "5ms", "--first-token", "10ms") as port:
        run = Run(type("T", (), {"d": teams.d, "url": server.url}), port, tmp_path / "r.lynx", counted="8s")
        until = time.monotonic() + 20
        while not seen() and time.monotonic() < until:
            time.sleep(0.05)
        server.stop()
        server = Serving(ledger, teams.d, "--port", str(server.port))
        while not seen() and time.monotonic() < until + 20:
            time.sleep(0.05)
        check_equal([x["by"] for x in seen()], ["ml"], "it is seen again")
        run.process.send_signal(signal.SIGTERM)
        code, said = run.end()
    check_equal(running(server), [], "and over")
    server.stop()


def test_a_server_that_stops_does_not_stop_the_run(teams, tmp_path):
    """It is asked no more; only recording the bundle fails, and says what to do."""
    ledger = f"{tmp_path}/t.ledger"
    home = {"HOME": teams.d, "XDG_STATE_HOME": teams.d}
    lynx("ledger", "create", ledger, env={**home, "LYNXBENCH_KEY": f"{teams.d}/ml.key"})
    server = Serving(ledger, teams.d)
    with reference("--mode", "metronome", "--gap", "5ms", "--first-token", "10ms") as port:
        mine = type("T", (), {"d": teams.d, "url": server.url})
        run = Run(mine, port, tmp_path / "r.lynx")
        until = time.monotonic() + 20
        while not running(server) and time.monotonic() < until:
            time.sleep(0.05)
        server.stop()
        code, said = run.end()
    check(code == 4 and "next: lynxbench ledger put" in said, (code, said))
    check_equal(show(str(tmp_path / "r.lynx"))["bundle"]["ended"], "complete", "its bundle is whole")


def test_a_ledger_that_is_only_read_shows_none(teams, tmp_path):
    server = Serving(teams.ledger, str(tmp_path), "--read-only")
    try:
        check_equal(running(server), [], "none")
        check_equal(server.ask("POST", "/running/update", b"{}")[0], 403, "and takes none")
    finally:
        server.stop()


if __name__ == "__main__":
    main(__file__)
