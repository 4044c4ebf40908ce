"""Runs followed over time: the server's schedule changes once, and history says when, by how much, and what with it."""

import base64
import csv
import io
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest
import yaml

import lynx as l

BEFORE, AFTER = 6, 5
NEAR = (BEFORE - 1, BEFORE, BEFORE + 1)


def server(folder, gap):
    return l.reference(
        "--mode", "metronome", "--gap", gap, "--first-token", "20ms", port=int((folder / "port").read_text())
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Eleven runs of one contract; the server's gap is 5 ms, then 6 ms: 16 tokens take 95 ms, then 110 ms."""
    folder = tmp_path_factory.mktemp("history")
    (folder / "runs").mkdir()
    port = l.free_port()
    path = folder / "c.yaml"
    lax = "steady: reported, instrument_error_at_most: 1, stolen_at_most: 1"
    l.contract(
        str(path),
        port,
        name="nightly",
        executor=f'{{endpoint: "http://127.0.0.1:{port}"}}',
        workload="{model: reference, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
        regime="{load: closed, concurrency: 4}",
        method="{warm_up: 200ms, counted: 800ms, drain: 1s, sessions: 2, " + lax + "}",
    )
    (folder / "port").write_text(str(port))
    n = 0
    for gap, many in (("5ms", BEFORE), ("6ms", AFTER)):
        with server(folder, gap):
            for _ in range(many):
                r = l.lynx("run", path, "--out", folder / "runs" / f"r{n:02}.lynx", "--quiet")
                assert r.returncode == 0, r.stderr
                n += 1
    return folder


def history(*args, **kw):
    return l.lynx("history", *args, "--quiet", **kw)


def the_event(r):
    assert r.returncode == 0, r.stderr
    all_events = json.loads(r.stdout)["events"]  # a busy machine may move a tail by itself
    events = [e for e in all_events if any(c["figure"] == "end to end, p50" for c in e["changes"])]
    assert len(events) == 1, all_events
    return events[0]


def check_event(e):
    sizes = {c["figure"]: c for c in e["changes"]}
    assert 1.14 < sizes["end to end, p50"]["size"] < 1.18 and sizes["end to end, p50"]["worse"], sizes
    assert (e["with_it"], e["rung"], e["contract"]) == ("facts changed", "coincided", "nightly"), e
    facts = [(f["layer"], f["owner"], f["key"], f["before"], f["after"]) for f in e["facts"]]
    assert facts == [("serving", "ML platform", "process.argument.--gap", "5ms", "6ms")], facts
    assert e["provisional"]


def test_a_folder_of_bundles(runs):
    page = runs / "x.html"
    r = history(runs / "runs", "--json", "--html", page)
    e = the_event(r)
    check_event(e)
    before, after = (int(re.search(r"r(\d+)\.lynx$", e[side]["run"])[1]) for side in ("before", "after"))
    assert after == before + 1 and after in NEAR, e
    text = history(runs / "runs").stdout
    assert re.match(r"\d changes? in 7 series", text) and ", worse" in text.splitlines()[0], text
    assert "process.argument.--gap: 5ms -> 6ms" in text and "next: lynxbench diff" in text, text
    words = page.read_text()
    assert words.count("<svg") >= 5 and "process.argument.--gap" in words and "<script" not in words


def test_values_and_filters(runs):
    rows = list(csv.DictReader(io.StringIO(history(runs / "runs", "--csv", "--figure", "throughput").stdout)))
    assert {r["figure"] for r in rows} == {"output throughput", "request throughput"}
    values = [float(r["value"]) for r in rows if r["figure"] == "output throughput"]
    assert len(values) == BEFORE + AFTER and min(values[:BEFORE]) > max(values[BEFORE:]), values
    at = [r["change"] for r in rows if r["figure"] == "output throughput"].index("1")
    assert at in NEAR, f"a busy machine may move it by a run: {values}"
    assert history(runs / "runs", "--contract", "another").returncode == 3
    few = history(runs / "runs" / "r00.lynx", runs / "runs" / "r01.lynx")
    assert few.returncode == 3 and "no figure has 8 values" in few.stdout, few.stdout


def test_what_is_left_out_and_what_cannot_be_read(runs, tmp_path):
    for name in os.listdir(runs / "runs"):
        shutil.copy(runs / "runs" / name, tmp_path)
    l.forge(str(tmp_path / "r00.lynx"), str(tmp_path / "forged.lynx"), "UPDATE request SET end_ns = 1 WHERE id = 0")
    (tmp_path / "broken.lynx").write_bytes((tmp_path / "r01.lynx").read_bytes()[:5000])
    r = history(tmp_path, "--json")
    assert r.returncode == 2 and "1 run could not be read" in r.stderr, r.stderr
    left = [x for x in json.loads(r.stdout)["runs"] if "left_out" in x]
    assert [os.path.basename(x["run"]) for x in left] == ["forged.lynx"], left
    assert "no run can have written" in left[0]["left_out"], left


@pytest.fixture(scope="module")
def ledger(runs):
    env = {"HOME": str(runs), "XDG_STATE_HOME": str(runs / "state"), "LYNXBENCH_KEY": str(runs / "ml.key")}
    path = runs / "team.ledger"
    assert l.lynx("ledger", "key", "ml", "--out", runs, env=env).returncode == 0
    assert l.lynx("ledger", "create", path, env=env).returncode == 0
    for name in sorted(os.listdir(runs / "runs")):
        r = l.lynx("ledger", "put", path, runs / "runs" / name, env=env)
        assert r.returncode == 0, r.stderr
    return path, env


def test_a_ledger(runs, ledger, tmp_path):
    path, env = ledger
    e = the_event(history(path, "--json", env=env))
    check_event(e)
    assert e["before"]["run"].startswith("#"), e
    text = history(env=dict(env, LYNXBENCH_LEDGER=path)).stdout
    pasted = text[text.index("1 fact changed") :].split("next: ")[1].splitlines()[0]
    kw = {"env": l.environment(**env, PATH=f"{l.BUILD}:{os.environ['PATH']}"), "cwd": tmp_path}
    r = subprocess.run(["bash", "-c", pasted], capture_output=True, text=True, **kw)
    assert r.returncode == 1 and "process.argument.--gap" in r.stdout, (pasted, r.stdout, r.stderr)
    twice = json.loads(history(path, path, "--json", env=env).stdout)
    assert len(twice["runs"]) == BEFORE + AFTER, "a bundle that lies in two sources is one run"
    shutil.copy(path, runs / "copy.ledger")
    two = history(path, runs / "copy.ledger", env=env)
    assert two.returncode == 2 and "two ledgers" in two.stderr, two.stderr
    audit = l.lynx("audit", runs / "runs" / "r03.lynx", "--ledger", path, env=env).stdout
    assert "the entry's figures, which `history` reads, are the bundle's" in audit, audit


@pytest.fixture
def forged(runs, ledger, tmp_path):
    """A ledger with one entry, of the first run, whose statement was altered and signed again by its own team."""
    path, env = ledger

    def forge(alter):
        own = tmp_path / "own.ledger"
        assert l.lynx("ledger", "create", own, "--origin", "team.ledger", env=env).returncode == 0
        listed = [json.loads(x) for x in l.lynx("ledger", "list", path, "--json", env=env).stdout.splitlines()]
        first = next(str(x["index"]) for x in listed if x["kind"] == "bundle")
        raw = json.loads(l.lynx("ledger", "entry", path, first, "--raw", env=env).stdout)
        statement = json.loads(base64.b64decode(raw["payload"]))
        alter(statement["predicate"])
        payload = json.dumps(statement, separators=(",", ":")).encode()
        kind = raw["payloadType"].encode()
        (tmp_path / "signed").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
        command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", env["LYNXBENCH_KEY"], "-in"]
        r = subprocess.run([*command, str(tmp_path / "signed")], capture_output=True, check=True)
        raw["signatures"][0]["sig"] = base64.b64encode(r.stdout).decode()
        raw["payload"] = base64.b64encode(payload).decode()
        (tmp_path / "entry.json").write_text(json.dumps(raw, separators=(",", ":")))
        r = l.lynx("ledger", "add", own, tmp_path / "entry.json", env=env)
        assert r.returncode == 0, r.stderr
        return own, env

    return forge


def test_an_entry_whose_figures_are_not_the_bundles(runs, forged):
    """A team that signs other figures than its bundle has is found out."""

    def double(predicate):
        predicate["summary"]["precisions"][0]["figures"][0].update(value=1234, low=1200, high=1300)

    own, env = forged(double)
    audit = l.lynx("audit", runs / "runs" / "r00.lynx", "--ledger", own, env=env)
    assert audit.returncode == 1 and "are not the bundle's" in audit.stdout, audit.stdout


def test_figures_of_another_analysis_are_not_followed(forged):
    own, env = forged(lambda predicate: predicate["summary"].update(analysis=99))
    r = history(own, env=env)
    assert "1 run could not be read" in r.stderr and "(0 runs" in r.stdout, (r.stdout, r.stderr)


def test_an_interval_that_does_not_hold_its_value_is_refused(forged):
    def beside(predicate):
        predicate["summary"]["precisions"][0]["figures"][0].update(low=1e9, high=2e9)

    own, env = forged(beside)
    assert "1 run could not be read" in history(own, env=env).stderr


def test_names_do_not_reach_the_terminal_raw(forged, runs, tmp_path):
    own, env = forged(lambda predicate: predicate.update(name="\x1b[31mr0\n1 change: all is well"))
    for words in (history(own, "--csv", env=env).stdout, history(own, env=env).stdout):
        assert "\x1b" not in words and "\n1 change: all" not in words, words
    shutil.copytree(runs / "runs", tmp_path / "my runs")
    os.rename(tmp_path / "my runs" / "r05.lynx", tmp_path / "my runs" / "r05\x1b[31m.lynx")
    text = history(tmp_path / "my runs").stdout
    assert "\x1b" not in text and f"'{tmp_path}/my runs/r06.lynx'" in text, text


def test_a_page_takes_the_place_of_no_record(runs, ledger):
    path, env = ledger
    before = path.read_bytes()
    for args in ((), (runs / "runs",)):
        to = path if not args else runs / "runs" / "r00.lynx"
        r = history(*args, "--html", to, env=dict(env, LYNXBENCH_LEDGER=path))
        assert r.returncode == 2 and "is a bundle or a ledger" in r.stderr, r.stderr
    assert path.read_bytes()[:100] == before[:100]
    r = gate(runs / "runs" / "r05.lynx", runs / "runs", "--junit", runs / "runs" / "r00.lynx")
    assert r.returncode == 2 and "is a bundle or a ledger" in r.stderr, r.stderr


def test_one_source_does_not_hide_another(tmp_path):
    rows = "run,v\n" + "".join(f"r{i},{100 + i % 3 + (50 if i >= 20 else 0)}\n" for i in range(40))
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(rows)
    r = history(tmp_path / "missing.csv", tmp_path / "a.csv", tmp_path / "b.csv", "--json")
    assert r.returncode == 2 and "no such file" in r.stderr, r.stderr
    x = json.loads(r.stdout)
    assert len(x["series"]) == 2 and len(x["events"]) == 2, "two tables are two series"
    r = l.lynx("history", "/dev/stdin", "--json", input=rows)
    assert len(json.loads(r.stdout)["runs"]) == 40, "nothing of a pipe is taken away by looking at it"


# --- the gate ---


@pytest.fixture(scope="module")
def baseline(runs):
    """The runs of before alone."""
    folder = runs / "baseline"
    folder.mkdir()
    for i in range(BEFORE):
        shutil.copy(runs / "runs" / f"r{i:02}.lynx", folder)
    return folder


def gate(*args, **kw):
    return l.lynx("gate", *args, "--quiet", **kw)


def test_the_contract_says_how_long_its_baseline_is(tmp_path):
    l.contract(
        str(tmp_path / "c.yaml"),
        1,
        executor="{}",
        workload='{driver: "null", model: none, output_tokens: 4, prompts: {count: 4, bytes: 16}}',
        regime="{load: constant, rate_per_s: 100}",
        method="{warm_up: 50ms, counted: 200ms, drain: 1s, sessions: 2, steady: reported, instrument_error_at_most: 1}",
        decision="{baseline_runs: 3}",
    )
    for i in range(6):
        r = l.lynx("run", tmp_path / "c.yaml", "--out", tmp_path / f"r{i}.lynx", "--quiet")
        assert r.returncode == 0, r.stderr
    for more, n in (((), 3), (("--last", "4"), 4)):
        r = gate(tmp_path / "r5.lynx", tmp_path, "--json", *more)
        figures = json.loads(r.stdout)["precisions"][0]["figures"]
        assert {f["baseline_runs"] for f in figures} == {n}, (r.stdout, r.stderr)


def of_schema(junit):
    schema = f"{l.SOURCE}/tests/recorded/junit/JUnit.xsd"
    r = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", schema, junit], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


def test_a_gate_fails_and_names_layers_and_owners(runs, baseline, tmp_path):
    junit, markdown = tmp_path / "j.xml", tmp_path / "m.md"
    r = gate(runs / "runs" / "r08.lynx", baseline, "--junit", junit, "--markdown", markdown, "--github")
    assert r.returncode == 1, (r.stdout, r.stderr)
    assert re.match(r"fails: nightly, as-served: output throughput -1\d\.\d % \[", r.stdout), r.stdout
    assert "serving (ML platform)" in r.stdout and "process.argument.--gap: 5ms -> 6ms" in r.stdout, r.stdout
    assert [x for x in r.stdout.splitlines() if x.startswith("::error title=lynxbench gate::nightly")], r.stdout
    root = xml.etree.ElementTree.parse(junit).getroot()
    suite = root.find("testsuite")
    of_schema(junit)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    case = suite.find("testcase")
    assert case.get("name") == "output throughput" and "ML platform" in case.find("failure").get("message")
    assert "| output throughput |" in markdown.read_text()


def test_a_gate_passes_what_did_not_change(runs, baseline):
    r = gate(runs / "runs" / "r05.lynx", baseline, "--json")
    x = json.loads(r.stdout)
    assert (r.returncode, x["verdict"]) == (0, "passes"), x
    figure = x["precisions"][0]["figures"][0]
    assert figure["baseline_runs"] == BEFORE - 1, "a run is no part of its own baseline"
    assert figure["at_most"] < x["margin"] and x["precisions"][0]["with_it"] == "nothing captured changed"


def test_what_was_not_mended_does_not_become_the_baseline(runs):
    r = gate(runs / "runs" / f"r{BEFORE + AFTER - 1:02}.lynx", runs / "runs", "--json")
    x = json.loads(r.stdout)
    assert (r.returncode, x["verdict"]) == (1, "fails"), x
    # Of the runs before: on a busy machine one of them may be at another level. None of those after.
    assert 3 <= x["precisions"][0]["figures"][0]["baseline_runs"] <= max(NEAR), x


def test_a_gate_says_which_runs_are_no_baseline(tmp_path):
    """Bundles lie there, and none counts: what is wrong with them, before minutes of load."""
    nothing = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'
    method = "{warm_up: 100ms, counted: 200ms, drain: 1s, sessions: 1, steady: reported}"
    fields = {"executor": "{}", "workload": nothing, "method": method}
    (tmp_path / "base").mkdir()
    for k, name in enumerate(("a", "a", "a", "b")):
        path = l.contract(f"{tmp_path}/{name}.yaml", 1, name=name, **fields)
        r = l.lynx("run", path, "--out", f"{tmp_path}/base/{k}.lynx", "--quiet")
        assert os.path.exists(f"{tmp_path}/base/{k}.lynx"), r.stderr
    r = gate(f"{tmp_path}/a.yaml", tmp_path / "base", "--out", f"{tmp_path}/new.lynx", "--quiet")
    assert r.returncode in (3, 4), r.stdout
    assert "the baseline has 0 runs of this contract, and 3 are needed" in r.stderr, r.stderr
    assert "3 more do not count, since no claim can be made of them: " in r.stderr, r.stderr
    assert "1 there is of another contract" in r.stderr, r.stderr


def test_a_gate_that_measured_nothing_never_passes(runs, baseline, tmp_path):
    few = gate(runs / "runs" / "r05.lynx", baseline / "r00.lynx", baseline / "r01.lynx")
    assert few.returncode == 3 and "the baseline has 2 runs of it; 3 are needed" in few.stdout, few.stdout
    none = gate(runs / "runs" / "r05.lynx", tmp_path, "--junit", tmp_path / "j.xml")
    of_schema(tmp_path / "j.xml")
    assert none.returncode == 3 and "there is no baseline" in none.stdout, none.stdout
    assert xml.etree.ElementTree.parse(tmp_path / "j.xml").getroot().find("testsuite").get("errors") == "1"
    nothing = gate(runs / "runs" / "r05.lynx", baseline, "--figure", "no such figure")
    assert nothing.returncode == 3 and "no figure was compared" in nothing.stdout, nothing.stdout
    down = gate(runs / "c.yaml", baseline, "--out", tmp_path / "down.lynx")
    assert down.returncode == 5 and "nothing was gated" in down.stderr, down.stderr
    for flag, value in (("--margin", "0"), ("--false-alarms", "x"), ("--last", "2"), ("--runs", "0")):
        assert gate(runs / "runs" / "r05.lynx", baseline, flag, value).returncode == 2


def test_a_gate_runs_the_contract(runs, baseline, tmp_path):
    with server(runs, "5ms"):
        r = gate(runs / "c.yaml", baseline, "--runs", "2", "--out", tmp_path / "fresh.lynx", "--json")
    x = json.loads(r.stdout)
    assert (r.returncode, x["verdict"]) == (0, "passes"), (x, r.stderr)
    assert sorted(os.listdir(tmp_path)) == ["fresh-1.lynx", "fresh-2.lynx"]


def test_a_ledger_is_a_baseline(runs, ledger):
    path, env = ledger
    r = gate(runs / "runs" / "r08.lynx", path, env=env)
    assert r.returncode == 1 and "serving (ML platform)" in r.stdout, (r.stdout, r.stderr)


def test_what_can_be_known_before_is_said_before(runs, baseline, tmp_path):
    (tmp_path / "there.lynx").write_bytes(b"")
    for words in (("--out", tmp_path / "there.lynx"), ("--junit", "/dev/null"), ("--github", "--json")):
        r = gate(runs / "c.yaml", baseline, *words, cwd=tmp_path)
        assert r.returncode == 2 and "starting" not in r.stderr, (words, r.stderr)
    r = gate(runs / "c.yaml", tmp_path / "nowhere", cwd=tmp_path)
    assert r.returncode == 2 and "no such file" in r.stderr and "starting" not in r.stderr, r.stderr
    assert gate(runs / "runs" / "r05.lynx", baseline, "--runs", "2").returncode == 2


def test_a_server_that_answers_nothing_is_no_inconclusive_verdict(runs, baseline, tmp_path):
    port = int((runs / "port").read_text())
    with l.reference("--mode", "metronome", "--fault", "500", port=port):
        r = gate(runs / "c.yaml", baseline, "--out", tmp_path / "x.lynx")
    assert r.returncode == 5 and "nothing was gated" in r.stderr, (r.returncode, r.stderr)


def test_every_latency_that_the_contract_limits_is_gated(runs, tmp_path):
    """The first token takes twice as long, and all else is as it was."""
    port = int((runs / "port").read_text())
    path = tmp_path / "c.yaml"
    limits = "[{metric: time_to_first_token, quantile: 0.5, at_most: 500ms},"
    limits += " {metric: end_to_end, quantile: 0.8, at_most: 1s}]"
    words = (runs / "c.yaml").read_text() + f"slo: {limits}\n"
    path.write_text(words.replace("name: nightly", "name: limited"))
    (tmp_path / "base").mkdir()
    for i, (first, gap) in enumerate((("20ms", "5ms"),) * 3 + (("40ms", "3667us"),)):
        with l.reference("--mode", "metronome", "--gap", gap, "--first-token", first, port=port):
            to = tmp_path / (f"base/{i}.lynx" if i < 3 else "fresh.lynx")
            assert l.lynx("run", path, "--out", to, "--quiet").returncode == 0
    x = json.loads(gate(tmp_path / "fresh.lynx", tmp_path / "base", "--json").stdout)
    verdicts = {f["figure"]: f["verdict"] for f in x["precisions"][0]["figures"]}
    assert x["verdict"] == "fails" and verdicts["time to first token, p50"] == "fails", x
    other = [v for f, v in verdicts.items() if f.endswith(", p80")]
    assert other == ["inconclusive"], "what is limited and cannot be compared is said"


@pytest.mark.parametrize("gap, wanted", [("5ms", 0), ("6ms", 1)])
def test_the_github_action(runs, baseline, tmp_path, gap, wanted):
    """What the action's step runs, as a workflow's runner would."""
    with open(os.path.join(l.SOURCE, "integrations", "github", "action.yml")) as f:
        action = yaml.safe_load(f)
    step = action["runs"]["steps"][0]
    given = {"contract": str(runs / "c.yaml"), "baseline": str(baseline)}
    env = {k: v["default"] for k, v in action["inputs"].items() if "default" in v} | given
    env = {k: env[v.split("inputs.")[1].split()[0]] for k, v in step["env"].items()}
    env |= {"PATH": f"{l.BUILD}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    with server(runs, gap):
        kw = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
        r = subprocess.run(["bash", "-c", step["run"]], env=env, **kw)
    assert r.returncode == wanted, (r.stdout, r.stderr)
    assert "### lynxbench gate: " + ("passes" if wanted == 0 else "fails") in (tmp_path / "summary").read_text()
    assert ("::error" in r.stdout) == (wanted == 1), r.stdout
    assert (tmp_path / "gate.lynx").exists() and (tmp_path / "gate.xml").exists()


def test_the_gitlab_template():
    with open(os.path.join(l.SOURCE, "integrations", "gitlab", "lynxbench-gate.yml")) as f:
        job = yaml.safe_load(f)[".lynxbench-gate"]
    words = job["script"][-1].split()
    known = l.lynx("gate", "--help").stdout
    assert words[:2] == ["lynxbench", "gate"] and all(w in known for w in words if w.startswith("--")), words
    assert job["artifacts"]["reports"]["junit"] in words


if __name__ == "__main__":
    l.main(__file__)
