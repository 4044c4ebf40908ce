"""A search certifies the capacity of a server whose capacity is known, and says where its range ends first."""

import pytest
from lynx import *

# 4 slots, 20 ms and then 9 gaps of 2 ms: 4 / 38 ms = 105.3 requests/s
SERVER = ["--mode", "metronome", "--first-token", "20ms", "--gap", "2ms", "--slots", "4"]
CAPACITY = 4 / 0.038
METHOD = (
    "{warm_up: 500ms, counted: 2s, sessions: 3, drain: 3s, request_timeout: 20s, instrument_error_at_most: 1, "
    "steady: reported}"
)
WORK = "{model: metronome, output_tokens: 10, prompts: {count: 8, bytes: 32}}"


def search(d, name, port, from_per_s, to_per_s, looks):
    regime = (
        f"{{load: saturation, rate_per_s: {from_per_s}, to_per_s: {to_per_s}, "
        f"search: {{resolution: 0.2, arrivals: constant, looks_at_most: {looks}}}}}"
    )
    path = contract(f"{d}/{name}.yaml", port, workload=WORK, method=METHOD, regime=regime, checks="[length, usage]")
    r = lynx("run", path, "--out", f"{d}/{name}.lynx", timeout=400)
    check_equal(r.returncode, 0, f"{name}: {r.stderr[-2000:]}")
    print(r.stderr[-1500:])
    return f"{d}/{name}.lynx"


@pytest.fixture(scope="module")
def found():
    with folder() as d, reference(*SERVER) as port:
        yield search(d, "found", port, 40, 1000, 3)


def saturation_of(bundle):
    return show(bundle)["precisions"][0]["saturation"]


def test_the_capacity_is_between_the_two_loads(found):
    s = saturation_of(found)
    between = s["passing"] <= CAPACITY * 1.05 and s["failing"] >= CAPACITY * 0.95
    check(between, f"capacity {CAPACITY:.1f} is not within {s['passing']} and {s['failing']}")
    check(s["failing"] / s["passing"] <= 1.2 + 1e-6, f"the bracket is wider than the resolution: {s['text']}")
    check(s["certified"], f"not certified: {s['text']}")
    check_equal(sum(x["rate_per_s"] in (s["passing"], s["failing"]) for x in s["points"]), 2, "points at both loads")


def test_every_load_is_judged_as_the_bracket_says(found):
    s = saturation_of(found)
    for x in s["points"]:
        check_equal(x["sustained"], x["rate_per_s"] <= s["passing"], f"verdict at {x['rate_per_s']}")
        law = not x["sustained"] or x["littles_law_holds"]
        check(law, f"Little's law at {x['rate_per_s']}: {x['in_system']} against {x['littles_law']}")


def test_claim_and_report_show_it(found):
    claim = lynx("claim", found).stdout
    check_in("at the saturation point", claim, "claim")
    check_in("resolution", claim, "claim")
    page = f"{os.path.dirname(found)}/r.html"
    report = lynx("report", found, "--out", page)
    check_equal(report.returncode, 0, report.stderr)
    with open(page) as f:
        check_in("Latency against load", f.read(), "report")


def test_a_range_that_ends_first_is_told():
    with folder() as d, reference(*SERVER) as port:
        bundle = search(d, "range", port, 10, 40, 2)
        text = "not saturated within the allowed range"
        check_in(text, saturation_of(bundle)["text"], "range")
        check_in(text, lynx("claim", bundle).stdout, "range: claim")


def test_a_warm_up_shorter_than_an_answer_is_no_growth(d):
    """16 slots, 400 ms and then 4 gaps of 100 ms: 20 requests/s. What the window answers is not of fewer arrivals."""
    with reference("--mode", "metronome", "--first-token", "400ms", "--gap", "100ms", "--slots", "16") as port:
        short = METHOD.replace("warm_up: 500ms", "warm_up: 100ms").replace("counted: 2s", "counted: 3s")
        search_by = "search: {resolution: 0.4, arrivals: constant, looks_at_most: 2}"
        regime = f"{{load: saturation, rate_per_s: 8, to_per_s: 100, {search_by}}}"
        work = WORK.replace("output_tokens: 10", "output_tokens: 5")
        path = contract(f"{d}/w.yaml", port, workload=work, method=short, regime=regime, checks="[length, usage]")
        r = lynx("run", path, "--out", f"{d}/w.lynx", timeout=400)
    check_equal(r.returncode, 0, r.stderr[-1500:])
    s = saturation_of(f"{d}/w.lynx")
    check(14 <= s["passing"] <= 20 * 1.1 and s["failing"] >= 20 * 0.9, s["text"])
    check_in("windows warm up for 1.", r.stderr, "it is said")
    lengths = {ns for (ns,) in rows(f"{d}/w.lynx", "SELECT warm_up_ns FROM session")}
    check(all(ns >= 1_600_000_000 for ns in lengths), f"warm-ups: {lengths}")


if __name__ == "__main__":
    main(__file__)
