"""What an attacker tried, and what SECURITY.md promises: each test is named after the promise.

pytest -k NAME runs one."""

import base64
import contextlib
import glob
import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time

import lynx as l
import machine
import pytest
from lynx import LYNX, contract, environment, free_port, reference
from made import Handler, Server, Stream, server
from test_py_spy import SERVER as PYTHON_SERVER

NOTHING = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'
SHORT = "{warm_up: 100ms, counted: 300ms, sessions: %d, drain: 1s}"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A sealed run of the null driver."""
    d = tmp_path_factory.mktemp("bundle")
    path = contract(f"{d}/null.yaml", 1, executor="{}", workload=NOTHING)
    l.lynx("run", path, "--out", f"{d}/null.lynx", "--quiet")
    return f"{d}/null.lynx"


# --- nothing is found by the caller's PATH ---


def programs():
    """The names in the one list of programs that lynxbench starts by itself."""
    lines = l.lynx("--version", "--verbose").stdout.splitlines()
    return [line.split(": ")[1].split(",")[0] for line in lines if line.startswith("program that lynxbench starts: ")]


@pytest.mark.long
def test_no_program_is_found_by_path(tmp_path):
    """Each program of the list, and of the system, lies first in PATH and leaves its name where it is run: none is."""
    planted, ran = tmp_path / "bin", tmp_path / "ran"
    planted.mkdir()
    script = planted / "planted"
    script.write_text(f'#!/bin/sh\necho "$0" >>{ran}\n')
    script.chmod(0o755)
    assert len(programs()) >= 4, programs()
    system = [name for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin") for name in os.listdir(folder)]
    for name in programs():
        shutil.copy(script, planted / name)
    for name in {*system} - {*programs()}:
        (planted / name).symlink_to(script)
    subprocess.run([planted / "id"], check=True)
    assert ran.read_text() == f"{planted}/id\n", "what is planted would be seen"
    ran.unlink()
    home = {"PATH": f"{planted}:/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    as_nobody = "import os\nif os.getuid() == 0: os.setresuid(65534, 65534, 65534)\n"
    (tmp_path / "server.py").write_text(as_nobody + PYTHON_SERVER)
    port, out = free_port(), tmp_path / "d.lynx"
    with subprocess.Popen(["/usr/bin/python3", tmp_path / "server.py", str(port)]) as process:
        try:
            l.wait_for_port(port)
            words = ("--model", "m", "--for", "30s", "--at-most", "2", "--quiet", "--out", out)
            r = l.lynx("diagnose", f"http://127.0.0.1:{port}", *words, env=home)
            assert r.returncode in (0, 3, 4), r.stderr
        finally:
            process.kill()
    assert l.rows(out, "SELECT id FROM session WHERE purpose = 'attribute'"), "profilers had their sessions"
    words = ("calibrate", "--only", "instrument", "--quiet", "--out", tmp_path / "c.json")
    assert l.lynx(*words, env=home).returncode == 0
    path = contract(f"{tmp_path}/null.yaml", 1, executor="{}", workload=NOTHING)
    if os.getuid() != 0:  # root's units would be the system's
        l.lynx("schedule", "add", path, "--at", "02:00", env=home)
    assert not ran.exists(), ran.read_text()


def test_programs_are_started_in_few_places():
    """exec and its like are in five files; what base/child.c does not start is lynxbench or a program of the list."""
    source = subprocess.run(
        [
            "grep",
            "-rlE",
            r"\b(execv|execve|execvp|execvpe|execl|execlp|posix_spawn|posix_spawnp|popen|system)\(",
            f"{l.SOURCE}/src",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = sorted(os.path.relpath(path, f"{l.SOURCE}/src") for path in source.stdout.split())
    wanted = [
        "base/child.c",
        "cli/self_run.c",
        "executor/library_ask.c",
        "experiment/gpu_share.c",
        "telemetry/unwound.c",
    ]
    assert found == wanted, found
    security = open(f"{l.SOURCE}/SECURITY.md").read()
    assert [name for name in programs() if f"`{name}`" not in security] == []


# --- looking at a file changes nothing ---


def journal_naming(database, other):
    """A hot journal of the database, whose end names a super-journal: SQLite deletes that when it recovers."""
    pages = os.path.getsize(database) // 4096
    magic = bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">IIIII", 0, 1, pages, 512, 4096)
    name = other.encode()
    end = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    with open(f"{database}-journal", "wb") as f:
        f.write(header.ljust(512, b"\0") + end)


def a_file(path):
    with open(path, "w") as f:
        f.write("dear")
    return path


def attackable(folder):
    """Does SQLite here do what the attack relies on? Else these tests could not fail."""
    with sqlite3.connect(f"{folder}/plain.db") as db:
        db.execute("CREATE TABLE t(x)")
    db.close()
    victim = a_file(f"{folder}/plain-victim")
    journal_naming(f"{folder}/plain.db", victim)
    with sqlite3.connect(f"{folder}/plain.db") as db:
        db.execute("SELECT * FROM t").fetchall()
    db.close()
    return not os.path.exists(victim)


READ_ONE = ["show", "show --claim", "show --html -", "audit", "export", "attribute", "recover"]


@pytest.mark.parametrize("command", READ_ONE)
def test_looking_at_a_bundle_deletes_nothing(tmp_path, bundle, command):
    assert attackable(tmp_path)
    evil, victim = f"{tmp_path}/evil.lynx", a_file(f"{tmp_path}/victim")
    shutil.copy(bundle, evil)
    journal_naming(evil, victim)
    r = l.lynx(*command.split(), evil)
    assert os.path.exists(victim) and os.path.exists(f"{evil}-journal"), r.stdout + r.stderr
    said = r.stdout + r.stderr
    assert r.returncode == (1 if command == "audit" else 2) and "evil.lynx-journal" in said, said


@pytest.mark.parametrize("name", ["/etc/x", "-rf", ".hidden", "..", "--", "a/b"])
def test_a_contract_names_usable_files(tmp_path, name):
    path = contract(f"{tmp_path}/c.yaml", 1, executor="{}", workload=NOTHING, name=f'"{name}"')
    r = l.lynx("run", path, "--quiet", cwd=tmp_path)
    assert r.returncode == 0, r.stderr
    (bundle,) = glob.glob(f"{tmp_path}/*.lynx")
    assert (
        os.path.basename(bundle)[0] not in "-./"
        and l.lynx("show", os.path.basename(bundle), cwd=tmp_path).returncode == 0
    )


# --- nobody waits for ever, and a small file costs little ---


@pytest.mark.long
def test_a_pipe_that_nobody_uses_is_given_up(tmp_path, bundle):
    """Read and written: each ends with a word about the pipe, and one that is used works."""
    pipes = [tmp_path / f"pipe{i}" for i in range(8)]
    for path in pipes:
        os.mkfifo(path)
    pipe = pipes[7]
    l.lynx("ledger", "key", "ml", "--out", tmp_path)
    commands = (
        ("attribute", pipes[0]),
        ("attribute", pipes[1], pipes[1]),
        ("ledger", "sign", pipes[2], "--key", tmp_path / "ml.key", "--out", tmp_path / "s.json"),
        ("lint", pipes[3]),
        ("show", pipes[4]),
        ("show", bundle, "--html", pipes[5]),
        ("attribute", bundle, "--html", pipes[6]),
    )
    started = [
        (
            c,
            subprocess.Popen(
                [LYNX, *map(str, c)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ),
        )
        for c in commands
    ]
    for command, p in started:
        out, err = p.communicate(timeout=40)
        assert p.returncode in (2, 4) and "pipe" in err, (command, p.returncode, out, err)
    with subprocess.Popen([LYNX, "lint", pipe], env=environment(), stdout=subprocess.PIPE, text=True) as p:
        with open(pipe, "w") as f:
            time.sleep(0.3)
            f.write("lynxbench: 1\n")
        assert "executor" in p.communicate(timeout=40)[0]


@pytest.mark.long
def test_a_silent_ledger_server_is_given_up(tmp_path):
    """Within a minute, with a word after some seconds; also one that sends a byte now and then."""

    def answer(s, drips):
        with contextlib.suppress(OSError):
            c, _ = s.accept()
            c.recv(4096)
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" if drips else b"")
            for _ in range(600):
                time.sleep(0.2)
                c.sendall(b"x" if drips else b"")

    started = []
    with contextlib.ExitStack() as stack:
        for drips in (False, True):
            s = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            threading.Thread(target=answer, args=(s, drips), daemon=True).start()
            words = [LYNX, "ledger", "list", f"http://127.0.0.1:{s.getsockname()[1]}/"]
            env = {**environment(), "HOME": str(tmp_path / str(drips))}
            started.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for p in started:
            _, err = p.communicate(timeout=60)
            assert p.returncode in (2, 4, 5) and "Ctrl-C stops" in err, err


@pytest.mark.parametrize(
    "what",
    [
        (
            "fact",
            "moment, 'system', 'declared.k' || i, 'identity', 'declared', 'v', '', 's', 0",
            "(SELECT DISTINCT moment FROM fact)",
        ),
        (
            "fact",
            "moment, 'system', 'k' || i, 'identity', 'read', moment, '', 's', 0",
            "(SELECT DISTINCT moment FROM fact)",
        ),
        (
            "fact",
            "moment, 'system', 'hole.k' || i, 'identity', 'read', 'h' || i, '', 's', 0",
            "(SELECT DISTINCT moment FROM fact)",
        ),
        ("event", "1000 + i, 0, 'condition', 'c' || i", "(SELECT 0)"),
        ("sample", "session, 'x' || i, 0, 1.0", "(SELECT min(id) AS session FROM session)"),
    ],
)
def test_a_small_file_does_not_stall_a_reader(tmp_path, bundle, what):
    """Twenty times the rows take about twenty times the instructions, and not four hundred."""
    table, values, source = what
    counts = []
    for n in (1000, 20000):
        path = f"{tmp_path}/{n}.lynx"
        rows = f"WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < {n - 1})"
        l.forge(bundle, path, f"{rows} INSERT INTO {table} SELECT {values} FROM c, {source}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert l.lynx("show", path, timeout=60).returncode in (0, 1, 3)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert counts[1] < 100 * max(counts[0], 0.005), counts


def test_a_file_of_holes_has_no_digest(tmp_path):
    """A terabyte that takes no room on the disk: its zeros are not hashed."""
    with open(tmp_path / "model.safetensors", "wb") as f:
        f.write(b"\x08\0\0\0\0\0\0\0{}      ")
        f.truncate(1 << 40)
    r = l.lynx("capture", "--digest", tmp_path / "model.safetensors", timeout=60)
    assert r.returncode == 2 and "holes" in r.stderr, r.stderr


@pytest.mark.skipif(l.SANITIZED, reason="a sanitizer maps terabytes")
@pytest.mark.parametrize("command", ["profile FILE", "import FILE", "diff FILE now", "merge FILE FILE --out OUT"])
def test_a_file_of_holes_is_not_read(tmp_path, command):
    """Of 400 MB that take no room none are read into memory: by how much of it the command ever had."""
    with open(tmp_path / "log.jsonl", "wb") as f:
        f.write(b'{"at_s": 0, "prompt_tokens": 1, "output_tokens": 1}\n')
        f.truncate(400 << 20)
    words = command.replace("FILE", str(tmp_path / "log.jsonl")).replace("OUT", str(tmp_path / "o.lynx")).split()
    limited = ["prlimit", f"--as={300 << 20}", l.LYNX, *words]
    r = subprocess.run(limited, capture_output=True, text=True, timeout=60)
    assert r.returncode == 2, (r.returncode, r.stderr)


def test_a_stolen_intent_is_not_claimed(tmp_path):
    """A bundle that carries the intent of one that is in the ledger: nothing of that run is its own."""
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "LYNXBENCH_KEY": str(tmp_path / "ml.key")}
    ledger, out, forged = tmp_path / "team.ledger", f"{tmp_path}/a.lynx", f"{tmp_path}/forged.lynx"
    path = contract(f"{tmp_path}/null.yaml", 1, executor="{}", workload=NOTHING, signatories="[ml]")
    for words in (
        ("ledger", "key", "ml", "--out", tmp_path),
        ("ledger", "create", ledger),
        ("ledger", "sign", path, "--ledger", ledger),
        ("run", path, "--out", out, "--quiet", "--ledger", ledger),
    ):
        r = l.lynx(*words, env=env)
        assert r.returncode == 0, (words, r.stderr)
    r = l.lynx("show", "--claim", out, "--ledger", ledger, env=env)
    assert r.returncode == 0 and "was agreed before the run" in r.stdout, r.stdout + r.stderr
    l.forge(out, forged, "UPDATE request SET end_ns = end_ns - 1 WHERE id = 0")
    r = l.lynx("show", "--claim", forged, "--ledger", ledger, env=env)
    assert (
        r.returncode == 1 and "is another bundle" in r.stdout and "was agreed for another bundle" in r.stdout
    ), r.stdout
    claims = json.loads(l.lynx("show", "--claim", forged, "--ledger", ledger, "--json", env=env).stdout)
    assert claims[0]["claim"] is None and "is another bundle" in claims[0]["refused_because"][-1], claims
    shown = json.loads(l.lynx("show", forged, "--ledger", ledger, "--json", env=env).stdout.splitlines()[1])
    assert (shown["recorded"], shown["agreed"]) == (False, False), shown
    assert [x["bundle"] for x in shown["rivals"]] == [l.show(out)["bundle"]["root"]], shown
    r = l.lynx("audit", forged, "--ledger", ledger, env=env)
    assert r.returncode == 1 and "another bundle" in r.stdout, r.stdout


def test_looking_at_a_trace_database_deletes_nothing(tmp_path):
    trace, victim = f"{tmp_path}/trace.sqlite", a_file(f"{tmp_path}/victim")
    with sqlite3.connect(trace) as db:
        db.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
    db.close()
    journal_naming(trace, victim)
    r = l.lynx("attribute", trace)
    assert os.path.exists(victim) and r.returncode == 2 and "trace.sqlite-journal" in r.stderr, r.stderr


def test_an_own_run_that_was_killed_is_recovered_by_command(tmp_path):
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        path = contract(f"{tmp_path}/c.yaml", port, method="{warm_up: 100ms, counted: 60s, sessions: 2, drain: 1s}")
        out = f"{tmp_path}/c.lynx"
        p = subprocess.Popen([LYNX, "run", path, "--out", out, "--quiet"], env=environment(), stderr=subprocess.DEVNULL)
        for _ in range(200):
            if os.path.exists(f"{out}-wal") and os.path.getsize(f"{out}-wal") > 50000:
                break
            time.sleep(0.05)
        r = l.lynx("recover", out)
        assert r.returncode == 2 and "a run is writing it" in r.stderr, r.stderr
        p.kill()
        p.wait()
    r = l.lynx("show", out)
    assert r.returncode == 2 and "lynxbench recover" in r.stderr, r.stderr
    r = l.lynx("recover", out)
    assert r.returncode == 0 and "incomplete" in r.stdout, r.stderr
    assert not glob.glob(f"{out}-*")
    assert json.loads(l.lynx("show", out, "--json").stdout)["bundle"]["ended"] == "unsealed"


# --- verify runs a stranger's contract only on demand, and gives it nothing of ours ---


def starts_and_tells(d, port, environment):
    """An executor that is started by a script, which writes down that it was, and its environment."""
    script = f"{d}/start.sh"
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\necho started >> {d}/started; env > {d}/seen\nexec {l.REF} --mode metronome --port "$1"\n')
    os.chmod(script, 0o755)
    long = "x" * 400 + "planted"  # what was cut off would be what is hidden
    start = f'{{command: [{script}, "{{port}}", {long}], environment: [{environment}]}}'
    return f'{{endpoint: "http://127.0.0.1:{port}", start: {start}}}'


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A sealed run whose contract starts a program that writes down its environment, and names a key of the cloud."""
    d = tmp_path_factory.mktemp("foreign")
    port = free_port()
    path = contract(
        f"{d}/c.yaml",
        port,
        executor=starts_and_tells(d, port, "AWS_SECRET_ACCESS_KEY"),
        workload="{model: metronome, output_tokens: 5, prompts: {count: 8, bytes: 32}, api_key_env: STRANGERS_TOKEN}",
        method=SHORT % 2,
    )
    r = l.lynx("run", path, "--out", f"{d}/c.lynx", "--quiet", env={"STRANGERS_TOKEN": "t"})
    assert os.path.exists(f"{d}/c.lynx"), r.stderr
    os.remove(f"{d}/started")
    return str(d)


def test_verify_shows_a_strangers_contract_and_runs_nothing(tmp_path, foreign):
    for given in ((), ("--run", "0" * 12), ("--run", "1")):
        r = l.lynx("verify", f"{foreign}/c.lynx", "--out", f"{tmp_path}/again.lynx", *given, stdin=subprocess.DEVNULL)
        assert r.returncode == 2, r.stderr
        assert not os.path.exists(f"{foreign}/started") and not os.path.exists(f"{tmp_path}/again.lynx")
        for words in (
            "start.sh",
            "planted",
            "AWS_SECRET_ACCESS_KEY",
            "http://127.0.0.1:",
            "STRANGERS_TOKEN",
            "not used",
        ):
            assert words in r.stderr, r.stderr


def test_verify_gives_a_strangers_contract_no_keys(tmp_path, foreign):
    digest = json.loads(l.lynx("show", f"{foreign}/c.lynx", "--json").stdout)["contract"]["digest"]
    secrets = {"AWS_SECRET_ACCESS_KEY": "hunter2a", "STRANGERS_TOKEN": "hunter2b", "LYNXBENCH_PASSPHRASE": "hunter2c"}
    again = ("--run", digest[:12], "--sessions-at-most", "30", "--out", f"{tmp_path}/again.lynx", "--quiet")
    r = l.lynx("verify", f"{foreign}/c.lynx", *again, env=secrets)
    assert r.returncode in (0, 1, 3, 4) and os.path.exists(f"{foreign}/started"), r.stderr
    with open(f"{foreign}/seen") as f:
        assert "hunter2" not in f.read()


def test_verify_sends_nothing_to_a_strangers_endpoint(tmp_path):
    """The key that the contract names is sent to nobody, and the endpoint must be the verifier's own."""
    heads = []

    def plain(handler, n, body):
        heads.append(dict(handler.headers))
        s = Stream(handler)
        s.text("word ")
        s.end(1)

    with server(plain) as s:
        work = "{model: made, output_tokens: 1, prompts: {count: 8, bytes: 32}, api_key_env: STRANGERS_TOKEN}"
        path = contract(f"{tmp_path}/c.yaml", s.server_port, workload=work, method=SHORT % 2)
        l.lynx("run", path, "--out", f"{tmp_path}/c.lynx", "--quiet", env={"STRANGERS_TOKEN": "first"})
        digest = json.loads(l.lynx("show", f"{tmp_path}/c.lynx", "--json").stdout)["contract"]["digest"]
        del heads[:]
        verify = ("verify", f"{tmp_path}/c.lynx", "--run", digest, "--sessions-at-most", "30", "--quiet", "--out")
        r = l.lynx(*verify, f"{tmp_path}/no.lynx", env={"STRANGERS_TOKEN": "mine"})
        assert r.returncode == 2 and "--endpoint" in r.stderr and not heads, r.stderr
        own = ("--endpoint", f"http://127.0.0.1:{s.server_port}")
        l.lynx(*verify, f"{tmp_path}/a.lynx", *own, env={"STRANGERS_TOKEN": "mine"})
        assert heads and not any("Authorization" in h for h in heads)
        del heads[:]
        keys = {"STRANGERS_TOKEN": "mine", "OWN": "given"}
        l.lynx(*verify, f"{tmp_path}/b.lynx", *own, "--api-key-env", "OWN", env=keys)
        assert any(h.get("Authorization") == "Bearer given" for h in heads)


def test_a_contract_takes_no_secret_for_a_key(tmp_path):
    secret = "AWS_SECRET_ACCESS_KEY"
    for name, allowed, code in ((secret, (), 2), (secret, ("--key-variable", secret), 5), ("MY_API_KEY", (), 5)):
        work = f"{{model: made, output_tokens: 1, prompts: {{count: 8, bytes: 32}}, api_key_env: {name}}}"
        path = contract(f"{tmp_path}/{name}.yaml", free_port(), workload=work)
        r = l.lynx("run", path, "--out", f"{tmp_path}/{name}{len(allowed)}.lynx", "--quiet", *allowed, env={name: "k"})
        assert r.returncode == code and (code == 5 or "_API_KEY or _TOKEN" in r.stderr), r.stderr


# --- files ---


def test_a_bundle_is_its_owners_alone(bundle):
    assert os.stat(bundle).st_mode & 0o777 == 0o600


def test_the_executors_log_follows_no_link(tmp_path):
    port, victim = free_port(), a_file(f"{tmp_path}/victim")
    path = contract(
        f"{tmp_path}/c.yaml",
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}", '
        f'start: {{command: [{l.REF}, --mode, metronome, --port, "{{port}}"]}}}}',
        method=SHORT % 1,
    )
    os.symlink(victim, f"{tmp_path}/c.lynx.executor.log")
    l.lynx("run", path, "--out", f"{tmp_path}/c.lynx", "--quiet")
    with open(victim) as f:
        assert f.read() == "dear"


def test_reports_allow_nothing_but_their_own_style(tmp_path, bundle):
    out = f"{tmp_path}/report.html"
    l.lynx("show", bundle, "--html", out)
    with open(out) as f:
        page = f.read()
    assert page.index("Content-Security-Policy") < page.index("<style>")
    style = page[page.index("<style>") + 7 : page.index("</style>")]
    own = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{own}'" in page and "unsafe" not in page
    assert "<script" not in page and " style=" not in page


# --- a started executor gets what it needs of our environment, and no keys ---


def test_a_started_executor_does_not_inherit_secrets(tmp_path):
    port = free_port()
    seen = f"{tmp_path}/seen"
    path = contract(
        f"{tmp_path}/c.yaml",
        port,
        executor=starts_and_tells(tmp_path, port, "ASKED_TOKEN, GIVEN=5, NOT_SET"),
        method=SHORT % 1,
    )
    secrets = {
        "LYNXBENCH_PASSPHRASE": "hunter2a",
        "LYNXBENCH_KEY": "/hunter2b",
        "AWS_SECRET_ACCESS_KEY": "hunter2c",
        "HF_TOKEN": "hunter2d",
        "VLLM_API_KEY": "hunter2e",
        "WHATEVER": "hunter2f",
        "SSH_AUTH_SOCK": "/hunter2g",
    }
    wanted = {"OMP_NUM_THREADS": "3", "CUDA_VISIBLE_DEVICES": "1", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}
    wanted["ASKED_TOKEN"] = "asked"
    r = l.lynx("run", path, "--out", f"{tmp_path}/c.lynx", "--quiet", env={**secrets, **wanted})
    with open(seen) as f:
        got = dict(line.split("=", 1) for line in f.read().splitlines() if "=" in line)
    assert not any("hunter2" in v for v in got.values()), (got, r.stderr)
    assert {k: got.get(k) for k in wanted} == wanted
    assert got["GIVEN"] == "5" and "PATH" in got and "NOT_SET" not in got
    executor = '{endpoint: "http://x:1", start: {command: [x], environment: ["a b"]}}'
    r = l.lynx("lint", contract(f"{tmp_path}/bad.yaml", port, executor=executor))
    assert r.returncode == 2 and "executor.start.environment[0]" in r.stdout + r.stderr


def test_a_log_keeps_no_keys(tmp_path):
    """What a started executor prints of its keys is starred, wherever in the log it is."""
    port = free_port()
    with open(f"{tmp_path}/noisy.sh", "w") as f:
        f.write("head -c 65530 /dev/zero | tr '\\\\0' x; echo ' key sk-hunter2abcdefghijkl'\n")
        f.write("printf 'a\\\\0b ghp_hunter2abcdefghijk\\\\n'; echo 'mine is plain-words-as-a-key'; exit 3\n")
    executor = f'{{endpoint: "http://127.0.0.1:{port}", start: {{command: [sh, {tmp_path}/noisy.sh]}}}}'
    workload = "{model: m, api_key_env: MY_TOKEN, prompts: {count: 2, bytes: 16}}"
    path = contract(f"{tmp_path}/c.yaml", port, executor=executor, method=SHORT % 1, workload=workload)
    r = l.lynx("run", path, "--out", f"{tmp_path}/c.lynx", "--quiet", env={"MY_TOKEN": "plain-words-as-a-key"})
    assert r.returncode == 5 and "hunter2" not in r.stderr and "plain-words" not in r.stderr, r.stderr
    with open(f"{tmp_path}/c.lynx.executor.log", "rb") as f:
        log = f.read()
    assert log.count(b"****") >= 3 and len(log) > 65536, log[-400:]
    assert b"hunter2" not in log and b"plain-words" not in log, log[-400:]


TAKEN_OVER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void act(void) {
  int made = open(getenv("TARGET_NEW"), O_CREAT | O_WRONLY, 0600) >= 0;
  int wrote = open(getenv("TARGET_OLD"), O_WRONLY) >= 0;
  int gone = unlink(getenv("TARGET_OLD")) == 0, mode = chmod(getenv("TARGET_OLD"), 0777) == 0;
  int net = socket(AF_INET, SOCK_STREAM, 0) >= 0, child = fork();
  if (child == 0) _exit(0);
  /* newer calls, and those that reach another process: one that was there before */
  pid_t other = atoi(getenv("TARGET_PID"));
  struct { unsigned long now, most; } none = {0, 0};
  int ends[2];
  int odd = syscall(452, AT_FDCWD, getenv("TARGET_OLD"), 0777, 0) == 0; /* fchmodat2 */
#ifdef SYS_futimesat
  odd += syscall(SYS_futimesat, AT_FDCWD, getenv("TARGET_OLD"), 0) == 0;
#endif
  odd += syscall(469, AT_FDCWD, getenv("TARGET_OLD"), 0, 0, 0) == 0; /* file_setattr */
  odd += syscall(SYS_tgkill, other, other, 9) == 0;
  odd += syscall(SYS_prlimit64, other, 0, &none, 0) == 0;
  odd += pipe(ends) == 0 && (fcntl(ends[0], F_SETOWN, other) == 0 || fcntl(ends[0], F_SETSIG, 9) == 0);
  odd += sethostname("taken", 5) == 0;
  odd += prctl(PR_SET_PDEATHSIG, 0) == 0;
  odd += shmget(0x7f001, 4096, IPC_CREAT | 0600) >= 0;
  if (odd != 0) fprintf(stderr, "made odd %d\\n", odd);
  fprintf(stderr, "made %d, wrote %d, gone %d, mode %d, net %d, child %d\n", made, wrote, gone, mode, net, child > 0);
}
int sqlite3_open_v2(const char *a, void **b, int c, const char *d) {
  act();
  return ((int (*)(const char *, void **, int, const char *))dlsym(RTLD_NEXT, "sqlite3_open_v2"))(a, b, c, d);
}
void *json_loadb(const char *a, size_t b, size_t c, void *d) {
  act();
  return ((void *(*)(const char *, size_t, size_t, void *))dlsym(RTLD_NEXT, "json_loadb"))(a, b, c, d);
}
"""


@pytest.fixture(scope="module")
def bystander():
    """Another process of this user."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_a_page_does_not_take_the_place_of_what_it_is_made_of(bundle, tmp_path):
    shutil.copy(bundle, f"{tmp_path}/a.lynx")
    os.chmod(f"{tmp_path}/a.lynx", 0o600)
    r = l.lynx("show", f"{tmp_path}/a.lynx", "--html", f"{tmp_path}/./a.lynx")
    assert r.returncode == 2 and "the file that is read" in r.stderr, r.stderr
    assert l.lynx("show", f"{tmp_path}/a.lynx").returncode == 0
    with open(f"{tmp_path}/r.html", "w") as f:
        os.fchmod(f.fileno(), 0o600)
    assert l.lynx("show", f"{tmp_path}/a.lynx", "--html", f"{tmp_path}/r.html").returncode == 0
    assert os.stat(f"{tmp_path}/r.html").st_mode & 0o777 == 0o600, "who could not read it cannot now"


@pytest.mark.skipif(l.SANITIZED, reason="there is no cage then")
@pytest.mark.parametrize("which", ["INT", "TERM"])
def test_an_import_that_is_stopped_leaves_nothing(tmp_path, which):
    os.makedirs(f"{tmp_path}/scratch")
    command = [LYNX, "import", "-", "--out", f"{tmp_path}/a.lynx"]
    env = {**os.environ, "TMPDIR": f"{tmp_path}/scratch"}
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(100):
        if os.listdir(f"{tmp_path}/scratch"):
            break
        time.sleep(0.05)
    process.send_signal(getattr(signal, f"SIG{which}"))
    assert process.wait(timeout=20) == 130
    assert os.listdir(f"{tmp_path}/scratch") == [] and not os.path.exists(f"{tmp_path}/a.lynx")


def exported_ledger(d):
    """A ledger as files."""
    subprocess.run([LYNX, "ledger", "key", "ml", "--out", d], check=True, capture_output=True)
    subprocess.run([LYNX, "ledger", "create", f"{d}/a.ledger", "--key", f"{d}/ml.key"], check=True, capture_output=True)
    subprocess.run([LYNX, "ledger", "export", f"{d}/a.ledger", f"{d}/www"], check=True, capture_output=True)
    return f"{d}/www"


HARMLESS = "made 0, wrote 0, gone 0, mode 0, net 0, child 0"


@pytest.mark.skipif(
    l.SANITIZED or not shutil.which("cc"), reason="needs a compiler, and no sanitizer before the library"
)
@pytest.mark.parametrize(
    "command", ["show", "show --claim", "export", "diff", "attribute", "audit", "show --html", "import", "ledger pull"]
)
def test_a_reader_that_was_taken_over_can_do_nothing(bundle, tmp_path, bystander, command):
    """A library in the place of SQLite's and jansson's first calls does what a stranger's file would make them do."""
    machine.need("cage", machine.cage(), "no Landlock of version 3, or no seccomp")
    with open(f"{tmp_path}/over.c", "w") as f:
        f.write(TAKEN_OVER)
    subprocess.run(
        ["cc", "-w", "-shared", "-fPIC", "-o", f"{tmp_path}/over.so", f"{tmp_path}/over.c", "-ldl"], check=True
    )
    with open(f"{tmp_path}/old", "w") as f:
        f.write("kept")
    trace = f"{l.SOURCE}/tests/recorded/profiles/h100-bert.json.gz"
    lines = f"{l.SOURCE}/tests/recorded/traces/otlp.json"
    os.makedirs(f"{tmp_path}/made")
    os.makedirs(f"{tmp_path}/scratch")
    files = {
        "diff": [bundle, bundle, "--html", f"{tmp_path}/made/d.html"],
        "attribute": [lines if os.path.exists(lines) else trace],
        "audit": [bundle, "--html", f"{tmp_path}/made/a.html"],
        "show --html": [f"{tmp_path}/made/r.html", bundle],
        "import": [f"{l.SOURCE}/tests/recorded/imports/vllm-bench.json", "--out", f"{tmp_path}/made/i.lynx"],
        "ledger pull": [exported_ledger(tmp_path), f"{tmp_path}/made/copy.ledger"],
    }.get(command, [bundle])
    env = {
        "LD_PRELOAD": f"{tmp_path}/over.so",
        "TMPDIR": f"{tmp_path}/scratch",
        "TARGET_PID": str(bystander.pid),
        "TARGET_NEW": f"{tmp_path}/new",
        "TARGET_OLD": f"{tmp_path}/old",
        "XDG_STATE_HOME": f"{tmp_path}/state",  # read before: what a run beside this one perturbs
    }
    r = l.lynx(*command.split(), *files, env=env)
    assert bystander.poll() is None, "another process was ended"
    said = [x for x in r.stderr.splitlines() if x.startswith("made ")]
    lacks = subprocess.run([LYNX, "--version", "--verbose"], capture_output=True, text=True).stdout
    assert ": whole" in lacks, lacks
    assert said and set(said) == {HARMLESS}, (r.stdout[-500:], r.stderr[-1000:])
    assert not os.path.exists(f"{tmp_path}/new") and open(f"{tmp_path}/old").read() == "kept"
    wanted = {
        "diff": ["d.html"],
        "audit": ["a.html"],
        "show --html": ["r.html"],
        "import": ["i.lynx"],
        "ledger pull": ["copy.ledger"],
    }
    made = [x for x in os.listdir(f"{tmp_path}/made") if not x.endswith(("-wal", "-shm"))]
    assert made == wanted.get(command, []), (made, r.stderr)
    assert r.stdout and os.listdir(f"{tmp_path}/scratch") == []


def test_a_key_in_a_servers_error_is_masked(tmp_path):
    """A server may tell what it was started with; the record travels."""
    key = "sk-live" + "4f9Qz81bTTx0aPq7"

    def fails(handler, n, body):
        text = json.dumps({"error": {"message": f"upstream refused the key {key}, see hf_transfer_enabled"}}).encode()
        handler.send_response(401)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    with server(fails) as s:
        r = l.lynx("run", contract(f"{tmp_path}/c.yaml", s.server_port), "--out", f"{tmp_path}/a.lynx", "--quiet")
    assert key not in r.stdout + r.stderr
    with open(f"{tmp_path}/a.lynx", "rb") as f:
        data = f.read()
    assert key.encode() not in data and b"upstream refused the key ***" in data and b"hf_transfer_enabled" in data


def test_a_sent_key_is_masked_where_a_server_is_not_ready(tmp_path):
    """Every answer repeats the key that it was sent, in some writing, and is quoted in an error and in the record."""
    key = "q7Zp-kL0v_9xW3tRuY2mN8bC5dF"  # of no service's shape
    writings = [key, key.encode().hex(), base64.b64encode(f"key {key}".encode()).decode(), key[::-1]]
    kept = []
    for text in writings:

        class Echo(Handler):
            def do_GET(self, text=text):
                kept.append(self.headers.get("Authorization"))
                answer = f"invalid key: {text}".encode()
                self.send_response(401)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        echo = Server(("127.0.0.1", 0), Echo)
        threading.Thread(target=echo.serve_forever, daemon=True).start()
        path = contract(f"{tmp_path}/c.yaml", echo.server_port, workload="{model: m, api_key_env: ZED_API_KEY}")
        out = f"{tmp_path}/{writings.index(text)}.lynx"
        r = l.lynx("run", path, "--out", out, "--quiet", env={"ZED_API_KEY": key})
        echo.shutdown()
        echo.server_close()
        assert r.returncode == 5 and "invalid key: " in r.stderr and text[-12:] not in r.stderr, r.stderr
        with open(out, "rb") as f:
            assert text[-12:].encode() not in f.read()
    assert f"Bearer {key}" in kept, "it was sent"


@pytest.mark.parametrize("command", ["perturb", "confirm"])
def test_a_strangers_contract_beside_a_bundle_is_asked_about(tmp_path, command):
    """Both came in one folder: it is no more the user's own than the one in the bundle. What was run here before is."""
    seen = []

    def keeps(handler, n, body):
        seen.append(handler.headers.get("Authorization"))
        stream = Stream(handler)
        stream.text("a")
        stream.end(1)

    workload = "{model: m, output_tokens: 1, prompts: {count: 2, bytes: 8}, api_key_env: ZED_API_KEY}"
    with server(keeps) as s:
        path = contract(f"{tmp_path}/c.yaml", s.server_port, workload=workload)
        home = {"ZED_API_KEY": "q7Zp-kL0v_9xW3tRuY2mN8bC5dF", "XDG_STATE_HOME": f"{tmp_path}/sender"}
        r = l.lynx("run", path, "--out", f"{tmp_path}/c.lynx", "--quiet", env=home)
        assert r.returncode in (0, 3, 4) and seen, r.stderr
        n = len(seen)
        words = [command, f"{tmp_path}/c.lynx", *(["processor"] if command == "confirm" else []), "--for", "10s"]
        r = l.lynx(*words, stdin=subprocess.DEVNULL, env={**home, "XDG_STATE_HOME": f"{tmp_path}/receiver"})
        assert r.returncode == 2 and len(seen) == n, (r.stderr, len(seen) - n)
        if command == "perturb":
            assert "was not run here before: to use it as your own, --contract" in r.stderr, r.stderr
            more = ("--only", "quota", "--out", f"{tmp_path}/p.lynx")
            r = l.lynx(*words, *more, stdin=subprocess.DEVNULL, env=home)
            assert "c.yaml, which is this run's" in r.stderr, r.stderr


def test_evidence_takes_no_device_s_place(tmp_path, bundle):
    os.mkfifo(f"{tmp_path}/pipe")
    os.symlink(f"{tmp_path}/elsewhere", f"{tmp_path}/link")
    env = {"XDG_STATE_HOME": f"{tmp_path}/state", "LYNXBENCH_KEY": f"{tmp_path}/ml.key"}
    for words in (("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", f"{tmp_path}/t.ledger")):
        assert l.lynx(*words, env=env).returncode == 0
    for name in ("pipe", "link"):
        before = os.lstat(f"{tmp_path}/{name}")
        r = l.lynx("evidence", bundle, "--ledger", f"{tmp_path}/t.ledger", "--out", f"{tmp_path}/{name}", env=env)
        after = os.lstat(f"{tmp_path}/{name}")
        assert r.returncode == 2 and "accepted: a file's name" in r.stderr, r.stderr
        assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode), name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may open the kernel's log")
@pytest.mark.parametrize("command", "show show,--claim audit attribute history import diff,now ledger,list".split())
def test_the_kernels_log_is_not_taken_for_a_record(tmp_path, command):
    """A plain file by its kind, whose reader waits, and takes away what it reads."""
    os.symlink("/proc/kmsg", f"{tmp_path}/z.lynx")
    name, *more = command.split(",")
    words = [*more, f"{tmp_path}/z.lynx"] if name == "ledger" else [f"{tmp_path}/z.lynx", *more]
    r = l.lynx(name, *words, timeout=30)
    assert r.returncode in (1, 2), (r.returncode, r.stderr)


def test_an_inventory_for_people_misleads_nobody(tmp_path):
    """In Markdown, as on a terminal: what reorders or hides text is shown as a question mark."""
    odd = "x\u061c\u200e\u2028\u200b\ufeff\U000e0041y"
    r = l.lynx("capture", "--root", f"{l.SOURCE}/tests/recorded/plain", "--out", f"{tmp_path}/a.json")
    assert r.returncode == 0, r.stderr
    with open(f"{tmp_path}/a.json") as f:
        text = f.read()
    facts = json.loads(text)
    for fact in facts["facts"]:
        fact["source"] = odd
    with open(f"{tmp_path}/b.json", "w") as f:
        json.dump(facts, f)
    said = l.lynx("capture", "--merge", f"x={tmp_path}/b.json", "--format", "markdown").stdout
    assert "| x??????y |" in said and not set(odd[1:-1]) & set(said), said[:2000]


if __name__ == "__main__":
    l.main(__file__)
