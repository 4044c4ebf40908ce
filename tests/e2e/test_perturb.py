"""Perturbed runs: what slows is measured, what was perturbed comes back; no claim comes of it."""

import contextlib
import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

import lynx as l
import machine

LOOP = "{load: closed, concurrency: 4}"
METHOD = "{warm_up: 500ms, counted: 2s, sessions: 2, drain: 5s, steady: reported, instrument_error_at_most: 1}"


def contract(folder, port, **more):
    path = os.path.join(folder, "p.yaml")
    workload = "{model: tiny, output_tokens: 16, prompts: {count: 8, bytes: 64}}"
    l.contract(path, port, **{"workload": workload, "regime": LOOP, "method": METHOD, **more})
    return path


def stat(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()


def listener(port):
    """The process that listens there, of those that this test started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
        except OSError:
            continue
        if "lynxbench-ref" in words[0] and str(port) in words:
            return int(pid)
    raise AssertionError(f"nobody listens at {port}")


def wait_until(what, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.02)
    return False


def sensitivities(bundle):
    r = l.lynx("perturb", bundle, "--json")
    assert r.returncode in (0, 3), r.stderr
    return json.loads(r.stdout)


# An answer is 15 ms of the processor's time, by the thread's own clock: a processor that is slow, today or after
# each stop, changes nothing of what is answered. (A model's arithmetic costs more after a stop, on some machines.)
SPINS = """
        end = time.thread_time() + 0.015
        while time.thread_time() < end: pass
"""


@contextlib.contextmanager
def spinning(folder):
    port = l.free_port()
    (folder / "spins.py").write_text(l.answering(SPINS))
    server = subprocess.Popen([sys.executable, folder / "spins.py", str(port)])
    try:
        l.wait_for_port(port)
        yield port
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def perturbed(tmp_path_factory):
    """One perturbed run that several cases look at."""
    folder = tmp_path_factory.mktemp("perturbed")
    only = ("--only", "processor,affinity,quota", "--quiet")
    load = {
        "workload": "{model: tiny, output_tokens: 4, prompts: {count: 4, bytes: 16}, stream: false}",
        "regime": "{load: closed, concurrency: 1}",
    }

    def run(k):
        out = folder / f"p{k}.lynx"
        with spinning(folder) as port:
            r = l.lynx("perturb", contract(folder, port, **load), "--for", "32s", *only, "--out", out)
        assert r.returncode in (0, 3), r.stderr
        return r, out, folder

    return machine.beside_nothing(run)


@pytest.mark.long
@pytest.mark.quiet
def test_what_was_given_is_measured(perturbed):
    said = sensitivities(perturbed[1])
    [processor] = [s for s in said["sensitivities"] if s["perturber"] == "processor"]
    assert processor["blocks"] >= 4 and said["cycles"] >= 2, said
    for level in processor["levels"]:
        assert 0.75 * level["asked"] < level["given"] < 1.25 * level["asked"], level
    rows = l.rows(perturbed[1], "SELECT target, given, running_ns, to_ns - from_ns FROM block")
    quiet = [r[2] / r[3] for r in rows if r[0] == ""]
    slowed = [r[2] / r[3] for r in rows if r[0] != "" and r[1] > 1.3]
    assert quiet and slowed, rows
    assert sum(slowed) / len(slowed) < sum(quiet) / len(quiet), "a stopped server runs less"


@pytest.mark.long
@pytest.mark.quiet
def test_a_slower_server_answers_less(perturbed):
    said = sensitivities(perturbed[1])
    [processor] = [s for s in said["sensitivities"] if s["perturber"] == "processor"]
    machine.holds(processor["throughput"], 1, within=0.1, widest=0.4)
    assert processor["throughput"]["low"] > 0.3 and processor["levels"][-1]["ln_throughput"]["high"] < 0, processor


@pytest.mark.long
@pytest.mark.quiet
def test_what_cannot_be_perturbed_is_said(perturbed):
    words = " ".join(sensitivities(perturbed[1])["unprobed"])
    assert "affinity: the server may use every processor" in words, words
    assert "unprobed: " in perturbed[0].stdout, perturbed[0].stdout


@pytest.mark.long
@pytest.mark.quiet
def test_a_perturbed_run_supports_no_claim(perturbed):
    r = l.lynx("show", "--claim", perturbed[1])
    assert r.returncode == 1 and "on purpose" in r.stdout, r.stdout
    assert "on purpose" in l.lynx("show", perturbed[1]).stdout
    r = l.lynx("audit", perturbed[1])
    assert r.returncode != 0 and "on purpose" in r.stdout, r.stdout


@pytest.mark.long
@pytest.mark.quiet
def test_shown_again_it_says_the_same(perturbed):
    again = l.lynx("perturb", perturbed[1])
    assert again.stdout == perturbed[0].stdout


@pytest.mark.long
def test_an_affinity_is_taken_away_and_comes_back(tmp_path):
    machine.need("processors", machine.processors() > 1, "one processor: no limit can be taken away")
    with l.reference("--shape", "tiny", "--threads", "2") as port:
        pid = listener(port)
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {machine.first_processor()})
        out = tmp_path / "a.lynx"
        r = l.lynx(
            "perturb",
            contract(tmp_path, port),
            "--for",
            "12s",
            "--only",
            "affinity",
            "--out",
            out,
            "--quiet",
        )
        assert r.returncode in (0, 3), r.stderr
        for thread in os.listdir(f"/proc/{pid}/task"):
            assert os.sched_getaffinity(int(thread)) == {machine.first_processor()}
    [s] = sensitivities(out)["sensitivities"]
    assert s["target"] == "affinity: every processor" and s["form"].startswith("ln of the ratio"), s
    assert any(r[0] > 1 for r in l.rows(out, "SELECT given FROM block WHERE target <> ''"))


def begin(path, out, env, *more):
    command = [
        os.path.join(l.BUILD, "lynxbench"),
        "perturb",
        path,
        "--for",
        "60s",
        "--only",
        "processor",
    ]
    return subprocess.Popen(
        [*command, "--out", str(out), "--quiet", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
    )


def watchdog_of(pid):
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{other}/comm") as f:
                if f.read().strip() == "lynx-watchdog" and stat(other)[1] == str(pid):
                    return int(other)
        except OSError:
            continue
    return 0


def left_in(state):
    folder = os.path.join(state, "lynxbench", "perturbed")
    return os.listdir(folder) if os.path.isdir(folder) else []


class Perturbing:
    """A run that is in the middle of its blocks, in a home of its own."""

    def __init__(self, folder, port):
        self.state = os.path.join(folder, "state")
        self.env = l.environment(XDG_STATE_HOME=self.state)
        self.pid = listener(port)
        self.run = begin(contract(folder, port), os.path.join(folder, f"k{time.monotonic_ns()}.lynx"), self.env)
        assert wait_until(lambda: stat(self.pid)[0] == "T", 30), "the server was never stopped"
        self.watchdog = watchdog_of(self.run.pid)
        assert self.watchdog > 0

    def left(self):
        return left_in(self.state)

    def runs(self):
        """Not stopped, now and for as long as several periods are."""
        return all(stat(self.pid)[0] != "T" or time.sleep(0.02) for _ in range(20)) and stat(self.pid)[0] != "T"

    def kill(self, *pids):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.run.wait()
        self.run.stdout.close()


def test_killed_the_watchdog_brings_the_server_back(tmp_path):
    with l.reference("--shape", "tiny") as port:
        p = Perturbing(tmp_path, port)
        assert p.left()
        p.kill(p.run.pid)
        assert wait_until(lambda: not p.left()), "the watchdog undoes and forgets"
        assert p.runs()
        assert wait_until(lambda: not os.path.exists(f"/proc/{p.watchdog}")), "and ends"


def kill_both(p):
    """While the server is stopped: the watchdog first, so that nobody undoes it, and the run at once."""
    assert wait_until(lambda: stat(p.pid)[0] == "T")
    os.kill(p.watchdog, signal.SIGKILL)
    p.kill(p.run.pid)


@pytest.mark.long
def test_killed_with_its_watchdog_the_next_command_does(tmp_path):
    with l.reference("--shape", "tiny") as port:
        for command in (["perturb", "--restore"], ["help", "--all"]):
            p = Perturbing(tmp_path, port)
            kill_both(p)
            assert p.left()
            r = l.lynx(*command, env=p.env)
            assert r.returncode == 0, r.stderr
            assert "1 killed run" in r.stdout + r.stderr
            assert p.runs() and not p.left()


@pytest.mark.long
def test_stopped_itself_it_does_not_keep_the_server(tmp_path):
    with l.reference("--shape", "tiny") as port:
        p = Perturbing(tmp_path, port)
        os.kill(p.run.pid, signal.SIGSTOP)
        assert wait_until(p.runs, 5), "Ctrl-Z: the server goes on"
        p.kill(p.run.pid)
        assert wait_until(lambda: not p.left())


@pytest.mark.long
def test_without_its_watchdog_it_perturbs_no_more(tmp_path):
    with l.reference("--shape", "tiny") as port:
        p = Perturbing(tmp_path, port)
        os.kill(p.watchdog, signal.SIGKILL)
        assert wait_until(p.runs, 20), "a block at most"
        os.kill(p.run.pid, signal.SIGINT)
        said = p.run.communicate(timeout=60)[0].decode()
        assert p.runs() and not p.left(), said


@pytest.mark.long
def test_killed_at_any_moment_the_machine_is_as_it_was(tmp_path):
    """KILLS=100: the perturber, its watchdog, or both, at random moments of a run."""
    import random

    kills, random_ = int(os.environ.get("KILLS", "12")), random.Random(7)
    with l.reference("--shape", "tiny") as port:
        pid = listener(port)
        state = os.path.join(tmp_path, "state")
        env, path = l.environment(XDG_STATE_HOME=state), contract(tmp_path, port)
        for i in range(kills):
            run = begin(path, tmp_path / f"k{i}.lynx", env)
            time.sleep(random_.uniform(0.05, 5))
            whom = random_.choice(["run", "both", "watchdog, then run"])
            watchdog = watchdog_of(run.pid)
            if whom != "run" and watchdog > 0:
                os.kill(watchdog, signal.SIGKILL)
            if whom.endswith("then run"):
                time.sleep(random_.uniform(0, 1))
            run.kill()
            run.wait()
            run.stdout.close()
            time.sleep(0.3)  # the watchdog's turn
            assert l.lynx("perturb", "--restore", env=env).returncode == 0
            assert all(stat(pid)[0] != "T" or time.sleep(0.02) for _ in range(20)), (i, whom)
            assert not left_in(state), (i, whom)


@pytest.mark.long
def test_a_server_with_a_terminal_is_not_stopped(tmp_path):
    port = l.free_port()
    pid, fd = pty.fork()
    if pid == 0:
        program = os.path.join(l.BUILD, "lynxbench-ref")
        os.execv(program, [program, "--port", str(port), "--shape", "tiny"])
    try:
        out = tmp_path / "t.lynx"
        time.sleep(1)
        r = l.lynx(
            "perturb",
            contract(tmp_path, port),
            "--for",
            "10s",
            "--only",
            "processor",
            "--out",
            out,
            "--quiet",
        )
        assert r.returncode == 3, r.stderr
        assert "has a terminal" in r.stdout and "setsid" in r.stdout, r.stdout
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(fd)
        os.waitpid(pid, 0)


SERVER = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def burn(n):
    return sum(i * i for i in range(n))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def chunk(self, data):
        self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))

    def do_GET(self):
        self.send_response(200)
        body = json.dumps({"data": [{"id": "tiny"}]}).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(asked["max_tokens"]):
            time.sleep(0.03)
            burn(20000)
            last = i + 1 == asked["max_tokens"]
            choice = {"index": 0, "text": "a ", "finish_reason": "length" if last else None}
            self.chunk(f"data: {json.dumps({'choices': [choice]})}\\n\\n".encode())
        self.chunk(b"data: [DONE]\\n\\n")
        self.chunk(b"")


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def sleeper(tmp_path_factory):
    """A Python server that sleeps for each token, started by the contract and diagnosed."""
    folder, port = tmp_path_factory.mktemp("sleeper"), l.free_port()
    (folder / "server.py").write_text(SERVER)
    start = f"{{command: [{sys.executable}, {folder}/server.py, '{port}']}}"
    path, out = contract(
        folder,
        port,
        executor=f"{{endpoint: 'http://127.0.0.1:{port}', ready_path: /v1/models, start: {start}}}",
        regime="{load: climb, concurrency: 4}",
        method=METHOD.replace("sessions: 2", "sessions: 2, attribution_sessions: 1"),
    ), str(folder / "d.lynx")
    machine.need("waits", machine.waits(), "what a thread waits in cannot be read (ptrace rights, yama)")
    r = l.lynx("run", path, "--out", out, "--quiet", timeout=200)
    assert r.returncode == 0, r.stderr
    assert "sleeping" in findings(out), findings(out)
    return path, out, folder


def findings(bundle):
    return [f["id"] for f in json.loads(l.lynx("attribute", bundle, "--json").stdout)["findings"]]


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory):
    """A server that works on one request at a time, though its start command could let it work on eight: by its own
    schedule, so that no processor is in it."""
    folder, port = tmp_path_factory.mktemp("one"), l.free_port()
    words = [l.REF, "--port", str(port), "--mode", "metronome", "--first-token", "20ms", "--gap", "5ms", "--slots", "1"]
    path, out = contract(
        folder,
        port,
        executor=f"{{endpoint: 'http://127.0.0.1:{port}', start: {{command: {json.dumps(words)}}}}}",
        regime="{load: climb, concurrency: 4}",
    ), str(folder / "d.lynx")
    r = l.lynx("run", path, "--out", out, "--quiet", timeout=200)
    assert r.returncode == 0, r.stderr
    assert "one_at_a_time" in findings(out), findings(out)
    return path, out, folder


@pytest.mark.long
@pytest.mark.parametrize("remedy, verdict", [("--slots=8", "remedied"), ("LYNXBENCH_NOTHING=1", "not remedied")])
def test_confirm_tries_a_remedy_of_the_operator(one_by_one, remedy, verdict):
    path, out, folder = one_by_one
    made = folder / f"{verdict}.lynx"
    words = ["confirm", out, "one_at_a_time", "--contract", path, "--for", "40s", "--out", made, "--quiet", "--json"]
    r = l.lynx(*words, f"--set={remedy}", timeout=300)
    said = json.loads(r.stdout)
    assert said["target"] == f"setting: with {remedy}", (said, r.stderr)
    assert (said["verdict"], r.returncode) == (verdict, 0 if verdict == "remedied" else 1), said
    (in_flight,) = {n for (n,) in l.rows(made, "SELECT concurrency FROM session WHERE purpose = 'perturb'")}
    assert 2 <= in_flight <= 4, "at the knee of a climb to four"
    planted = math.log(in_flight) if verdict == "remedied" else 0  # so many wait for one slot, or are served by eight
    machine.holds(said, planted, within=0.1, widest=0.5)
    assert verdict != "remedied" or said["rung"] == "swapped back", said
    assert "remedy" in said["instead"]
    assert l.lynx("show", "--claim", made).returncode != 0, "a perturbed run supports no claim"


@pytest.fixture(scope="module")
def swapped(one_by_one):
    """Both its slots and something that does nothing, in every combination."""
    path, _, folder = one_by_one
    plan, out = folder / "plan.yaml", folder / "swapped.lynx"
    facts = "  - {argument: --slots, b: 8}\n  - {variable: LYNXBENCH_NOTHING, b: 1}\n"
    fixed = open(path).read().replace("{load: climb, concurrency: 4}", "{load: closed, concurrency: 4}")
    (folder / "fixed.yaml").write_text(fixed)
    plan.write_text(f"lynxbench_experiment: 1\ncontract: fixed.yaml\nfactors:\n{facts}")
    r = l.lynx("experiment", plan, "--session", "2s", "--rounds", "3", "--quiet", "--out", out, timeout=300)
    assert r.returncode in (0, 3), r.stderr
    return str(out)


@pytest.mark.long
def test_confirm_by_an_experiment(one_by_one, swapped, tmp_path):
    """What was swapped among others gives the verdict, and is shown beside the finding from then on."""
    path, out, _ = one_by_one
    words = ["confirm", out, "one_at_a_time", "--by", swapped]
    for more, says in (
        ([], "--fact NAME, one of"),
        (["--fact", "--nothing"], "--fact: found '--nothing'"),
        (["--fact", "--slots"], "--run-is: found nothing"),
        (["--fact", "--slots", "--run-is", "C"], "--run-is: found C"),
    ):
        r = l.lynx(*words, *more)
        assert r.returncode == 2 and says in r.stderr, (more, r.stderr)
    r = l.lynx("confirm", out, "one_at_a_time", "--by", out, "--fact", "--slots")
    assert r.returncode == 2 and "nothing was swapped in it" in r.stderr, r.stderr
    knee = json.loads(l.lynx("attribute", out, "--json").stdout)["knee"]
    r = l.lynx(*words, "--fact", "--slots", "--run-is", "A")
    assert (f"it keeps 4 requests in flight, the run {knee}" in r.stderr) == (knee != 4), (knee, r.stderr)
    ledger = tmp_path / "team.ledger"
    env = {"XDG_STATE_HOME": str(tmp_path / "home"), "LYNXBENCH_KEY": str(tmp_path / "ml.key")}
    for some in (("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", ledger)):
        assert l.lynx(*some, env=env).returncode == 0
    record = ["--record", "--ledger", ledger]
    r = l.lynx(*words, "--fact", "--slots", "--run-is", "A", "--json", *record, env=env)
    said = json.loads(r.stdout)
    assert r.returncode == 0 and (said["verdict"], said["rung"]) == ("confirmed", "factorial"), (said, r.stderr)
    assert said["target"] == "fact: --slots", said
    machine.holds(said, math.log(4), within=0.1, widest=0.5)
    r = l.lynx(*words, "--fact", "--slots", "--run-is", "B", "--json")
    assert r.returncode == 1 and json.loads(r.stdout)["verdict"] == "refuted", r.stdout
    shown = l.lynx("attribute", out, "--ledger", ledger, env=env).stdout
    assert "confirmed (factorial)" in shown, shown
    r = l.lynx(*words, "--fact", "LYNXBENCH_NOTHING", "--run-is", "A")
    assert r.returncode == 1 and "Swapped, from the run's level" in r.stdout, r.stdout


def test_remedies_that_are_none(one_by_one):
    path, out, _ = one_by_one
    for bad in ("", "-x", "NAME", "1A=2", "A B=1", "--", "--=1"):
        r = l.lynx("confirm", out, "one_at_a_time", "--contract", path, f"--set={bad}")
        assert r.returncode == 2 and "--set" in r.stderr, (bad, r.stderr)


@pytest.mark.long
@pytest.mark.quiet
def test_confirm_slows_the_sleeps_of_a_server_that_it_starts(sleeper):
    path, out, folder = sleeper
    ledger = folder / "l.ledger"
    env = {"XDG_STATE_HOME": str(folder / "home"), "LYNXBENCH_KEY": str(folder / "ml.key")}
    for words in (("ledger", "key", "ml", "--out", folder), ("ledger", "create", ledger)):
        r = l.lynx(*words, env=env)
        assert r.returncode == 0, r.stderr
    words = ("confirm", out, "sleeping", "--contract", path, "--for", "60s", "--quiet", "--json")
    record = ("--record", "--ledger", ledger)
    r = machine.beside_nothing(lambda k: l.lynx(*words, "--out", folder / f"c{k}.lynx", *record, timeout=300, env=env))
    assert r.returncode == 0, r.stdout + r.stderr
    assert "sleeping " in r.stderr and " entry " in r.stderr, r.stderr
    kinds = l.lynx("ledger", "list", ledger, env=env).stdout
    assert "confirmation" in kinds, kinds
    said = json.loads(r.stdout)
    assert said["target"].startswith("function: time.sleep") and said["threshold"] > 0, said
    levels = [x for s in said["sensitivities"] for x in s["levels"]]
    assert all(0.75 * x["asked"] < x["given"] < 1.25 * x["asked"] for x in levels), said
    page = l.lynx("attribute", out, "--ledger", ledger, env=env)  # the ladder: the account, and what was found of it
    assert f"by experiment: {said['verdict']} (perturbed)" in " ".join(page.stdout.split()), page.stdout
    [finding] = [
        f
        for f in json.loads(l.lynx("attribute", out, "--json", "--ledger", ledger, env=env).stdout)["findings"]
        if f["id"] == "sleeping"
    ]
    assert (said["verdict"], said["rung"]) == ("confirmed", "perturbed"), said
    assert said["control_low"] < said["control_high"] and not said["control_moved"], said
    assert (finding["status"], finding["rung"]) == ("confirmed", "perturbed"), finding
    assert "by experiment" not in l.lynx("attribute", out).stdout
    machine.holds(said, 0.9, within=0.2, widest=0.8)  # 30 ms of sleep in a token of 33


@pytest.mark.long
def test_confirm_lists_what_there_is(sleeper):
    path, out, _ = sleeper
    r = l.lynx("confirm", out, "--contract", path)
    assert r.returncode == 0 and "sleeping" in r.stdout, r.stdout + r.stderr
    r = l.lynx("confirm", out, "nothing_such", "--contract", path)
    assert r.returncode == 2 and "a finding of" in r.stderr and "sleeping" in r.stderr, r.stderr


@pytest.mark.long
def test_perturb_takes_the_time_that_answers_need(sleeper, tmp_path):
    """Six cycles of blocks of several answers, then more; ended early it says so, and leaves no server."""
    path, out, _ = sleeper
    words = [os.path.join(l.BUILD, "lynxbench"), "perturb", out, "--contract", path, "--out", str(tmp_path / "p.lynx")]
    p, said = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True), ""
    for line in p.stderr:
        said += line
        if "in blocks of" in line:
            p.send_signal(signal.SIGINT)
    p.wait(timeout=60)
    plan = re.search(r"at most (\d+) s in blocks of ([0-9.]+) s", said)
    least = re.search(r"it ends after (\d+) s where", said)
    assert plan and 119 <= int(plan[1]) <= 631 and (not least or 119 <= int(least[1]) < int(plan[1])), said
    assert "answers want" not in said, said


@pytest.mark.long
def test_a_contract_that_starts_programs_is_not_taken_from_beside_the_bundle(sleeper, tmp_path):
    path, out, folder = sleeper
    beside = str(out).replace(".lynx", ".yaml")
    os.link(path, beside)
    try:
        r = l.lynx("confirm", out, "sleeping", stdin=subprocess.DEVNULL)
        assert r.returncode == 2 and "starts programs" in r.stderr and "nothing was run" in r.stderr, r.stderr
    finally:
        os.unlink(beside)


@pytest.mark.long
def test_the_wrong_contract_is_refused(sleeper, tmp_path):
    other = contract(tmp_path, 1)
    r = l.lynx("confirm", sleeper[1], "sleeping", "--contract", other)
    assert r.returncode == 2 and "is not the contract of" in r.stderr, r.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "found nothing"),
        (["p.yaml", "--only", "nobody"], "--only: found 'nobody'"),
        (["p.yaml", "--for", "1s"], "--for: found '1s'"),
        (["p.yaml", "--contract", "p.yaml"], "--contract goes with a bundle"),
    ],
)
def test_wrong_words(tmp_path, words, said):
    path = contract(tmp_path, 1)
    r = l.lynx("perturb", *[path if w == "p.yaml" else w for w in words])
    assert r.returncode == 2 and said in r.stderr, r.stderr


def test_loads_that_change_by_themselves_are_refused(tmp_path):
    climb = contract(tmp_path, 1, regime="{load: climb, concurrency: 4}")
    r = l.lynx("perturb", climb)
    assert r.returncode == 2 and "the knee is not known yet" in r.stderr, r.stderr


def state_file(state, name, text):
    folder = os.path.join(state, "lynxbench", "perturbed")
    os.makedirs(folder, exist_ok=True)
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = f.read()[:8]
    space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    path = os.path.join(folder, f"{boot}-{space}-{name}.json")
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o600)
    return path


@pytest.mark.parametrize("text", ["", "{", "{}", "[1, 2]", '{"owner": 4000000, "steps": 5}', '{"steps": []}'])
def test_a_state_file_that_is_none_is_named_and_kept(tmp_path, text):
    path = state_file(tmp_path, "77", text)
    r = l.lynx("perturb", "--restore", env={"XDG_STATE_HOME": tmp_path})
    assert r.returncode == 4 and path in r.stderr, r.stderr
    assert path in l.lynx("help", "--all", env={"XDG_STATE_HOME": tmp_path}).stderr and os.path.exists(path)


def test_a_state_file_reaches_nothing_but_control_groups(tmp_path):
    target = tmp_path / "target"
    target.write_text("as it was")
    for place in (str(target), f"/sys/fs/cgroup/../../..{target}", "/sys/fs/cgroup/a/../../../.." + str(target)):
        step = {"kind": "file", "process": 0, "thread": 0, "started": 0, "path": place, "text": "other"}
        state_file(tmp_path, "78", json.dumps({"owner": 4000000, "started": 1, "steps": [step]}))
        assert l.lynx("perturb", "--restore", env={"XDG_STATE_HOME": tmp_path}).returncode == 4
    assert target.read_text() == "as it was"


def test_an_owner_that_was_not_reaped_is_none(tmp_path):
    with l.reference("--shape", "tiny") as port:
        p = Perturbing(tmp_path, port)
        assert wait_until(lambda: stat(p.pid)[0] == "T")
        os.kill(p.watchdog, signal.SIGKILL)
        os.kill(p.run.pid, signal.SIGKILL)  # and not waited for yet: a zombie
        assert wait_until(lambda: stat(p.run.pid)[0] == "Z")
        r = l.lynx("perturb", "--restore", env=p.env)
        assert r.returncode == 0 and "1 killed run" in r.stdout, r.stdout + r.stderr
        assert p.runs()
        p.kill()


def test_nothing_is_sent_where_nothing_could_be_undone(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    out = tmp_path / "o.lynx"
    for env in ({"XDG_STATE_HOME": file}, {"XDG_STATE_HOME": "", "HOME": ""}):
        r = l.lynx("perturb", contract(tmp_path, 1), "--out", out, env=env)
        assert r.returncode in (2, 5) and "nothing can be perturbed" in r.stderr, r.stderr
    assert not out.exists()
    r = l.lynx("perturb", "--restore", env={"XDG_STATE_HOME": file})
    assert r.returncode == 4 and "nothing was looked at" in r.stderr, r.stderr


@pytest.mark.long
def test_a_process_that_is_not_the_server_is_not_touched(tmp_path):
    innocent = subprocess.Popen(["sleep", "60"])
    try:
        with l.reference("--shape", "tiny") as port:
            executor = f"{{endpoint: 'http://127.0.0.1:{port}', pid: {innocent.pid}}}"
            path, out = contract(tmp_path, port, executor=executor), tmp_path / "i.lynx"
            r = l.lynx("perturb", path, "--for", "10s", "--only", "processor", "--out", out, "--quiet")
            assert r.returncode == 3 and "no process of the server is visible" in r.stdout, r.stdout + r.stderr
        assert not l.rows(out, "SELECT * FROM block")
    finally:
        innocent.kill()
        innocent.wait()


SLOW = l.answering(
    """
        end = time.monotonic() + 0.6
        while time.monotonic() < end: pass
"""
)


@pytest.mark.long
def test_blocks_with_few_answers_have_no_interval(tmp_path):
    port = l.free_port()
    (tmp_path / "slow.py").write_text(SLOW)
    server = subprocess.Popen([sys.executable, tmp_path / "slow.py", str(port)], start_new_session=True)
    try:
        time.sleep(1)
        workload = "{model: tiny, output_tokens: 4, prompts: {count: 4, bytes: 16}, stream: false}"
        path = contract(tmp_path, port, workload=workload, regime="{load: closed, concurrency: 1}")
        r = l.lynx("perturb", path, "--for", "20s", "--only", "processor", "--out", tmp_path / "f.lynx", "--quiet")
        assert r.returncode == 3 and "which is too few" in r.stdout, r.stdout + r.stderr
        assert "perturb its bundle" in " ".join(r.stdout.split()), r.stdout
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    l.main(__file__)
