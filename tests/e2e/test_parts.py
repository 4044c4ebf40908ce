"""Load from several hosts: processes that share one contract, and hosts with networks of their own where the machine
allows them. Every arrival once, at its time, from one of them; one host lost makes the run incomplete, not wrong."""

import pytest
from lynx import *

N = 3
METHOD = (
    "{warm_up: 200ms, counted: 1s, sessions: 2, drain: 1s, request_timeout: 5s, instrument_error_at_most: 0.9, "
    "steady: reported, stolen_at_most: 1}"
)
STEADY_20 = {"regime": "{load: constant, rate_per_s: 20}", "method": METHOD}
LATER = ("--start", "@4000000000")


@pytest.fixture(scope="module")
def port():
    with reference("--mode", "metronome") as port:
        yield port


def parts(d, name, port, n, prefix=lambda k: [], lost=None, env=None, **more):
    """n processes of one contract, which begin together in three seconds: their bundles, exit codes and words."""
    path, start = contract(f"{d}/{name}.yaml", port, method=METHOD, **more), int(time.time()) + 3
    processes = []
    for k in range(1, n + 1):
        which = ["--part", "auto"] if env else ["--part", f"{k}/{n}"]
        own = {env[0]: str(k - 1), env[1]: str(n)} if env else {}
        command = [*prefix(k), LYNX, "run", path, *which, "--start", f"@{start}", "--out", f"{d}/{name}.lynx"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen([*command, "--quiet"], env=environment(**own), **pipes))
    if lost:
        time.sleep(max(0, start + 1 - time.time()))
        processes[lost - 1].kill()
    said = [p.communicate(timeout=120) for p in processes]
    codes = [p.returncode for p in processes]
    check(lost or all(c == 0 for c in codes), f"the parts of {name}: {codes} {said}")
    return [f"{d}/{name}.part{k}.lynx" for k in range(1, n + 1)]


def merged(d, name, files, code=0):
    r = lynx("merge", *files, "--out", f"{d}/{name}-whole.lynx", "--json")
    check_equal(r.returncode, code, f"merge {name}: {r.stderr} {r.stdout}")
    return f"{d}/{name}-whole.lynx", json.loads(r.stdout) if r.stdout else {}


# --- an open loop, split exactly ---


@pytest.fixture(scope="module")
def split(port):
    """Three parts, the whole of them, and the same contract run by one host."""
    with folder() as d:
        regime = "{load: poisson, rate_per_s: 90}"
        files = parts(d, "open", port, N, regime=regime)
        whole, _ = merged(d, "open", files)
        alone = contract(f"{d}/alone.yaml", port, regime=regime, method=METHOD)
        lynx("run", alone, "--out", f"{d}/alone.lynx", "--quiet")
        yield files, whole, f"{d}/alone.lynx"


def test_every_arrival_once_as_one_host_would_send_it(split):
    files, whole, alone = split
    sql = "SELECT session, id, scheduled_ns FROM request WHERE phase = 'counted' ORDER BY 1, 2"
    check_equal(rows(whole, sql), rows(alone, sql), "every counted arrival of the contract's schedule")
    check_equal(show(whole)["precisions"][0]["requests"]["failed"], 0, "none failed")
    for k, file in enumerate(files):
        own = {i % N for (i,) in rows(file, "SELECT id FROM request")}
        check_equal(len(own), 1, f"part {k + 1} sent its share: {own}")


def test_an_audit_makes_the_schedule_anew(split):
    audit = json.loads(lynx("audit", split[1], "--json").stdout)
    schedule = [c for c in audit["checks"] if c["check"] == "schedule"]
    check_equal([c["verdict"] for c in schedule], ["passed"], f"the schedule: {schedule}")


def test_the_servers_threads_come_along_once(split):
    """All three parts ran beside the server and saw the same threads: those of one are the whole's."""
    files, whole, _ = split
    for table in ("thread", "activity"):
        order = "session, process, thread" + (", at_ns" if table == "activity" else "")
        sql = f"SELECT * FROM {table} ORDER BY {order}"
        check(rows(files[0], sql) == rows(whole, sql) != [], f"{table}: those of the first part")


def test_the_record_says_where_the_load_came_from(split):
    files, whole, _ = split
    shown = lynx("show", whole).stdout
    check_in("load from 3 load hosts, which began together", shown, "show")
    check("merge" not in shown.split("as-served")[0], f"that parts were parts is no condition: {shown[:400]}")
    starts = [rows(f, "SELECT start_realtime_ns FROM session ORDER BY id") for f in files]
    together = all(abs(a[0] - b[0]) < 1_000_000 for s in starts for a, b in zip(s, starts[0]))
    check(together, f"all began together: {starts}")
    kept = json.loads(rows(whole, "SELECT value FROM meta WHERE key = 'parts'")[0][0])
    check_equal(kept[1]["part"], 2, "the parts stand in the record")
    check_in("lynxbench merge", lynx("show", "--claim", files[0]).stdout, "a part by itself supports no claim")


def test_a_closed_loop_shares_its_concurrency_out(d, port):
    launcher = ("SLURM_PROCID", "SLURM_NTASKS")
    files = parts(d, "closed", port, 2, regime="{load: closed, concurrency: 5}", env=launcher)
    whole, _ = merged(d, "closed", files)
    check_equal(rows(whole, "SELECT max(concurrency) FROM session"), [(5,)], "5 in flight, of both")
    once = "SELECT count(*) = count(DISTINCT session || '.' || id) FROM request"
    check_equal(rows(whole, once), [(1,)], "no request twice")
    next_one = "request a JOIN request b ON b.session = a.session AND b.id = a.id + 1"
    back = f"SELECT count(*) FROM {next_one} WHERE b.scheduled_ns < a.scheduled_ns"
    check_equal(rows(whole, back), [(0,)], "ids in the order of time")


# --- parts that are not of one run, or saw another executor, however well sealed ---


@pytest.fixture(scope="module")
def pair(port):
    with folder() as d:
        files = parts(d, "pair", port, 2, regime="{load: constant, rate_per_s: 40}")
        whole, _ = merged(d, "pair", files)
        yield files, lynx("show", "--claim", whole).stdout


HOUR = 3600000000000
OTHER_RUNS = [
    ("is another one than in the parts before it", "UPDATE session SET counted_ns = counted_ns * 2"),
    ("did not begin at the common start", f"UPDATE session SET start_realtime_ns = start_realtime_ns + {HOUR}"),
    ("other prompts than in", "UPDATE input SET text = CAST(text || '!' AS BLOB) WHERE id = 3"),
    ("was sent by another part too", "UPDATE request SET id = id - 1"),
]


@pytest.mark.parametrize("words, sql", OTHER_RUNS)
def test_a_part_of_another_run(d, pair, words, sql):
    forged, whole = forge(pair[0][1], f"{d}/forged.lynx", sql), f"{d}/whole.lynx"
    r = lynx("merge", pair[0][0], forged, "--out", whole)
    check_equal((r.returncode, os.path.exists(whole)), (2, False), f"{sql}: {r.stdout} {r.stderr}")
    check_in(words, r.stderr, sql)
    check_in(f"{forged}: ", r.stderr, "the file is named")


def test_a_part_that_lacks_a_session(d, pair):
    deleted = [f"DELETE FROM {t} WHERE {c} = 1" for t, c in (("session", "id"), ("request", "session"))]
    forged = forge(pair[0][1], f"{d}/forged.lynx", *deleted, "DELETE FROM sample WHERE session = 1")
    r = lynx("merge", pair[0][0], forged, "--out", f"{d}/whole.lynx")
    check_equal((r.returncode, os.path.exists(f"{d}/whole.lynx")), (130, True), f"{r.stdout} {r.stderr}")
    check_in("session 1 is complete in 1 of 2 parts", r.stdout + r.stderr, "which")


TIMES = ("issued", "written", "first_byte", "first_token", "last_token", "end")
LATE = ", ".join(f"{t}_ns = {t}_ns + 3000000000" for t in TIMES)
KERNEL = "(SELECT key FROM fact WHERE moment LIKE 'start%' AND key LIKE '%kernel%' LIMIT 1)"
CONDITIONS = [
    ("something else is executed", 'UPDATE session SET executed = \'{"executed": "fp4"}\''),
    ("found another executor", f"UPDATE fact SET value = 'other' WHERE moment LIKE 'start%' AND key = {KERNEL}"),
    ("part 2 by itself is instrument-limited", f"UPDATE request SET {LATE} WHERE session = 1"),
]


@pytest.mark.parametrize("words, sql", CONDITIONS)
def test_a_part_that_keeps_the_whole_from_a_claim(d, pair, words, sql):
    whole, _ = merged(d, "forged", [pair[0][0], forge(pair[0][1], f"{d}/forged.lynx", sql)])
    claim = lynx("show", "--claim", whole).stdout
    check(words in claim and words not in pair[1], f"{words}: {claim[:600]}")


# --- one host lost: incomplete, not wrong ---


@pytest.fixture(scope="module")
def lost(port):
    """Three parts, of which the second was killed in the middle."""
    with folder() as d:
        files = parts(d, "lost", port, N, lost=2, regime="{load: constant, rate_per_s: 60}")
        said = lynx("merge", *files, "--out", f"{d}/early.lynx").stderr
        assert lynx("recover", files[1]).returncode == 0
        yield files, said


def test_a_killed_part_is_recovered_first(lost):
    check_in("lynxbench recover", lost[1], "it says so")


def test_the_whole_says_which_part_is_incomplete(d, lost):
    whole, out = merged(d, "lost", lost[0], code=130)
    check_in("part 2 of 3 is", out["why"], "which")
    check_equal(lynx("show", "--claim", whole).returncode, 1, "no claim")
    good = "SELECT count(*) FROM request WHERE outcome = 'ok'"
    kept = rows(lost[0][0], good)[0][0]
    check(kept > 0 and rows(whole, good)[0][0] >= kept, "what the others measured is there")


def test_a_part_that_never_came(d, lost):
    missing, out = merged(d, "gone", [lost[0][0], lost[0][2]], code=130)
    check_in("part 2 of 3 is missing", out["why"], "which")
    check_equal(lynx("audit", missing).returncode, 1, "an audit sees what is missing")


# --- what cannot be, in words ---


def check_no_merge(d, files, words):
    r = lynx("merge", *files, "--out", f"{d}/no.lynx")
    check_equal((r.returncode, os.path.exists(f"{d}/no.lynx")), (2, False), f"{words}: {r.stderr}")
    check_in(words, r.stderr, words)


def test_what_cannot_be_merged(d, pair, split):
    check_no_merge(d, [pair[0][0], pair[0][0]], "part 1 twice")
    check_no_merge(d, [pair[0][0], split[0][1]], "a part of another contract")
    check_no_merge(d, [split[2]], "no part of a run")
    check_no_merge(d, [pair[0][0], f"{d}/nowhere.lynx"], f"{d}/nowhere.lynx: ")


ARGUMENTS = [
    (2, ["--part", "1/2"], "belong together"),
    (2, ["--part", "3/2", *LATER], "accepted: K/N"),
    (2, ["--part", "auto", *LATER], "no launcher says which"),
    (2, ["--part", "1/2", "--start", "soon"], "accepted: a time"),
    (2, ["--part", "1/2", "--start", "2027-02-31T00:00:00Z"], "accepted: a time"),
    (4, ["--part", "1/2", "--start", "@1000000000"], "give --start more time"),
    (2, ["--part", "1/2", *LATER, "--observe"], "sends nothing"),
]


@pytest.mark.parametrize("code, args, words", ARGUMENTS)
def test_arguments_that_cannot_be(d, port, code, args, words):
    r = lynx("run", contract(f"{d}/c.yaml", port, **STEADY_20), *args, "--out", f"{d}/c.lynx", "--quiet")
    check_equal(r.returncode, code, f"{args}: {r.stderr}")
    check_in(words, r.stderr, str(args))


def test_mpiruns_word_counts_before_the_batch_scripts(d, port):
    path = contract(f"{d}/c.yaml", port, **STEADY_20)
    both = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
    auto = ("--part", "auto", "--start", "@1000000000")
    lynx("run", path, *auto, "--out", f"{d}/auto.lynx", "--quiet", env=both)
    check(os.path.exists(f"{d}/auto.part3.lynx"), f"which part: {os.listdir(d)}")


def test_an_indexed_job_of_kubernetes_says_which_part(d, port):
    path = contract(f"{d}/c.yaml", port, **STEADY_20)
    pod = {"JOB_COMPLETION_INDEX": "1", "LYNXBENCH_PARTS": "3"}
    lynx("run", path, "--part", "auto", "--start", "@1000000000", "--out", f"{d}/pod.lynx", "--quiet", env=pod)
    check(os.path.exists(f"{d}/pod.part2.lynx"), f"which part: {os.listdir(d)}")
    del pod["LYNXBENCH_PARTS"]
    r = lynx("run", path, "--part", "auto", "--start", "@1000000000", "--out", f"{d}/no.lynx", env=pod)
    check_equal((r.returncode, "LYNXBENCH_PARTS" in r.stderr), (2, True), r.stderr)


THREADS = METHOD[:-1] + ", threads: 2}"
NOT_SHARED = [
    ("2/2", {"checks": "[prefix]"}, "sessions of its own"),
    ("2/2", {"method": METHOD[:-1] + ", budget: 1h}"}, "method.budget"),
    ("2/2", {"regime": "{load: poisson, rate_per_s: 40, concurrency: 3}", "method": THREADS}, "3 for 4 load threads"),
    ("1/2", {"regime": "{load: single_stream}"}, "a stream of one host"),
    ("1/2", {"regime": "{load: closed, concurrency: 1}"}, "1 for 2 load threads"),
]


@pytest.mark.parametrize("part, more, words", NOT_SHARED)
def test_contracts_that_cannot_be_shared(d, port, part, more, words):
    path = contract(f"{d}/c.yaml", port, **{**STEADY_20, **more})
    r = lynx("run", path, "--part", part, *LATER, "--out", f"{d}/c.lynx", "--quiet")
    check_equal(r.returncode, 2, f"{more}: {r.stderr}")
    check_in(words, r.stderr, str(more))


# --- hosts of their own, where the machine allows network namespaces ---


@pytest.fixture
def hosts():
    names = [f"lynx{os.getpid()}{k}" for k in (1, 2)]
    try:
        for k, name in enumerate(names, 1):
            inside = f"ip netns exec {name} ip"
            for command in (
                f"ip netns add {name}",
                f"ip link add v{name} type veth peer name eth0 netns {name}",
                f"ip addr add 10.201.{k}.1/24 dev v{name}",
                f"ip link set v{name} up",
                f"{inside} addr add 10.201.{k}.2/24 dev eth0",
                f"{inside} link set eth0 up",
                f"{inside} link set lo up",
                f"{inside} route add default via 10.201.{k}.1",
            ):
                if subprocess.run(command.split(), capture_output=True).returncode:
                    pytest.skip(f"this machine does not let us make network namespaces ({command})")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            subprocess.run(["ip", "link", "del", f"v{name}"], capture_output=True)


def test_two_hosts(d, hosts):
    with reference("--mode", "metronome", "--address", "0.0.0.0") as port:
        files = parts(
            d,
            "hosts",
            port,
            2,
            prefix=lambda k: ["ip", "netns", "exec", hosts[k - 1]],
            executor=f'{{endpoint: "http://10.201.1.1:{port}"}}',
            regime="{load: constant, rate_per_s: 40}",
        )
        whole, _ = merged(d, "hosts", files)
        check_equal(show(whole)["precisions"][0]["requests"]["failed"], 0, "from two hosts")


if __name__ == "__main__":
    main(__file__)
