"""What counts as an answer, and as how many tokens: by servers that contradict themselves, or stop halfway."""

import json
import statistics
import threading
import time

import pytest

import lynx as l
from made import Stream, event, server, usage

METHOD = """{warm_up: 200ms, counted: 500ms, sessions: 2, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1,
  steady: reported, failures_at_most: 1}"""
RATE, TOKENS = 40, 20


def measured(folder, answer, workload="", **fields):
    """A run against that server: its bundle, and its one precision."""
    out = folder / "c.lynx"
    with server(answer) as s:
        words = f"{{model: made, output_tokens: {TOKENS}, prompts: {{count: 8, bytes: 32}}{workload}}}"
        fields = {"method": METHOD, "regime": f"{{load: constant, rate_per_s: {RATE}}}"} | fields
        l.lynx("run", l.contract(f"{folder}/c.yaml", s.server_port, workload=words, **fields), "--out", out, "--quiet")
    return out, json.loads(l.lynx("show", out, "--json").stdout)["precisions"][0]


def check_of(precision, name):
    return next(c for c in precision["checks"] if c["name"] == name)


def outcomes(bundle):
    where = "phase = 'counted' AND outcome <> 'abandoned, not counted'"
    return set(l.rows(bundle, f"SELECT outcome, reason FROM request WHERE {where}"))


def running(step, last):
    """Usage with every event, which counts on by `step`; and as the last word that there were `last`."""

    def answer(handler, n, body):
        s = Stream(handler)
        for i in range(TOKENS):
            so_far = {"prompt_tokens": 1, "completion_tokens": (i + 1) * step}
            told = {"choices": [{"index": 0, "text": "word "}], "usage": so_far}
            handler.wfile.write(b"data: " + json.dumps(told).encode() + b"\n\n")
        s.end(last)

    return answer


@pytest.mark.parametrize("step, last, contradicts", [(1, TOKENS, False), (2, TOKENS, True)])
def test_an_answer_has_as_many_tokens_as_its_last_usage_says(tmp_path, step, last, contradicts):
    """Whatever was told on the way says only when they came; and who tells two numbers is believed neither."""
    out, p = measured(tmp_path, running(step, last), ", continuous_usage: true")
    each = p["output_rate"]["estimate"] / p["request_rate"]["estimate"]  # a busy machine slows both alike
    assert abs(each - last) < 0.15 * last and p["mean_output_tokens"] == last, (each, p["output_rate"])
    found, claim = check_of(p, "usage"), l.lynx("show", "--claim", out)
    if contradicts:
        assert found["verdict"] == "failed" and "other tokens with their events" in found["text"], found
        assert claim.returncode == 1 and "how many there were is not known" in claim.stdout, claim.stdout
    else:
        assert found["verdict"] == "not decided" and "how many there were" not in claim.stdout, (found, claim.stdout)


def test_answers_without_a_token_support_no_claim(tmp_path):
    out, _ = measured(tmp_path, lambda handler, n, body: Stream(handler).end())
    assert outcomes(out) == {("ok", "")}, outcomes(out)
    claim = l.lynx("show", "--claim", out)
    assert claim.returncode == 1 and "hold no token" in claim.stdout, claim.stdout


def texts(n_events, tokens):
    """So many events with text, and usage that reports so many tokens; None: no usage."""

    def answer(handler, n, body):
        s = Stream(handler)
        for _ in range(n_events(n)):
            s.text("word ")
        s.end(tokens(n))

    return answer


@pytest.mark.parametrize(
    "n_events, tokens, because",
    [
        (lambda n: 0 if n % 3 == 0 else TOKENS, lambda n: TOKENS, "hold no text, though their usage reports tokens"),
        (lambda n: TOKENS, lambda n: 0, "answers reports no token, and they hold text"),
        (lambda n: 5, lambda n: TOKENS if n % 2 else None, "an event of the others held 4 tokens"),
        (lambda n: TOKENS, lambda n: TOKENS if n % 2 else None, None),
    ],
    ids=["no text", "usage 0", "usage of half, 4 an event", "usage of half, 1 an event"],
)
def test_tokens_that_are_not_known_support_no_claim(tmp_path, n_events, tokens, because):
    out, _ = measured(tmp_path, texts(n_events, tokens))
    claim = l.lynx("show", "--claim", out)
    if because:
        assert claim.returncode == 1 and because in claim.stdout, claim.stdout
    else:
        said = ("hold no text", "reports no token", "an event of the others")
        assert not any(words in claim.stdout for words in said), claim.stdout


def test_half_an_answer_is_not_finished(tmp_path):
    """Text and [DONE], and neither a finish reason nor usage."""

    def half(handler, n, body):
        s = Stream(handler)
        s.text("word ")
        handler.wfile.write(b"data: [DONE]\n\n")

    out, _ = measured(tmp_path, half)
    assert {o for o, _ in outcomes(out)} == {"stream not finished"}, outcomes(out)


def test_an_error_in_a_stream_is_no_success(tmp_path):
    def errs(handler, n, body):
        s = Stream(handler)
        s.text("word ")
        handler.wfile.write(b'data: {"object":"error","message":"the engine is dead","type":"Internal","code":500}\n\n')
        s.end(1)

    out, _ = measured(tmp_path, errs)
    assert outcomes(out) == {("error in stream", "the engine is dead")}, outcomes(out)
    assert "the first: 'the engine is dead'" in l.lynx("show", out).stdout
    l.lynx("show", out, "--html", tmp_path / "r.html")
    l.lynx("show", out, "--html", tmp_path / "s.html", "--disclose", "shared")
    assert "<q>the engine is dead</q>" in (tmp_path / "r.html").read_text()
    assert "the engine is dead" not in (tmp_path / "s.html").read_text()


@pytest.mark.parametrize("n_held", [0, 3])
def test_requests_of_the_warm_up_that_hold_the_slots_are_told(tmp_path, n_held):
    """They count in no latency, and the one that is left has the server to itself."""
    free = threading.Semaphore(n_held)

    def holds(handler, n, body):
        if free.acquire(blocking=False):
            time.sleep(1.8)  # from anywhere in the warm-up to behind the window
            free.release()
        s = Stream(handler)
        s.text("word ", after=0.01)
        s.end(TOKENS)

    method = METHOD.replace("warm_up: 200ms", "warm_up: 1200ms")
    out, _ = measured(tmp_path, holds, regime="{load: closed, concurrency: 4}", method=method)
    claim = l.lynx("show", "--claim", out)
    assert ("held 7" in claim.stdout and "smaller load" in claim.stdout) == (n_held == 3), claim.stdout
    assert "of the slots" in claim.stdout or n_held == 0, claim.stdout
    assert claim.returncode == 1 or n_held == 0, claim.stdout


def test_an_answer_that_was_given_up_is_no_success(tmp_path):
    def aborts(handler, n, body):
        s = Stream(handler)
        s.text("word ")
        end = {"choices": [{"index": 0, "text": "", "finish_reason": "abort"}]}
        handler.wfile.write(b"data: " + json.dumps(end).encode() + b"\n\n" + usage(1) + b"data: [DONE]\n\n")

    out, _ = measured(tmp_path, aborts)
    assert outcomes(out) == {("error in stream", "finish_reason: abort")}, outcomes(out)


def test_two_answers_to_a_request_are_no_more_than_was_asked_for(tmp_path):
    def two(handler, n, body):
        assert body["n"] == 2
        s = Stream(handler)
        for _ in range(TOKENS):
            handler.wfile.write(event("word ") + event("word "))
        handler.wfile.write(usage(2 * TOKENS))
        s.end()

    _, p = measured(tmp_path, two, ', options: {extra_body: \'{"n": 2}\'}')
    assert check_of(p, "usage")["verdict"] == "not decided", check_of(p, "usage")


def test_a_few_failures_decide_nothing(tmp_path):
    def seldom(handler, n, body):
        s = Stream(handler)
        if n in (10, 15, 20):
            return
        for _ in range(TOKENS):
            s.text("word ")
        s.end(TOKENS)

    _, p = measured(tmp_path, seldom)
    found = check_of(p, "failures")
    assert found["verdict"] == "not decided" and "3 failed" in found["text"], found


def parts_of_an_answer(*parts):
    """Deltas of a chat, each after so many seconds: (seconds, {"reasoning_content": ...})."""

    def answer(handler, n, body):
        s = Stream(handler)
        for after, delta in parts:
            time.sleep(after)
            handler.wfile.write(b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n")
        s.end(len(parts))

    return answer


THOUGHT, WORD = {"reasoning_content": "hm "}, {"content": "word "}
CALL = {"tool_calls": [{"index": 0, "function": {"name": "look", "arguments": "{}"}}]}
APART_S = 0.08


def measured_chat(folder, *parts, slo="[]"):
    regime = "{load: constant, rate_per_s: 10}"
    return measured(folder, parts_of_an_answer(*parts), ", api: chat", regime=regime, slo=slo)


def p50(precision, metric):
    return precision["latency"][metric]["quantiles"][0]["estimate"]


def first_times(bundle):
    """What the rows say of those that went well, in seconds from the first token."""
    columns = "first_answer_ns - first_token_ns, first_tool_call_ns - first_token_ns"
    return [
        [None if t is None else t / 1e9 for t in row]
        for row in l.rows(bundle, f"SELECT {columns} FROM request WHERE phase = 'counted' AND outcome = 'ok'")
    ]


def is_apart(seconds):
    """All came later, by what was slept in between: where the first was read late, on a busy machine, it seems less."""
    return min(seconds) >= 0 and statistics.median(seconds) > 0.5 * APART_S


def test_the_answer_of_a_reasoning_model_begins_after_its_reasoning(tmp_path):
    """Two metrics: who waits for the answer waits longer than for the first token."""
    limits = [("time_to_first_token", "4s"), ("time_to_first_answer_token", f"{int(APART_S * 500)}ms")]
    slo = "[" + ", ".join(f"{{metric: {m}, quantile: 0.5, at_most: {t}}}" for m, t in limits) + "]"
    out, p = measured_chat(tmp_path, (0, THOUGHT), (0, THOUGHT), (APART_S, WORD), (0, WORD), slo=slo)
    rows = first_times(out)
    assert is_apart([answer for answer, _ in rows]) and all(call is None for _, call in rows), rows
    first, answer = (p50(p, m) for m, _ in limits)
    assert first >= 0 and answer - first >= APART_S * 0.5e9, (first, answer)
    assert [o["met"] for o in p["objectives"]] == [True, False], p["objectives"]
    assert p["latency"]["time_to_first_tool_call"]["n"] == 0, "no tool was called"
    shown = l.lynx("show", out).stdout
    assert "TTFAT" in shown and "TTFTC" not in shown, shown


def test_an_answer_that_reasoning_left_no_room_for_never_begins(tmp_path):
    out, p = measured_chat(tmp_path, (0, THOUGHT), (0, THOUGHT))
    assert all(row == [None, None] for row in first_times(out)), first_times(out)
    found = p["latency"]["time_to_first_answer_token"]
    assert found["n"] > 0 and found["n_infinite"] == found["n"], found


def test_a_tool_call_has_a_first_token_of_its_own(tmp_path):
    out, p = measured_chat(tmp_path, (0, THOUGHT), (APART_S, CALL))
    rows = first_times(out)
    assert is_apart([call for _, call in rows]) and all(answer is None for answer, _ in rows), rows
    first, call = (p50(p, f"time_to_first_{m}") for m in ("token", "tool_call"))
    assert call - first >= APART_S * 0.5e9, (first, call)
    assert p["latency"]["time_to_first_answer_token"]["n"] == 0, "it holds no answer"


def test_without_reasoning_the_answer_begins_with_the_first_token(tmp_path):
    out, p = measured_chat(tmp_path, (0, WORD), (0, WORD))
    assert all(row == [0, None] for row in first_times(out)), first_times(out)
    assert p["latency"]["time_to_first_answer_token"]["n"] == 0, "it would be the first token's again"


if __name__ == "__main__":
    l.main(__file__)
