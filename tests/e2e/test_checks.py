"""Every check catches the server that cheats in its way, and passes the honest one."""

import pytest
from lynx import *

CHECKS = "[length, usage, first_token, failures, caching, prefix, seed]"
# what the honest server and the cheating one have in common, so that only the cheat differs
TIMES = ["--mode", "metronome", "--first-token", "12ms", "--gap", "3ms", "--first-token-distribution", "exponential"]
METHOD = (
    "{warm_up: 200ms, counted: 1500ms, sessions: 2, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, "
    "steady: reported, failures_at_most: 1}"
)
CHEATS = {
    "length": "length",
    "usage": "usage",
    "first-token": "first_token",
    "failures": "failures",
    "caching": "caching",
    "prefix": "prefix",
    "seed": "seed",
}


def verdicts(cheat):
    with folder() as d, reference(*TIMES, "--cheat", cheat) as port:
        path = contract(
            f"{d}/c.yaml",
            port,
            checks=CHECKS,
            slo="[{metric: time_to_first_token, quantile: 0.9, at_most: 2s}]",
            workload="{model: metronome, output_tokens: 8, prompts: {count: 8, bytes: 32}}",
            regime="{load: constant, rate_per_s: 40}",
            method=METHOD,
        )
        r = lynx("run", path, "--out", f"{d}/r.lynx", "--quiet")
        check_equal(r.returncode, 0, f"{cheat}: run: {r.stderr}")
        found = {c["name"]: c for c in show(f"{d}/r.lynx")["precisions"][0]["checks"]}
        print(cheat, {k: v["verdict"] for k, v in found.items()})
        return found, lynx("show", "--claim", f"{d}/r.lynx").stdout


def test_the_honest_server_passes():
    honest, _ = verdicts("none")
    for name in CHEATS.values():  # the metronome knows no prefixes, and passes that too
        wanted = "not decided" if name == "usage" else "passed"  # no tokenizer is named, and it has no route /tokenize
        check_equal(honest[name]["verdict"], wanted, f"honest: {name}: {honest[name]['text']}")


@pytest.mark.parametrize("cheat", CHEATS)
def test_the_cheat_is_caught(cheat):
    found, claim = verdicts(cheat)
    check_equal(found[CHEATS[cheat]]["verdict"], "failed", f"cheat {cheat}: {found[CHEATS[cheat]]['text']}")
    check_in(f"the check '{CHEATS[cheat]}' failed", claim, f"cheat {cheat}: the claim")


if __name__ == "__main__":
    main(__file__)
