"""The instrument against the standard: every measured first token, gap and duration with the metronome's log of actual writes."""
import bisect
import csv
from lynx import *

with folder() as d:
    with reference("--mode", "metronome", "--first-token", "15ms", "--gap", "4ms", "--gap-distribution", "exponential", "--log", f"{d}/log") as port:
        contract(f"{d}/c.yaml", port, workload="{model: metronome, output_tokens: 8, continuous_usage: true, prompts: {count: 8, bytes: 32}}", regime="{load: constant, rate_per_s: 15}",
                 method="{warm_up: 200ms, counted: 3s, sessions: 2, drain: 1s, instrument_error_at_most: 1}")
        r = lynx("run", f"{d}/c.yaml", "--out", f"{d}/a.lynx", "--quiet")
        check_equal(r.returncode, 0, f"run: {r.stderr}")
    writes = {}
    for row in csv.DictReader(open(f"{d}/log")):
        writes.setdefault(int(row["request"]), []).append((row["kind"], int(row["before_ns"]), int(row["after_ns"])))
    arrivals = sorted((v[0][1], k) for k, v in writes.items())
    zeros = {i: json.loads(text)["zero_monotonic_ns"] for i, text in rows(f"{d}/a.lynx", "SELECT id, instrument FROM session")}
    # Gaps of 66 ms: the request that arrived first after ours was written is ours. (A request of the tail may be cut off.)
    ours = sorted((zeros[s] + w, s, i) for s, i, w in rows(f"{d}/a.lynx", "SELECT session, id, written_ns FROM request WHERE outcome = 'ok'"))
    matched = []
    for written, s, i in ours:
        k = bisect.bisect_left(arrivals, (written, 0))
        check(k < len(arrivals) and arrivals[k][0] - written < 60_000_000, f"request {s}/{i} did not arrive")
        matched.append(arrivals[min(k, len(arrivals) - 1)])
    check_equal(len({number for _, number in matched}), len(ours), "requests that arrived, each once")
    table = {(s, i): (zeros[s] + first, zeros[s] + last, zeros[s] + end, blob, zeros[s] + w, outcome) for s, i, first, last, end, blob, w, outcome in
             rows(f"{d}/a.lynx", "SELECT session, id, first_token_ns, last_token_ns, end_ns, events, written_ns, outcome FROM request WHERE outcome = 'ok'")}

    def events(blob):
        def number(at):
            value = shift = 0
            while True:
                byte = blob[at]
                value |= (byte & 127) << shift
                at, shift = at + 1, shift + 7
                if byte < 128:
                    return value, at
        at, t, out = 0, 0, []
        while at < len(blob):
            delta, at = number(at)
            tokens, at = number(at)
            _, at = number(at)
            t += delta
            out.append((t, tokens // 2))
        return out

    first, gap, duration, request, early = [], [], [], [], 0
    n = 0
    for (written, s, i), (arrived, number) in zip(ours, matched):
        first_ns, last_ns, end_ns, blob, w, outcome = table[s, i]
        if outcome != "ok":
            continue
        tokens = [(b, a) for kind, b, a in writes[number] if kind == "token"]
        ends = [b for kind, b, a in writes[number] if kind == "end"]
        seen = events(blob)
        check_equal(len(seen), len(tokens), f"tokens of request {number}")
        check_equal(sum(t for _, t in seen), 8, f"tokens by usage of request {number}")
        request.append(arrived - written)
        first.append(first_ns - tokens[0][0])
        for k, ((t, _), (b, _)) in enumerate(zip(seen, tokens)):
            if k:
                gap.append((t - seen[k - 1][0]) - (b - tokens[k - 1][0]))
            early += w + t < b  # nothing can be read before it was written
        duration.append((end_ns - written) - (ends[0] - arrived))
        n += 1
    check(n >= 80, f"only {n} requests were compared")
    check_equal(early, 0, "tokens read before they were written")
    check(min(first) >= 0, "a first token was read before it was written")
    middle = sorted(first)[len(first) // 2]
    check(middle < 20_000_000, f"the median first token is {middle} ns after it was written")
    off = sorted(gap)[len(gap) // 2]
    check(abs(off) < 2_000_000, f"the median gap is off by {off} ns")
    check(abs(sorted(duration)[len(duration) // 2]) < 20_000_000, "durations are off")
    for name, values in (("request: arrived - written", request), ("first token: read - written", first), ("gap: measured - actual", gap), ("duration: measured - actual", duration)):
        v = sorted(values)
        print(f"{name:32} n {len(v):5}  p1 {v[len(v) // 100] / 1e3:9.1f} us  p50 {v[len(v) // 2] / 1e3:9.1f} us  p99 {v[len(v) * 99 // 100] / 1e3:9.1f} us  worst {v[-1] / 1e3:9.1f} us")
    result = show(f"{d}/a.lynx")
    check_equal(result["precisions"][0]["requests"]["failed"], 0, "failures")
finish()
