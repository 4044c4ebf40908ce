"""Everything an endpoint can do wrong: each is a counted and shown failure, or a clear error; never a crash, a hang or a silent number."""
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
    "utf8": (None, {"invalid UTF-8", "usage contradicts the stream"}),  # the planted event is one more than usage says
    "usage": (None, {"usage contradicts the stream", "shorter than asked for"}),
}

with folder() as d:
    for fault, (outcome, oddity) in FAULTS.items():
        with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms", "--fault", fault, "--fault-every", "2") as port:
            path = contract(f"{d}/{fault}.yaml", port, regime="{load: constant, rate_per_s: 12, concurrency: 64}", method="{warm_up: 200ms, counted: 1s, sessions: 1, drain: 2s, request_timeout: 1500ms, instrument_error_at_most: 1}")
            r = lynx("run", path, "--out", f"{d}/{fault}.lynx", "--quiet")
            check_equal(r.returncode, 0, f"{fault}: run: {r.stderr}")
        p = show(f"{d}/{fault}.lynx")["precisions"][0]
        counts = p["requests"]
        check_equal(counts["counted"], 12, f"{fault}: counted")
        if outcome:
            check_equal(counts["failures"], {outcome: 6}, f"{fault}: failures")
            check_equal(counts["failed"], 6, f"{fault}: failed")
            check(p["latency"]["end_to_end"]["n_infinite"] == 6, f"{fault}: a failure is an infinite latency: {p['latency']['end_to_end']}")
            reasons = [x for (x,) in rows(f"{d}/{fault}.lynx", "SELECT reason FROM request WHERE outcome <> 'ok' AND phase = 'counted'")]
            check(fault == "hang" or all(reasons), f"{fault}: a failure without a reason: {reasons}")
            if fault == "error":
                check_in("planted: the engine died", reasons[0], "the error object's own words")
            if fault in ("429", "500"):
                check_equal({x for (x,) in rows(f"{d}/{fault}.lynx", "SELECT http_status FROM request WHERE outcome <> 'ok' AND phase = 'counted'")}, {int(fault)}, "status")
        else:
            check_equal(counts["failed"], 0, f"{fault}: failed")
            check_equal(counts["oddities"], {o: 6 for o in oddity}, f"{fault}: oddities")
        claim = lynx("claim", f"{d}/{fault}.lynx")
        check_equal(claim.returncode, 1, f"{fault}: a claim was made of it")
        text = lynx("show", f"{d}/{fault}.lynx").stdout
        for words in [outcome] if outcome else oddity:
            check_in(words, text, f"{fault}: shown")

    # Nobody there: nothing is measured, and the exit code says whose fault it was.
    port = free_port()
    r = lynx("run", contract(f"{d}/refused.yaml", port), "--out", f"{d}/refused.lynx", "--quiet")
    check_equal(r.returncode, 5, "refused: exit code")
    check_in(f"127.0.0.1:{port}", r.stderr, "refused: the message names the endpoint")
    check_equal(show(f"{d}/refused.lynx")["bundle"]["ended"], "failed", "refused: what there is is sealed")

    # It answers, but never becomes ready.
    with reference("--mode", "metronome") as port:
        path = contract(f"{d}/ready.yaml", port, executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /nothing}}')
        r = lynx("run", path, "--out", f"{d}/ready.lynx", "--quiet")
        check_equal(r.returncode, 5, "not ready: exit code")
        check_in("404", r.stderr, "not ready: says what it answered")
        check_in("ready_path", r.stderr, "not ready: says what to do")

    # It dies in the middle of the run.
    port = free_port()
    process = subprocess.Popen([REF, "--port", str(port), "--mode", "metronome"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    path = contract(f"{d}/dies.yaml", port, method="{warm_up: 100ms, counted: 2s, sessions: 1, drain: 500ms, request_timeout: 500ms, instrument_error_at_most: 1}")
    run = subprocess.Popen([LYNX, "run", path, "--out", f"{d}/dies.lynx", "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(1.2)
    process.kill()
    process.wait()
    run.communicate(timeout=30)
    p = show(f"{d}/dies.lynx")["precisions"][0]
    check(p["requests"]["failed"] > 0 and p["requests"]["ok"] > 0, f"dies: both kinds are kept: {p['requests']}")

    # The executor that the contract starts does not start, or dies at once.
    for command, code, words in (("[/no/such/program]", 5, "/no/such/program"), ("[sh, -c, echo boom; exit 3]", 5, "boom")):
        path = contract(f"{d}/s{len(words)}.yaml", free_port(), executor=f'{{endpoint: "http://127.0.0.1:{free_port()}", start: {{command: {command}}}}}')
        r = lynx("run", path, "--out", f"{d}/s{len(words)}.lynx", "--quiet")
        check_equal(r.returncode, code, f"{command}: exit code: {r.stderr}")
        check_in(words, r.stderr, f"{command}: its own words")

    # Retried kept connections, a closed loop, chat, no stream: the other ways to ask.
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        for name, fields in {
            "closed": {"regime": "{load: closed, concurrency: 4}"},
            "chat": {"workload": "{model: m, api: chat, output_tokens: 5, prompts: {count: 8, bytes: 32}}"},
            "whole": {"workload": "{model: m, stream: false, output_tokens: 5, prompts: {count: 8, bytes: 32}}"},
            "threads": {"method": "{warm_up: 200ms, counted: 1s, sessions: 1, drain: 1s, threads: 2, instrument_error_at_most: 1}"},
            "poisson": {"regime": "{load: poisson, rate_per_s: 50}"},
        }.items():
            r = lynx("run", contract(f"{d}/{name}.yaml", port, **fields), "--out", f"{d}/{name}.lynx", "--quiet")
            check_equal(r.returncode, 0, f"{name}: {r.stderr}")
            p = show(f"{d}/{name}.lynx")["precisions"][0]
            check(p["requests"]["counted"] > 0 and p["requests"]["failed"] == 0, f"{name}: {p['requests']}")
            check_equal(p["mean_output_tokens"], 5, f"{name}: tokens by usage")
            check(p["latency"]["time_to_first_token"]["n"] == (0 if name == "whole" else p["requests"]["counted"]), f"{name}: first tokens")

    # A live service that suffers: the abort SLO stops the run.
    with reference("--mode", "metronome", "--first-token", "300ms") as port:
        path = contract(f"{d}/abort.yaml", port, where="{environment: canary, load_cap_per_s: 100, abort_slo: {metric: time_to_first_token, over: 100ms, share: 0.5, window: 2s}}", regime="{load: constant, rate_per_s: 50}",
                        method="{warm_up: 100ms, counted: 20s, sessions: 1, drain: 1s}")
        began = time.time()
        r = lynx("run", path, "--out", f"{d}/abort.lynx", "--quiet")
        check(time.time() - began < 10, "abort: the run was stopped long before its end")
        check_equal(r.returncode, 4, f"abort: exit code: {r.stderr}")
        check_in("abort SLO", json.dumps(show(f"{d}/abort.lynx")["conditions"]), "abort: in the record")
finish()
