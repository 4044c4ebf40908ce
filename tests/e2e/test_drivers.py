"""Programs over pipes and their Python package, ONNX Runtime that is not there, and what lint says of drivers. Each
fault is a counted failure with a reason, or a clear error."""

import pytest
from lynx import *

METHOD = (
    "{warm_up: 200ms, counted: 1500ms, sessions: 1, drain: 2s, request_timeout: 400ms, instrument_error_at_most: 1, "
    "failures_at_most: 1, steady: reported, stolen_at_most: 1}"
)
PYTHON = f"{SOURCE}/python"
ABANDONED = "abandoned, not counted"
COMMAND = "{driver: command, output_tokens: 4, prompts: {count: 4, bytes: 16}}"


def program(d, name, text, regime="{load: closed, concurrency: 2}", ready="5s", **more):
    """A contract that starts a Python program."""
    with open(f"{d}/{name}.py", "w") as f:
        f.write(text)
    command = f'[env, "PYTHONPATH={PYTHON}", python3, "{d}/{name}.py", "{{precision}}"]'
    sections = {
        "name": f'"{name}"',
        "executor": f"{{start: {{command: {command}, ready_within: {ready}, stop_within: 2s}}}}",
        "workload": COMMAND,
        "method": METHOD,
        "regime": regime,
        **more,
    }
    with open(f"{d}/{name}.yaml", "w") as f:
        f.write("lynxbench: 1\n" + "".join(f"{k}: {v}\n" for k, v in sections.items()))
    return f"{d}/{name}.yaml"


def ran(d, name, text, **more):
    """The program's run, and its bundle."""
    bundle = f"{d}/{name}.lynx"
    return lynx("run", program(d, name, text, **more), "--out", bundle, "--quiet"), bundle


def outcomes(bundle):
    sql = "SELECT outcome, reason, count(*) FROM request WHERE phase = 'counted' GROUP BY 1, 2"
    return {(o, r): n for o, r, n in rows(bundle, sql)}


# --- the Python package: tokens, phases, facts, what is executed ---

GOOD = """
import sys, time
from lynxbench import workload, phase, token, fact, executed
fact("framework.engine", "toy 3")
executed(precision=sys.argv[1], status="native", primitive="sleep")
assert workload is not None
@workload
def infer(request):
    print("what is printed goes to the log")
    assert len(request.prompt) == 16 and request.output_tokens == 4 and request.seed >= 0
    with phase("data"):
        time.sleep(0.001)
    with phase("forward"):
        time.sleep(0.004)
    for i in range(request.output_tokens):
        time.sleep(0.001)
        token("ab")
"""


@pytest.fixture(scope="module")
def good():
    """A folder with a program of the package, and its bundle."""
    with folder() as d:
        r, bundle = ran(d, "good", GOOD)
        assert r.returncode == 0, r.stderr
        yield bundle


def test_tokens_of_a_program(good):
    p = show(good)["precisions"][0]
    check_equal(p["requests"]["failed"], 0, "failed")
    check_equal(p["status"], "native", "what the program says that it executes")
    early = "SELECT count(*) FROM request WHERE outcome = 'ok' AND first_token_ns - written_ns < 5000000"
    check_equal(rows(good, early), [(0,)], "the first token comes after data and forward")
    told = rows(good, "SELECT DISTINCT n_text_events, flags & 1048576 FROM request WHERE outcome = 'ok'")
    check_equal(told, [(4, 1048576)], "four tokens, each told")


def test_phases_of_a_program(good, d):
    phases = show(good)["precisions"][0]["phases"]
    check_equal(list(phases)[:4], ["formula", "handover", "data", "forward"], "in their order")
    for name, least in (("data", 1e6), ("forward", 4e6)):
        check(phases[name]["mean_ns"] >= least, f"{name} takes what it sleeps: {phases[name]}")
    r = lynx("attribute", good, "--requests", "--json")
    check_equal(r.returncode, 0, f"attribute: {r.stderr}")
    for name in ("data", "forward", "before it was sent"):
        check_in(name, r.stdout, f"attribute: {name}")
    check_in("phases, as told", lynx("show", good).stdout, "show")
    lynx("show", good, "--html", f"{d}/good.html")
    check_in("Phases, as the executor reports them", open(f"{d}/good.html").read(), "report")


def test_facts_of_a_program(good):
    told = rows(good, "SELECT value FROM fact WHERE key = 'program.engine' AND moment LIKE 'start%'")
    check_equal(told, [("toy 3",)], "what it says")
    check(rows(good, "SELECT value FROM fact WHERE key = 'python.version'"), "its Python is captured")
    sql = "SELECT key, value FROM fact WHERE kind = 'identity' AND moment LIKE '{}%' ORDER BY key"
    check_equal(rows(good, sql.format("start")), rows(good, sql.format("end")), "the same executor at its end")
    check_in("what is printed goes to the log", open(f"{good}.executor.log").read(), "the log")


def test_without_lynxbench_the_decorator_changes_nothing(good):
    command = [sys.executable, good.replace(".lynx", ".py"), "f32"]
    r = subprocess.run(command, capture_output=True, text=True, env=environment(PYTHONPATH=PYTHON))
    check_equal((r.returncode, r.stdout), (0, ""), f"by hand: {r.stderr}")


RETURNS = """
from lynxbench import workload
n = 0
@workload
def infer(request):
    global n
    n += 1
    if n % 5 == 0: raise ValueError("bad \\x1b[31m luck")
    if n % 5 == 1: return "a whole text"
    if n % 5 == 2: return {"text": "t", "output_tokens": 7, "prompt_tokens": 3}
    if n % 5 == 3: return (x for x in ("a", "b"))
    return 6
"""


def test_returns_of_every_kind(d):
    """An exception fails its request, and the program goes on."""
    r, bundle = ran(d, "returns", RETURNS, regime="{load: closed, concurrency: 1}")
    check_equal(r.returncode, 0, r.stderr)
    columns = "outcome, n_text_events, output_tokens, prompt_tokens"
    sql = f"SELECT {columns} FROM request WHERE phase = 'counted' AND outcome <> '{ABANDONED}'"
    wanted = {
        ("ok", 1, None, None),
        ("ok", 1, 7, 3),
        ("ok", 2, 2, None),
        ("ok", 0, 6, None),
        ("executor failed", 0, None, None),
    }
    check_equal(set(rows(bundle, sql)), wanted, "what was recorded")
    reasons = [reason for _, reason in outcomes(bundle)]
    check(any("ValueError: bad" in x and "\x1b" not in x for x in reasons), f"the exception's words: {reasons}")


# --- everything a program can do wrong; plain programs, by the protocol's document ---

SERVE = """
import json, sys, time, os
def say(m): sys.stdout.write(json.dumps(m) + "\\n"); sys.stdout.flush()
n = 0
for line in sys.stdin:
    m = json.loads(line)
    if "hello" in m: say({"ready": 1})
    else:
        n += 1
        if n % 4 == 0: exec(FAULT)
        else: time.sleep(0.02)
        say({"done": m["run"], "output_tokens": 1})
"""
FAULTS = {
    "garbage": ('print("not a message \\x1b[2J", flush=True)', "a line that is no message: 'not a message ?[2J'"),
    "exit": ("os._exit(3)", "the program ended with exit code 3"),
    "killed": ("os.kill(os.getpid(), 9)", "the program was ended by signal 9"),
    "closes": ("os.close(1); time.sleep(60)", "the program closed its output"),
    "long": ('sys.stdout.write("x" * (17 << 20)); sys.stdout.flush()', "a message of more than 16777216 bytes"),
}
RESTARTS = '{driver: command, output_tokens: 1, prompts: {count: 4, bytes: 16}, options: {restarts: "1000"}}'


def faulty(d, name, fault, wanted=None):
    """What became of the requests. A busy machine may use up the window with starting the program again: then a longer
    one decides."""
    for window in ("1500ms", "6s", "24s"):
        method = METHOD.replace("counted: 1500ms", f"counted: {window}")
        r, bundle = ran(d, name, SERVE.replace("FAULT", repr(fault)), workload=RESTARTS, method=method)
        check(r.returncode in (0, 3), f"{name}: exit code {r.returncode}: {r.stderr}")
        found = outcomes(bundle)
        well = any(o == "ok" for o, _ in found)
        if well and (wanted is None or wanted in found):
            return found
        os.remove(bundle)
    check(well, f"{name}: others went well: {found}")
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_program(d, name):
    fault, reason = FAULTS[name]
    wanted = ("executor failed", reason)
    check_in(wanted, faulty(d, name, fault, wanted), name)


def test_a_program_that_hangs(d):
    wanted = ("timed out", "")
    check_in(wanted, faulty(d, "hang", "time.sleep(60)", wanted), "hang")


LIES = """
say({"token": m["run"], "at": 5, "n": 4294967296})
say({"done": 99999})
say({"done": m["run"], "started": -4, "ended": 2**62, "phases": [["a" * 99, 2**62, 5], ["b", 1], 7, []]})
"""


def test_a_program_that_lies(d):
    """Nothing of it is believed."""
    check_equal({o for o, _ in faulty(d, "lies", LIES)} - {ABANDONED}, {"ok"}, "outcomes")


REPLACED = """
import json, os, signal, sys, time
log = open(LOG, "a")
signal.signal(signal.SIGTERM, lambda *_: (log.write("SIGTERM\\n"), log.flush(), os._exit(0)))
n = 0
for line in sys.stdin:
    m = json.loads(line)
    if "hello" in m:
        log.write(json.dumps(sorted(os.sched_getaffinity(0))) + "\\n"); log.flush()
        print(json.dumps({"ready": 1}), flush=True)
    else:
        n += 1
        if n == 5 and not os.path.exists(DIED): open(DIED, "w").close(); os._exit(1)
        time.sleep(0.01)
        print(json.dumps({"done": m["run"]}), flush=True)
log.write("end of input\\n")
"""


def test_a_replacement_is_the_same_program_in_the_same_circumstances(d):
    """It lives as long as the session."""
    text = REPLACED.replace("LOG", repr(f"{d}/log")).replace("DIED", repr(f"{d}/died"))
    method = METHOD.replace("1500ms", '1500ms, processors: "0"')
    r, bundle = ran(d, "replaced", text, regime="{load: closed, concurrency: 1}", method=method)
    check_equal(r.returncode, 0, r.stderr)
    told = open(f"{d}/log").read().splitlines()
    good = len(told) == 3 and told[0] == told[1] and told[2] == "end of input"
    check(good, f"the same processors, and left to the end of its input: {told}")
    keys = [{k for (k,) in rows(bundle, f"SELECT key FROM fact WHERE moment LIKE '{m}%'")} for m in ("start", "end")]
    missing = sorted(keys[0] - keys[1])
    check(len(missing) < 5, f"it is captured at the end like the first: {missing[:9]}")


NEVER_AGAIN = """
import os, sys, time, json
if os.path.exists(GONE): time.sleep(60)
for line in sys.stdin:
    m = json.loads(line)
    if "run" in m and m["run"] == 3: open(GONE, "w").close(); os._exit(1)
    print(json.dumps({"done": m["run"]} if "run" in m else {"ready": 1}), flush=True)
"""


def test_a_replacement_must_become_ready_in_time(d):
    text = NEVER_AGAIN.replace("GONE", repr(f"{d}/gone"))
    _, bundle = ran(d, "never", text, regime="{load: constant, rate_per_s: 20, concurrency: 1}", ready="1s")
    words = "no process is left after 3 restarts (a process in its place was not ready"
    check(any(words in reason for _, reason in outcomes(bundle)), f"{outcomes(bundle)}")


def test_nobody_there_is_no_reason_to_storm(d):
    _, bundle = ran(d, "spent", SERVE.replace("FAULT", repr("os._exit(3)")))  # 3 restarts
    found = outcomes(bundle)
    check(any("no process is left after 3 restarts" in reason for _, reason in found), f"{found}")
    check(sum(found.values()) < 2000, "requests that found nobody")


WILD = """
import json, sys, time
for line in sys.stdin:
    m = json.loads(line)
    if "hello" in m: print(json.dumps({"ready": 1}), flush=True); continue
    time.sleep(0.005)
    t = time.monotonic_ns()
    for at in (t, t - 3000000): print(json.dumps({"token": m["run"], "at": at}), flush=True)
    phases = [["p%d" % i, t, 1] for i in range(20)]
    wild = {"done": m["run"], "ended": t - 4000000, "output_tokens": 2**63 - 1, "phases": phases}
    print(json.dumps(wild), flush=True)
"""


def test_what_a_program_claims_and_cannot_be_so(d):
    r, bundle = ran(d, "wild", WILD)
    check_equal(r.returncode, 0, r.stderr)
    backwards = "last_token_ns < first_token_ns OR end_ns < last_token_ns OR output_tokens IS NOT NULL"
    sql = f"SELECT count(*) FROM request WHERE outcome = 'ok' AND ({backwards})"
    check_equal(rows(bundle, sql), [(0,)], "times do not run backwards")
    names = {n for (n,) in rows(bundle, "SELECT DISTINCT name FROM phase")}
    check_equal(names, {f"p{i}" for i in range(12)}, "the first twelve phases")


UNAVAILABLE = "import lynxbench; lynxbench.unavailable('no such instructions')"
NOT_READY = {
    "mute": ("import time; time.sleep(60)", 5, "executor.start.ready_within is over"),
    "dies": ("import sys; print('no weights', file=sys.stderr); sys.exit(1)", 5, "dies.lynx.executor.log"),
    "chatty": (
        "print('loading...', flush=True); import time; time.sleep(60)",
        5,
        "a line that is no message: 'loading...'",
    ),
    "unavailable": (UNAVAILABLE, 3, "no such instructions"),
    "exit69": ("import sys; sys.exit(69)", 3, "says so by its exit code"),
}


@pytest.mark.parametrize("name", NOT_READY)
def test_a_program_that_does_not_become_ready(d, name):
    text, code, words = NOT_READY[name]
    r, bundle = ran(d, name, text, ready="500ms" if name == "mute" else "5s")
    check_equal(r.returncode, code, f"exit code: {r.stderr}")
    check_in(words, r.stderr + lynx("show", bundle).stdout, "says why")


# --- what lint says ---

START = "{start: {command: [x]}}"
AT_X = '{endpoint: "http://x:1"}'
LINT = [
    ({}, "executor.start: found nothing"),
    (
        {"executor": START, "regime": "{load: poisson, rate_per_s: 5}"},
        "regime.concurrency: found nothing; accepted: how many requests may run at once",
    ),
    (
        {"executor": START, "workload": "{driver: command, options: {restart: 3}}"},
        "the command driver has no option 'restart'; it has restarts",
    ),
    (
        {"executor": START, "workload": "{driver: command, options: {restarts: many}}"},
        "'many' where an integer from 0",
    ),
    ({"executor": '{endpoint: "http://x:1", start: {command: [x]}}'}, "executor.endpoint: found an address"),
    (
        {"workload": "{driver: onnxruntime}"},
        "workload.options.model: found nothing, where the onnxruntime driver needs it",
    ),
    (
        {"workload": "{driver: onnxruntime, options: {model: m, provider: tpu}}"},
        "one of these is expected: cpu, cuda",
    ),
    ({"workload": "{driver: kserve, model: m}"}, "executor.endpoint: found nothing"),
    ({"executor": AT_X, "workload": "{driver: http, api: native}"}, "llamacpp, ollama and tgi have one"),
    (
        {"executor": AT_X, "workload": "{driver: http, api: native_chat, options: {server: tgi}}"},
        "ollama has one",
    ),
    ({"executor": '{endpoint: "http://unix:relative"}', "workload": "{driver: http}"}, "does not begin with /"),
    (
        {
            "executor": AT_X,
            "workload": "{driver: http, api: embeddings}",
            "slo": "[{metric: time_to_first_token, at_most: 1s}]",
        },
        "an embedding has no tokens",
    ),
    ({"executor": AT_X, "workload": "{driver: ftp}"}, "one of: command http kserve null onnxruntime"),
]


@pytest.mark.parametrize("sections, words", LINT)
def test_lint(d, sections, words):
    base = {"workload": "{driver: command}", "regime": "{load: closed, concurrency: 2}"}
    with open(f"{d}/lint.yaml", "w") as f:
        f.write("lynxbench: 1\nname: lint\n" + "".join(f"{k}: {v}\n" for k, v in {**base, **sections}.items()))
    r = lynx("lint", f"{d}/lint.yaml")
    check_equal(r.returncode, 2, f"{sections}")
    check_in(words, r.stdout, f"{sections}")


# --- ONNX Runtime that is not there ---

ORT = [("/nowhere/libonnxruntime.so", "pip install onnxruntime"), (SHIM, "no ONNX Runtime of release 1.10 or later")]


@pytest.mark.parametrize("library, words", ORT)
def test_onnx_runtime_that_is_not_there(d, library, words):
    workload = f'{{driver: onnxruntime, options: {{model: m.onnx, library: "{library}"}}}}'
    with open(f"{d}/ort.yaml", "w") as f:
        f.write(f"lynxbench: 1\nname: ort\nworkload: {workload}\nregime: {{load: single_stream}}\n")
    r = lynx("run", f"{d}/ort.yaml", "--out", f"{d}/ort.lynx", "--quiet")
    check_equal(r.returncode, 2, f"exit code: {r.stderr}")
    check_in(words, r.stderr, "what it is, and the next step")


if __name__ == "__main__":
    main(__file__)
