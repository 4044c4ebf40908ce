"""Runs followed over time: the server's schedule changes once, and history says when, by how much, and what with it."""

import base64
import csv
import io
import json
import os
import shutil
import subprocess

import pytest

import lynx as l

BEFORE, AFTER = 6, 5


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
        method="{warm_up: 200ms, counted: 600ms, drain: 1s, sessions: 2, " + lax + "}",
    )
    n = 0
    for gap, many in (("5ms", BEFORE), ("6ms", AFTER)):
        with l.reference("--mode", "metronome", "--gap", gap, "--first-token", "20ms", port=port):
            for _ in range(many):
                r = l.lynx("run", path, "--out", folder / "runs" / f"r{n:02}.lynx", "--quiet")
                assert r.returncode == 0, r.stderr
                n += 1
    return folder


def history(*args, **kw):
    return l.lynx("history", *args, "--quiet", **kw)


def the_event(r):
    assert r.returncode == 0, r.stderr
    events = [e for e in json.loads(r.stdout)["events"] if not all(c["small"] for c in e["changes"])]
    assert len(events) == 1, events
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
    assert e["before"]["run"].endswith(f"r{BEFORE - 1:02}.lynx") and e["after"]["run"].endswith(f"r{BEFORE:02}.lynx"), e
    text = history(runs / "runs").stdout
    assert text.splitlines()[0].startswith("1 change in "), text
    assert "process.argument.--gap: 5ms -> 6ms" in text and "next: lynxbench diff" in text, text
    words = page.read_text()
    assert words.count("<svg") >= 5 and "process.argument.--gap" in words and "<script" not in words


def test_values_and_filters(runs):
    rows = list(csv.DictReader(io.StringIO(history(runs / "runs", "--csv", "--figure", "throughput").stdout)))
    assert {r["figure"] for r in rows} == {"output throughput", "request throughput"}
    values = [float(r["value"]) for r in rows if r["figure"] == "output throughput"]
    assert len(values) == BEFORE + AFTER and min(values[:BEFORE]) > max(values[BEFORE:]), values
    assert [r["change"] for r in rows if r["figure"] == "output throughput"].index("1") == BEFORE
    assert history(runs / "runs", "--contract", "another").returncode == 3
    few = history(runs / "runs" / "r00.lynx", runs / "runs" / "r01.lynx")
    assert few.returncode == 3 and "no figure has 8 values" in few.stdout, few.stdout


def test_what_is_left_out_and_what_cannot_be_read(runs, tmp_path):
    for name in os.listdir(runs / "runs"):
        shutil.copy(runs / "runs" / name, tmp_path)
    l.forge(str(tmp_path / "r00.lynx"), str(tmp_path / "forged.lynx"), "UPDATE request SET end_ns = 1 WHERE id = 0")
    (tmp_path / "broken.lynx").write_bytes((tmp_path / "r01.lynx").read_bytes()[:5000])
    r = history(tmp_path, "--json")
    assert r.returncode == 2 and "1 bundle could not be read" in r.stderr, r.stderr
    left = [x for x in json.loads(r.stdout)["runs"] if "left_out" in x]
    assert [os.path.basename(x["run"]) for x in left] == ["forged.lynx"], left
    assert "no run can have written" in left[0]["left_out"], left


@pytest.fixture(scope="module")
def ledger(runs):
    env = {"HOME": str(runs), "XDG_STATE_HOME": str(runs / "state"), "LYNXBENCH_KEY": str(runs / "ml.key")}
    path = runs / "team.ledger"
    assert l.lynx("key", "ml", "--out", runs, env=env).returncode == 0
    assert l.lynx("log", "create", path, env=env).returncode == 0
    for name in sorted(os.listdir(runs / "runs")):
        r = l.lynx("log", "put", path, runs / "runs" / name, env=env)
        assert r.returncode == 0, r.stderr
    return path, env


def test_a_ledger(runs, ledger):
    path, env = ledger
    e = the_event(history(path, "--json", env=env))
    check_event(e)
    assert e["before"]["run"].startswith("#"), e
    text = history(env=dict(env, LYNXBENCH_LEDGER=path)).stdout
    words = text[text.index("lynxbench log get LEDGER") :].split()
    assert l.lynx("log", "get", path, words[4], "--out", runs / "A.lynx", env=env).returncode == 0, text
    assert history(path, path, env=env).returncode == 2
    audit = l.lynx("audit", runs / "runs" / "r03.lynx", "--ledger", path, env=env).stdout
    assert "the entry's figures, which `history` reads, are the bundle's" in audit, audit


def test_an_entry_whose_figures_are_not_the_bundles(runs, ledger, tmp_path):
    """A team that signs other figures than its bundle has is found out."""
    path, env = ledger
    own = tmp_path / "own.ledger"
    assert l.lynx("log", "create", own, "--origin", "team.ledger", env=env).returncode == 0
    raw = json.loads(l.lynx("log", "entry", path, "1", "--raw", env=env).stdout)
    statement = json.loads(base64.b64decode(raw["payload"]))
    statement["predicate"]["summary"]["precisions"][0]["figures"][0]["value"] *= 2
    payload = json.dumps(statement, separators=(",", ":")).encode()
    kind = raw["payloadType"].encode()
    (tmp_path / "signed").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", env["LYNXBENCH_KEY"], "-in", str(tmp_path / "signed")]
    signature = subprocess.run(command, capture_output=True, check=True).stdout
    raw["payload"] = base64.b64encode(payload).decode()
    raw["signatures"][0]["sig"] = base64.b64encode(signature).decode()
    (tmp_path / "entry.json").write_text(json.dumps(raw, separators=(",", ":")))
    r = l.lynx("log", "add", own, tmp_path / "entry.json", env=env)
    assert r.returncode == 0, r.stderr
    audit = l.lynx("audit", runs / "runs" / "r00.lynx", "--ledger", own, env=env)
    assert audit.returncode == 1 and "are not the bundle's" in audit.stdout, audit.stdout


if __name__ == "__main__":
    l.main(__file__)
