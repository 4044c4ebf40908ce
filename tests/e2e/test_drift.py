"""The machine becomes slower and nothing else changes: history says that it is the machine."""

import json
import os
import sqlite3
import subprocess

import pytest

import lynx as l

BEFORE, AFTER = 9, 9
ARITHMETIC = "machine: arithmetic, f32"


def contract(folder, port, **fields):
    lax = "steady: reported, instrument_error_at_most: 1, stolen_at_most: 1, machine_speed: before_and_after"
    return l.contract(
        str(folder / "c.yaml"),
        port,
        name="nightly",
        executor=f'{{endpoint: "http://127.0.0.1:{port}"}}',
        workload="{model: reference, output_tokens: 8, prompts: {count: 8, bytes: 64}}",
        regime="{load: closed, concurrency: 2}",
        method="{warm_up: 100ms, counted: 400ms, drain: 1s, sessions: 2, attribution_sessions: 0, " + lax + "}",
        **fields,
    )


@pytest.fixture
def server(tmp_path):
    port = l.free_port()
    with l.reference("--mode", "metronome", "--gap", "5ms", "--first-token", "10ms", port=port):
        contract(tmp_path, port)
        yield tmp_path


def run(folder, name, *more, only=None):
    words = [l.LYNX, "run", folder / "c.yaml", "--out", folder / name, "--quiet", *more]
    words = (["taskset", "-c", only] if only else []) + [str(w) for w in words]
    r = subprocess.run(words, capture_output=True, text=True, env=l.environment())
    assert r.returncode == 0, (r.stdout, r.stderr)
    return r


def records(bundle):
    with sqlite3.connect(bundle) as db:
        return {k: json.loads(v) for k, v in db.execute("select key, value from meta where key like 'machine_speed%'")}


def test_it_is_measured_before_and_after(server):
    run(server, "a.lynx")
    found = records(server / "a.lynx")
    assert set(found) == {"machine_speed_before", "machine_speed_after"}, found
    names = ["memory.triad", "arithmetic.f32", "wake_up.thread"]
    for record in found.values():
        figures = {f["name"]: f["value"] for f in record["figures"]}
        assert list(figures) == names and all(v > 0 for v in figures.values()), record
        assert figures["memory.triad"] > 1e8 and figures["arithmetic.f32"] > 1e8, figures
        assert figures["wake_up.thread"] < 1, figures
    shown = l.show(server / "a.lynx")["machine_speed"]
    assert [s["unit"] for s in shown] == ["bytes/s", "operations/s", "ns"], shown
    before = {f["name"]: f["value"] for f in found["machine_speed_before"]["figures"]}
    assert [s["before"] for s in shown[:2]] == [before["memory.triad"], before["arithmetic.f32"]], (shown, before)
    assert "machine: memory bandwidth" in l.lynx("show", server / "a.lynx").stdout
    x = json.loads(l.lynx("history", server / "a.lynx", "--json", "--quiet").stdout)
    series = {s["figure"]: s for s in x["series"]}
    both = [next(f["value"] for f in r["figures"] if f["name"] == "memory.triad") for r in found.values()]
    (value,) = series["machine: memory bandwidth"]["values"]
    assert abs(value["value"] - sum(both) / 2) < 1e-4 * value["value"], (value, both)
    assert (value["low"], value["high"]) == (None, None), "two measurements make no interval"


def test_it_is_not_measured_unasked(server):
    text = (server / "c.yaml").read_text()
    (server / "c.yaml").write_text(text.replace(", machine_speed: before_and_after", ""))
    run(server, "a.lynx")
    assert records(server / "a.lynx") == {}


def with_speed(bundle, factor):
    """The same run on a machine whose arithmetic was measured so fast; its other figures are always the same."""
    said = []
    for key, record in records(bundle).items():
        for f in record["figures"]:
            f["value"] = 1e9 * (factor if f["name"] == "arithmetic.f32" else 1)
        said.append(f"UPDATE meta SET value = '{json.dumps(record)}' WHERE key = '{key}'")
    l.forge(bundle, f"{bundle}.new", *said)
    os.replace(f"{bundle}.new", bundle)


def test_a_slower_machine_is_told_from_a_slower_executor(server):
    """From one night on half of the machine is gone, not the server: its speed is written down as half."""
    for i in range(BEFORE + AFTER):
        run(server, f"r{i:02}.lynx")
        with_speed(server / f"r{i:02}.lynx", 1 if i < BEFORE else 0.5)
    r = l.lynx("history", server, "--json", "--quiet")
    assert r.returncode == 0, r.stderr
    found = json.loads(r.stdout)
    changes = [(e, c) for e in found["events"] for c in e["changes"]]
    at = [(e, c) for e, c in changes if c["figure"] == ARITHMETIC]
    assert [c["place"] for _, c in at] == [BEFORE], r.stdout
    event, change = at[0]
    assert abs(change["size"] - 0.5) < 1e-6, change
    assert event["drift"] == "machine", event
    text = l.lynx("history", server, "--quiet").stdout
    assert "the machine drifted: its own speed changed, and nothing that was captured of the executor did" in text, text


if __name__ == "__main__":
    l.main(__file__)
