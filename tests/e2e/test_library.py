"""liblynxbench: the same bytes as the commands print, to a program in C and to Python."""

import contextlib
import glob
import json
import os
import sqlite3
import shutil
import subprocess
import sys

import pytest

import lynx as l
import machine

LIBRARY = os.path.join(l.BUILD, "src", "library", "liblynxbench.so.0")
READ = os.path.join(l.BUILD, "tests", "read_bundle")
NULL = """lynxbench: 1
workload: {driver: "null", output_tokens: 4}
regime: {load: constant, rate_per_s: 100}
method: {warm_up: 0s, counted: 200ms, sessions: 2, drain: 1s, steady: reported, stolen_at_most: 1}
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "c.yaml").write_text(NULL)
    r = l.lynx("run", folder / "c.yaml", "--out", folder / "a.lynx", "--quiet")
    assert r.returncode in l.RAN, r.stderr
    return folder / "a.lynx"


def python(code, *args):
    """In an interpreter of its own, with the package of the source tree."""
    if l.SANITIZED:
        pytest.skip("a library with the sanitizer's checks cannot be loaded into Python")
    env = l.environment(PYTHONPATH=os.path.join(l.SOURCE, "python"))
    env["LYNXBENCH_LIBRARY"] = LIBRARY
    words = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)


def test_a_program_reads_the_bytes_that_the_commands_print(bundle):
    commands = [("show", bundle, "--json"), ("show", bundle, "--claim", "--json"), ("audit", bundle, "--json")]
    printed = "".join(l.lynx(*words).stdout for words in commands)
    r = subprocess.run([READ, bundle], capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stdout) == (0, printed), r.stderr


@pytest.mark.parametrize("name, said", [("none.lynx", "no such file"), ("text.lynx", "not a lynxbench bundle")])
def test_a_program_is_given_the_words_of_an_error(tmp_path, name, said):
    (tmp_path / "text.lynx").write_text("not one\n" * 100)
    r = subprocess.run([READ, tmp_path / name], capture_output=True, text=True, timeout=60)
    assert r.returncode == 2 and said in r.stderr and name in r.stderr, r.stderr


def test_an_altered_bundle_is_refused(bundle, tmp_path):
    data = bundle.read_bytes()
    assert b"as-served" in data
    (tmp_path / "a.lynx").write_bytes(data.replace(b"as-served", b"as-Served"))
    r = subprocess.run([READ, tmp_path / "a.lynx"], capture_output=True, text=True, timeout=60)
    assert r.returncode == 2 and "altered" in r.stderr, r.stderr


def test_only_its_own_names_are_exported():
    if l.SANITIZED:
        pytest.skip("the sanitizer's names are there too")
    machine.need("nm", shutil.which("nm"), "nm is not installed")
    r = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    names = {line.split()[-1] for line in r.stdout.splitlines()} - {"LYNXBENCH_0.4"}
    assert names and all(n.startswith("lynxbench_") and n.endswith("@@LYNXBENCH_0.4") for n in names), names


def test_python_has_plain_values(bundle):
    code = """if True:
        import json, sys, lynxbench
        with lynxbench.open(sys.argv[1]) as b:
            print(json.dumps([b.result(), b.claims(), b.figures(), b.contract(), b.root]))
        print(json.dumps(lynxbench.audit(sys.argv[1])))
        print(json.dumps(lynxbench.check_contract("lynxbench: 1\\nregime: {rate_per_s: fast}\\n")))
        print(json.dumps(len(lynxbench.capture()["facts"])))
        print(lynxbench.library_version())"""
    r = python(code, bundle)
    assert r.returncode == 0, r.stderr
    (result, claims, figures, contract, root), audit, problems, n_facts = map(json.loads, r.stdout.splitlines()[:4])
    assert result == l.show(bundle) and claims[0]["precision"] == "as-served"
    assert {f["figure"] for f in figures} >= {"output_rate", "request_rate"} and contract == NULL and len(root) == 64
    assert audit == json.loads(l.lynx("audit", bundle, "--json").stdout)
    assert [p["line"] for p in problems["problems"] if p["found"] == "fast"] == [2] and problems["grade"] is None
    assert n_facts > 20 and r.stdout.splitlines()[4] in l.lynx("--version").stdout


@pytest.mark.parametrize(
    "call, name, said",
    [
        ("open('/no/such')", "FileNotFoundError", "/no/such: there is no such file"),
        ("open('/etc/hostname')", "ValueError", "not a lynxbench bundle"),
        ("capture(pid=4194304)", "FileNotFoundError", "no process 4194304"),
        ("capture(url='ftp://x')", "ValueError", "http"),
        ("audit('/no/such')", "FileNotFoundError", "no such file"),
    ],
)
def test_python_raises_what_was_refused(call, name, said):
    r = python(f"import lynxbench; lynxbench.{call}")
    last = r.stderr.strip().splitlines()[-1]
    assert r.returncode == 1 and last.startswith(name) and said in last, r.stderr


def test_python_says_where_the_library_is_missing(tmp_path):
    missing = f"import os; os.environ['LYNXBENCH_LIBRARY'] = '{tmp_path}/none.so'"
    r = python(f"{missing}; import lynxbench; lynxbench.open('x')")
    assert r.returncode == 1 and "none.so" in r.stderr, r.stderr
    r = python("import lynxbench; print(sorted(lynxbench.__all__)[0])")  # a workload needs no library
    assert r.returncode == 0, r.stderr


def test_python_verifies_by_a_rerun(bundle, tmp_path):
    again = tmp_path / "b.lynx"
    r = l.lynx("run", bundle.parent / "c.yaml", "--out", again, "--quiet")
    assert r.returncode in l.RAN, r.stderr
    said = l.lynx("verify", bundle, "--against", again, "--json")
    code = """if True:
        import json, sys, lynxbench
        def said(a, b):
            try:
                return a.verify(b)
            except ValueError as e:
                return str(e)
        with lynxbench.open(sys.argv[1]) as a, lynxbench.open(sys.argv[2]) as b:
            answers = [said(a, b), said(a, a)]
            b.close()
            print(json.dumps([*answers, said(a, b)]))"""
    r = python(code, bundle, again)
    decided, itself, closed = json.loads(r.stdout)
    if said.returncode == 4:  # by its own conditions it decides nothing, in the same words
        assert "it decides nothing" in decided and "it decides nothing" in said.stderr, (decided, said.stderr)
    else:
        assert decided == json.loads(said.stdout), (decided, said.stdout)
    assert "the sealed result itself" in itself and closed == "the bundle is closed", r.stdout


@pytest.mark.parametrize("section", ["event", "fact", "sample", "request", "session"])
def test_a_rerun_that_withholds_why_it_may_be_invalid_decides_nothing(bundle, tmp_path, section):
    again = tmp_path / "b.lynx"
    r = l.lynx("run", bundle.parent / "c.yaml", "--out", again, "--quiet")
    assert r.returncode in l.RAN, r.stderr
    with contextlib.closing(sqlite3.connect(again)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(f"DELETE FROM {section}")
        db.execute("UPDATE section SET withheld = 1 WHERE name = ?", (section,))
        db.commit()
    r = l.lynx("verify", bundle, "--against", again)
    assert r.returncode == 2 and "withheld" in r.stderr, (r.returncode, r.stdout, r.stderr)


def test_a_closed_bundle_is_closed(bundle):
    code = "import sys, lynxbench; b = lynxbench.open(sys.argv[1]); b.close(); b.close(); b.result()"
    r = python(code, bundle)
    assert r.returncode == 1 and "the bundle is closed" in r.stderr, r.stderr


def test_the_header_stands_alone():
    headers = glob.glob(os.path.join(l.SOURCE, "src", "library", "*.h"))
    for words in (["-x", "c", "-std=c99"], ["-x", "c", "-std=c17"]):
        words = ["cc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *words]
        r = subprocess.run([*words, *headers], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr


if __name__ == "__main__":
    l.main(__file__)
