"""A change of regime in the window is found and named; without one the window counts; a live service is protected."""

import pytest
from lynx import *

METHOD = (
    "{warm_up: 500ms, counted: 5s, sessions: 2, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, "
    "steady_tolerance: 0.2}"
)
SERVER = ["--mode", "metronome", "--first-token", "10ms", "--gap", "2ms"]
LATE = [
    "--change-after",
    "270",
    "--change-percent",
    "150",
]  # throttled to 150 % of its times, late in the first session


def steady(d, name, *change, method=METHOD):
    with reference(*SERVER, *change) as port:
        path = contract(f"{d}/{name}.yaml", port, method=method, regime="{load: constant, rate_per_s: 60}", checks="[]")
        lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
        return show(f"{d}/{name}.lynx")["precisions"][0], lynx("show", "--claim", f"{d}/{name}.lynx")


def test_a_flat_run_is_steady(tmp_path):
    p, claim = steady(tmp_path, "flat")
    check_equal(p["steady_holds"], True, f"flat: {p['steady']} {[s['steady'] for s in p['sessions']]}")
    check_equal(claim.returncode, 0, f"flat: {claim.stdout}")
    check_in("steady within 20 %", claim.stdout, "flat")


def test_a_late_change_is_no_steady_state_and_is_named(tmp_path):
    p, claim = steady(tmp_path, "late", *LATE)
    s = p["sessions"][0]["steady"]
    check_equal(p["steady_holds"], False, f"late: {s}")
    at = s.get("changed_at_ns", 0)
    check(abs(at / 1e9 - 4.5) < 0.6, f"late: the change at about 4.5 s was found at {at}")
    check_equal(claim.returncode, 1, "late: claim")
    check_in("no steady state", claim.stdout, "late")


def test_after_an_early_change_only_the_rest_counts(tmp_path):
    p, _ = steady(tmp_path, "early", "--change-after", "120", "--change-percent", "60")
    s = p["sessions"][0]["steady"]
    check_equal(p["steady_holds"], True, f"early: {[x['steady'] for x in p['sessions']]}")
    check(1.5e9 < s["from_ns"] < 3e9, f"early: counted from {s['from_ns']}")
    check(p["requests"]["excluded_not_steady"] > 60, f"early: {p['requests']}")


def test_reported_counts_the_whole_window_and_says_so(tmp_path):
    p, claim = steady(tmp_path, "reported", *LATE, method=METHOD.replace("}", ", steady: reported}"))
    check_equal(p["requests"]["excluded_not_steady"], 0, "reported")
    check_equal(claim.returncode, 0, f"reported: {claim.stdout}")
    check_in("steady state not established", claim.stdout, "reported")


LOOKS = {
    "reached": ("constant", 6, "precision_target: 0.3", "the precision was reached after"),
    "budget": ("poisson", 60, "precision_target: 0.0001, budget: 5s", "method.budget ended first"),
    "most": ("poisson", 6, "precision_target: 0.0001", "method.sessions_at_most ended first"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks_are_fixed_ahead_and_what_ended_them_is_told(tmp_path, name):
    load, most, more, ended = LOOKS[name]
    method = (
        "{warm_up: 100ms, counted: 700ms, sessions: 4, drain: 1s, request_timeout: 5s, instrument_error_at_most: 1, "
        f"steady: reported, look_every: 1, sessions_at_most: {most}, {more}}}"
    )
    out = f"{tmp_path}/{name}.lynx"
    with reference(*SERVER) as port:
        path = contract(
            f"{tmp_path}/{name}.yaml",
            port,
            regime=f"{{load: {load}, rate_per_s: 40}}",
            checks="[]",
            slo="[{metric: time_to_first_token, quantile: 0.5, at_most: 100ms}]",
            method=method,
        )
        r = lynx("run", path, "--out", out, "--quiet")
    check_equal(r.returncode, 0, f"{name}: {r.stderr}")
    check_in(ended, r.stderr, name)
    check_in(ended, show(out)["stopped"], f"{name}: result")
    claim = lynx("show", "--claim", out)
    if (
        name == "budget" and claim.returncode == 1
    ):  # up to 57 looks are paid for: the sample may not bound even a median
        check_in("each look is paid for", claim.stdout, name)
    else:
        check_equal(claim.returncode, 0, f"{name}: {claim.stdout}")
    if name == "most":
        check_equal(len(rows(out, "SELECT id FROM session")), 6, "sessions_at_most")
        check_equal(len(rows(out, "SELECT id FROM event WHERE kind = 'look'")), 3, "looks at 4, 5 and 6 sessions")


def test_a_server_in_trouble_ends_the_run(tmp_path):
    abort = "abort_slo: {metric: end_to_end, over: 300ms, share: 0.5, window: 2s}"
    with reference("--mode", "metronome", "--first-token", "20ms", "--gap", "2ms", "--slots", "2") as port:
        path = contract(
            f"{tmp_path}/harm.yaml",
            port,
            where=f"{{environment: production, load_cap_per_s: 200, {abort}}}",
            regime="{load: poisson, rate_per_s: 150}",
            method="{warm_up: 0s, counted: 60s, sessions: 2, drain: 2s, request_timeout: 20s, steady: reported}",
        )
        started = time.time()
        r = lynx("run", path, "--out", f"{tmp_path}/harm.lynx", "--quiet")
        check_equal(r.returncode, 4, f"harm: {r.stderr}")
        check(time.time() - started < 40, f"harm: it took {time.time() - started:.0f} s to stop, of 120")
    check_in("abort SLO", lynx("show", "--claim", f"{tmp_path}/harm.lynx").stdout, "harm")
    check_equal(len(rows(f"{tmp_path}/harm.lynx", "SELECT id FROM session")), 1, "harm: sessions begun")


def test_the_load_cap_is_a_rule(tmp_path):
    over = contract(
        f"{tmp_path}/over.yaml",
        1,
        where="{environment: production, load_cap_per_s: 100, abort_slo: {over: 300ms}}",
        regime="{load: saturation, rate_per_s: 10, to_per_s: 200}",
    )
    r = lynx("lint", over)
    check_equal(r.returncode, 2, "cap")
    check_in("load_cap_per_s", r.stdout + r.stderr, "cap")


if __name__ == "__main__":
    main(__file__)
