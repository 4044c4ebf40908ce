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
    claim = lynx("show", "--claim", found).stdout
    check_in("at the saturation point", claim, "claim")
    check_in("resolution", claim, "claim")
    page = f"{os.path.dirname(found)}/r.html"
    report = lynx("show", found, "--html", page)
    check_equal(report.returncode, 0, report.stderr)
    with open(page) as f:
        check_in("Latency against load", f.read(), "report")


def test_a_margin_below_the_resolution_is_decided_by_no_sessions(found):
    r = lynx("verify", found, "--plan")
    check_in("the searches know their points to 20 %", r.stdout, "plan")
    check_in("no number of sessions decides that", r.stdout, "plan")


def test_what_it_sells_is_priced_at_the_certificate(found):
    s = saturation_of(found)
    r = lynx("decide", "cost", found, "--price", "3.6", "--json")
    [run] = json.loads(r.stdout)["runs"]
    check_equal(r.returncode, 0, r.stdout)
    check(run["certified"] and "certificate" in run["point"], run)
    useful = run["useful_per_s"]["estimate"]
    check(abs(useful / (10 * s["passing"]) - 1) < 0.1, f"10 tokens for each of {s['passing']} requests/s: {run}")
    check(abs(run["per_million"]["estimate"] * useful / 1000 - 1) < 1e-9, run)


def short_search(d, name, port, method, regime, expected=3):
    path = contract(f"{d}/{name}.yaml", port, workload=WORK, method=method, regime=regime, checks="[length, usage]")
    r = lynx("run", path, "--out", f"{d}/{name}.lynx", timeout=400)
    check_equal(r.returncode, expected, f"{name}: {r.stderr[-1500:]}")
    return r, saturation_of(f"{d}/{name}.lynx")


def test_a_window_shorter_than_two_answers_decides_nothing(d):
    """16 slots that begin together end together: a window between two ends sees all of one or nothing."""
    regime = "{load: saturation, rate_per_s: 40, to_per_s: 1000, search: {resolution: 0.4, arrivals: constant}}"
    with reference("--mode", "metronome", "--first-token", "900ms", "--gap", "1ms", "--slots", "16") as port:
        r, s = short_search(d, "short", port, METHOD.replace("counted: 2s", "counted: 600ms"), regime)
    check_in("a request alone takes 0.9", r.stderr, "why")
    check_in("next: method.counted: 4s, at least", r.stderr, "what helps")
    check(not s["certified"] and len(s["points"]) <= 1, s["text"])


def test_few_arrivals_decide_nothing(d):
    regime = "{load: saturation, rate_per_s: 1, to_per_s: 1000, search: {resolution: 0.4, arrivals: constant}}"
    with reference(*SERVER) as port:
        r, s = short_search(d, "few", port, METHOD.replace("counted: 2s", "counted: 500ms"), regime)
    check_in("hold 3 arrivals, and fewer than 20 say nothing of a load. next: method.counted: 4s", r.stderr, "why")
    check_equal(s["text"], "no load was sustained: no window was run", "text")


def test_a_run_that_its_budget_ended_says_so(d):
    regime = "{load: saturation, rate_per_s: 40, to_per_s: 1000, search: {resolution: 0.2, arrivals: constant}}"
    with reference(*SERVER) as port:
        r, s = short_search(d, "budget", port, METHOD.replace("counted: 2s", "counted: 2s, budget: 1s"), regime)
    check_in("method.budget will end it before that", r.stderr, "the forecast")
    check_in("complete (method.budget ended before all that the contract asks for was run)", r.stdout, "the end")
    check_in("the run ended before a load failed; 40 requests/s was sustained in the search", s["text"], "text")


def test_a_range_that_ends_first_is_told():
    with folder() as d, reference(*SERVER) as port:
        bundle = search(d, "range", port, 10, 40, 2)
        text = "not saturated within the allowed range"
        check_in(text, saturation_of(bundle)["text"], "range")
        check_in(text, lynx("show", "--claim", bundle).stdout, "range: claim")


def test_a_short_budget_is_certified_as_coarse_as_it_allows(d):
    """The 5 % that the contract asks for needs more windows than there is time for, and 20 % some 17 of them. Arrivals
    that do not vary: chance fails no load below the capacity."""
    with reference(*SERVER) as port:
        regime = "{load: saturation, rate_per_s: 80, to_per_s: 1000, search: {resolution: 0.05, arrivals: constant}}"
        short = METHOD.replace("counted: 2s", "counted: 1500ms, budget: 45s")
        path = contract(f"{d}/b.yaml", port, workload=WORK, method=short, regime=regime, checks="[length, usage]")
        r = lynx("run", path, "--out", f"{d}/b.lynx", timeout=400)
    s = saturation_of(f"{d}/b.lynx")
    first, *_ = [line for line in r.stderr.splitlines() if "a certificate to" in line]
    check_in("if the capacity is near 80 requests/s, a certificate to 20 % takes about ", first, "before the start")
    check_in("method.budget is too short", first, "why")
    check(s["certified"] and s["resolution"] in (0.1, 0.2), s)
    most = 1 + s["resolution"]
    check(s["passing"] <= CAPACITY * most and s["failing"] >= CAPACITY / most, s["text"])
    check_in(f"certified to {100 * most - 100:.0f} %, where the contract asks for 5 %", s["text"], "text")
    check_in(f"certified to {100 * most - 100:.0f} %", lynx("show", "--claim", f"{d}/b.lynx").stdout, "claim")


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
