"""What an audit finds in bundles that were altered and sealed again: rows that contradict others, or the contract."""

import random

import pytest
from lynx import *


def checks(path, *more):
    r = lynx("audit", path, "--json", *more)
    out = json.loads(r.stdout)
    check_equal(r.returncode, 1 if out["failed"] else 0, f"audit {path}: exit code")
    found = {}
    for c in out["checks"]:
        found.setdefault(c["check"], []).append(c["verdict"])
    return found


@pytest.fixture(scope="module")
def bundle():
    """150 ms of warm-up and a second counted: what a session lasted at least."""
    with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        r = lynx("run", contract(f"{d}/c.yaml", port), "--out", f"{d}/a.lynx", "--quiet")
        assert r.returncode == 0, r.stderr
        yield f"{d}/a.lynx"


@pytest.mark.parametrize("name", ["seal", "contract", "figures", "rows", "sessions", "schedule"])
def test_a_bundle_as_it_was_sealed_passes(bundle, name):
    check_equal(checks(bundle).get(name), ["passed"], name)


def test_sealed_anew_without_a_change_is_the_same(bundle, d):
    """Since nobody signed it."""
    check_equal(checks(forge(bundle, f"{d}/same.lynx")), checks(bundle), "all the same")


TWICE = "UPDATE meta SET value = replace(value, 'rate_per_s: 40', 'rate_per_s: 80') WHERE key = 'contract'"
EARLIER = "(SELECT min(start_realtime_ns) FROM session) + 600000000"
ALTERED = [
    ("rows", "failed", "UPDATE request SET first_token_ns = first_token_ns - 1"),
    ("rows", "failed", "UPDATE request SET end_ns = written_ns WHERE id = 3"),
    ("rows", "failed", "UPDATE request SET n_text_events = n_text_events + 1 WHERE id = 3"),
    ("rows", "failed", "UPDATE request SET last_token_ns = last_token_ns - 1 WHERE id = 3"),
    ("rows", "failed", "UPDATE request SET written_ns = NULL, outcome = 'timed out' WHERE id = 3"),
    ("rows", "failed", "UPDATE session SET instrument = '{}' WHERE purpose = 'measure'"),
    ("rows", "failed", "UPDATE session SET instrument = json_set(instrument, '$.wall_ns', 5)"),
    ("rows", "failed", "DELETE FROM request WHERE id = 9"),  # a slow one, left out of the counted window
    ("rows", "failed", "UPDATE session SET seed = seed + 1000"),
    ("rows", "failed", "UPDATE session SET rate_per_s = rate_per_s / 2"),
    ("rows", "failed", "UPDATE session SET counted_ns = counted_ns / 2"),
    ("rows", "failed", TWICE),
    ("contract", "failed", TWICE),
    ("prompts", "failed", "UPDATE input SET text = CAST('an easier one' AS BLOB) WHERE id = 3"),
    ("prompts", "failed", "DELETE FROM input WHERE id = 7"),
    ("prompts", "failed", "INSERT INTO input SELECT 1 + max(id), text FROM input"),
    ("sessions", "not established", f"UPDATE session SET start_realtime_ns = {EARLIER} WHERE id = 1"),
]


@pytest.mark.parametrize("name, wanted, sql", ALTERED)
def test_what_was_altered_is_found(bundle, d, name, wanted, sql):
    check_equal(checks(forge(bundle, f"{d}/forged.lynx", sql)).get(name), [wanted], sql)


NO_CLOCK_GIVES = [
    "UPDATE request SET written_ns = 9223372036854775807 WHERE id = 3",
    "UPDATE session SET counted_ns = 9223372036854775807",
    "UPDATE session SET rate_per_s = 1e300",
    "UPDATE session SET seed = 9223372036854775807",
    "UPDATE session SET start_realtime_ns = 9223372036854775807",
    "UPDATE session SET number = 9223372036854775807 WHERE id = 1",
]


@pytest.mark.parametrize("sql", NO_CLOCK_GIVES)
def test_numbers_that_no_clock_gives(bundle, d, sql):
    """Told, and nothing overflows."""
    r = lynx("audit", forge(bundle, f"{d}/forged.lynx", sql))
    check_equal(r.returncode, 1, f"{sql}: {r.stdout[:300]} {r.stderr[-300:]}")


VALUES = [
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387904",
    "1e308",
    "-1e308",
    "NULL",
    "''",
    "x'ff00ff'",
    "'\x01\x1b[2J'",
    "'{}'",
    "'[[[['",
    "zeroblob(100000)",
    "'" + "a" * 5000 + "'",
]


def tables_of(bundle):
    """The columns of each table that holds rows."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('section', 'seal')"
    with sqlite3.connect(f"file:{bundle}?mode=ro", uri=True) as db:
        tables = {t: [c[1] for c in db.execute(f"PRAGMA table_info({t})")] for (t,) in db.execute(names)}
        return {t: c for t, c in tables.items() if db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]}


def put_anything(bundle, to, tables):
    """Another value into a cell; what was done, or None where the schema itself refuses it."""
    table = random.choice(sorted(tables))
    column, value = random.choice(tables[table]), random.choice(VALUES)
    try:
        row = random.choice(rows(bundle, f"SELECT {column} FROM {table}"))[0]
        shutil.copy(bundle, f"{to}.one")
        with sqlite3.connect(f"{to}.one") as db:
            db.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS ?", (row,))
        forge(f"{to}.one", to)
    except (sqlite3.Error, OverflowError, struct.error):
        return None
    return f"{table}.{column} = {value[:30]}"


def test_anything_in_any_cell(bundle, d):
    """Sealed again: every reader of a bundle says something and ends by itself."""
    random.seed(7)
    tables = tables_of(bundle)
    for _ in range(12 if SANITIZED else 60):
        done = put_anything(bundle, f"{d}/forged.lynx", tables)
        for words in (["audit"], ["show"], ["show", "--html", f"{d}/forged.html"]) if done else ():
            r = lynx(*words, f"{d}/forged.lynx")
            said = r.stdout + r.stderr
            good = r.returncode in (0, 1, 2, 3) and said and "\x1b" not in said
            check(good, f"{words}, {done}: {r.returncode} {r.stderr[-300:]}")


@pytest.mark.parametrize("section, name", [("request", "rows"), ("fact", "executor")])
def test_what_is_withheld_is_not_established(bundle, d, section, name):
    """And fails nothing."""
    shutil.copy(bundle, f"{d}/less.lynx")
    with sqlite3.connect(f"{d}/less.lynx") as db:
        db.execute(f"DELETE FROM {section}")
        db.execute("UPDATE section SET withheld = 1 WHERE name = ?", (section,))
    found = checks(f"{d}/less.lynx")
    check("failed" not in found.get(name, []), f"{section} withheld: {found}")


@pytest.mark.parametrize("path", ["", "/nowhere/a.lynx"])
def test_what_is_not_there_is_wrong_input(path):
    """It neither holds nor fails."""
    r = lynx("audit", path)
    check_equal((r.returncode, r.stdout), (2, ""), path)
    check_in("No such file", r.stderr, path)


# --- the model's digest, computed again by who has its files ---

WEIGHTS = f"{SOURCE}/reference/model/byte.safetensors"


@pytest.fixture(scope="module")
def served():
    """A folder of a model, and the bundle of a run that it served."""
    with folder() as d:
        os.makedirs(f"{d}/model")
        shutil.copy(WEIGHTS, f"{d}/model/byte.safetensors")
        with reference("--weights", f"{d}/model/byte.safetensors") as port:
            r = lynx("run", contract(f"{d}/c.yaml", port), "--out", f"{d}/a.lynx", "--quiet")
            assert r.returncode == 0, r.stderr
        yield d


def model(bundle, *given, cwd=None):
    r = lynx("audit", bundle, "--json", *(["--model", *given] if given else []), cwd=cwd)
    return [c["verdict"] for c in json.loads(r.stdout)["checks"] if c["check"] == "model"]


def test_the_model_by_its_file_and_its_folder(served):
    check_equal(model(f"{served}/a.lynx"), ["not established"], "nobody has the files")
    check_equal(model(f"{served}/a.lynx", f"{served}/model/byte.safetensors"), ["passed"], "the file")
    check_equal(model(f"{served}/a.lynx", f"{served}/model"), ["passed"], "its folder")
    check_equal(model(f"{served}/a.lynx", "byte.safetensors", cwd=f"{served}/model"), ["passed"], "by its name alone")


def test_another_model(served, d):
    with open(WEIGHTS, "rb") as f, open(f"{d}/other.safetensors", "wb") as g:
        data = bytearray(f.read())
        data[-5] ^= 1
        g.write(data)
    check_equal(model(f"{served}/a.lynx", f"{d}/other.safetensors"), ["failed"], "one bit is another")


def test_a_link_as_in_a_cache(served, d):
    """There the file is a link to one that is named by its digest."""
    shutil.copy(WEIGHTS, f"{d}/blob")
    os.symlink(f"{d}/blob", f"{d}/byte.safetensors")
    check_equal(model(f"{served}/a.lynx", f"{d}/byte.safetensors"), ["passed"], "a link")


@pytest.mark.parametrize("same, verdict", [(True, "passed"), (False, "failed")])
def test_two_hosts_of_one_precision(served, d, same, verdict):
    bundle = f"{served}/a.lynx"
    digest = rows(bundle, "SELECT value FROM fact WHERE key = 'model.digest' AND moment LIKE 'start:%'")[0][0]
    sql = (
        f"INSERT INTO fact SELECT moment, layer, 'server-2/' || key, kind, status, '{digest if same else '0' * 64}', "
        "unit, source, at_ns FROM fact WHERE key = 'model.digest'"
    )
    check_equal(model(forge(bundle, f"{d}/two.lynx", sql), f"{served}/model"), [verdict], "two hosts")


def test_no_weights_there(served, d):
    check_equal(model(f"{served}/a.lynx", d), ["not established"], "an empty folder")
    r = lynx("audit", f"{served}/a.lynx", "--model", f"{d}/nothing")
    check_equal(r.returncode, 2, "no such file")
    check_in("No such file", r.stderr, "and it is said")


if __name__ == "__main__":
    main(__file__)
