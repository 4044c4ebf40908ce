"""The instrument against the standard: each measured first token, gap and duration, with the metronome's log."""

import bisect
import csv

import pytest
from lynx import *

TIMES = ("--first-token", "15ms", "--gap", "4ms", "--gap-distribution", "exponential")


class Matched:
    """A request of ours, and what the metronome wrote for it. Times in ns of the same clock."""

    def __init__(self, zero, row, writes, arrived):
        first, last, end, events, written = row
        self.arrived, self.written, self.first, self.end = arrived, zero + written, zero + first, zero + end
        self.tokens = [(before, after) for kind, before, after in writes if kind == "token"]
        self.ended = next(before for kind, before, _ in writes if kind == "end")
        self.events = [(self.written + t, n) for t, n in events_of(events)]


def number(blob, at):
    """A number of variable length: seven bits a byte."""
    value = shift = 0
    while True:
        byte = blob[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def events_of(blob):
    at, t, out = 0, 0, []
    while at < len(blob):
        delta, at = number(blob, at)
        tokens, at = number(blob, at)
        _, at = number(blob, at)
        t += delta
        out.append((t, tokens // 2))
    return out


def writes_of(path):
    writes = {}
    for row in csv.DictReader(open(path)):
        writes.setdefault(int(row["request"]), []).append((row["kind"], int(row["before_ns"]), int(row["after_ns"])))
    return writes


def match(bundle, log):
    """Gaps of 66 ms: the request that arrived first after ours was written is ours."""
    writes = writes_of(log)
    arrivals = sorted((v[0][1], k) for k, v in writes.items())
    zeros = {i: json.loads(text)["zero_monotonic_ns"] for i, text in rows(bundle, "SELECT id, instrument FROM session")}
    columns = "first_token_ns, last_token_ns, end_ns, events, written_ns"
    out, numbers = [], set()
    for s, i, *row in rows(bundle, f"SELECT session, id, {columns} FROM request WHERE outcome = 'ok'"):
        written = zeros[s] + row[-1]
        k = bisect.bisect_left(arrivals, (written, 0))
        assert k < len(arrivals) and arrivals[k][0] - written < 60_000_000, f"request {s}/{i} did not arrive"
        arrived, n = arrivals[k]
        numbers.add(n)
        out.append(Matched(zeros[s], row, writes[n], arrived))
    assert len(numbers) == len(out), "a request arrived twice"
    return out


@pytest.fixture(scope="module")
def measured():
    with folder() as d:
        with reference("--mode", "metronome", *TIMES, "--log", f"{d}/log") as port:
            workload = "{model: metronome, output_tokens: 8, continuous_usage: true, prompts: {count: 8, bytes: 32}}"
            method = "{warm_up: 200ms, counted: 3s, sessions: 2, drain: 1s, instrument_error_at_most: 1}"
            load = "{load: constant, rate_per_s: 15}"
            contract(f"{d}/c.yaml", port, workload=workload, regime=load, method=method)
            r = lynx("run", f"{d}/c.yaml", "--out", f"{d}/a.lynx", "--quiet")
            assert r.returncode == 0, r.stderr
        yield f"{d}/a.lynx", match(f"{d}/a.lynx", f"{d}/log")


def say(name, values):
    v = sorted(values)
    at = {"p1": v[len(v) // 100], "p50": v[len(v) // 2], "p99": v[len(v) * 99 // 100], "worst": v[-1]}
    print(f"{name:32} n {len(v):5}  " + "  ".join(f"{k} {x / 1e3:9.1f} us" for k, x in at.items()))
    return v


def test_every_request_is_found_in_the_log(measured):
    bundle, requests = measured
    check(len(requests) >= 80, f"only {len(requests)} requests were compared")
    check_equal(show(bundle)["precisions"][0]["requests"]["failed"], 0, "failures")
    say("request: arrived - written", [r.arrived - r.written for r in requests])


def test_every_token_is_counted(measured):
    for r in measured[1]:
        check_equal(len(r.events), len(r.tokens), "events")
        check_equal(sum(n for _, n in r.events), 8, "tokens by usage")


def test_nothing_is_read_before_it_was_written(measured):
    early = sum(t < before for r in measured[1] for (t, _), (before, _) in zip(r.events, r.tokens))
    check_equal(early, 0, "tokens read before they were written")


def test_first_tokens(measured):
    first = say("first token: read - written", [r.first - r.tokens[0][0] for r in measured[1]])
    check(first[0] >= 0, "a first token was read before it was written")
    check(first[len(first) // 2] < 20_000_000, f"the median first token is {first[len(first) // 2]} ns late")


def test_gaps(measured):
    gaps = []
    for r in measured[1]:
        ours = [b[0] - a[0] for a, b in zip(r.events, r.events[1:])]
        theirs = [b[0] - a[0] for a, b in zip(r.tokens, r.tokens[1:])]
        gaps += [x - y for x, y in zip(ours, theirs)]
    off = say("gap: measured - actual", gaps)[len(gaps) // 2]
    check(abs(off) < 2_000_000, f"the median gap is off by {off} ns")


def test_durations(measured):
    v = say("duration: measured - actual", [(r.end - r.written) - (r.ended - r.arrived) for r in measured[1]])
    check(abs(v[len(v) // 2]) < 20_000_000, f"the median duration is off by {v[len(v) // 2]} ns")


if __name__ == "__main__":
    main(__file__)
