"""The bundle as others see it: the root recomputed in Python from docs/bundle.md alone; tampering; withholding."""

import re

import pytest
from lynx import *


def root(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        digests = bundle_digests(db)
        for name, digest, withheld in db.execute("SELECT name, digest, withheld FROM section").fetchall():
            if not withheld:
                check_equal(digests[name], digest, f"digest of {name}")
        computed = bundle_root(db, digests)
        check_equal(computed, db.execute("SELECT root FROM seal").fetchone()[0], "root")
    return computed.hex()


@pytest.fixture(scope="module")
def bundle():
    with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        assert lynx("run", contract(f"{d}/c.yaml", port), "--out", f"{d}/a.lynx", "--quiet").returncode == 0
        assert [f for f in os.listdir(d) if "a.lynx" in f] == ["a.lynx"]  # one file
        yield f"{d}/a.lynx"


def test_two_programs_find_one_root(bundle):
    check_equal(show(bundle)["bundle"]["root"], root(bundle), "the root, by two programs")


def test_every_column_is_described_in_its_place(bundle):
    """docs/bundle.md has every table, with its columns in the order that is hashed; the CSV has the same names."""
    with open(f"{SOURCE}/docs/bundle.md") as f:
        lines = re.finditer(r"^\| `(\w+)` \|[^|]*\|(.*)\|$", f.read(), re.M)
        rows = {m[1]: re.findall(r"`([^`]+)`", m[2]) for m in lines}
    with sqlite3.connect(f"file:{bundle}?mode=ro", uri=True) as db:
        for table, *_ in BUNDLE_SECTIONS[1:]:  # of meta its keys are described
            columns, described = [c[1] for c in db.execute(f"PRAGMA table_info({table})")], iter(rows[table])
            missing = [c for c in columns if c not in described]  # each after the one before
            check_equal(missing, [], f"columns of {table} that docs/bundle.md lacks or has elsewhere")
    header = lynx("export", bundle, "--format", "csv").stdout.split("\n", 1)[0]
    check_equal(header, COLUMNS.replace(" ", "").replace(",events", ""), "the columns of the CSV")


COLUMNS = BUNDLE_SECTIONS[4][1]
TAMPERED = {
    "headline": "UPDATE request SET end_ns = end_ns / 4 WHERE id = 3",
    "dropped": "DELETE FROM request WHERE outcome = 'ok' AND id = 7",
    "added": f"INSERT INTO request SELECT {COLUMNS.replace('id,', 'id + 1000,', 1)} FROM request WHERE id = 3",
    "contract": "UPDATE meta SET value = replace(value, '20', '21') WHERE key = 'contract'",
    "fact": "UPDATE fact SET value = 'a better CPU' WHERE key = 'cpu.model'",
    "ended": "UPDATE seal SET why = 'all good'",
    "view": "CREATE VIEW better AS SELECT * FROM request",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON request BEGIN SELECT 1; END",
    "table": "CREATE TABLE more (a)",
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_altered_is_refused(bundle, tmp_path, name):
    copy = f"{tmp_path}/{name}.lynx"
    shutil.copy(bundle, copy)
    with sqlite3.connect(copy) as db:
        db.execute(TAMPERED[name])
    db.close()
    r = lynx("show", copy)
    check_equal(r.returncode, 2, f"{name}: exit code ({r.stdout[:300]})")
    check_in("altered or damaged", r.stderr, name)
    for command in (["--claim"], ["--html", "-"]):
        check_equal(lynx("show", *command, copy).returncode, 2, f"{name}: {command}")


def test_an_unsealed_copy_is_not_taken_for_a_sealed_one(bundle, tmp_path):
    copy = f"{tmp_path}/unsealed.lynx"
    shutil.copy(bundle, copy)
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM seal")
    db.close()
    check_in("INCOMPLETE", lynx("show", copy).stdout, "without its seal")


def test_prompts_are_withheld_and_the_rest_verifies(bundle, tmp_path):
    """As docs/bundle.md shows: the root is the same, and every reader can see it."""
    copy = f"{tmp_path}/less.lynx"
    shutil.copy(bundle, copy)
    with sqlite3.connect(copy, isolation_level=None) as db:
        db.execute("DELETE FROM input")
        db.execute("UPDATE section SET withheld = 1 WHERE name = 'input'")
        db.execute("VACUUM")
    db.close()
    check_equal(root(copy), root(bundle), "root of the copy without prompts")
    r = lynx("show", copy)
    check_equal(r.returncode, 0, f"withheld: {r.stderr}")
    check_in("withheld from this copy: input", r.stdout, "withheld")
    check_equal(show(copy)["precisions"], show(bundle)["precisions"], "figures of the copy")


def test_what_was_cut_off_is_refused(bundle, tmp_path):
    with open(bundle, "rb") as f:
        data = f.read()
    for k in range(1, 40):
        with open(f"{tmp_path}/short.lynx", "wb") as f:
            f.write(data[: len(data) * k // 40])
        r = lynx("show", f"{tmp_path}/short.lynx")
        check(r.returncode == 2 and r.stderr.strip() != "", f"cut to {k}/40: exit {r.returncode}, {r.stderr}")


def test_a_record_is_never_overwritten(bundle):
    r = lynx("run", f"{os.path.dirname(bundle)}/c.yaml", "--out", bundle, "--quiet")
    check_equal(r.returncode, 2, "a second run to the same file")
    check_in("never overwritten", r.stderr, "a second run to the same file")
    check_equal(show(bundle)["bundle"]["root"], root(bundle), "and the first is intact")


def test_a_key_is_nowhere(tmp_path):
    work = "{model: m, api_key_env: LYNX_TEST_API_KEY, prompts: {count: 2, bytes: 16}}"
    key = {"LYNX_TEST_API_KEY": "sk-hunter2-planted"}
    with reference("--mode", "metronome") as port:
        path = contract(f"{tmp_path}/key.yaml", port, workload=work)
        r = lynx("run", path, "--out", f"{tmp_path}/key.lynx", "--quiet", env=key)
        check_equal(r.returncode, 0, f"key: {r.stderr}")
        with open(f"{tmp_path}/key.lynx", "rb") as f:
            check(b"hunter2" not in f.read(), "the API key is in the bundle")
        r = lynx("run", path, "--out", f"{tmp_path}/nokey.lynx", "--quiet")
        check_equal(r.returncode, 2, "a key that is not set")


if __name__ == "__main__":
    main(__file__)
