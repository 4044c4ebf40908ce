"""lynxbench calibrate --only machine: its ceilings are measured, kept, carried by runs, beside what is declared."""

import json
import os

import pytest

import lynx as l


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("envelope") / "kept" / "e.json"
    r = l.lynx(
        "calibrate",
        "--only",
        "machine",
        "--quiet",
        "--declared",
        "memory.triad=1e9,wake_up.timer=1e-3",
        env={"LYNXBENCH_ENVELOPE": str(path)},
    )
    assert r.returncode == 0, r.stderr
    return json.loads(path.read_text()), r.stdout, path


def test_every_ceiling_is_a_figure_with_its_range(measured):
    record = measured[0]
    names = [c["name"] for c in record["ceilings"]]
    assert len(set(names)) == len(names), names
    wanted = "memory.triad memory.copy arithmetic.f32 arithmetic.f64 wake_up.thread wake_up.timer launch.thread"
    assert set(wanted.split()) <= set(names), names
    if len(os.sched_getaffinity(0)) > 1:
        assert "memory.triad.one_thread" in names, names
    for c in record["ceilings"]:
        assert 0 < c["least"] <= c["value"] <= c["greatest"] and c["n"] > 1 and c["threads"] >= 1, c
    rate = {c["name"]: c["value"] for c in record["ceilings"]}
    assert 1e8 < rate["memory.triad"] < 1e14 and 1e8 < rate["arithmetic.f32"] < 1e16, rate
    assert 1e-7 < rate["wake_up.thread"] < 1 and 1e-7 < rate["loopback.round_trip"] < 1, rate


def test_what_is_declared_stands_beside_it(measured):
    record, text, _ = measured
    triad = next(c for c in record["ceilings"] if c["name"] == "memory.triad")
    assert triad["declared"] == 1e9 and "declared" not in next(
        c for c in record["ceilings"] if c["name"] == "memory.copy"
    )
    reached = [line for line in text.splitlines() if "declared:" in line]
    assert len(reached) == 2 and "1 GB/s" in reached[0] and "1 ms" in reached[1], text
    assert int(reached[0].split("declared:")[1].split("%")[0]) == pytest.approx(triad["value"] / 1e7, rel=0.01), reached


@pytest.mark.parametrize("words", ["memory.triad", "=3", "memory.triad=", "a=-1", "a=nan", "a=1,,b=2"])
def test_what_is_no_declaration_is_told(words):
    r = l.lynx("calibrate", "--only", "machine", "--declared", words, "--out", "-", "--quiet")
    assert r.returncode == 2 and "NAME=N" in r.stderr, r.stderr


def test_a_run_carries_it(measured, tmp_path):
    with l.reference("--mode", "metronome", "--gap", "1ms") as port:
        path = l.contract(tmp_path / "c.yaml", port)
        r = l.lynx("run", path, "--out", tmp_path / "c.lynx", "--quiet", env={"LYNXBENCH_ENVELOPE": str(measured[2])})
        assert r.returncode in (0, 1, 4), r.stderr
    with l.sqlite3.connect(tmp_path / "c.lynx") as db:
        carried = json.loads(db.execute("SELECT value FROM meta WHERE key = 'envelope'").fetchone()[0])
    assert carried == measured[0]


if __name__ == "__main__":
    l.main(__file__)
