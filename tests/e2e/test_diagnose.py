"""lynxbench diagnose on the reference executor: the account closes, planted causes are found, nothing is lost."""

import functools
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys

import pytest

import lynx as l
import machine
import made

PROFILED = """{warm_up: 100ms, counted: 400ms, sessions: 2, attribution_sessions: 1, drain: 2s, steady: reported,
  instrument_error_at_most: 1}"""
QUICK = ["--for", "30s", "--at-most", "4", "--quiet"]


def diagnose(port, folder, *options, prefix=(), code=(0, 4)):
    out = os.path.join(folder, "d.lynx")
    r = l.lynx("diagnose", f"http://127.0.0.1:{port}", *QUICK, "--out", out, *options)
    assert r.returncode in code, r.stderr
    return r, out


def climb(port, folder, model="tiny", code=(0,), more=(), **kw):
    """The same with windows of less than a second, by a contract."""
    path, out = os.path.join(folder, "c.yaml"), os.path.join(folder, "c.lynx")
    method = "{warm_up: 200ms, counted: 800ms, sessions: 2, attribution_sessions: 1, drain: 10s, steady: reported, "
    method += "instrument_error_at_most: 1}"
    workload = f"{{model: {model}, output_tokens: 16, prompts: {{count: 8, bytes: 64}}}}"
    regime = "{load: climb, concurrency: 4}"
    l.contract(path, port, workload=workload, regime=regime, method=method)
    r = l.lynx("run", path, "--out", out, "--quiet", *more, **kw)
    assert r.returncode in code, r.stderr
    return r, out


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """One diagnosis that several cases look at."""
    folder = tmp_path_factory.mktemp("plain")
    with l.reference("--shape", "tiny", "--slow", "16ms") as port:
        r, out = diagnose(port, folder, "--html", folder / "d.html")
    return r, out, folder


def attributed(out):
    r = l.lynx("attribute", out, "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


@pytest.fixture
def recorded(tmp_path):
    """A run that was recorded: what is said of it does not depend on this machine."""
    return str(shutil.copy(f"{l.SOURCE}/tests/recorded/bundles/small.lynx", tmp_path / "small.lynx"))


SLEEPING = """{warm_up: 500ms, counted: 2s, sessions: 2, attribution_sessions: 1, drain: 5s, steady: reported,
  instrument_error_at_most: 1}"""


@pytest.fixture(scope="module")
def slept(tmp_path_factory):
    """40 ms of sleep for each step, which takes 1 ms: whatever else runs here, it sleeps most."""
    machine.need("waits", machine.waits(), "what a thread waits in cannot be read (ptrace rights, yama)")
    folder = tmp_path_factory.mktemp("slept")
    with l.reference("--shape", "tiny", "--slow", "40ms") as port:
        workload = "{model: tiny, output_tokens: 8, prompts: {count: 8, bytes: 64}}"
        regime = "{load: closed, concurrency: 2}"
        path = l.contract(folder / "c.yaml", port, workload=workload, regime=regime, method=SLEEPING)
        r = l.lynx("run", path, "--out", folder / "c.lynx", "--quiet")
    assert r.returncode == 0, r.stderr
    return folder / "c.lynx"


def test_the_account_closes(plain):
    account = attributed(plain[1])["account"]
    assert account["threads"], account
    for t in account["threads"]:
        whole = t["running"] + t["ready"] + sum(t["waits"].values())
        assert abs(whole - t["present"]) <= 0.05 * t["present"] + 0.01, (whole, t)
        if t["parts"]:
            assert abs(sum(p["share"] for p in t["parts"]) - t["running"]) < 1e-6 + 1e-3 * t["running"], t
    assert abs(sum(t["running"] for t in account["threads"]) - account["running"]) < 1e-6, account


def test_a_requests_life_closes(plain):
    life = attributed(plain[1])["request_life"]
    assert abs(sum(p["mean_ns"] for p in life["phases"]) - life["mean_ns"]) < 0.02 * life["mean_ns"], life


@pytest.mark.parametrize("told, by_server", [(0.9, True), (1.08, True), (1.35, False)])
def test_whose_phases_a_requests_life_has(recorded, tmp_path, told, by_server):
    """The server's totals, warm-up included, may exceed the client's by a tenth; beyond that the client's count."""
    mean = "(SELECT avg(end_ns - written_ns) FROM request WHERE phase = 'counted')"
    names = "('account.queue', 'account.prefill', 'account.decode')"
    l.forge(
        recorded,
        tmp_path / "f.lynx",
        EVEN,
        f"UPDATE sample SET value = {told / 3} * {mean} WHERE series IN {names}",
    )
    life = attributed(tmp_path / "f.lynx")["request_life"]
    assert abs(sum(p["mean_ns"] for p in life["phases"]) - life["mean_ns"]) < 0.02 * life["mean_ns"], life
    assert life["by_server"] == by_server, life
    assert not by_server or {"prefill", "decode"} <= {p["name"] for p in life["phases"]}, life


def test_a_sleep_is_found_and_its_thread_is_not_called_full(slept):
    said = attributed(slept)
    assert "sleeping" in [f["id"] for f in said["findings"]], said["findings"]
    thread = said["account"]["threads"][0]
    assert thread["waits"]["timer"] > 0.5 > thread["running"] + thread["ready"], thread
    assert said["bottleneck"]["id"] == "sleep", said["bottleneck"]


def test_nothing_is_promised_for_a_sleep(slept):
    """What runs after it finds its caches cold: without it that takes less, too."""
    [sleeping] = [f for f in attributed(slept)["findings"] if f["id"] == "sleeping"]
    assert "gain_at_most" not in sleeping, sleeping


def test_the_threads_are_those_of_the_process(plain):
    with sqlite3.connect(plain[1]) as db:
        programs = {row[0] for row in db.execute("SELECT DISTINCT program FROM thread")}
        shares = db.execute("SELECT sum(running_ns) * 1.0 / sum(span_ns) FROM activity").fetchone()[0]
        purposes = [row[0] for row in db.execute("SELECT purpose FROM session ORDER BY id")]
    assert programs == {"lynxbench-ref"}, programs
    assert 0 < shares <= 1.05, shares
    assert purposes[:2] == ["search", "search"] and purposes.count("measure") == 3, purposes
    assert purposes.count("attribute") == 2, purposes


def test_sampling_stays_within_what_the_contract_allows(plain):
    said = attributed(plain[1])
    with sqlite3.connect(plain[1]) as db:
        slowed = db.execute("SELECT count(*) FROM sample WHERE series = 'sampling.every_s'").fetchone()[0]
    assert said["sampling_cost"] <= (0.02 if slowed else 0.01), (said["sampling_cost"], slowed)


def test_screen_and_page_say_the_same(plain):
    r, out, folder = plain
    lines = r.stdout.splitlines()
    assert lines[0].endswith(").") and lines[1].startswith("next: "), lines[:3]
    page = (folder / "d.html").read_text()
    title = attributed(out)["bottleneck"]["title"]
    assert title[:-1] in lines[0] and f"<h1>{title}</h1>" in page, (title, lines[0])
    assert max(map(len, lines)) <= 130, max(lines, key=len)
    assert "<script" not in page and "http" not in page.replace("http-equiv", "").replace(
        "http://www.w3.org", ""
    ), page[:500]


def test_the_bundle_is_an_ordinary_one(plain):
    out = plain[1]
    for command in (["show"], ["show", "--html", out + ".html"], ["audit"]):
        r = l.lynx(*command, out)
        assert r.returncode in (0, 1), (command, r.stderr)
    assert os.path.exists(out.replace(".lynx", ".yaml"))
    r = l.lynx("lint", out.replace(".lynx", ".yaml"))
    assert r.returncode == 0, r.stdout + r.stderr
    climb_found = l.show(out)["precisions"][0]["climb"]
    assert climb_found["knee"] >= 2, climb_found  # two share a step's sleep of 16 ms


def test_a_run_against_itself_did_not_change(plain):
    r = l.lynx("attribute", plain[1], "--against", plain[1], "--json")
    said = json.loads(r.stdout)
    assert r.returncode == 0 and not said["abstained"] and "no change" in said["sentence"], said
    assert all(p["before"] == p["after"] for p in said["parts_s_per_request"])


@pytest.mark.parametrize("names, sources", [("none", set()), ("native_stacks", {"native", "calls"})])
def test_only_the_profilers_that_are_wanted_run(tmp_path, names, sources):
    out = tmp_path / "d.lynx"
    with l.reference("--shape", "tiny") as port:
        path = l.contract(tmp_path / "c.yaml", port, workload="{model: tiny, output_tokens: 4}", method=PROFILED)
        r = l.lynx("run", path, "--out", out, "--quiet", "--profilers", names)
    assert r.returncode in l.RAN, r.stderr
    assert {row[0] for row in l.rows(out, "SELECT DISTINCT source FROM stack")} <= sources
    assert any("--profilers leaves this profiler out" in text for text in attributed(out)["not_seen"])


@pytest.mark.long
def test_more_work_per_token_is_told(plain, tmp_path):
    """The first's contract again on the slower server, with as many in flight: a climb may end elsewhere."""
    contract, out = plain[2] / "d.yaml", tmp_path / "again.lynx"
    in_flight = l.show(plain[1])["precisions"][0]["climb"]["knee"]
    with l.reference("--shape", "tiny", "--slow", "80ms") as port:
        own = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", contract.read_text())
        own = own.replace("load: climb ", "load: closed ").replace("concurrency: 4 ", f"concurrency: {in_flight} ")
        (tmp_path / "again.yaml").write_text(own)
        r = l.lynx("run", tmp_path / "again.yaml", "--out", out, "--quiet")
        assert r.returncode in (0, 3, 4), r.stderr  # 3: beside other work some session did not count
    r = l.lynx("attribute", out, "--against", plain[1], "--json")
    said = json.loads(r.stdout)
    assert not said["abstained"], said["why"]
    assert said["tpot_p50_after_ns"] > said["tpot_p50_before_ns"] and "TPOT" in said["sentence"], said
    states = {s["state"]: s["after"] - s["before"] for s in said["states_s_per_request"]}
    assert max(states, key=states.get) == "waiting for a timer", states


def test_the_result_is_a_pure_function_of_the_bundle(plain):
    first, second = (l.lynx("attribute", plain[1], "--json").stdout for _ in range(2))
    assert first == second


@pytest.mark.long
@pytest.mark.quiet
def test_one_processor_of_several_is_named(tmp_path):
    machine.need("processors", machine.processors() > 1, "one processor")

    def pinned(k):
        (tmp_path / str(k)).mkdir()
        port = l.free_port()
        command = ["taskset", "-c", str(machine.first_processor()), l.REF, "--port", str(port)]
        process = subprocess.Popen([*command, "--shape", "tiny", "--threads", "2"], stdout=subprocess.PIPE, text=True)
        try:
            assert "ready" in process.stdout.readline()
            return climb(port, tmp_path / str(k))[1]
        finally:
            process.kill()
            process.wait()

    said = attributed(machine.beside_nothing(pinned))
    found = [f for f in said["findings"] if f["id"] == "affinity"]
    assert found and "1 of" in found[0]["named"], said["findings"]


def test_a_server_that_is_not_there_yet_needs_a_model(tmp_path):
    port, out = l.free_port(), tmp_path / "d.lynx"
    url = f"http://127.0.0.1:{port}"
    command = ["--", l.REF, "--port", str(port), "--shape", "tiny", "--slow", "8ms"]
    r = l.lynx("diagnose", url, *QUICK, "--out", out, *command)
    assert r.returncode == 2 and "--model" in r.stderr, r.stderr


@pytest.mark.long
def test_a_server_that_it_started_is_diagnosed(tmp_path):
    port, out = l.free_port(), tmp_path / "d.lynx"
    url = f"http://127.0.0.1:{port}"
    command = ["--", l.REF, "--port", str(port), "--shape", "tiny", "--slow", "8ms"]
    r = l.lynx("diagnose", url, *QUICK, "--model", "tiny", "--out", out, *command)
    assert r.returncode in l.RAN, r.stderr
    assert attributed(out)["account"]["threads"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["nonsense"], "accepted: the server's address"),
        (["http://127.0.0.1:1", "--for", "1s"], "--for"),
        (["http://127.0.0.1:1", "--pid", "-3"], "--pid"),
        (["http://127.0.0.1:1", "--profilers", "native_stacks,gdb"], "found 'gdb'; accepted: none by itself"),
        (["http://127.0.0.1:1/?a=b"], "'?' or '#'"),
    ],
)
def test_bad_words_are_told(words, said):
    r = l.lynx("diagnose", *words)
    assert r.returncode == 2 and said in r.stderr, r.stderr


def test_a_process_is_asked_where_it_listens(tmp_path):
    """--pid alone: one port is taken, several are listed, none is an error; the run then begins as with the URL."""
    port, out = l.free_port(), tmp_path / "p.lynx"
    words = [l.REF, "--port", str(port), "--shape", "tiny"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert "ready" in server.stdout.readline()
        words = [l.LYNX, "diagnose", "--pid", str(server.pid), *QUICK, "--out", str(out)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            said = ""
            while "the contract of this run" not in said and (line := process.stderr.readline()):
                said += line  # a slow server has a word before
            process.terminate()
        server.terminate()
    assert "the contract of this run: tiny" in said, said
    assert f"http://127.0.0.1:{port}" in (tmp_path / "p.yaml").read_text()
    r = l.lynx("diagnose", "--pid", str(os.getpid()), "--out", tmp_path / "q.lynx")
    assert r.returncode == 2 and "listens on no port" in r.stderr, r.stderr
    with socket.create_server(("127.0.0.1", 0)) as a, socket.create_server(("127.0.0.1", 0)) as b:
        ports = [a.getsockname()[1], b.getsockname()[1]]
        r = l.lynx("diagnose", "--pid", str(os.getpid()), "--out", tmp_path / "q.lynx")
    assert r.returncode == 2 and "say which" in r.stderr, r.stderr
    assert all(f"http://127.0.0.1:{port} --pid" in r.stderr for port in ports), r.stderr


def test_a_command_is_asked_for_its_port(tmp_path):
    out = tmp_path / "c.lynx"
    r = l.lynx("diagnose", "--model", "m", *QUICK, "--out", out, "--", "/does/not/exist", "--port", "8123")
    assert r.returncode != 0 and "http://127.0.0.1:8123" in (tmp_path / "c.yaml").read_text(), r.stderr
    r = l.lynx("diagnose", "--model", "m", *QUICK, "--out", tmp_path / "d.lynx", "--", "/does/not/exist", "8123")
    assert r.returncode == 2 and "--port" in r.stderr, r.stderr


def test_nobody_listens(tmp_path):
    r = l.lynx("diagnose", f"http://127.0.0.1:{l.free_port()}", "--out", tmp_path / "d.lynx")
    assert r.returncode == 5 and "is the server up" in r.stderr, r.stderr
    assert not os.listdir(tmp_path)


def test_a_bundle_is_never_overwritten(plain):
    out = plain[1]
    before = open(out, "rb").read()
    r = l.lynx("diagnose", "http://127.0.0.1:1", "--out", out)
    assert r.returncode == 2 and "not overwritten" in r.stderr, r.stderr
    assert open(out, "rb").read() == before


FORGED = [
    "UPDATE activity SET running_ns = -5 WHERE rowid IS NULL OR 1",
    "UPDATE activity SET span_ns = 9223372036854775807",
    "UPDATE OR IGNORE activity SET at_ns = -9223372036854775808 WHERE thread = (SELECT min(thread) FROM activity)",
    "UPDATE thread SET processors = -1",
    "UPDATE stack SET n = 9223372036854775807",
    "UPDATE OR IGNORE stack SET frames = '<script>;)(:;' || frames",
    "UPDATE sample SET value = 1e308 WHERE series LIKE 'neighbour%'",
]


@pytest.mark.parametrize("sql", FORGED)
def test_forged_rows_are_read_or_refused(plain, tmp_path, sql):
    forged = tmp_path / "f.lynx"
    sql = sql.replace(" WHERE rowid IS NULL OR 1", "")
    l.forge(plain[1], forged, sql)
    page = tmp_path / "f.html"
    r = l.lynx("attribute", forged, "--json", "--html", page)
    assert r.returncode in (0, 2, 3), r.stderr
    if page.exists():
        assert "<script" not in page.read_text()


def test_functions_of_libraries_are_named(plain):
    """By the symbol tables of the files that are mapped, and the kernel's time by what it does."""
    machine.need("perf", machine.perf(), "perf_event_open is refused")
    frames = {row[0] for row in l.rows(plain[1], "SELECT frames FROM stack WHERE source = 'native'")}
    assert any(f.endswith("/lynxbench-ref;transformer_step") for f in frames), (
        frames,
        attributed(plain[1])["not_seen"],
    )
    kernel = {f.split(";")[1] for f in frames if f.startswith("[kernel];")}
    assert kernel <= set(
        "other network locks sched_yield memory files timers processes devices interrupts scheduler".split()
    ), kernel
    program = [
        p for t in attributed(plain[1])["account"]["threads"] for p in t["parts"] if p["what"] == "lynxbench-ref"
    ]
    assert program and program[0]["most_in"] == "transformer_step", program


# All that ran was the interpreter, and CPython named its functions for perf (-X perf): a stack for each look.
MADE = """UPDATE OR REPLACE stack SET frames = '/usr/lib/libpython3.12.so.1.0' || char(59) || '_PyEval_EvalFrameDefault'
    WHERE source = 'native';
    DELETE FROM stack WHERE source <> 'native';
    INSERT INTO stack SELECT session, 'calls', process, thread, 'py::serve:/srv/app.py ([anonymous])' || char(59) ||
    '_PyEval_EvalFrameDefault (/usr/lib/libpython3.12.so.1.0)' || char(59) || 'py::burn:/srv/app.py ([anonymous])' ||
    char(59) || '_PyEval_EvalFrameDefault (/usr/lib/libpython3.12.so.1.0)', n FROM stack WHERE source = 'native'"""


def test_functions_that_cpython_names_for_perf_are_named(recorded, tmp_path):
    l.forge(recorded, tmp_path / "made.lynx", *MADE.split(";"))
    said = attributed(tmp_path / "made.lynx")
    python = [p for t in said["account"]["threads"] for p in t["parts"] if p["kind"] == "python"]
    assert [(p["what"], p["where"], p["layer"]) for p in python[:1]] == [("burn", "/srv/app.py", "application")], python


def series(name, first, step):
    """A series in every session: `step` more with each of ten samples within what is counted."""
    return (
        "INSERT INTO sample SELECT s.id, '%s', s.warm_up_ns + (k.value + 1) * s.counted_ns / 11, %r + k.value * %r "
        "FROM session s, json_each('[0,1,2,3,4,5,6,7,8,9]') k WHERE s.counted_ns > 0" % (name, first, step)
    )


# However this machine's requests went: all took as long as the longest, and then some of them three times that.
EVEN = """UPDATE request SET end_ns = issued_ns + (SELECT max(end_ns - issued_ns) FROM request WHERE phase = 'counted')
    WHERE phase = 'counted'"""
LONGER = "UPDATE request SET end_ns = end_ns + 2 * (end_ns - issued_ns) WHERE phase = 'counted' AND "
SLOW_START = (
    LONGER
    + """(session, id) IN (SELECT r.session, r.id FROM request r JOIN session s ON s.id = r.session
    WHERE s.purpose = 'measure' AND r.phase = 'counted' ORDER BY r.session, r.id LIMIT 12)"""
)
ALONE = "UPDATE sample SET value = 0 WHERE series = 'machine.others_ratio'"  # the rule asks for a quiet machine
# A tenth of the time that a request takes here; the rule wants 5 %.
ROUND_TRIP = """INSERT INTO sample SELECT session, 'wire.round_trip_s', at_ns, (SELECT avg(end_ns - issued_ns) / 1e10
    FROM request WHERE phase = 'counted') FROM sample GROUP BY session, at_ns"""


# Half of what was seen running is a library that computes, in a type that the processor does not list.
EMULATED = """UPDATE OR REPLACE stack SET frames = '/usr/lib/libopenblas.so.0' || char(59) || 'sgemm_kernel'
    WHERE source = 'native';
    UPDATE session SET executed = '';
    UPDATE fact SET value = 'sse4_2 avx avx2 fma f16c' WHERE key = 'cpu.isa';
    INSERT INTO fact SELECT DISTINCT moment, 'serving', 'process.argument.--dtype', 'identity', 'read', 'bfloat16', '',
    '', 0 FROM fact WHERE moment LIKE 'start:%'"""
ELSEWHERE = series("server.memory_elsewhere_ratio", 0.75, 0)


@pytest.mark.parametrize(
    "sql, rule, said",
    [
        (series("server.preemptions", 100, 5), "cache_pressure", "lost their cache"),
        (series("server.cache_use", 0.99, 0) + ";" + series("server.waiting", 3, 0), "cache_pressure", "99 % full"),
        (ROUND_TRIP, "slow_wire", "a round trip takes"),
        (series("wire.held", 1, 0), "nagle", "waits at the server's end"),
        (series("power.slowed", 0, 1), "slowed", "slowed"),
        (series("gpu.0.slowed", 1, 0), "gpu_slowed", "slowed in 100 %"),
        (series("gpu.1.power_capped", 1, 0), "power_capped", "in 100 % of the looks"),
        (series("server.node_run_ratio", 0.9, 0) + ";" + ELSEWHERE, "numa", "75 %"),
        (EMULATED, "emulated_type", "computes in bfloat16"),
        (series("server.accept_queue", 50, 0), "accept_queue", "connections wait to be accepted"),
        (
            series("server.dropped_per_s", 2, 0) + ";" + series("server.accept_full_ratio", 1, 0),
            "accept_queue",
            "the kernel drops",
        ),
    ],
)
def test_what_surrounds_a_server_is_found(recorded, tmp_path, sql, rule, said):
    """Each by the one series, or the few rows, that tell of it: without them the same run has no such finding."""
    forged = tmp_path / "f.lynx"
    l.forge(recorded, forged, *sql.split(";"))
    found = {f["id"]: f for f in attributed(forged)["findings"]}
    assert rule in found and said in found[rule]["evidence"], found
    assert rule not in {f["id"] for f in attributed(recorded)["findings"]}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """60 counted requests by the schedule, however slow this machine is. An event each 0.2 ms takes a tenth of a
    processor; a thread that runs less than a hundredth has no account, as with few events on a quick machine."""
    folder = tmp_path_factory.mktemp("many")
    method = PROFILED.replace("counted: 400ms", "counted: 1s")
    workload = "{model: tiny, output_tokens: 200, prompts: {count: 8, bytes: 64}}"
    with l.reference("--mode", "metronome", "--first-token", "10ms", "--gap", "200us") as port:
        regime = "{load: constant, rate_per_s: 30}"
        path = l.contract(folder / "c.yaml", port, workload=workload, regime=regime, method=method)
        r = l.lynx("run", path, "--out", folder / "c.lynx", "--quiet")
    assert r.returncode == 0, r.stderr
    return folder / "c.lynx"


def test_a_cold_start_is_found(many, tmp_path):
    l.forge(many, tmp_path / "even.lynx", EVEN)
    l.forge(many, tmp_path / "cold.lynx", EVEN, SLOW_START, ALONE)
    found = {f["id"]: f for f in attributed(tmp_path / "cold.lynx")["findings"]}
    assert "cold_start" in found and "counted requests took" in found["cold_start"]["evidence"], found
    assert "cold_start" not in {f["id"] for f in attributed(tmp_path / "even.lynx")["findings"]}


def small_writes(held):
    """An answer in writes of a few bytes, on connections that are kept; held: without TCP_NODELAY."""

    def answer(handler, number, body):
        handler.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not held)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in (made.event("a"), made.event("b"), made.usage(2), b"data: [DONE]\n\n"):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        handler.wfile.write(b"0\r\n\r\n")

    return answer


@pytest.mark.parametrize("held", [True, False])
def test_small_writes_that_wait_are_found(tmp_path, held):
    """Nagle's algorithm holds them at the server until a delayed acknowledgement: a request takes 40 ms for nothing."""
    workload = "{model: m, output_tokens: 2, prompts: {count: 8, bytes: 32}}"
    method = "{warm_up: 500ms, counted: 2s, sessions: 2, drain: 1s, steady: reported, instrument_error_at_most: 1}"
    with made.server(small_writes(held)) as s:
        regime = "{load: closed, concurrency: 4}"
        path = l.contract(tmp_path / "c.yaml", s.server_port, workload=workload, regime=regime, method=method)
        r = l.lynx("run", path, "--out", tmp_path / "n.lynx", "--quiet")
    assert r.returncode in l.RAN, r.stderr
    said = attributed(tmp_path / "n.lynx")
    found = [f for f in said["findings"] if f["id"] == "nagle"]
    assert said["held_connections"] is not None and bool(found) == held, said


# A gateway that asks another process for each token, on a connection that it keeps, in two writes.
GATEWAY = '''
import http.server, json, os, socket, sys, threading, time
PORT, HELD = int(sys.argv[1]), sys.argv[2] == "held"
listener = socket.create_server(("127.0.0.1", 0))
def decode(c):
    got = b""
    while True:
        more = c.recv(4096)
        if not more: return
        got += more
        while b"\\n" in got:
            _, got = got.split(b"\\n", 1)
            c.sendall(b"w ")
if os.fork() == 0:
    while True: threading.Thread(target=decode, args=(listener.accept()[0],), daemon=True).start()
decoder = listener.getsockname()
listener.close()
kept = threading.local()
class H(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 0, True
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def do_POST(self):
        n = json.loads(self.rfile.read(int(self.headers["Content-Length"]))).get("max_tokens", 1)
        if not hasattr(kept, "to"):
            kept.to = socket.create_connection(decoder)
            kept.to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not HELD)
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n")
        self.wfile.write(b"Transfer-Encoding: chunked\\r\\n\\r\\n")
        def put(data): self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))
        for i in range(n):
            kept.to.send(b"token ")
            kept.to.send(b"%d\\n" % i)
            text = kept.to.recv(100).decode()
            until = time.thread_time() + 0.003  # threads that hardly run have no account
            while time.thread_time() < until: pass
            put(b"data: " + json.dumps({"choices": [{"index": 0, "text": text}]}).encode() + b"\\n\\n")
        put(b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\\n\\ndata: [DONE]\\n\\n' % n)
        self.wfile.write(b"0\\r\\n\\r\\n")
class S(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128
print(decoder[1], flush=True)
S(("127.0.0.1", PORT), H).serve_forever()
'''


@pytest.mark.parametrize("held", [True, pytest.param(False, marks=pytest.mark.long)])
def test_small_writes_within_a_server_are_found(tmp_path, held):
    """The same between a gateway and its decoder: the client sees a token every 40 ms."""
    port = l.free_port()
    (tmp_path / "gateway.py").write_text(GATEWAY)
    words = [sys.executable, tmp_path / "gateway.py", str(port), "held" if held else "at once"]
    gateway = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        decoder = gateway.stdout.readline().strip()
        workload = "{model: m, output_tokens: 10, prompts: {count: 8, bytes: 32}}"
        method = "{warm_up: 3s, counted: 4s, sessions: 2, drain: 2s, steady: reported, instrument_error_at_most: 1}"
        regime = "{load: closed, concurrency: 2}"
        path = l.contract(tmp_path / "c.yaml", port, workload=workload, regime=regime, method=method)
        r = l.lynx("run", path, "--out", tmp_path / "n.lynx", "--quiet")
    finally:
        os.killpg(gateway.pid, signal.SIGKILL)
        gateway.wait()
    assert r.returncode in l.RAN, r.stderr
    said = attributed(tmp_path / "n.lynx")
    found = [f for f in said["findings"] if f["id"] == "nagle"]
    assert bool(found) == held, said
    if held:
        assert found[0]["named"] == f"connections to port {decoder}" and "its own processes" in found[0]["title"], found


def test_a_wait_for_another_service_is_named_by_its_function(plain, tmp_path):
    """Two threads that run a tenth of the time and wait for the network else: by looks of py-spy, in whose function."""
    busiest = "SELECT thread FROM activity WHERE thread > 0 GROUP BY thread ORDER BY sum(running_ns) DESC LIMIT 1"
    columns = "at_ns, span_ns, running_ns, system_ns, ready_ns, timer, lock, network, disk, other, unknown, processor"
    waits = [
        "DELETE FROM stack",
        f"DELETE FROM activity WHERE thread <> ({busiest})",
        "UPDATE activity SET running_ns = span_ns / 10, system_ns = 0, ready_ns = 0, timer = 0, lock = 0, network = 10,"
        " disk = 0, other = 0, unknown = 0",
        "INSERT INTO thread SELECT session, process, thread + 1, program, name, processors FROM thread"
        " WHERE thread IN (SELECT thread FROM activity)",
        f"INSERT INTO activity SELECT session, process, thread + 1, {columns} FROM activity",
    ]
    library = "/usr/lib/python3.11"
    frames = f"_bootstrap ({library}/threading.py:900);fetch (/srv/app.py:9);recv ({library}/ssl.py:1)"
    seen = [
        f"INSERT INTO stack SELECT DISTINCT a.session, 'python_all', a.process, a.thread, '{frames}', 9 FROM activity a"
        " JOIN session s ON s.id = a.session WHERE s.purpose = 'attribute'",
        "INSERT INTO sample SELECT id, 'profile.python_all.rate', 0, 10 FROM session WHERE purpose = 'attribute'",
    ]
    l.forge(plain[1], tmp_path / "known.lynx", *waits, *seen)
    found = {f["id"]: f for f in attributed(tmp_path / "known.lynx")["findings"]}
    assert "fetch (/srv/app.py:9)" in found["other_service"]["evidence"], found
    assert [c["layer"] for c in found["other_service"]["contributing"]] == ["application", "system"], found
    l.forge(plain[1], tmp_path / "unknown.lynx", *waits)  # a wait for the next request would look the same
    assert "other_service" not in {f["id"] for f in attributed(tmp_path / "unknown.lynx")["findings"]}


NEIGHBOUR = [
    "DELETE FROM sample WHERE series LIKE 'neighbour.%' OR series LIKE 'as%.%' OR series = 'machine.others_ratio'"
    " OR series = 'machine.busy_ratio'",
    series("machine.others_ratio", 0.6, 0),
    series("machine.busy_ratio", 1, 0),
    series("neighbour.srv.811", 1.2, 0),
    "UPDATE activity SET ready_ns = (span_ns - running_ns) / 2",
]


def test_another_client_is_demand(plain, tmp_path):
    """By its connections; a neighbour that has none, or one as a probe has, is no client."""
    l.forge(plain[1], tmp_path / "client.lynx", *NEIGHBOUR, series("asks.srv.811", 12, 0))
    found = {f["id"]: f for f in attributed(tmp_path / "client.lynx")["findings"]}
    assert found["other_clients"]["named"] == "srv.811", found
    assert [c["layer"] for c in found["other_clients"]["contributing"]] == ["demand"], found
    for name, more in (("probe", [series("asks.srv.811", 1, 0)]), ("none", [])):
        l.forge(plain[1], tmp_path / f"{name}.lynx", *NEIGHBOUR, *more)
        assert "other_clients" not in {f["id"] for f in attributed(tmp_path / f"{name}.lynx")["findings"]}, name


def test_what_the_server_asks_is_no_neighbour(plain, tmp_path):
    """A backend is a part of what is measured: nobody is told to move it, and the verdict says what it is."""
    l.forge(plain[1], tmp_path / "other.lynx", *NEIGHBOUR)
    said = attributed(tmp_path / "other.lynx")
    assert "srv.811" in {f["id"]: f for f in said["findings"]}["contention"]["named"], said["findings"]
    l.forge(plain[1], tmp_path / "backend.lynx", *NEIGHBOUR, series("asked.srv.811", 4, 0))
    said = attributed(tmp_path / "backend.lynx")
    assert "contention" not in {f["id"] for f in said["findings"]}, said["findings"]
    assert "Other processes" not in said["bottleneck"]["title"], said["bottleneck"]


def test_few_processors_that_are_full_are_the_bound(plain, tmp_path):
    """One of them, for which its threads wait most of the time, while others are idle: no pace, and no one thread."""
    machine.need("processors", machine.processors() > 1, "it has one")
    alone = [NEIGHBOUR[0], series("machine.others_ratio", 0, 0), series("machine.busy_ratio", 0.5, 0)]
    waits = "UPDATE activity SET running_ns = span_ns / 10, ready_ns = span_ns * 6 / 10, system_ns = 0"
    l.forge(plain[1], tmp_path / "f.lynx", *alone, waits, "UPDATE thread SET processors = 1")
    said = attributed(tmp_path / "f.lynx")
    assert said["bottleneck"]["id"] == "allowed_processors" and said["bottleneck"]["bound"] == "software-bound", said
    assert "affinity" in {f["id"] for f in said["findings"]}, said["findings"]


def test_a_slow_request_in_the_middle_is_no_cold_start(many, tmp_path):
    forged = tmp_path / "f.lynx"
    l.forge(many, forged, EVEN, LONGER + "id % 5 = 0")
    assert "cold_start" not in {f["id"] for f in attributed(forged)["findings"]}


@pytest.mark.parametrize("name, said", [("power.slowed", "slowed for heat"), ("gpu.3.slowed", "a GPU was slowed")])
def test_nothing_that_was_slowed_is_sustained(recorded, tmp_path, name, said):
    def reasons(path):
        return " ".join(l.lynx("show", "--claim", path).stdout.split())

    forged = tmp_path / "f.lynx"
    l.forge(recorded, forged, series(name, 1, 0))
    assert "not sustained: " in reasons(forged) and said in reasons(forged), reasons(forged)
    assert "facility, " in reasons(forged), "whose it may be"
    assert "not sustained" not in reasons(recorded)
    l.forge(recorded, tmp_path / "cool.lynx", series(name, 0, 0))
    assert "not sustained" not in reasons(tmp_path / "cool.lynx")


def test_a_gpu_that_works_all_the_time_is_the_bottleneck(recorded, tmp_path):
    """And not the thread that waits for it; whether it is bound by the hardware a sampler cannot tell."""
    forged = tmp_path / "f.lynx"
    l.forge(
        recorded,
        forged,
        "DELETE FROM sample WHERE series = 'machine.busy_ratio'",
        series("gpu.0.busy_ratio", 0.97, 0),
        series("gpu.0.power_w", 300, 0),
        "DELETE FROM session WHERE purpose = 'search'",
    )
    said = attributed(forged)
    assert said["bottleneck"]["id"] == "gpus", said["bottleneck"]
    assert said["bottleneck"]["bound"] == "not decided", said["bottleneck"]
    assert said["gpus"]["n"] == 1 and abs(said["gpus"]["busy"] - 0.97) < 1e-9, said["gpus"]
    rate = l.show(forged)["precisions"][0]["output_rate"]["estimate"]
    watts = 300 + (said["package_watts"] or 0)
    assert abs(said["joules_per_token"] * rate - watts) < 1e-3, said["joules_per_token"]
    assert "1 GPU: busy 97 %" in " ".join(l.lynx("attribute", forged).stdout.split())


def test_energy_per_token_is_power_by_the_rate(plain, tmp_path):
    forged = tmp_path / "f.lynx"
    l.forge(plain[1], forged, series("power.package_w", 60, 0))
    said = attributed(forged)
    rate = l.show(forged)["precisions"][0]["output_rate"]["estimate"]
    assert abs(said["joules_per_token"] * rate - 60) < 1e-3, said["joules_per_token"]
    assert "J for each token" in " ".join(l.lynx("attribute", forged).stdout.split())


@functools.cache
def of_this_machine():
    return json.loads(l.lynx("calibrate", "--only", "machine", "--out", "-", "--quiet").stdout)["fingerprint"]


def envelope(fingerprint=None, triad=500e9):
    """Ceilings as of this machine, or of another."""
    own = fingerprint or of_this_machine()
    ceilings = [{"name": "memory.triad", "value": triad}, {"name": "arithmetic.f32", "value": 4e12}]
    record = {"lynx_envelope": 1, "fingerprint": own, "ceilings": ceilings}
    return f"INSERT INTO meta VALUES ('envelope', '{json.dumps(record)}')"


SHAPE = """INSERT OR REPLACE INTO fact SELECT moment, 'application', '%s', 'identity', 'read', '%s', '', '', 0
    FROM fact WHERE moment LIKE 'start:%%' GROUP BY moment"""


@pytest.mark.long
def test_how_near_the_ceilings_a_model_comes(plain, tmp_path):
    """By the definitions: bytes of the weights per token's time; two operations for each parameter and token."""
    forged = tmp_path / "f.lynx"
    model = [SHAPE % ("model.size", "2200000000 bytes in 1 files")]
    model += [SHAPE % ("model.tensor-types", "F32 100.0 % of 550 M parameters")]
    l.forge(plain[1], forged, envelope(), *model)
    said, shown = attributed(forged)["roofline"], l.show(forged)["precisions"][0]
    tpot = shown["latency"]["time_per_output_token"]["quantiles"][0]["estimate"] / 1e9
    assert said["why"] == "" and said["type"] == "f32", said
    assert said["mbu_at_least"] == pytest.approx(2.2e9 / tpot / 500e9, rel=1e-3), (said, tpot)
    tokens = shown["output_rate"]["estimate"] * (1 + shown["mean_prompt_tokens"] / shown["mean_output_tokens"])
    assert said["mfu"] == pytest.approx(2 * 550e6 * tokens / 4e12, rel=0.02), (said, tokens)
    page = tmp_path / "f.html"
    r = l.lynx("attribute", forged, "--html", page)
    assert "(MBU)" in r.stdout and "(MFU)" in r.stdout and "Roofline" in page.read_text(), r.stdout
    for share, full in ((0.8, True), (0.5, False)):
        l.forge(plain[1], tmp_path / f"{share}.lynx", envelope(triad=2.2e9 / tpot / share), *model)
        found = {f["id"]: f for f in attributed(tmp_path / f"{share}.lynx")["findings"]}
        assert ("memory_bandwidth" in found) == full, found
        assert not full or "80 % of this machine's triad" in found["memory_bandwidth"]["evidence"], found


@pytest.mark.parametrize(
    "facts, triad, said",
    [
        ([("model.size", "2200000000 bytes in 1 files")], 1e9, "above the ceilings"),
        (
            [("model.size", "2200000000 bytes in 1 files"), ("model.architecture", "MixtralForCausalLM")],
            500e9,
            "experts",
        ),
        ([], 500e9, "size of the model is not known"),
    ],
)
def test_where_no_ceiling_can_be_told(plain, tmp_path, facts, triad, said):
    forged = tmp_path / "f.lynx"
    l.forge(plain[1], forged, envelope(triad=triad), *[SHAPE % fact for fact in facts])
    roofline = attributed(forged)["roofline"]
    assert said in roofline["why"] and roofline["mbu_at_least"] is None, roofline


def test_ceilings_of_other_processors_are_not_used(plain, tmp_path):
    forged = tmp_path / "f.lynx"
    l.forge(plain[1], forged, envelope("00" * 32), SHAPE % ("model.size", "2200000000 bytes in 1 files"))
    said = attributed(forged)["roofline"]
    assert "other processors" in said["why"] and said["mbu_at_least"] is None, said


def test_findings_of_a_run_go_into_the_ledger(recorded, tmp_path):
    """One entry for each, of the run itself; another run's bundle is refused."""
    said = attributed(recorded)["findings"]
    assert said
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "LYNXBENCH_KEY": str(tmp_path / "ml.key")}
    ledger = tmp_path / "team.ledger"
    for words in (("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", ledger)):
        assert l.lynx(*words, env=env).returncode == 0, words
    r = l.lynx("attribute", recorded, "--record", recorded, "--ledger", ledger, "--json", env=env)
    assert r.returncode == 0 and f"{len(said)} finding" in r.stderr, r.stderr
    lines = l.lynx("ledger", "list", ledger, "--json", env=env).stdout.splitlines()
    entries = [e for e in map(json.loads, lines) if e["kind"] == "finding"]
    assert len(entries) == len(said), entries
    words = l.lynx("ledger", "entry", ledger, entries[0]["entry"], env=env).stdout.split("\n", 1)[1]
    assert json.loads(words)["predicate"]["rule"] == said[0]["id"], words
    r = l.lynx("attribute", recorded, "--record", recorded + "x", "--ledger", ledger, env=env)
    assert r.returncode == 2 and "the same bundle" in r.stderr, r.stderr


def test_the_page_shows_threads_over_time(plain):
    """A strip for each busy lane, and what was counted; the icicle sums to the whole."""
    page = (plain[2] / "d.html").read_text()
    assert "Threads over time" in page and page.count("counted</text>") == 3, page.count("counted</text>")
    assert "Whose running time it is" in page and "lynxbench-ref" in page


if __name__ == "__main__":
    l.main(__file__)
