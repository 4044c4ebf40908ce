"""A factorial experiment on a server whose schedule is known: effects, interactions, what a fraction mixes."""

import json
import re
import signal
import subprocess

import pytest

import lynx as l
import machine
from test_bisect import contract, pair

pytestmark = pytest.mark.long

METHOD = "{warm_up: 200ms, counted: 1s, drain: 2s, steady: reported, instrument_error_at_most: 1}"


def experiment(a, b, out, *more):
    words = ["--session", "1s", "--rounds", "2", "--quiet", "--json", "--out", str(out)]
    return l.lynx("experiment", a, b, *words, *more)


def effects(x):
    return {tuple(e["of"][0].values()): e for e in x["effects"]}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Two facts that act only together: 8 mixtures of three facts."""
    folder = tmp_path_factory.mktemp("experiment")
    more = {"--change-after": "3", "--change-percent": "200", "--seed": "2"}
    a, b = pair(folder / "c", {}, more, method=METHOD)
    out = folder / "x.lynx"
    page = folder / "x.html"
    return experiment(a, b, out, "--runs", "8", "--html", page), str(out), page.read_text()


def test_an_interaction_and_what_one_at_a_time_would_say(ran):
    r, out, page = ran
    x = json.loads(r.stdout)
    assert r.returncode == 0 and x["resolution"] == 0 and x["rounds"] == 2, (x, r.stderr)
    e = effects(x)
    both = e[("--change-after", "--change-percent")]
    assert both["established"] and both["high"] < -0.3, both
    assert e[("--change-after",)]["established"] and not e[("--seed",)]["established"], e
    assert len(x["mixtures"]) == 8 and x["mixtures"][0]["mixture"] == "A"
    text = l.lynx("experiment", out).stdout
    assert "one fact at a time, from A, would have shown" in text, text
    assert "--change-after x --change-percent" in text.splitlines()[0], text
    assert "<svg" in page and "--change-after x --change-percent" in page


def test_the_bundle_says_it_again(ran):
    r, out, _ = ran
    again = l.lynx("experiment", out, "--json")
    assert again.stdout == r.stdout and again.returncode == r.returncode
    assert l.lynx("bisect", out).returncode == 2
    other = l.lynx("perturb", out)
    assert other.returncode == 2 and "lynxbench experiment" in other.stderr, other.stderr
    assert l.lynx("show", "--claim", out).returncode != 0


def stopped(tool, a, b, out, until, *more):
    """Interrupted where that line comes."""
    words = [l.LYNX, tool, a, b, "--session", "1s", "--out", str(out), *more]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        for line in p.stderr:
            if line.startswith(until):
                break
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
        assert p.returncode == 130, p.returncode
    return out


def sessions(bundle):
    columns = "id, number, seed, start_realtime_ns, schedule_digest"
    return l.rows(bundle, f"SELECT {columns} FROM session WHERE status = 'complete' ORDER BY id")


@pytest.mark.parametrize("tool, more", [("experiment", ["--rounds", "2"]), ("bisect", [])])
def test_interrupted_it_goes_on(tmp_path, tool, more):
    """What was measured stands in the new bundle, is not measured again, and counts in the answer."""
    a, b = pair(tmp_path / "c", {}, {"--gap": "12ms", "--seed": "2"}, method=METHOD)
    first = stopped(tool, a, b, tmp_path / "first.lynx", "round 2", *more)
    kept, out = sessions(first), tmp_path / "whole.lynx"
    r = l.lynx(tool, a, b, "--resume", first, "--out", out, "--json", *more)
    x, whole = json.loads(r.stdout), sessions(out)
    assert len(kept) >= 2 and whole[: len(kept)] == kept and len(whole) > len(kept), (kept, whole, r.stderr)
    assert [s[0] for s in whole] == list(range(len(whole))), whole
    if tool == "experiment":
        assert x["rounds"] == 2 and len(whole) == 8, (x, whole)
    else:
        assert r.returncode == 0, (r.stdout, r.stderr)
        assert [f["name"] for p in x["parts"] for f in p["facts"]] == ["--gap"], x
    assert l.lynx(tool, out, "--json").stdout == r.stdout
    audit = l.lynx("audit", out)
    assert audit.returncode in (0, 1) and not re.search("impossible|FAILED rows", audit.stdout), audit.stdout
    assert "IMPOSSIBLE" not in l.lynx("show", out).stdout
    events = l.rows(out, "SELECT text FROM event WHERE kind = 'resumed'")
    assert len(events) == 1 and f"the first {len(kept)} sessions" in events[0][0], events
    for words, says in (
        ([b, a, "--resume", first], "its contract is not A's"),
        ([a, b, "--resume", first, "--session", "2s"], "--session"),
        ([a, b, "--resume", tmp_path / "none.lynx"], "none.lynx"),
    ):
        r = l.lynx(tool, *words, "--out", tmp_path / "no.lynx")
        assert r.returncode == 2 and says in r.stderr and not (tmp_path / "no.lynx").exists(), r.stderr


@pytest.mark.long
def test_a_fraction_says_what_it_mixes(tmp_path):
    b_arguments = {"--gap": "8ms", "--seed": "2"}
    a, b = pair(tmp_path / "c", {}, b_arguments, ["LANG=C"], ["LANG=C.UTF-8", "OMP_NUM_THREADS=2"], method=METHOD)
    r = experiment(a, b, tmp_path / "x.lynx", "--runs", "8")
    x = json.loads(r.stdout)
    assert (x["runs"], x["resolution"], len(x["mixtures"])) == (8, 4, 8), x
    assert [len(e["of"]) for e in x["effects"]] == [1, 1, 1, 1, 2, 2, 2], x
    text = l.lynx("experiment", tmp_path / "x.lynx").stdout
    assert "a 1/2 fraction of resolution IV" in text and "(or " in text, text


def test_a_mixture_that_does_not_run(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--nonsense": "1", "--seed": "2"}, method=METHOD)
    r = experiment(a, b, tmp_path / "x.lynx")
    assert r.returncode == 5 and json.loads(r.stdout)["failed"], (r.stdout, r.stderr)
    assert "did not run" in l.lynx("experiment", tmp_path / "x.lynx").stdout


def wrong(*words, says):
    r = l.lynx("experiment", *words)
    assert r.returncode == 2 and says in r.stderr, (words, r.stderr)


def test_wrong_input(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--seed": "2", "--gap": "6ms"})
    one = contract(tmp_path / "one.yaml", 1, {"--seed": "2"})
    base = contract(tmp_path / "base.yaml", 1, {})
    wrong(base, one, says="in 1 fact; accepted: 2 to 16")
    many = contract(tmp_path / "many.yaml", 1, {}, [f"V{i}={i}" for i in range(17)])
    wrong(base, many, says="in 17 facts; accepted: 2 to 16")
    wrong(a, b, "--runs", "5", says="--runs: found 5")
    wrong(a, b, "--runs", "x", says="--runs: found 'x'")
    wrong(a, b, "--rounds", "0", says="--rounds: found '0'")
    wrong(a, b, "--for", "no", says="--for: found 'no'")
    wrong(a, says="a.yaml")


if __name__ == "__main__":
    l.main(__file__)
