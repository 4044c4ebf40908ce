"""What other tools measured, followed over time: files as they write them, in which one level changes."""

import json
import pathlib
import random
import subprocess
import sys

import pytest

import lynx as l

RECORDED = pathlib.Path(l.SOURCE) / "tests/recorded/history"
BUNDLE = sorted(p.name for p in (pathlib.Path(l.SOURCE) / "tests/recorded/bundles").glob("*.lynx"))[0]
RUNS, CHANGED = 24, 16


def wobble(i, slower=1.3):
    return (1 + 0.004 * (i * 7 % 5)) * (slower if i >= CHANGED else 1)


def write_pytest(folder):
    x = json.loads((RECORDED / "pytest_benchmark.json").read_text())
    for i in range(RUNS):
        y = json.loads(json.dumps(x))
        y["datetime"] = f"2026-10-{i + 1:02}T02:00:00.5+00:00"
        y["commit_info"]["id"] = f"{i:040x}"
        y["benchmarks"][0]["stats"]["median"] *= wobble(i)
        y["benchmarks"][1]["stats"]["median"] *= wobble(i, 1)
        (folder / f"{RUNS - i:04}.json").write_text(json.dumps(y))  # the names are not in the order of time
    return "test_b.py::test_sum", "s"


def write_google(folder):
    x = json.loads((RECORDED / "google_benchmark.json").read_text())
    for i in range(RUNS):
        y = json.loads(json.dumps(x))
        y["context"]["date"] = f"2026-10-{i + 1:02}T02:00:00+02:00"
        for b in y["benchmarks"]:
            b["cpu_time"] *= wobble(i) if b["name"] == "sort_reversed/512" else wobble(i, 1)
        (folder / f"{i:04}.json").write_text(json.dumps(y))
    return "sort_reversed/512, processor time", "s"


def write_inferencex(folder):
    x = json.loads((RECORDED / "inferencex.json").read_text())
    for i in range(RUNS):  # no date: the order of the files is the order of time
        y = dict(x, output_tput_per_gpu=3000 / wobble(i), image=f"v{i}")
        (folder / f"agg_{i}.json").write_text(json.dumps(y))  # agg_10 comes after agg_9
    return "output_tput_per_gpu", "tokens/s"


def write_junit(folder):
    text = (RECORDED / "junit.xml").read_text()
    for i in range(RUNS):
        new = text.replace('name="test_sum" time="', f'name="test_sum" time="{wobble(i):.3f}" was="')
        stamp = text.split('timestamp="')[1].split('"')[0]
        (folder / f"{i:04}.xml").write_text(new.replace(stamp, f"2026-10-{i + 1:02}T02:00:00"))
    return "pytest: test_b.test_sum", "s"


@pytest.mark.parametrize("write", [write_pytest, write_google, write_inferencex, write_junit], ids=lambda f: f.__name__)
def test_a_change_is_found_where_it_was_put(write, tmp_path):
    figure, unit = write(tmp_path)
    r = l.lynx("history", tmp_path, "--json", "--quiet")
    assert r.returncode == 0, r.stderr
    x = json.loads(r.stdout)
    assert len(x["runs"]) == RUNS, x["runs"]
    (event,) = x["events"]
    (change,) = event["changes"]
    assert (change["figure"], change["place"], change["worse"]) == (figure, CHANGED, True), change
    assert abs(change["size"] - (1.3 if unit == "s" else 1 / 1.3)) < 0.02, change
    series = next(s for s in x["series"] if s["figure"] == figure)
    assert series["unit"] == unit and len(series["values"]) == RUNS, series
    times = [run["time"] for run in x["runs"] if run["time"] is not None]
    assert times == sorted(times), times
    files = sorted(tmp_path.iterdir(), key=lambda p: int(p.stem.removeprefix("agg_")))
    one_by_one = l.lynx("history", *files, "--json", "--quiet")
    assert json.loads(one_by_one.stdout)["events"] == x["events"], "a folder is its files"


def test_a_runner_s_own_files(tmp_path):
    """pytest runs here, and what it writes is read: a test that failed or was skipped has no time."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): assert False\ndef test_c(): pytest.skip()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=out.xml", "test_it.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    r = l.lynx("history", tmp_path / "out.xml", "--csv", "--quiet")
    assert r.returncode == 3 and "test_it.test_a" in r.stdout, (r.stdout, r.stderr)
    assert "test_b" not in r.stdout and "test_c" not in r.stdout, r.stdout


def test_what_no_tool_wrote(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    r = l.lynx("history", tmp_path / "x.json", "--quiet")
    assert r.returncode == 2 and "no tool's file that is known; accepted: " in r.stderr, r.stderr
    assert "pytest --benchmark-json" in r.stderr and "x.json" in r.stderr, r.stderr
    (tmp_path / "y.json").write_bytes((RECORDED / "pytest_benchmark.json").read_bytes())
    r = l.lynx("history", tmp_path, "--json", "--quiet")
    assert r.returncode == 3 and len(json.loads(r.stdout)["runs"]) == 1, "what no tool wrote is passed over in a folder"
    (tmp_path / "same.json").symlink_to(tmp_path / "y.json")
    r = l.lynx("history", tmp_path, tmp_path / "y.json", "--json", "--quiet")
    assert len(json.loads(r.stdout)["runs"]) == 1, "one run, by whatever name"
    (tmp_path / "cut.json").write_text('{"machine_info": {}, "benchmarks": [')
    r = l.lynx("history", tmp_path, "--quiet")
    assert r.returncode == 2 and "cut.json" in r.stderr, "what cannot be read as JSON is reported"
    (tmp_path / "cut.json").write_bytes("{}".encode("utf-16"))
    r = l.lynx("history", tmp_path / "cut.json", "--quiet")
    assert r.returncode == 2 and "no tool's file that is known" in r.stderr, r.stderr
    (tmp_path / "cut.json").unlink()
    (tmp_path / "z.json").write_text((tmp_path / "y.json").read_text().replace('"datetime": "', '"datetime": "soon '))
    r = l.lynx("history", tmp_path, "--json", "--quiet")
    assert r.returncode == 2 and "z.json: datetime: found 'soon" in r.stderr, r.stderr
    assert len(json.loads(r.stdout)["runs"]) == 1 and "1 run could not be read" in r.stderr, r.stderr


def test_json_beside_bundles_is_no_run(tmp_path):
    """A folder of bundles holds what this program wrote of them, its gates among it."""
    (tmp_path / "a.lynx").write_bytes((pathlib.Path(l.SOURCE) / "tests/recorded/bundles" / BUNDLE).read_bytes())
    (tmp_path / "gate.xml").write_bytes((RECORDED / "junit.xml").read_bytes())
    x = json.loads(l.lynx("history", tmp_path, "--json", "--quiet").stdout)
    assert all("pytest" not in s["contract"] for s in x["series"]) and len(x["runs"]) == 1, x


def test_values_taken_for_themselves(tmp_path):
    """A walk has no level that changes, unless each of its values is taken for itself; and then the report says so."""
    rng = random.Random(3)
    path, rows = tmp_path / "walk.csv", [1000.0]
    for _ in range(119):
        rows.append(rows[-1] + rng.gauss(0, 1))
    path.write_text("price\n" + "".join(f"{v}\n" for v in rows))
    n_usual, n_alone = (
        len(json.loads(l.lynx("history", path, "--json", *more).stdout)["events"]) for more in ((), ("--independent",))
    )
    assert n_alone > n_usual, (n_alone, n_usual)
    assert json.loads(l.lynx("history", path, "--json", "--independent").stdout)["independent"] is True
    text = l.lynx("history", path, "--independent").stdout
    assert "such are named much more often. Each value was taken for itself (--independent)." in text, text


if __name__ == "__main__":
    l.main(__file__)
