"""Two start commands that differ in many facts: what carries the difference is found, and nothing else is said."""

import json
import os
import signal
import subprocess
import time

import pytest

import lynx as l
import machine

BASE = {"--mode": "metronome", "--gap": "5ms", "--first-token": "20ms"}


def contract(path, port, arguments, environment=(), **more):
    words = [l.REF, "--port", str(port)] + [w for pair in {**BASE, **arguments}.items() for w in pair]
    start = {"command": words, "environment": list(environment)}
    fields = {
        "executor": json.dumps({"endpoint": f"http://127.0.0.1:{port}", "start": start}),
        "workload": "{model: reference, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
        "regime": "{load: closed, concurrency: 4}",
        "method": "{warm_up: 500ms, counted: 1s, drain: 2s, steady: reported, instrument_error_at_most: 1}",
        **more,
    }
    with open(path, "w") as f:
        f.write("lynxbench: 1\nname: swap\n" + "".join(f"{k}: {v}\n" for k, v in fields.items()))
    return str(path)


def pair(folder, a, b, a_environment=(), b_environment=(), **more):
    port = l.free_port()
    folder.mkdir(exist_ok=True)
    one = contract(folder / "a.yaml", port, a, a_environment, **more)
    return one, contract(folder / "b.yaml", port, b, b_environment, **more)


def bisect(a, b, *more):
    return l.lynx("bisect", a, b, "--for", "2min", "--session", "1s", "--quiet", "--json", *more)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two facts that act only together, among others. Both are the server's own schedule: no machine is in it."""
    folder = tmp_path_factory.mktemp("bisect")
    a, b = pair(
        folder / "c",
        {"--seed": "1"},
        {"--seed": "2", "--change-after": "3", "--change-percent": "200"},
        ["LANG=C", "MY_TOKEN=abcdef"],
        ["LANG=C.UTF-8", "MY_TOKEN=ghijkl", "OMP_NUM_THREADS=2"],
    )

    def run(k):
        out = str(folder / f"x{k}.lynx")
        return bisect(a, b, "--out", out), out

    return machine.beside_nothing(run)


@pytest.mark.long
@pytest.mark.quiet
def test_what_acts_only_together_is_found(found):
    r, _ = found
    x = json.loads(r.stdout)
    assert r.returncode == 0, (r.stdout, r.stderr)
    assert (x["verdict"], x["rung"], x["decided"], x["facts"]) == ("found", "factorial", True, 6), x
    assert {f["name"] for p in x["parts"] for f in p["facts"]} == {"--change-after", "--change-percent"}, x
    assert x["rest_is_none"] and x["minimal"] and x["told_apart"], x
    assert x["interactions"][0]["effect"]["high"] < -0.3, x  # twice as long: almost ln 2 together, nothing alone
    assert x["b"] < 0.7 * x["a"], x
    assert x["sessions"] < 64, x


@pytest.mark.long
@pytest.mark.quiet
def test_the_bundle_says_it_again_and_supports_no_claim(found):
    r, out = found
    again = l.lynx("bisect", out, "--json")
    assert again.stdout == r.stdout and again.returncode == r.returncode
    text = l.lynx("bisect", out)
    assert text.returncode == r.returncode and "--change-after" in text.stdout, text.stdout
    assert "abcdef" not in text.stdout + r.stderr and "ghijkl" not in text.stdout + r.stderr
    with open(out, "rb") as f:
        plan = f.read()
    assert b"(hidden)" in plan
    claim = l.lynx("show", "--claim", out)
    assert claim.returncode != 0 and "perturbed" in claim.stdout + claim.stderr, (claim.stdout, claim.stderr)
    audit = l.lynx("audit", out)
    assert audit.returncode == 1 and "a perturbed run" in audit.stdout, audit.stdout
    other = l.lynx("perturb", out)
    assert other.returncode == 2 and "lynxbench bisect" in other.stderr, other.stderr


@pytest.mark.long
@pytest.mark.quiet
def test_facts_that_change_nothing(tmp_path):
    a, b = pair(tmp_path / "c", {"--seed": "1"}, {"--seed": "2"}, ["LANG=C"], ["LANG=C.UTF-8", "OMP_NUM_THREADS=2"])
    r = machine.beside_nothing(lambda k: bisect(a, b, "--out", str(tmp_path / f"x{k}.lynx"), "--least", "0.2"))
    x = json.loads(r.stdout)
    assert (r.returncode, x["verdict"]) == (1, "none"), (r.stdout, r.stderr)


def test_an_executor_that_does_not_start(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--nonsense": "1", "--seed": "2"})
    r = l.lynx("bisect", a, b, "--session", "1s", "--quiet", "--out", str(tmp_path / "x.lynx"))
    assert r.returncode == 5 and "B does not run" in r.stdout, (r.stdout, r.stderr)


def test_an_executor_that_answers_only_errors(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--fault": "500", "--seed": "2"})
    r = l.lynx("bisect", a, b, "--session", "1s", "--quiet", "--out", str(tmp_path / "x.lynx"))
    assert r.returncode == 5 and "B does not run" in r.stdout and "no request was answered" in r.stdout, r.stdout


@pytest.mark.long
def test_a_mixture_that_does_not_start(tmp_path):
    """One variable is slow, and is refused without another."""
    folder = tmp_path / "c"
    folder.mkdir()
    script = tmp_path / "serve.sh"
    script.write_text(
        '#!/bin/sh\n[ -z "$TWO" ] || [ -n "$ONE" ] || exit 3\n' '[ -z "$TWO" ] || set -- "$@" --gap 12ms\nexec "$@"\n'
    )
    script.chmod(0o755)
    port = l.free_port()
    for name, environment in (("a", ["THREE=1"]), ("b", ["TWO=1", "ONE=1", "THREE=2"])):
        path = contract(folder / f"{name}.yaml", port, {}, environment)
        text = open(path).read().replace(json.dumps(l.REF), f'"{script}", {json.dumps(l.REF)}')
        open(path, "w").write(text)
    out = str(tmp_path / "x.lynx")
    r = bisect(folder / "a.yaml", folder / "b.yaml", "--out", out)
    x = json.loads(r.stdout)
    names = {f["name"] for p in x["parts"] for f in p["facts"]}
    assert x["verdict"] == "found" and "TWO" in names and "THREE" not in names, (r.stdout, r.stderr)


def test_interrupted_it_says_what_is_known(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--seed": "2"}, [], ["LANG=C"])
    out = str(tmp_path / "x.lynx")
    p = subprocess.Popen(
        [l.LYNX, "bisect", a, b, "--session", "1s", "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in p.stderr:
        if line.startswith("round 2"):
            break
    p.send_signal(signal.SIGINT)
    rest = p.communicate(timeout=60)
    assert p.returncode == 130 and "inconclusive" in rest[0], rest
    r = l.lynx("bisect", out)
    assert r.returncode == 3 and "inconclusive" in r.stdout, (r.stdout, r.stderr)


def test_killed_its_bundle_is_incomplete(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--seed": "2"}, [], ["LANG=C"])
    out = str(tmp_path / "x.lynx")
    p = subprocess.Popen([l.LYNX, "bisect", a, b, "--session", "1s", "--out", out], stderr=subprocess.PIPE, text=True)
    for line in p.stderr:
        if line.startswith("round 2"):
            break
    p.kill()
    p.wait()
    p.stderr.close()
    time.sleep(0.2)
    assert l.lynx("recover", out).returncode in (0, 2)
    r = l.lynx("bisect", out)
    assert r.returncode in (2, 3), (r.stdout, r.stderr)


def wrong(*words, says):
    r = l.lynx("bisect", *words)
    assert r.returncode == 2 and says in r.stderr, (words, r.stderr)


@pytest.mark.long
@pytest.mark.quiet
def test_one_fact_of_three(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--gap": "12ms", "--seed": "2"}, [], ["LANG=C"])
    r = machine.beside_nothing(lambda k: bisect(a, b, "--out", str(tmp_path / f"x{k}.lynx"), "--least", "0.2"))
    x = json.loads(r.stdout)
    assert (r.returncode, x["verdict"], x["rung"]) == (0, "found", "swapped back"), (x, r.stderr)
    assert [f["name"] for p in x["parts"] for f in p["facts"]] == ["--gap"], x


def test_wrong_input(tmp_path):
    a, b = pair(tmp_path / "c", {}, {"--seed": "2"})
    wrong(a, a, says="start the same command")
    wrong(a, b, "--for", "1s", says="--for: found '1s'")
    wrong(a, b, "--session", "soon", says="--session: found 'soon'")
    wrong(a, b, "--least", "5", says="--least: found '5'")
    wrong(a, tmp_path / "nothing.yaml", says="nothing.yaml")
    wrong(os.path.join(l.SOURCE, "tests/recorded/bundles/small.lynx"), b, says="found a bundle")
    wrong(os.path.join(l.SOURCE, "tests/recorded/bundles/small.lynx"), says="it is no bisection")
    wrong(a, says="a.yaml")
    other = contract(tmp_path / "other.yaml", l.free_port(), {"--seed": "3"})
    wrong(a, other, says="executor: differs")
    load = contract(tmp_path / "load.yaml", 1, {"--seed": "3"}, regime="{load: closed, concurrency: 8}")
    same = contract(tmp_path / "same.yaml", 1, {"--seed": "4"})
    wrong(same, load, says="regime: differs")
    climbs = [contract(tmp_path / f"{n}.yaml", 1, {"--seed": n}, regime="{load: climb}") for n in "12"]
    wrong(*climbs, says="climb")
    bare = tmp_path / "bare.yaml"
    bare.write_text(open(same).read().replace('"start": {', '"declare": {"driver.x": "y"}, "startless": {'))
    assert l.lynx("bisect", same, bare).returncode == 2
    running = tmp_path / "running.yaml"
    l.contract(running, 1)
    wrong(running, same, says="executor.start: missing")


if __name__ == "__main__":
    l.main(__file__)
