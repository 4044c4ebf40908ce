"""Every check catches the server that cheats in its way, and passes the honest one."""
from lynx import *

CHECKS = "[length, usage, first_token, failures, caching, prefix, seed]"
# what the honest server and the cheating one have in common, so that only the cheat differs
TIMES = ["--mode", "metronome", "--first-token", "12ms", "--gap", "3ms", "--first-token-distribution", "exponential"]


def verdicts(cheat):
    with folder() as d, reference(*TIMES, "--cheat", cheat) as port:
        path = contract(f"{d}/c.yaml", port, checks=CHECKS, slo="[{metric: time_to_first_token, quantile: 0.9, at_most: 2s}]",
                        workload="{model: metronome, output_tokens: 8, prompts: {count: 8, bytes: 32}}",
                        regime="{load: constant, rate_per_s: 40}",
                        method="{warm_up: 200ms, counted: 1500ms, sessions: 2, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, steady: reported, failures_at_most: 1}")
        r = lynx("run", path, "--out", f"{d}/r.lynx", "--quiet")
        check_equal(r.returncode, 0, f"{cheat}: run: {r.stderr}")
        found = {c["name"]: c for c in show(f"{d}/r.lynx")["precisions"][0]["checks"]}
        claim = lynx("claim", f"{d}/r.lynx").stdout
        print(cheat, {k: v["verdict"] for k, v in found.items()})
        return found, claim


honest, claim = verdicts("none")
for name, c in honest.items():
    if name == "prefix":  # the metronome knows no prefixes
        check_equal(c["verdict"], "passed", f"honest: {c['text']}")
    check(c["verdict"] != "failed", f"honest: the check {name} failed: {c['text']}")
for name in ("length", "usage", "first_token", "failures", "caching", "seed"):
    check_equal(honest[name]["verdict"], "passed", f"honest: {name}: {honest[name]['text']}")
for cheat, name in (("length", "length"), ("usage", "usage"), ("first-token", "first_token"), ("failures", "failures"), ("caching", "caching"),
                    ("prefix", "prefix"), ("seed", "seed")):
    found, claim = verdicts(cheat)
    check_equal(found[name]["verdict"], "failed", f"cheat {cheat}: {found[name]['text']}")
    check_in(f"the check '{name}' failed", claim, f"cheat {cheat}: the claim")
finish()
