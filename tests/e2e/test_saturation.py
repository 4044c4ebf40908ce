"""A search finds the capacity of a server whose capacity is known, certifies it, and says so where the range ends first."""
from lynx import *

# 4 slots, 20 ms and then 9 gaps of 2 ms: 4 / 38 ms = 105.3 requests/s
SERVER = ["--mode", "metronome", "--first-token", "20ms", "--gap", "2ms", "--slots", "4"]
CAPACITY = 4 / 0.038
METHOD = "{warm_up: 500ms, counted: 2s, sessions: 3, drain: 3s, request_timeout: 20s, instrument_error_at_most: 1, steady: reported}"
WORK = "{model: metronome, output_tokens: 10, prompts: {count: 8, bytes: 32}}"


def search(d, name, port, regime, **more):
    path = contract(f"{d}/{name}.yaml", port, workload=WORK, method=METHOD, regime=regime, checks="[length, usage]", **more)
    r = lynx("run", path, "--out", f"{d}/{name}.lynx", timeout=400)
    check_equal(r.returncode, 0, f"{name}: {r.stderr[-2000:]}")
    print(r.stderr[-1500:])
    return show(f"{d}/{name}.lynx")["precisions"][0], r


with folder() as d, reference(*SERVER) as port:
    p, r = search(d, "found", port, "{load: saturation, rate_per_s: 40, to_per_s: 1000, search: {resolution: 0.2, arrivals: constant, looks_at_most: 3}}")
    s = p["saturation"]
    print(s["text"])
    check(s["passing"] <= CAPACITY * 1.05 and s["failing"] >= CAPACITY * 0.95, f"capacity {CAPACITY:.1f} is not within {s['passing']} and {s['failing']}")
    check(s["failing"] / s["passing"] <= 1.2 + 1e-9, f"the bracket is wider than the resolution: {s['text']}")
    check(s["certified"], f"not certified: {s['text']}")
    certified = [x for x in s["points"] if x["rate_per_s"] in (s["passing"], s["failing"])]
    check_equal(len(certified), 2, "points at both loads")
    for x in s["points"]:
        check_equal(x["sustained"], x["rate_per_s"] <= s["passing"], f"verdict at {x['rate_per_s']}")
        if x["sustained"]:
            check(x["littles_law_holds"], f"Little's law at {x['rate_per_s']}: {x['in_system']} against {x['littles_law']}")
    # At the passing load: lambda times 38 ms in the system, but for the queue.
    claim = lynx("claim", f"{d}/found.lynx").stdout
    check_in("at the saturation point", claim, "claim")
    check_in("resolution", claim, "claim")
    report = lynx("report", f"{d}/found.lynx", "--out", f"{d}/r.html")
    check_equal(report.returncode, 0, report.stderr)
    check_in("Latency against load", open(f"{d}/r.html").read(), "report")

    # The range ends first.
    p, r = search(d, "range", port, "{load: saturation, rate_per_s: 10, to_per_s: 40, search: {resolution: 0.2, arrivals: constant, looks_at_most: 2}}")
    check_in("not saturated within the allowed range", p["saturation"]["text"], "range")
    check_in("not saturated within the allowed range", lynx("claim", f"{d}/range.lynx").stdout, "range: claim")

finish()
