"""Everything an endpoint can do wrong: each is a counted and shown failure, or a clear error; never a crash, a hang
or a silent number."""

import pytest
from lynx import *

FAULTS = {
    "hang": ("timed out", None),
    "close": ("closed early", None),
    "html": ("protocol error", None),
    "429": ("HTTP status", None),
    "500": ("HTTP status", None),
    "error": ("error in stream", None),
    "endless": ("over a size limit", None),
    "no-done": ("stream not finished", None),
    # the planted event is one more than usage says
    "utf8": (None, {"invalid UTF-8", "usage contradicts the stream"}),
    "usage": (None, {"usage contradicts the stream", "shorter than asked for"}),
}
ONE = "{warm_up: 200ms, counted: 1s, sessions: 1, drain: %s, %s, instrument_error_at_most: 1}"
WRONG = "outcome <> 'ok' AND phase = 'counted'"


def run(path, out, code):
    r = lynx("run", path, "--out", out, "--quiet")
    check_equal(r.returncode, code, f"{out}: {r.stderr}")
    return r


def check_failures(fault, outcome, p, bundle):
    check_equal(p["requests"]["failures"], {outcome: 6}, f"{fault}: failures")
    check_equal(p["requests"]["failed"], 6, f"{fault}: failed")
    latency = p["latency"]["end_to_end"]
    check(latency["n_infinite"] == 6, f"{fault}: a failure is an infinite latency: {latency}")
    reasons = [x for (x,) in rows(bundle, f"SELECT reason FROM request WHERE {WRONG}")]
    check(fault == "hang" or all(reasons), f"{fault}: a failure without a reason: {reasons}")
    if fault == "error":
        check_in("planted: the engine died", reasons[0], "the error object's own words")
    if fault in ("429", "500"):
        found = {x for (x,) in rows(bundle, f"SELECT http_status FROM request WHERE {WRONG}")}
        check_equal(found, {int(fault)}, "status")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_counted_and_shown(tmp_path, fault):
    outcome, oddity = FAULTS[fault]
    bundle = f"{tmp_path}/{fault}.lynx"
    times = ("--first-token", "5ms", "--gap", "1ms")
    with reference("--mode", "metronome", *times, "--fault", fault, "--fault-every", "2") as port:
        load = "{load: constant, rate_per_s: 12, concurrency: 64}"
        method = ONE % ("2s", "request_timeout: 1500ms")
        run(contract(f"{tmp_path}/{fault}.yaml", port, regime=load, method=method), bundle, 0)
    p = show(bundle)["precisions"][0]
    check_equal(p["requests"]["counted"], 12, f"{fault}: counted")
    if outcome:
        check_failures(fault, outcome, p, bundle)
    else:
        check_equal(p["requests"]["failed"], 0, f"{fault}: failed")
        check_equal(p["requests"]["oddities"], {o: 6 for o in oddity}, f"{fault}: oddities")
    check_equal(lynx("show", "--claim", bundle).returncode, 1, f"{fault}: a claim was made of it")
    text = lynx("show", bundle).stdout
    for words in [outcome] if outcome else oddity:
        check_in(words, text, f"{fault}: shown")


def test_nobody_there(tmp_path):
    """Nothing is measured, and the exit code says whose fault it was."""
    port = free_port()
    r = run(contract(f"{tmp_path}/refused.yaml", port), f"{tmp_path}/refused.lynx", 5)
    check_in(f"127.0.0.1:{port}", r.stderr, "refused: the message names the endpoint")
    check_equal(show(f"{tmp_path}/refused.lynx")["bundle"]["ended"], "failed", "refused: the record is sealed")


def test_it_answers_but_never_becomes_ready(tmp_path):
    with reference("--mode", "metronome") as port:
        executor = f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /nothing}}'
        r = run(contract(f"{tmp_path}/ready.yaml", port, executor=executor), f"{tmp_path}/ready.lynx", 5)
    check_in("404", r.stderr, "not ready: says what it answered")
    check_in("ready_path", r.stderr, "not ready: says what to do")


def test_it_dies_in_the_middle(tmp_path):
    with reference("--mode", "metronome") as port:
        method = ONE.replace("counted: 1s", "counted: 3s") % ("500ms", "request_timeout: 500ms")
        path = contract(f"{tmp_path}/dies.yaml", port, method=method)
        out = f"{tmp_path}/dies.lynx"
        p = subprocess.Popen([LYNX, "run", path, "--out", out, "--quiet"], stderr=subprocess.DEVNULL)
        time.sleep(1.5)
    p.communicate(timeout=30)
    counts = show(out)["precisions"][0]["requests"]
    check(counts["failed"] > 0 and counts["ok"] > 0, f"dies: both kinds are kept: {counts}")


STARTS = {"no program": ("[/no/such/program]", "/no/such/program"), "dies": ("[sh, -c, echo boom; exit 3]", "boom")}


@pytest.mark.parametrize("name", STARTS)
def test_what_the_contract_starts_does_not_start(tmp_path, name):
    command, words = STARTS[name]
    executor = f'{{endpoint: "http://127.0.0.1:{free_port()}", start: {{command: {command}}}}}'
    r = run(contract(f"{tmp_path}/s.yaml", 1, executor=executor), f"{tmp_path}/s.lynx", 5)
    check_in(words, r.stderr, f"{command}: its own words")


WAYS = {
    "closed": {"regime": "{load: closed, concurrency: 4}"},
    "chat": {"workload": "{model: m, api: chat, output_tokens: 5, prompts: {count: 8, bytes: 32}}"},
    "whole": {"workload": "{model: m, stream: false, output_tokens: 5, prompts: {count: 8, bytes: 32}}"},
    "threads": {"method": ONE % ("1s", "threads: 2")},
    "poisson": {"regime": "{load: poisson, rate_per_s: 50}"},
}


@pytest.mark.parametrize("name", WAYS)
def test_other_ways_to_ask(tmp_path, name):
    out = f"{tmp_path}/{name}.lynx"
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        run(contract(f"{tmp_path}/{name}.yaml", port, **WAYS[name]), out, 0)
    p = show(out)["precisions"][0]
    counted = p["requests"]["counted"]
    check(counted > 0 and p["requests"]["failed"] == 0, f"{name}: {p['requests']}")
    check_equal(p["mean_output_tokens"], 5, f"{name}: tokens by usage")
    n = p["latency"]["time_to_first_token"]["n"]
    check_equal(n, 0 if name == "whole" else counted, f"{name}: first tokens")


def test_a_live_service_that_suffers_stops_the_run(tmp_path):
    abort = "abort_slo: {metric: time_to_first_token, over: 100ms, share: 0.5, window: 2s}"
    with reference("--mode", "metronome", "--first-token", "300ms") as port:
        path = contract(
            f"{tmp_path}/abort.yaml",
            port,
            where=f"{{environment: canary, load_cap_per_s: 100, {abort}}}",
            regime="{load: constant, rate_per_s: 50}",
            method="{warm_up: 100ms, counted: 40s, sessions: 1, drain: 1s}",
        )
        began = time.time()
        run(path, f"{tmp_path}/abort.lynx", 4)
        check(time.time() - began < 20, "abort: the run was stopped long before its end")
    check_in("abort SLO", json.dumps(show(f"{tmp_path}/abort.lynx")["conditions"]), "abort: in the record")


if __name__ == "__main__":
    main(__file__)
