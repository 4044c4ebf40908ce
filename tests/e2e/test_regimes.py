"""A change of regime inside the window is found and named; without one the window counts; a live service is protected."""
from lynx import *

METHOD = "{warm_up: 500ms, counted: 5s, sessions: 2, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, steady_tolerance: 0.2}"
SERVER = ["--mode", "metronome", "--first-token", "10ms", "--gap", "2ms"]


def steady(server, d, name, method=METHOD, **more):
    with reference(*server) as port:
        path = contract(f"{d}/{name}.yaml", port, method=method, regime="{load: constant, rate_per_s: 60}", checks="[]", **more)
        r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
        return r, show(f"{d}/{name}.lynx")["precisions"][0], lynx("claim", f"{d}/{name}.lynx")


with folder() as d:
    r, p, claim = steady(SERVER, d, "flat")
    check_equal(p["steady_holds"], True, f"flat: {p['steady']} {[s['steady'] for s in p['sessions']]}")
    check_equal(claim.returncode, 0, f"flat: {claim.stdout}")
    check_in("steady within 20 %", claim.stdout, "flat")

    # Throttled to 150 % of its times late in the first session: no steady state, and when it changed is named.
    r, p, claim = steady(SERVER + ["--change-after", "270", "--change-percent", "150"], d, "late")
    s = p["sessions"][0]["steady"]
    print(s)
    check_equal(p["steady_holds"], False, f"late: {s}")
    check(abs(s.get("changed_at_ns", 0) / 1e9 - 4.5) < 0.6, f"late: the change at about 4.5 s was found at {s.get('changed_at_ns')}")
    check_equal(claim.returncode, 1, "late: claim")
    check_in("no steady state", claim.stdout, "late")

    # It changes early: what comes after is steady and long enough, and only that is counted.
    r, p, claim = steady(SERVER + ["--change-after", "120", "--change-percent", "60"], d, "early")
    s = p["sessions"][0]["steady"]
    print(s)
    check_equal(p["steady_holds"], True, f"early: {[x['steady'] for x in p['sessions']]}")
    check(1.5e9 < s["from_ns"] < 3e9, f"early: counted from {s['from_ns']}")
    check(p["requests"]["excluded_not_steady"] > 60, f"early: {p['requests']}")

    # reported: the whole window is counted, and the claim says what was found.
    r, p, claim = steady(SERVER + ["--change-after", "270", "--change-percent", "150"], d, "reported", METHOD.replace("}", ", steady: reported}"))
    check_equal(p["requests"]["excluded_not_steady"], 0, "reported")
    check_equal(claim.returncode, 0, f"reported: {claim.stdout}")
    check_in("steady state not established", claim.stdout, "reported")

    # A precision to reach: looks fixed ahead, and what ended it.
    with reference(*SERVER) as port:
        for name, more, ended in (("reached", "precision_target: 0.3", "the precision was reached after"),
                                  ("budget", "precision_target: 0.0001, budget: 5s", "method.budget ended first"),
                                  ("most", "precision_target: 0.0001", "method.sessions_at_most ended first")):
            load = "{load: constant, rate_per_s: 40}" if name == "reached" else "{load: poisson, rate_per_s: 40}"
            path = contract(f"{d}/{name}.yaml", port, regime=load, checks="[]", slo="[{metric: time_to_first_token, quantile: 0.5, at_most: 100ms}]",
                            method="{warm_up: 100ms, counted: 700ms, sessions: 4, drain: 1s, request_timeout: 5s, instrument_error_at_most: 1, steady: reported, look_every: 1, sessions_at_most: %d, %s}" % (60 if name == "budget" else 6, more))
            r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
            check_equal(r.returncode, 0, f"{name}: {r.stderr}")
            check_in(ended, r.stderr, name)
            result = show(f"{d}/{name}.lynx")
            check_in(ended, result["stopped"], f"{name}: result")
            claim = lynx("claim", f"{d}/{name}.lynx")
            if name == "budget" and claim.returncode == 1:  # up to 57 looks are paid for: the sample may not bound even a median
                check_in("each look is paid for", claim.stdout, name)
            else:
                check_equal(claim.returncode, 0, f"{name}: {claim.stdout}")
        check_equal(len(rows(f"{d}/most.lynx", "SELECT id FROM session")), 6, "sessions_at_most")
        check_equal(len(rows(f"{d}/most.lynx", "SELECT id FROM event WHERE kind = 'look'")), 3, "looks at 4, 5 and 6 sessions")

    # A live service: the load cap is a rule, and a server that gets into trouble ends the run.
    with reference("--mode", "metronome", "--first-token", "20ms", "--gap", "2ms", "--slots", "2") as port:
        path = contract(f"{d}/harm.yaml", port, where="{environment: production, load_cap_per_s: 200, abort_slo: {metric: end_to_end, over: 300ms, share: 0.5, window: 2s}}",
                        regime="{load: poisson, rate_per_s: 150}", method="{warm_up: 0s, counted: 60s, sessions: 2, drain: 2s, request_timeout: 20s, steady: reported}")
        started = time.time()
        r = lynx("run", path, "--out", f"{d}/harm.lynx", "--quiet")
        check_equal(r.returncode, 4, f"harm: {r.stderr}")
        check(time.time() - started < 20, f"harm: it took {time.time() - started:.0f} s to stop")
        check_in("abort SLO", lynx("claim", f"{d}/harm.lynx").stdout, "harm")
        check_equal(len(rows(f"{d}/harm.lynx", "SELECT id FROM session")), 1, "harm: sessions begun")
    over = contract(f"{d}/over.yaml", 1, where="{environment: production, load_cap_per_s: 100, abort_slo: {over: 300ms}}", regime="{load: saturation, rate_per_s: 10, to_per_s: 200}")
    r = lynx("lint", over)
    check_equal(r.returncode, 2, "cap")
    check_in("load_cap_per_s", r.stdout + r.stderr, "cap")
finish()
