"""The plan of an experiment: factors of a start command, packages in environments by pip, and what is done by hand."""

import json
import os
import pty
import shutil
import subprocess
import sys
import threading
import zipfile

import pytest

import lynx as l
from test_bisect import contract

METHOD = "{warm_up: 200ms, counted: 1s, drain: 2s, steady: reported, instrument_error_at_most: 1}"
SEED = "{argument: --seed, b: 2}"
WORDS = ["--session", "1s", "--rounds", "2"]


def plan_file(folder, factors, more=""):
    path = folder / "plan.yaml"
    lines = "".join(f"  - {f}\n" for f in factors)
    path.write_text(f"lynxbench_experiment: 1\ncontract: a.yaml\nfactors:\n{lines}{more}")
    return path


@pytest.mark.long
def test_factors_of_the_start_command(tmp_path):
    """Two arguments that act only together, a variable that does nothing, and a word in front."""
    contract(tmp_path / "a.yaml", l.free_port(), {"--seed": "1"}, method=METHOD)
    plan = plan_file(
        tmp_path,
        [
            "{argument: --change-after, b: 3, layer: serving}",
            "{argument: --change-percent, b: 200}",
            "{in_front: niceness, b: nice -n 1, hard: true}",
        ],
    )
    out = tmp_path / "x.lynx"
    r = l.lynx("experiment", plan, *WORDS, "--out", out, "--json", cwd="/")
    x = json.loads(r.stdout)
    assert r.returncode in (0, 3), r.stderr
    assert "niceness: changed at most 2 times a round" in r.stderr, r.stderr
    assert [f["name"] for f in x["facts"]] == ["--change-after", "--change-percent", "niceness"], x["facts"]
    assert x["facts"][0]["layer"] == "serving" and x["facts"][2]["a"] == "not set", x["facts"]
    levels = {m["mixture"]: m["level"] for m in x["mixtures"]}
    assert levels["B"] < 0.75 * levels["A"], levels
    text = l.lynx("experiment", out).stdout
    assert "niceness: changed only between the 2 plots of a round" in text, text
    blocks = [b[0] for b in l.rows(out, "SELECT target FROM block ORDER BY session")]
    changes = sum(("3" in a) != ("3" in b) for a, b in zip(blocks, blocks[1:]))
    assert len(blocks) == 16 and changes <= 3, blocks  # once in each round, and perhaps between the two
    other = plan_file(tmp_path, ["{argument: --change-after, b: 4}", "{argument: --seed, b: 2}"])
    r = l.lynx("experiment", other, "--resume", out, "--out", tmp_path / "no.lynx")
    assert r.returncode == 2 and "its plan is another" in r.stderr, r.stderr


def answered(plan, out, answers):
    """In a terminal, where somebody presses Enter; returns what was shown there."""
    ours, theirs = pty.openpty()
    shown = []

    def answer():
        left = answers
        while True:
            try:
                text = os.read(ours, 65536).decode(errors="replace")
            except OSError:
                return
            shown.append(text)
            if "Enter when it is done" in text:
                left -= 1
                os.write(ours, b"\n" if left >= 0 else b"\x04")

    words = [l.LYNX, "experiment", str(plan), *WORDS, "--out", str(out), "--json"]
    ends = {"stdin": theirs, "stderr": theirs, "stdout": subprocess.PIPE}
    process = subprocess.Popen(words, **ends, text=True, start_new_session=True)
    os.close(theirs)
    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    stdout, _ = process.communicate(timeout=180)
    thread.join(timeout=5)
    os.close(ours)
    return process.returncode, stdout, "".join(shown)


def test_what_is_changed_by_hand_is_asked_for(tmp_path):
    contract(tmp_path / "a.yaml", l.free_port(), {}, method=METHOD)
    factors = [
        "{by_hand: driver, a: 570 is loaded, b: 580 is loaded, how: ask Jo, layer: system}",
        "{argument: --gap, b: 8ms}",
    ]
    plan = plan_file(tmp_path, factors)
    r = l.lynx("experiment", plan, "--out", tmp_path / "no.lynx")
    assert r.returncode == 2 and "no terminal to ask in" in r.stderr, r.stderr
    assert not (tmp_path / "no.lynx").exists()
    code, stdout, shown = answered(plan, tmp_path / "x.lynx", 99)
    x = json.loads(stdout)
    assert code in (0, 3) and x["rounds"] == 2, (code, shown)
    assert "driver: bring it to «580 is loaded»: ask Jo" in shown, shown
    asked = [t[0] for t in l.rows(tmp_path / "x.lynx", "SELECT text FROM event WHERE kind = 'by_hand'")]
    # Once for each plot, also where two of one level follow one another.
    assert sorted(asked) == 2 * ["driver: 570 is loaded"] + 2 * ["driver: 580 is loaded"], asked
    driver = [f for f in x["facts"] if f["name"] == "driver"][0]
    assert driver["layer"] == "system" and driver["b"] == "580 is loaded", driver
    assert "IMPOSSIBLE" not in l.lynx("show", tmp_path / "x.lynx").stdout


def test_who_does_it_may_end_it(tmp_path):
    contract(tmp_path / "a.yaml", l.free_port(), {}, method=METHOD)
    plan = plan_file(tmp_path, ["{by_hand: driver, a: old, b: new}", "{argument: --gap, b: 8ms}"])
    code, stdout, shown = answered(plan, tmp_path / "x.lynx", 1)
    assert code == 3 and json.loads(stdout)["rounds"] == 0, (code, stdout, shown)
    assert l.rows(tmp_path / "x.lynx", "SELECT count(*) FROM session")[0][0] == 2


def wheel(folder, version, gap):
    """A package as small as one can be."""
    name = folder / f"lynxtry-{version}-py3-none-any.whl"
    about = f"lynxtry-{version}.dist-info"
    with zipfile.ZipFile(name, "w") as z:
        z.writestr("lynxtry.py", f"GAP = '{gap}ms'\n")
        z.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: lynxtry\nVersion: {version}\n")
        z.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{about}/RECORD", f"lynxtry.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")


# The release of a package that the server imports decides how fast it is.
SERVER = """
import os, sys, lynxtry
os.execv(sys.argv[1], sys.argv[1:] + ["--gap", lynxtry.GAP])
"""


@pytest.mark.long
def test_versions_of_a_package(tmp_path):
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        pytest.skip("this Python builds no environments (Debian: python3-venv)")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "1.0", 5)
    wheel(wheels, "2.0", 10)
    (tmp_path / "server.py").write_text(SERVER)
    port = l.free_port()
    command = [sys.executable, str(tmp_path / "server.py"), l.REF, "--port", str(port), "--mode", "metronome"]
    path = contract(tmp_path / "a.yaml", port, {}, method=METHOD)
    text = open(path).read().splitlines()
    endpoint = json.dumps({"endpoint": f"http://127.0.0.1:{port}", "start": {"command": command}})
    open(path, "w").write("\n".join(f"executor: {endpoint}" if t.startswith("executor:") else t for t in text) + "\n")
    plan = plan_file(tmp_path, ['{package: lynxtry, a: "1.0", b: "2.0"}', "{argument: --seed, b: 2}"])
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    out = tmp_path / "x.lynx"
    r = l.lynx("experiment", plan, *WORDS, "--out", out, "--json", env=pip)
    assert r.returncode in (0, 3), r.stderr
    x = json.loads(r.stdout)
    levels = {m["mixture"]: m["level"] for m in x["mixtures"]}
    assert levels["A with lynxtry of B"] < 0.8 * levels["A"], levels
    assert "building the environment lynxtry-2.0, 2 of 2" in r.stderr, r.stderr
    made = tmp_path / "plan-environments"
    assert sorted(p.name for p in made.iterdir() if p.is_dir()) == ["lynxtry-1.0", "lynxtry-2.0"]
    again = l.lynx("experiment", plan, "--session", "1s", "--rounds", "1", "--out", tmp_path / "y.lynx", env=pip)
    assert "building" not in again.stderr, again.stderr
    # What is not ours is not emptied; a version that is not there is said, with pip's words.
    shutil.rmtree(made / "lynxtry-1.0")
    (made / "lynxtry-1.0").mkdir()
    (made / "lynxtry-1.0" / "thesis.txt").write_text("x")
    r = l.lynx("experiment", plan, "--out", tmp_path / "no.lynx", env=pip)
    assert r.returncode == 2 and "lynxbench did not make" in r.stderr, r.stderr
    assert (made / "lynxtry-1.0" / "thesis.txt").exists()
    plan = plan_file(tmp_path, ['{package: lynxtry, a: "2.0", b: "9.0"}', "{argument: --seed, b: 2}"])
    r = l.lynx("experiment", plan, "--out", tmp_path / "no.lynx", env=pip)
    assert r.returncode == 2 and "lynxtry==9.0" in r.stderr and not (tmp_path / "no.lynx").exists(), r.stderr


def test_wrong_plans(tmp_path):
    contract(tmp_path / "a.yaml", l.free_port(), {})
    for factors, more, says in (
        (["{argument: --gap, b: 8ms}"], "", "plan.yaml:4: factors: found a list; accepted: a list of 2 to 16 factors"),
        (["{argument: --gap, b: 5ms}", SEED], "", "plan.yaml:4: factors: found argument '--gap': its two levels"),
        (["{package: x, a: 1, b: 2}", SEED], "environments: {python: python9}\n", "environments.python"),
        (["{argument: --gap, b: 8ms}", SEED], "why: 1\n", "plan.yaml:6: found why"),
    ):
        plan = plan_file(tmp_path, factors, more)
        r = l.lynx("experiment", plan, "--out", tmp_path / "no.lynx")
        assert r.returncode == 2 and says in r.stderr and not (tmp_path / "no.lynx").exists(), r.stderr
    r = l.lynx("experiment", tmp_path / "none.yaml")
    assert r.returncode == 2 and "none.yaml" in r.stderr, r.stderr
    r = l.lynx("experiment", plan_file(tmp_path, ["{argument: --gap, b: 8ms}"] * 2))
    assert r.returncode == 2 and "it is there already" in r.stderr, r.stderr


if __name__ == "__main__":
    l.main(__file__)
