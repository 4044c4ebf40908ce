"""What an audit finds in bundles that were altered and sealed anew: by rows that contradict one another, the contract or the schedule."""
import random

from lynx import *


def checks(path, *more):
    r = lynx("audit", path, "--json", *more)
    out = json.loads(r.stdout)
    check_equal(r.returncode, 1 if out["failed"] else 0, f"audit {path}: exit code")
    found = {}
    for c in out["checks"]:
        found.setdefault(c["check"], []).append(c["verdict"])
    return found


with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
    bundle = f"{d}/a.lynx"
    # 150 ms of warm-up and a second counted: what a session lasted at least.
    check_equal(lynx("run", contract(f"{d}/c.yaml", port), "--out", bundle, "--quiet").returncode, 0, "run")
    sound = checks(bundle)
    for name in ("seal", "contract", "figures", "rows", "sessions", "schedule"):
        check_equal(sound.get(name), ["passed"], f"as it was sealed: {name}")
    check_equal(checks(forge(bundle, f"{d}/same.lynx")), sound, "sealed anew without a change: all the same, since nobody signed it")
    for name, wanted, *sql in (
            ("rows", "failed", "UPDATE request SET first_token_ns = first_token_ns - 1"),
            ("rows", "failed", "UPDATE request SET end_ns = written_ns WHERE id = 3"),
            ("rows", "failed", "UPDATE request SET n_text_events = n_text_events + 1 WHERE id = 3"),
            ("rows", "failed", "UPDATE request SET last_token_ns = last_token_ns - 1 WHERE id = 3"),
            ("rows", "failed", "DELETE FROM request WHERE id = 9"),  # a slow one, left out of the counted window
            ("rows", "failed", "UPDATE session SET seed = seed + 1000"),
            ("rows", "failed", "UPDATE session SET rate_per_s = rate_per_s / 2"),
            ("rows", "failed", "UPDATE session SET counted_ns = counted_ns / 2"),
            ("rows", "failed", "UPDATE meta SET value = replace(value, 'rate_per_s: 20', 'rate_per_s: 40') WHERE key = 'contract'"),
            ("contract", "failed", "UPDATE meta SET value = replace(value, 'rate_per_s: 20', 'rate_per_s: 40') WHERE key = 'contract'"),
            ("sessions", "not established", "UPDATE session SET start_realtime_ns = (SELECT min(start_realtime_ns) FROM session) + 1100000000 WHERE id = 1")):
        found = checks(forge(bundle, f"{d}/forged.lynx", *sql))
        check_equal(found.get(name), [wanted], f"{sql}")
    # Numbers that no clock gives: told, and nothing overflows.
    for sql in ("UPDATE request SET written_ns = 9223372036854775807 WHERE id = 3", "UPDATE session SET counted_ns = 9223372036854775807", "UPDATE session SET rate_per_s = 1e300",
                "UPDATE session SET seed = 9223372036854775807", "UPDATE session SET start_realtime_ns = 9223372036854775807", "UPDATE session SET number = 9223372036854775807 WHERE id = 1"):
        r = lynx("audit", forge(bundle, f"{d}/forged.lynx", sql))
        check_equal(r.returncode, 1, f"{sql}: {r.stdout[:300]} {r.stderr[-300:]}")
    # Anything in any cell, resealed: every reader of a bundle says something and ends by itself.
    random.seed(7)
    with sqlite3.connect(f"file:{bundle}?mode=ro", uri=True) as db:
        tables = {t: [c[1] for c in db.execute(f"PRAGMA table_info({t})")] for (t,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('section', 'seal')")}
        tables = {t: c for t, c in tables.items() if db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]}
    values = ["0", "-1", "1", "9223372036854775807", "-9223372036854775808", "4611686018427387904", "1e308", "-1e308", "NULL", "''", "x'ff00ff'", "'\x01\x1b[2J'", "'{}'", "'[[[['", "zeroblob(100000)", "'" + "a" * 5000 + "'"]
    for i in range(12 if SANITIZED else 60):
        table = random.choice(sorted(tables))
        column, value = random.choice(tables[table]), random.choice(values)
        try:
            with sqlite3.connect(f"file:{bundle}?mode=ro", uri=True) as db:
                row = random.choice(db.execute(f"SELECT {column} FROM {table}").fetchall())[0]
            shutil.copy(bundle, f"{d}/one.lynx")
            with sqlite3.connect(f"{d}/one.lynx") as db:
                db.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS ?", (row,))
            forge(f"{d}/one.lynx", f"{d}/forged.lynx")
        except (sqlite3.Error, OverflowError, struct.error):  # the schema itself refuses it
            continue
        for command in ("audit", "show", "report"):
            r = lynx(command, f"{d}/forged.lynx", *(["--out", f"{d}/forged.html"] if command == "report" else []))
            check(r.returncode in (0, 1, 2, 3) and (r.stdout or r.stderr) and "\x1b" not in r.stdout + r.stderr, f"{command}, {table}.{column} = {value[:30]}: {r.returncode} {r.stderr[-300:]}")
    # What is withheld is not established, and fails nothing.
    for section, name in (("request", "rows"), ("fact", "executor")):
        shutil.copy(bundle, f"{d}/less.lynx")
        with sqlite3.connect(f"{d}/less.lynx") as db:
            db.execute(f"DELETE FROM {section}")
            db.execute("UPDATE section SET withheld = 1 WHERE name = ?", (section,))
        check("failed" not in checks(f"{d}/less.lynx").get(name, []), f"{section} withheld: {checks(f'{d}/less.lynx')}")

# The model's digest, computed anew by who has its files.
with folder() as d:
    os.makedirs(f"{d}/model")
    weights, other = f"{d}/model/byte.safetensors", f"{d}/other.safetensors"
    shutil.copy(f"{SOURCE}/reference/model/byte.safetensors", weights)
    with open(weights, "rb") as f, open(other, "wb") as g:
        data = bytearray(f.read())
        data[-5] ^= 1
        g.write(data)
    with reference("--weights", weights) as port:
        check_equal(lynx("run", contract(f"{d}/c.yaml", port), "--out", f"{d}/a.lynx", "--quiet").returncode, 0, "run")
    check_equal(checks(f"{d}/a.lynx").get("model"), ["not established"], "nobody has the files")
    check_equal(checks(f"{d}/a.lynx", "--model", weights).get("model"), ["passed"], "the file")
    check_equal(checks(f"{d}/a.lynx", "--model", f"{d}/model").get("model"), ["passed"], "its folder")
    check_equal(checks(f"{d}/a.lynx", "--model", other).get("model"), ["failed"], "another one")
    # In a cache the file is a link to one that is named by its digest.
    os.rename(weights, f"{d}/blob")
    os.symlink(f"{d}/blob", weights)
    check_equal(checks(f"{d}/a.lynx", "--model", weights).get("model"), ["passed"], "a link")
    os.chdir(f"{d}/model")
    check_equal(checks(f"{d}/a.lynx", "--model", "byte.safetensors").get("model"), ["passed"], "by its name alone")
    # Two hosts of one precision, of which one served another model.
    digest = rows(f"{d}/a.lynx", "SELECT value FROM fact WHERE key = 'model.digest' AND moment LIKE 'start:%'")[0][0]
    more = "INSERT INTO fact SELECT moment, layer, 'server-2/' || key, kind, status, '{}', unit, source, at_ns FROM fact WHERE key = 'model.digest'"
    check_equal(checks(forge(f"{d}/a.lynx", f"{d}/same.lynx", more.format(digest)), "--model", weights).get("model"), ["passed"], "two hosts, one model")
    check_equal(checks(forge(f"{d}/a.lynx", f"{d}/mixed.lynx", more.format("0" * 64)), "--model", weights).get("model"), ["failed"], "two hosts, two models")
    os.makedirs(f"{d}/empty")
    check_equal(checks(f"{d}/a.lynx", "--model", f"{d}/empty").get("model"), ["not established"], "no weights there")
    r = lynx("audit", f"{d}/a.lynx", "--model", f"{d}/nothing")
    check_equal(r.returncode, 2, "no such file")
    check_in("No such file", r.stderr, "and it is said")
finish()
