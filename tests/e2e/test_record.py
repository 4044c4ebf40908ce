"""The bundle as others see it: the root recomputed in Python from docs/bundle.md alone; tampering; withholding."""
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


with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
    bundle = f"{d}/a.lynx"
    check_equal(lynx("run", contract(f"{d}/c.yaml", port), "--out", bundle, "--quiet").returncode, 0, "run")
    check_equal(show(bundle)["bundle"]["root"], root(bundle), "the root, by two programs")
    check_equal(sorted(f for f in os.listdir(d) if "a.lynx" in f), ["a.lynx"], "one file")

    def tampered(name, *sql):
        shutil.copy(bundle, f"{d}/{name}.lynx")
        with sqlite3.connect(f"{d}/{name}.lynx") as db:
            for s in sql:
                db.execute(s)
        r = lynx("show", f"{d}/{name}.lynx")
        check_equal(r.returncode, 2, f"{name}: exit code ({r.stdout[:300]})")
        check_in("altered or damaged", r.stderr, name)
        for command in ("claim", "report"):
            check_equal(lynx(command, f"{d}/{name}.lynx").returncode, 2, f"{name}: {command}")

    tampered("headline", "UPDATE request SET end_ns = end_ns / 4 WHERE id = 3")
    tampered("dropped", "DELETE FROM request WHERE outcome = 'ok' AND id = 7")
    tampered("added", "INSERT INTO request SELECT session, id + 1000, phase, outcome, reason, http_status, input, scheduled_ns, issued_ns, written_ns, first_byte_ns, first_token_ns, last_token_ns, end_ns, prompt_tokens, output_tokens, n_text_events, read_lag_ns, flags, events FROM request WHERE id = 3")
    tampered("contract", "UPDATE meta SET value = replace(value, '20', '21') WHERE key = 'contract'")
    tampered("fact", "UPDATE fact SET value = 'a better CPU' WHERE key = 'cpu.model'")
    tampered("ended", "UPDATE seal SET why = 'all good'")
    tampered("view", "CREATE VIEW better AS SELECT * FROM request")
    tampered("trigger", "CREATE TRIGGER t AFTER INSERT ON request BEGIN SELECT 1; END")
    tampered("table", "CREATE TABLE more (a)")
    # An unsealed copy is not taken for a sealed one.
    shutil.copy(bundle, f"{d}/unsealed.lynx")
    with sqlite3.connect(f"{d}/unsealed.lynx") as db:
        db.execute("DELETE FROM seal")
    check_in("INCOMPLETE", lynx("show", f"{d}/unsealed.lynx").stdout, "without its seal")

    # Prompts withheld, as docs/bundle.md shows: the root is the same, the rest still verifies, and every reader is told.
    shutil.copy(bundle, f"{d}/less.lynx")
    with sqlite3.connect(f"{d}/less.lynx", isolation_level=None) as db:
        db.execute("DELETE FROM input")
        db.execute("UPDATE section SET withheld = 1 WHERE name = 'input'")
        db.execute("VACUUM")
    check_equal(root(f"{d}/less.lynx"), root(bundle), "root of the copy without prompts")
    r = lynx("show", f"{d}/less.lynx")
    check_equal(r.returncode, 0, f"withheld: {r.stderr}")
    check_in("withheld from this copy: input", r.stdout, "withheld")
    a, b = show(bundle), show(f"{d}/less.lynx")
    check_equal(a["precisions"], b["precisions"], "figures of the copy")

    # Truncated, at many lengths.
    data = open(bundle, "rb").read()
    for k in range(1, 40):
        with open(f"{d}/short.lynx", "wb") as f:
            f.write(data[: len(data) * k // 40])
        r = lynx("show", f"{d}/short.lynx")
        check(r.returncode == 2 and r.stderr.strip() != "", f"truncated to {k}/40: exit {r.returncode}, {r.stderr}")

    # The record is never overwritten.
    r = lynx("run", f"{d}/c.yaml", "--out", bundle, "--quiet")
    check_equal(r.returncode, 2, "a second run to the same file")
    check_in("never overwritten", r.stderr, "a second run to the same file")
    check_equal(show(bundle)["bundle"]["root"], root(bundle), "and the first is intact")
    # Secrets are nowhere.
    with reference("--mode", "metronome") as other:
        path = contract(f"{d}/key.yaml", other, workload="{model: m, api_key_env: LYNX_TEST_API_KEY, prompts: {count: 2, bytes: 16}}")
        r = lynx("run", path, "--out", f"{d}/key.lynx", "--quiet", env={"LYNX_TEST_API_KEY": "sk-hunter2-planted"})
        check_equal(r.returncode, 0, f"key: {r.stderr}")
        check(b"hunter2" not in open(f"{d}/key.lynx", "rb").read(), "the API key is in the bundle")
        check_equal(lynx("run", path, "--out", f"{d}/nokey.lynx", "--quiet").returncode, 2, "a key that is not set")
finish()
