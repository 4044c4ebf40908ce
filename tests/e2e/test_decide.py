"""Would an upgrade help? Asked of a recorded run whose server sleeps for 20 of 21 ms: its processor hardly matters.
And how many of a server with four slots.
The bounds and queues themselves are held in tests/unit/test_decide.c and test_fleet.c."""

import json
import math

import pytest

import lynx as l

SLEEPS = f"{l.SOURCE}/tests/recorded/bundles/perturb.lynx"  # E(processor) 0.13 [0.08, 0.19], up to x1.35 slower


def decide(*words, code, bundle=SLEEPS):
    r = l.lynx("decide", bundle, *words)
    assert r.returncode == code, (words, r.stdout, r.stderr)
    return r.stdout


def of(*words, code):
    return json.loads(decide(*words, "--json", code=code))


def test_a_faster_processor_does_not_help_who_sleeps():
    said = of("--upgrade", "host.clock x1.3", code=1)
    [part] = said["upgrade"]
    low, high = part["low"], part["high"]
    assert 0 < low < part["elasticity"] < high < 0.2, part
    assert said["verdict"] == "does not help" and said["doubts"] == [], said
    assert said["serial_bound"] == pytest.approx(1 / (1 - high * (1 - 1 / 1.3)))
    assert 1 < said["if_serial_about"] < said["serial_bound"] < said["concave_bound"] == said["at_most"] < 1.1, said
    text = decide("--upgrade", "host.clock x1.3", code=1)
    first, then = text.splitlines()[:2]
    assert first.startswith(f"It does not help: at most x{said['at_most']:.3g}, and it pays from x1.1 on"), first
    assert then.startswith("next: ") and "1 request in flight" in text, text


def test_what_pays_decides():
    """The same upgrade, where it pays from less: the interval holds both sides, and so many blocks would tell."""
    said = of("--upgrade", "host.clock x1.3", "--margin", "6%", code=3)
    [doubt] = said["doubts"]
    assert "interval" in doubt["because"] and doubt["blocks_times"] > 1, said
    assert of("--upgrade", "host.clock x1.3", "--price-ratio", "1.28", code=1)["wanted_by"] == "ratio of prices"
    said = of("--upgrade", "host.clock x100", "--margin", "10%", code=3)
    assert said["at_most"] > 2 and "only a trial" in said["doubts"][0]["because"], said


@pytest.mark.parametrize(
    "upgrade, because, next_step",
    [
        ("disk x2", "not slowed in this run", "perturb CONTRACT --only disk"),
        ("memory.bandwidth x2, disk x2", "not slowed in this run", "--only memory,disk"),
        ("host.cores x2", "nothing here can slow it", "lynxbench compare"),
        ("host.clock x1.3, memory.capacity 141GB", "more memory may let more fit", "without the capacity"),
        ("arithmetic.fp64 x2", "other code would run", "lynxbench compare"),
    ],
)
def test_what_cannot_be_decided_says_why_and_what_to_do(upgrade, because, next_step):
    verdict, then = decide("--upgrade", upgrade, code=3).splitlines()[:2]
    assert verdict.startswith("Cannot decide, because ") and because in verdict, verdict
    assert then.startswith("next: ") and next_step in then, then


def test_devices_of_the_table():
    said = of("--from", "H100-SXM", "--to", "h200 sxm", code=3)
    assert "another device" in said["doubts"][0]["because"], said  # the run was on a processor
    [bandwidth] = [p for p in said["upgrade"] if p["resource"] == "memory.bandwidth"]
    assert bandwidth["factor"] == pytest.approx(4.8 / 3.35), said
    r = l.lynx("decide", "--devices", "--json")
    table = json.loads(r.stdout)["devices"]
    assert r.returncode == 0 and len(table) > 25 and all(d["source"] for d in table)
    assert "H200-SXM" in l.lynx("decide", "--devices").stdout


@pytest.mark.parametrize(
    "words, says",
    [
        ((), "--upgrade: found nothing"),
        (("--upgrade", "disk"), "disk: found ''; accepted: a factor"),
        (("--upgrade", "disk x2", "--from", "H100-SXM"), "accepted: a list, or two devices"),
        (("--from", "H100-SXM"), "--to: found nothing"),
        (("--from", "H100-SXM", "--to", "H300"), "--to: found 'H300'"),
        (("--from", "H100-SXM", "--to", "H100-SXM"), "another device"),
        (("--upgrade", "disk x2", "--margin", "0"), "--margin: found '0'"),
        (("--upgrade", "disk x2", "--margin", "ten"), "--margin: found 'ten'"),
        (("--upgrade", "disk x2", "--price-ratio", "0.9"), "--price-ratio: found '0.9'"),
        (("--upgrade", "disk x2", "--price-ratio", "2", "--margin", "0.1"), "one of them"),
    ],
)
def test_bad_questions(words, says):
    r = l.lynx("decide", SLEEPS, *words)
    assert r.returncode == 2 and says in r.stderr.replace("'nothing'", "nothing") and r.stdout == "", (words, r.stderr)


def test_a_run_in_which_nothing_was_slowed():
    r = l.lynx("decide", f"{l.SOURCE}/tests/recorded/bundles/small.lynx", "--upgrade", "disk x2")
    assert r.returncode == 2 and "next: lynxbench perturb " in r.stderr, r.stderr


# --- how many ---

CLIMBS = "{warm_up: 200ms, counted: 1s, sessions: 1, drain: 5s, steady: reported, instrument_error_at_most: 1}"


@pytest.fixture(scope="module")
def climb(tmp_path_factory):
    """Four slots of 20 ms each: what more are sent only waits."""
    folder = tmp_path_factory.mktemp("climb")
    with l.reference("--mode", "metronome", "--first-token", "20ms", "--gap", "0ms", "--slots", "4") as port:
        l.contract(
            str(folder / "c.yaml"),
            port,
            workload="{model: metronome, output_tokens: 1, prompts: {count: 8, bytes: 32}}",
            regime="{load: climb, concurrency: 16}",
            method=CLIMBS,
        )
        r = l.lynx("run", folder / "c.yaml", "--out", folder / "c.lynx", "--quiet")
        assert r.returncode in (0, 3, 4), r.stderr
    return folder / "c.lynx"


def fleet(climb, *words, code=0):
    r = l.lynx("decide", "fleet", climb, *words, "--json", timeout=120)
    assert r.returncode == code, (words, r.stdout, r.stderr)
    return json.loads(r.stdout)


def test_a_patient_fleet_is_as_large_as_its_load(climb):
    said = fleet(climb, "--rate", "1000", "--within", "1min")
    curve = [(p["in_flight"], p["requests_per_s"]) for p in said["curve"]]
    assert [n for n, _ in curve][:3] == [1, 2, 4], curve
    assert curve[2][1] > 2.5 * curve[0][1], curve  # it has four slots
    assert said["executors"] == math.ceil(1000 / (0.95 * curve[-1][1])), said
    assert fleet(climb, "--rate", "1000", "--within", "1min", "--spare", "2")["executors"] == said["executors"] + 2


def test_an_impatient_fleet_is_larger(climb):
    patient = fleet(climb, "--rate", "1000", "--within", "1min")
    limit = 1.2 * patient["alone_s"]
    said = fleet(climb, "--rate", "1000", "--within", f"{1000 * limit:.3f}ms")
    assert said["executors"] > patient["executors"] and said["with"]["quantile_s"]["high"] <= limit, said
    assert not said["with_one_fewer"]["steady"] or said["with_one_fewer"]["quantile_s"]["high"] > limit, said
    by = {v["what"]: v["executors"] for v in said["if_otherwise"]}
    assert by["10 % fewer requests"] <= said["executors"] <= by["10 % more requests"], by
    assert by["routed at random"] is None or by["routed at random"] > said["executors"], by
    said = fleet(climb, "--rate", "1000", "--within", f"{500 * patient['alone_s']:.3f}ms", code=1)
    assert said["executors"] is None, said


def test_a_fleet_is_said_in_words(climb):
    r = l.lynx("decide", "fleet", climb, "--rate", "1000", "--within", "1min", "--spare", "1", timeout=120)
    first, then = r.stdout.splitlines()[:2]
    assert r.returncode == 0 and "of 1000 requests/s within 60 s" in first and "1 may be lost" in first, r.stdout
    assert then.startswith("next: "), r.stdout


@pytest.mark.parametrize(
    "words, says",
    [
        (("--within", "1s"), "--rate: found nothing"),
        (("--rate", "0", "--within", "1s"), "--rate: found '0'"),
        (("--rate", "10"), "--within: found nothing"),
        (("--rate", "10", "--within", "soon"), "--within: found 'soon'"),
        (("--rate", "10", "--within", "1s", "--percentile", "100"), "--percentile: found '100'"),
        (("--rate", "10", "--within", "1s", "--spare", "0.5"), "--spare: found '0.5'"),
        (("--rate", "10", "--within", "1s", "--route", "nearest"), "random, in-turn, two-choices, least"),
        (("--rate", "10", "--within", "1s", "--burstiness", "0.5"), "--burstiness: found '0.5'"),
    ],
)
def test_bad_fleets(climb, words, says):
    r = l.lynx("decide", "fleet", climb, *words)
    assert r.returncode == 2 and says in r.stderr and r.stdout == "", (words, r.stderr)


def test_a_run_that_did_not_climb_has_no_curve():
    r = l.lynx("decide", "fleet", SLEEPS, "--rate", "1", "--within", "1s")
    assert r.returncode == 2 and "at one load" in r.stderr, r.stderr
    r = l.lynx("decide", "fleet")
    assert r.returncode == 2 and "found no run" in r.stderr, r.stderr


if __name__ == "__main__":
    l.main(__file__)
