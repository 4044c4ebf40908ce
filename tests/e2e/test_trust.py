"""What would end a vendor's trust in one meeting: each test is named after what it protects.

pytest -k NAME runs one."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time

import lynx as l
import machine
import pytest
from lynx import SOURCE, contract, forge, free_port, reference, rows
from made import Stream, server


def method(warm_up="200ms", counted="700ms", sessions=2, drain="2s", timeout="5s"):
    return (
        f"{{warm_up: {warm_up}, counted: {counted}, sessions: {sessions}, drain: {drain}, request_timeout: {timeout}, "
        "instrument_error_at_most: 1, failures_at_most: 1, steady: reported}"
    )


METHOD = method()
WORKLOAD = "{model: made, output_tokens: 6, prompts: {count: 8, bytes: 32}}"


def lynx(*args, code=None, **kw):
    r = l.lynx(*args, **kw)
    assert code is None or r.returncode == code, f"{args}: exit {r.returncode}: {r.stdout[-2000:]}{r.stderr[-2000:]}"
    return r


def run(folder, name, port, **fields):
    """Runs a contract and gives the bundle."""
    fields.setdefault("method", METHOD)
    fields.setdefault("workload", WORKLOAD)
    out = f"{folder}/{name}.lynx"
    lynx("run", contract(f"{folder}/{name}.yaml", port, **fields), "--out", out, "--quiet")
    assert os.path.exists(out)
    return out


def shown(bundle):
    return json.loads(lynx("show", bundle, "--json").stdout)


def check_of(bundle, name):
    return next(c for c in shown(bundle)["precisions"][0]["checks"] if c["name"] == name)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A run of the reference executor that everything holds of."""
    folder = tmp_path_factory.mktemp("honest")
    with reference("--mode", "metronome", "--gap", "5ms") as port:
        return run(
            str(folder),
            "honest",
            port,
            method=method(sessions=6),
            slo="[{metric: end_to_end, quantile: 0.9, at_most: 5s}]",
        )


# --- 1: saturation ---


@pytest.mark.long
@pytest.mark.parametrize("kind", ["cancels", "goes-on"])
def test_certificate_holds_the_capacity_of_a_server(tmp_path, kind):
    """4 slots of 40 ms are 100/s, whether or not it goes on working for clients that have gone."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, f"{SOURCE}/tests/e2e/slots.py", str(port), "4", "40", kind], stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        out = machine.beside_nothing(
            lambda k: run(
                str(tmp_path),
                f"{kind}{k}",
                port,
                slo="[{metric: end_to_end, quantile: 0.9, at_most: 300ms}]",
                regime="{load: saturation, rate_per_s: 20, to_per_s: 1000, "
                "search: {resolution: 0.2, arrivals: constant}}",
                workload="{model: m, output_tokens: 1, prompts: {count: 8, bytes: 32}}",
                method=method("500ms", "2s", 2, "3s", "5s"),
            )
        )
    finally:
        process.kill()
    c = shown(out)["precisions"][0]["saturation"]
    assert c["certified"] and c["passing"] <= 104 and c["failing"] >= 96, c


# --- 2: honest bundles ---


def test_audit_holds_a_first_token_that_came_before_its_text(tmp_path):
    with reference("--shape", "tiny") as port:
        out = run(
            str(tmp_path),
            "usage",
            port,
            workload="{model: byte, output_tokens: 12, continuous_usage: true, prompts: {count: 8, bytes: 32}}",
        )
    r = lynx("audit", out)
    assert "out of order" not in r.stdout and "no run can" not in r.stdout, r.stdout
    assert r.returncode != 1, r.stdout


def test_audit_holds_requests_that_were_never_sent(tmp_path):
    """One slot and many arrivals: some wait for it to the end."""
    with reference("--mode", "metronome", "--gap", "150ms") as port:
        out = run(
            str(tmp_path),
            "waited",
            port,
            regime="{load: constant, rate_per_s: 40, concurrency: 1}",
            method=method("0s", "1s", 2, "100ms", "1s"),
        )
    assert rows(out, "SELECT count(*) FROM request WHERE issued_ns < 0")[0][0] > 0
    r = lynx("audit", out)
    assert "out of order" not in r.stdout and r.returncode != 1, r.stdout


# --- 3: one figure, one rule ---


@pytest.mark.long
def test_goodput_is_never_above_request_throughput(honest):
    p = shown(honest)["precisions"][0]
    assert p["goodput"]["estimate"] == p["request_rate"]["estimate"]  # every objective was met


# --- 4 and 5: impossible rows, one intent ---

FORGERIES = {
    "first token before the request was written": (
        "UPDATE request SET first_token_ns = written_ns - 1 WHERE first_token_ns IS NOT NULL"
    ),
    "slow requests deleted": "DELETE FROM request WHERE id % 3 = 1",
    "slow requests called the tail": "UPDATE request SET phase = 'tail' WHERE phase = 'counted' AND id % 3 = 1",
    "the intent and what was noticed removed": "DELETE FROM event",
    "the executor's facts removed": "DELETE FROM fact",
    "good answers with a status that is none": "UPDATE request SET http_status = 500 WHERE id % 3 = 1",
    "another contract's digest": "UPDATE meta SET value = '00' WHERE key = 'contract_digest'",
}


def test_a_verification_that_can_decide_nothing_is_not_run(tmp_path):
    with reference("--mode", "metronome", "--gap", "5ms") as port:
        one = run(str(tmp_path), "one", port, method=method(counted="500ms", sessions=1))
        r = lynx("verify", one, "--out", tmp_path / "again.lynx", code=3)
    assert "nothing was run: the sealed result has 1 complete session" in r.stderr, r.stderr
    assert not os.path.exists(tmp_path / "again.lynx")


@pytest.mark.parametrize("what", FORGERIES)
@pytest.mark.parametrize("command", ["show", "show --html", "show --claim", "compare", "verify", "audit"])
def test_impossible_rows_are_refused(honest, tmp_path, what, command):
    bad = forge(honest, f"{tmp_path}/bad.lynx", FORGERIES[what])
    arguments = {
        "compare": (bad, honest),
        "verify": (bad, "--against", honest),
        "show --html": (f"{tmp_path}/r.html", bad),
    }
    r = lynx(*command.split(), *arguments.get(command, (bad,)))
    assert r.returncode not in (0,), r.stdout
    said = r.stdout + r.stderr + (open(f"{tmp_path}/r.html").read() if command == "show --html" else "")
    assert "no run can have written" in said or command == "audit", said


def test_one_intent_has_one_bundle(tmp_path):
    d = str(tmp_path)
    lynx("ledger", "key", "ml", "--out", d, code=0)
    lynx("ledger", "create", f"{d}/l.lynxlog", "--key", f"{d}/ml.key", code=0)
    with reference("--mode", "metronome", "--gap", "5ms") as port:
        lynx(
            "run",
            contract(f"{d}/c.yaml", port, method=METHOD, workload=WORKLOAD),
            "--out",
            f"{d}/a.lynx",
            "--quiet",
            "--ledger",
            f"{d}/l.lynxlog",
            "--key",
            f"{d}/ml.key",
        )
    if not os.path.exists(f"{d}/l.lynxlog"):
        pytest.fail("no ledger was made")
    second = forge(f"{d}/a.lynx", f"{d}/b.lynx", "UPDATE request SET end_ns = end_ns + 1000")
    r = lynx("ledger", "put", f"{d}/l.lynxlog", second, "--key", f"{d}/ml.key")
    assert r.returncode != 0 and "intent" in r.stderr, r.stdout + r.stderr


# --- 6: nobody by default ---


def test_a_plain_server_is_attributed_to_nobody(honest):
    r = lynx("attribute", honest)
    assert "not attributed" in r.stdout and "nobody yet" in r.stdout, r.stdout
    assert "application" not in r.stdout.split("\n\n")[0] or "application (ML) 9" not in r.stdout


# --- 7: neighbours ---


def test_conditions_are_told_beside_figures(honest):
    for words in (["show"], ["show", "--claim"]):
        text = lynx(*words, honest).stdout
        assert "other processes used" in text and "steal" in text, text  # throttling: where there is a control group


# --- 9: declare and expect ---


@pytest.mark.long
def test_a_declared_fact_without_counterpart_is_named(tmp_path):
    with reference("--mode", "metronome", "--gap", "5ms") as port:
        executor = f'{{endpoint: "http://127.0.0.1:{port}", declare: {{procurement.memory: 512 GiB}}}}'
        out = run(str(tmp_path), "declared", port, executor=executor)
        executor = executor.replace("procurement.memory: 512 GiB", "system.memory.size: 1 byte")
        wrong = run(str(tmp_path), "wrong", port, executor=executor)
        lint = lynx("lint", f"{tmp_path}/declared.yaml").stdout
    assert "procurement.memory, a fact that no probe reads" in lint and "memory.size" in lint, lint
    assert "compared with nothing: procurement.memory" in lynx("show", "--claim", out).stdout
    assert "declared '1 byte', found" in lynx("show", "--claim", wrong, code=1).stdout


@pytest.mark.parametrize("again", [True, False])
def test_a_server_that_somebody_restarted_supports_no_claim(tmp_path, again):
    """Between the first capture and the last; what it is made of is the same, and only its process is another."""
    port, contexts = free_port(), contextlib.ExitStack()
    with contextlib.ExitStack() as first, contexts:
        first.enter_context(reference("--mode", "metronome", port=port))
        regime = "{load: constant, rate_per_s: 20}"
        path = contract(f"{tmp_path}/c.yaml", port, method=method(sessions=3), regime=regime)
        with subprocess.Popen([l.LYNX, "run", path, "--out", f"{tmp_path}/c.lynx", "--quiet"]) as process:
            time.sleep(2.5)
            if again:
                first.close()
                contexts.enter_context(reference("--mode", "metronome", port=port))
            assert process.wait(60) is not None
    said = lynx("show", "--claim", f"{tmp_path}/c.lynx").stdout
    assert ("the server was restarted" in said) == again, said
    assert ("was not restarted between" in said) == (not again), said


def test_expect_takes_the_spelling_of_declare(tmp_path):
    path = contract(f"{tmp_path}/c.yaml", 1, executor='{endpoint: "http://127.0.0.1:1", expect: {cpu.model: Z80}}')
    r = lynx("lint", path, code=2)
    assert "executor.expect" in r.stdout + r.stderr and "accelerator.cpu.model" in r.stdout + r.stderr


# --- 10: comparisons ---


def test_compare_judges_no_quantile_that_show_cannot_bound(honest, tmp_path):
    r = json.loads(lynx("compare", honest, honest, "--json").stdout)
    figures = r["figures"] if "figures" in r else r["comparisons"]
    p99 = [f for f in figures if f["figure"].endswith("p99")]
    assert p99 and all(f["verdict"] == "not judged" and f["why"] for f in p99), p99


# --- 11: checks ---


def test_length_is_not_decided_without_usage(tmp_path):
    def half(handler, n, body):
        s = Stream(handler)
        for _ in range(body["max_tokens"] // 2):
            s.text("word ")
        s.end()

    with server(half) as s:
        out = run(str(tmp_path), "half", s.server_port)
    assert check_of(out, "length")["verdict"] == "not decided"
    assert "not decided: length" in lynx("show", "--claim", out).stdout or lynx("show", "--claim", out).returncode == 1


UNSEEN = {"blank": " ", "zero width": "\u200b", "soft hyphen": "\u00ad", "filler": "\u3164", "tag": "\U000e0020"}
SEEN = {"dot": ["."], "word": ["The"], "two words": ["The", " answer"], "a stall at the end": ["#"]}


def one_and_long(cases):
    """The first of several that take the same road; the others are for `make test-long`."""
    return [
        pytest.param(*(c if isinstance(c, tuple) else (c,)), marks=[pytest.mark.long] * (i > 0))
        for i, c in enumerate(cases)
    ]


def early(first, stall=0.0):
    """Sends `first` at once, and what the model writes 150 ms later."""

    def answer(handler, n, body):
        s = Stream(handler)
        for text in first:
            s.text(text, after=0.002)
        s.text("real ", after=0.15)
        rest = body["max_tokens"] - len(first) - 1
        for i in range(rest):
            s.text("word ", after=stall if stall and i == rest - 1 else 0.005)
        s.end(body["max_tokens"])

    return answer


LONGER = "{model: made, output_tokens: 12, prompts: {count: 8, bytes: 32}}"


@pytest.mark.parametrize("first", one_and_long(UNSEEN))
def test_an_unseen_first_token_sent_before_the_model_ran_fails(tmp_path, first):
    with server(early([UNSEEN[first]])) as s:
        out = run(str(tmp_path), "early", s.server_port, regime="{load: constant, rate_per_s: 15}")
    assert check_of(out, "first_token")["verdict"] == "failed", check_of(out, "first_token")


@pytest.mark.parametrize("first", one_and_long(SEEN))
def test_any_first_token_sent_before_the_model_ran_does_not_pass(tmp_path, first):
    with server(early(SEEN[first], stall=0.045 if "stall" in first else 0)) as s:
        slo = "[{metric: time_to_first_token, quantile: 0.5, at_most: 100ms}]"
        regime = "{load: constant, rate_per_s: 15}"
        out = run(str(tmp_path), "early", s.server_port, workload=LONGER, regime=regime, slo=slo)
    assert check_of(out, "first_token")["verdict"] == "not decided", check_of(out, "first_token")
    claim = lynx("show", "--claim", out).stdout
    assert re.search("not decided: [a-z_, ]*first_token", claim)
    first, behind = re.search(r"p50 not decided: on average ([\d.]+) ms until .* and ([\d.]+) ms until", claim).groups()
    assert float(first) < 30 and 145 < float(behind) < 200, claim
    assert [o["verdict"] for o in shown(out)["precisions"][0]["objectives"]] == ["not decided"]


def test_short_honest_answers_that_begin_with_a_line_end_are_not_accused(tmp_path):
    def short(handler, n, body):
        s = Stream(handler)
        for text in ("\n", "a ", "b "):
            s.text(text, after=0.005)
        s.end(3)

    with server(short) as s:
        out = run(
            str(tmp_path),
            "short",
            s.server_port,
            workload="{model: made, output_tokens: 3, prompts: {count: 8, bytes: 32}}",
        )
    assert check_of(out, "first_token")["verdict"] == "not decided", check_of(out, "first_token")


@pytest.mark.parametrize("claimed", one_and_long([200, 3_000_000_000, 10**15]))
def test_usage_that_no_text_bears_out_fails(tmp_path, claimed):
    def overstates(handler, n, body):
        s = Stream(handler)
        for _ in range(body["max_tokens"]):
            s.text("a ")
        s.end(claimed)

    with server(overstates) as s:
        out = run(str(tmp_path), "usage", s.server_port)
    assert check_of(out, "usage")["verdict"] == "failed", check_of(out, "usage")


@pytest.mark.parametrize(
    "claims, events, verdict", one_and_long([(1.1, 20, "failed"), (1.0, 10, "passed"), (1.0, 20, "passed")])
)
def test_usage_is_counted_again_by_the_servers_route(tmp_path, claims, events, verdict):
    """20 words each, a token a word by /tokenize; several may come in an event, which is no crime."""

    def answers(handler, n, body):
        if handler.path == "/tokenize":
            page = json.dumps({"count": len(body["prompt"].split())}).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(page)))
            handler.end_headers()
            handler.wfile.write(page)
            return
        s = Stream(handler)
        for _ in range(events):
            s.text("word " * (20 // events))
        s.end(int(20 * claims))

    with server(answers) as s:
        out = run(
            str(tmp_path),
            "counted",
            s.server_port,
            workload="{model: made, output_tokens: 22, prompts: {count: 8, bytes: 32}}",
        )
    check = check_of(out, "usage")
    assert check["verdict"] == verdict, check
    assert verdict == "passed" and events == 20 or "/tokenize" in check["text"], check


def usage_by_file(tmp_path, answers, tokenizer, output_tokens, ignore_eos):
    """The check `usage` of a server, counted again by a tokenizer.json."""
    prompts = f"{{count: 8, bytes: 32, tokenizer: {tmp_path}/{tokenizer}}}"
    workload = f"{{model: made, output_tokens: {output_tokens}, ignore_eos: {ignore_eos}, prompts: {prompts}}}"
    with server(answers) as s:
        return check_of(run(str(tmp_path), "counted", s.server_port, workload=workload), "usage")


def file_tokenizer(path):
    """A tokenizer.json, and a text of which the tokenizers of Hugging Face know the tokens."""
    with open(f"{SOURCE}/tests/recorded/tokenizers/llama-3.json") as f:
        recorded = json.load(f)
    with open(path, "w") as f:
        json.dump(recorded["tokenizer"], f)
    return next((text, n) for text, n in recorded["vectors"] if text.isascii() and n >= 40)


@pytest.mark.parametrize("claims, verdict", [(1.1, "failed"), (1.0, "passed")])
def test_usage_is_counted_again_by_a_tokenizer_file(tmp_path, claims, verdict):
    """The server's own route says whatever its usage says: the contract's tokenizer.json does not."""
    text, n_tokens = file_tokenizer(f"{tmp_path}/tokenizer.json")

    def answers(handler, n, body):
        if handler.path == "/tokenize":
            return
        s = Stream(handler)
        for i in range(0, len(text), 8):
            s.text(text[i : i + 8])
        s.end(int(n_tokens * claims))

    check = usage_by_file(tmp_path, answers, "tokenizer.json", 2 * n_tokens, "false")
    assert check["verdict"] == verdict and "tokenizer.json" in check["text"], check


def test_a_tokenizer_that_is_not_known_is_said(tmp_path):
    with open(f"{tmp_path}/t.json", "w") as f:
        f.write('{"model": {"type": "WordPiece", "vocab": {"a": 1}}}')
    out = f"{tmp_path}/a.lynx"
    with reference("--mode", "metronome") as port:
        workload = (
            f"{{model: metronome, output_tokens: 5, prompts: {{count: 8, bytes: 32, tokenizer: {tmp_path}/t.json}}}}"
        )
        r = lynx("run", contract(f"{tmp_path}/c.yaml", port, workload=workload), "--out", out)
    assert "model.type is 'WordPiece'; accepted: BPE" in r.stderr, r.stderr


def test_prompts_are_cut_between_words(tmp_path):
    """Nothing but its words tells a server that a prompt was cut from a text: no half word, no blank at an end."""
    text = " ".join(open(f"{SOURCE}/reference/model/shakespeare.txt").read().split())
    with open(f"{tmp_path}/text.txt", "w") as f:
        f.write(text)
    out = f"{tmp_path}/a.lynx"
    lengths = "bytes: 150, distribution: lognormal, spread: 0.5, shared_prefix_bytes: 60"
    prompts = f"{{count: 20, {lengths}, file: {tmp_path}/text.txt}}"
    with reference("--mode", "metronome") as port:
        workload = f"{{model: metronome, output_tokens: 5, prompts: {prompts}}}"
        r = lynx("run", contract(f"{tmp_path}/c.yaml", port, workload=workload), "--out", out, "--quiet")
    assert r.returncode == 0, r.stderr
    asked = [x.decode() for (x,) in rows(out, "SELECT text FROM input ORDER BY id")]
    assert len(asked) == 20
    prefix = os.path.commonprefix(asked)
    prefix = prefix[: prefix.rindex(" ")]
    words = set(text.split(" "))
    for prompt in asked:
        assert prompt == prompt.strip() and set(prompt.split(" ")) <= words, prompt
        assert f" {prompt[len(prefix):].strip()} " in f" {text} ", prompt
    assert "cut from a text" in lynx("show", "--claim", out).stdout


NEVER = [
    ("UPDATE request SET end_ns = -1 WHERE http_status = 200", "never sent, or has no end"),
    ("UPDATE request SET issued_ns = -1, written_ns = -1, events = x'' WHERE id = 3", "never sent, or has no end"),
    ("UPDATE request SET read_lag_ns = 900000000000 WHERE id = 3", "read later than it lasted"),
    ("UPDATE request SET input = 99999 WHERE id = 3", "a prompt that the record does not hold"),
    (
        "UPDATE sample SET value = -5 WHERE series = 'machine.others_ratio'",
        "shares of this machine that there cannot be",
    ),
    ("UPDATE sample SET value = 9 WHERE series = 'machine.steal_ratio'", "shares of this machine that there cannot be"),
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    d = str(tmp_path_factory.mktemp("measured"))
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        lynx("run", contract(f"{d}/c.yaml", port), "--out", f"{d}/a.lynx", "--quiet")
    return f"{d}/a.lynx"


@pytest.mark.parametrize("sql, words", NEVER)
def test_what_never_happened_is_impossible(measured, tmp_path, sql, words):
    """By whoever seals it again: show, claim, report and audit refuse it, and no latency is below zero."""
    assert lynx("show", measured).returncode == 0
    forged = forge(measured, f"{tmp_path}/forged.lynx", sql)
    for command in (["show"], ["show", "--claim"], ["audit"]):
        r = lynx(*command, forged, code=1)
        assert words in r.stdout + r.stderr, (command, r.stdout[:800])
    assert lynx("show", forged, "--html", f"{tmp_path}/r.html").returncode == 1


def past_the_end(handler, n, body):
    """20 words, then 12 tokens that decode to nothing, each an event of its own: all of it said truly."""
    s = Stream(handler)
    for _ in range(20):
        s.text(" word")
    for _ in range(12):
        s.text("")
    s.end(32)


def padded(handler, n, body):
    """Two letters, and 30 events without text that nobody asked for."""
    s = Stream(handler)
    s.text("a ")
    s.text("b")
    for _ in range(30):
        s.text("")
    s.end(32)


def in_pieces(handler, n, body):
    """20 words, a third of them cut in two, and as many tokens as events."""
    s = Stream(handler)
    for i in range(20):
        for piece in (" wo", "rd") if i % 3 == 0 else (" word",):
            s.text(piece)
    s.end(27)


def honest_at_first(handler, n, body):
    s = Stream(handler)
    for i in range(0, 20, 2):
        s.text(" word word")
    s.end(20 if n < 12 else 26)


USAGE = [
    (past_the_end, "true", "passed"),
    (padded, "false", "not decided"),
    (in_pieces, "true", "not decided"),
    (honest_at_first, "true", "failed"),
]


@pytest.mark.parametrize("answers, ignore_eos, verdict", one_and_long(USAGE))
def test_usage_by_a_tokenizer_is_fair(tmp_path, answers, ignore_eos, verdict):
    """Going past the end is honest; what cannot be told is not decided; a cheat's first answers are not all."""
    merges = [["Ġ", "w"], ["Ġw", "o"], ["r", "d"], ["Ġwo", "rd"]]
    vocabulary = {x: i for i, x in enumerate(["Ġ", "w", "o", "r", "d", "a", "b", *("".join(m) for m in merges)])}
    with open(f"{tmp_path}/t.json", "w") as f:
        model = {"type": "BPE", "vocab": vocabulary, "merges": merges}
        json.dump({"model": model, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}, f)
    check = usage_by_file(tmp_path, answers, "t.json", 32, ignore_eos)
    assert check["verdict"] == verdict, check


def test_a_lag_that_nobody_told_is_not_0(tmp_path):
    """40,000 requests a second of a driver that reads nothing: late, and how late reading was is unknown."""
    out = f"{tmp_path}/a.lynx"
    path = contract(
        f"{tmp_path}/c.yaml",
        0,
        executor="{}",
        workload='{driver: "null", model: none, output_tokens: 2, prompts: {count: 4, bytes: 8}}',
        regime="{load: constant, rate_per_s: 40000}",
        method="{warm_up: 100ms, counted: 500ms, sessions: 2, instrument_error_at_most: 0.001, steady: reported}",
    )
    r = lynx("run", path, "--out", out, "--quiet", code=None)
    assert r.returncode in l.RAN, r.stderr
    p = shown(out)["precisions"][0]
    assert p["send_lag"]["p50"] > 0 and p["read_lag"]["p99"] is None, (p["send_lag"], p["read_lag"])
    said = lynx("show", out, code=None).stdout + lynx("show", "--claim", out, code=None).stdout
    assert "lag p50 0 ns" not in said and "lag p99 0 ns" not in said, said
    assert "read lag p99 unknown" in said or "instrument-limited" not in said, said


def test_an_answer_without_a_first_token_is_a_miss(tmp_path):
    """Every second answer is empty, after 300 ms: whoever waits for its first token never gets it."""

    def empty(handler, n, body):
        if n % 2:
            time.sleep(0.3)
        s = Stream(handler)
        for _ in range(0 if n % 2 else 4):
            s.text("a ")
        s.end(0 if n % 2 else 4)

    with server(empty) as s:
        out = run(
            str(tmp_path),
            "empty",
            s.server_port,
            slo="[{metric: time_to_first_token, quantile: 0.75, at_most: 60ms}]",
            workload="{model: made, output_tokens: 4, ignore_eos: false, prompts: {count: 8, bytes: 32}}",
        )
    p = shown(out)["precisions"][0]
    assert p["goodput"]["estimate"] < 0.7 * p["request_rate"]["estimate"]
    assert p["objectives"][0]["verdict"] != "holds", p["objectives"][0]


def test_tokens_that_come_at_once_have_no_time_between_them(tmp_path):
    def whole(handler, n, body):
        s = Stream(handler)
        s.text("a " * body["max_tokens"], after=0.02)
        s.end(body["max_tokens"])

    with server(whole) as s:
        out = run(
            str(tmp_path), "whole", s.server_port, slo="[{metric: time_per_output_token, quantile: 0.5, at_most: 1us}]"
        )
    assert lynx("show", "--claim", out, code=1).stdout.count("1 µs: holds") == 0


def test_an_honest_answer_that_begins_with_a_dot_passes(tmp_path):
    def honest_dot(handler, n, body):
        s = Stream(handler)
        s.text(".", after=0.03)
        for _ in range(body["max_tokens"] - 1):
            s.text("word ", after=0.01)
        s.end(body["max_tokens"])

    with server(honest_dot) as s:
        out = run(str(tmp_path), "dot", s.server_port, regime="{load: constant, rate_per_s: 10}")
    assert check_of(out, "first_token")["verdict"] != "failed", check_of(out, "first_token")


@pytest.mark.long
def test_streams_that_break_midway_do_not_accuse(tmp_path):
    """Broken at half of their tokens: longer than the wait for a first token, which says nothing."""

    def breaks(handler, n, body):
        s = Stream(handler)
        k = body["max_tokens"] // 2 if n % 3 == 0 else body["max_tokens"]
        for _ in range(k):
            s.text("word ", after=0.02)
        if k == body["max_tokens"]:
            s.end(k)

    with server(breaks) as s:
        out = run(str(tmp_path), "breaks", s.server_port, regime="{load: constant, rate_per_s: 20}")
    assert shown(out)["precisions"][0]["failure_share"] > 0.1
    assert check_of(out, "failures")["verdict"] == "passed", check_of(out, "failures")


@pytest.mark.long
def test_late_failures_before_a_first_token_are_seen(tmp_path):
    def drops(handler, n, body):
        if n % 3 == 0:
            time.sleep(0.4)
            handler.send_error(503)
            return
        s = Stream(handler)
        for _ in range(body["max_tokens"]):
            s.text("word ")
        s.end(body["max_tokens"])

    with server(drops) as s:
        out = run(str(tmp_path), "drops", s.server_port, regime="{load: constant, rate_per_s: 20}")
    assert check_of(out, "failures")["verdict"] == "failed", check_of(out, "failures")


def test_requests_carry_an_ordinary_user_agent(tmp_path):
    def plain(handler, n, body):
        s = Stream(handler)
        s.text("word ")
        s.end(1)

    with server(plain) as s:
        run(str(tmp_path), "agent", s.server_port)
        assert s.seen and all("lynx" not in json.dumps(h).lower() for h in s.seen)
        assert all(h.get("User-Agent", "").startswith("python-httpx/") for h in s.seen)
    for bad in ('"a\\r\\nX: y"', '"\\u00e9"'):
        path = contract(f"{tmp_path}/bad.yaml", 1, workload=WORKLOAD[:-1] + f", user_agent: {bad}}}")
        assert "workload.user_agent" in lynx("lint", path, code=2).stdout


# --- 12: open loop ---


def test_open_loop_is_open_by_default(tmp_path):
    """More in flight than any old default allowed: nobody waits for a slot of ours."""
    with reference("--mode", "metronome", "--gap", "300ms") as port:
        out = run(
            str(tmp_path),
            "open",
            port,
            regime="{load: constant, rate_per_s: 250}",
            workload="{model: m, output_tokens: 5, prompts: {count: 8, bytes: 32}}",
            method=method("0s", "2s", 1, "4s", "5s"),
        )
    at_once = rows(
        out,
        "SELECT max(n) FROM (SELECT (SELECT count(*) FROM request b WHERE b.scheduled_ns <= a.scheduled_ns AND "
        "b.end_ns > a.scheduled_ns) AS n FROM request a)",
    )[0][0]
    assert at_once > 256, at_once
    assert rows(out, "SELECT count(*) FROM request WHERE flags & 1024")[0][0] == 0


@pytest.mark.long
def test_every_wait_of_ours_is_lag(tmp_path):
    with reference("--mode", "metronome", "--gap", "40ms") as port:
        out = run(str(tmp_path), "slots", port, regime="{load: constant, rate_per_s: 20, concurrency: 1}")
    p = shown(out)["precisions"][0]
    assert p["send_lag"]["p99"] > 50e6, p["send_lag"]


# --- 13 and 14 ---


def test_show_gives_intervals_moments_and_sessions(honest):
    text = lynx("show", honest, "--sessions").stdout
    for word in ("interval", "mean", "standard deviation", "least", "greatest", "session"):
        assert word in text, text


def test_a_url_is_enough_for_a_first_answer(tmp_path):
    with reference("--mode", "metronome", "--gap", "2ms") as port:
        url = f"http://127.0.0.1:{port}"
        r = lynx("run", url, "--for", "6s", "--quiet", "--out", f"{tmp_path}/q.lynx")
        assert r.returncode in l.RAN, r.stderr
        assert "output throughput" in r.stdout and f"{tmp_path}/q.yaml" in r.stderr
        assert lynx("lint", f"{tmp_path}/q.yaml").returncode == 0
        r = lynx("run", url, "--for", "6s", "--out", f"{tmp_path}/q.lynx", code=2)
        assert "not overwritten" in r.stderr
        assert "accepted: a duration" in lynx("run", url, "--for", "soon", "--out", f"{tmp_path}/r.lynx", code=2).stderr
        assert "goes with a URL" in lynx("run", f"{tmp_path}/q.yaml", "--for", "6s", code=2).stderr


def test_folded_stacks_of_a_host_only_trace_are_not_empty(tmp_path):
    spans = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::{name}", "pid": 1, "tid": 1, "ts": ts, "dur": 50}
        for ts, name in enumerate(("mm", "add"))
    ]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": spans}))
    lynx("attribute", tmp_path / "t.json", "--quiet", "--folded", tmp_path / "t.folded", code=0)
    assert "aten::mm" in (tmp_path / "t.folded").read_text()


def test_samples_of_processes_stay_apart_and_unknown_libraries_are_nobodys(tmp_path):
    """Also one that was replaced on disk meanwhile: "(deleted)" is no part of its name."""
    (tmp_path / "perf.txt").write_text(
        "python3 1234/1234 100.000100:      10000 cycles:\n\t    7f0001 work+0x1 (/opt/x/libmine.so (deleted))\n\n"
        "python3 1235/1235 100.000200:      10000 cycles:\n\t    7f0001 work+0x1 (/opt/y/libtorch_cpu.so)\n\n"
    )
    text = lynx("attribute", tmp_path / "perf.txt", "--quiet", code=0).stdout
    mine, torch = (
        next(line for line in text.splitlines() if name in line) for name in ("libmine.so ", "libtorch_cpu.so ")
    )
    assert "1234" in mine and "not attributed" in mine and "nobody yet" in mine, text
    assert "1235" in torch and "framework" in torch, text
    assert "deleted" not in text, text


def test_cost_is_used(tmp_path):
    with reference("--mode", "metronome", "--gap", "5ms") as port:
        out = run(str(tmp_path), "cost", port, cost="{price_per_hour: 3.6, currency: EUR, power_watts: 100}")
    p = shown(out)["precisions"][0]
    assert p["cost_per_million"]["estimate"] == pytest.approx(1000 / p["output_rate"]["estimate"], rel=1e-6)
    assert p["energy_joules"]["estimate"] == pytest.approx(100 / p["output_rate"]["estimate"], rel=1e-6)
    assert "EUR per million tokens" in lynx("show", out).stdout


def test_manual_pages_say_how_programs_end():
    for command in ("run", "show"):
        assert ".SH EXIT STATUS" in lynx("help", command, "--man").stdout


if __name__ == "__main__":
    l.main(__file__)
