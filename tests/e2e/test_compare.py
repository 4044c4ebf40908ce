"""Two settings, in turn: the same server is the same, a slower one is not, and too little says so."""

import machine
import pytest
from lynx import *

METHOD = (
    "{warm_up: 200ms, counted: 1500ms, sessions: 8, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, "
    "steady: reported}"
)


def side(d, name, port, gap):
    command = f'["{REF}", --mode, metronome, --port, "{{port}}", --first-token, 20ms, --gap, {gap}]'
    return contract(
        f"{d}/{name}.yaml",
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health, start: {{command: {command}}}}}',
        method=METHOD,
        regime="{load: constant, rate_per_s: 50}",
        decision="{margin: 0.1}",
        checks="[]",
    )


class Compared:
    def __init__(self, d):
        port = free_port()
        self.d = d
        self.a, self.b, self.slow = side(d, "a", port, "4ms"), side(d, "b", port, "4ms"), side(d, "slow", port, "8ms")
        self.same_run = machine.beside_nothing(lambda k: self.compare(self.b, "same"))
        self.slow_run = machine.beside_nothing(lambda k: self.compare(self.slow, "slow"))

    def compare(self, other, name):
        for side in "ab":
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{self.d}/{name}-{side}.lynx")
        return lynx("compare", self.a, other, "--out", f"{self.d}/{name}", "--quiet", "--json", timeout=300)


@pytest.fixture(scope="module")
def compared():
    """Two pairs of runs: of the same server, and of one whose tokens take 8 ms in place of 4."""
    with folder() as d:
        yield Compared(d)


def figures_of(r):
    return {f["figure"]: f for f in json.loads(r.stdout)["figures"]}


def test_the_same_server_is_within_the_margin(compared):
    figures = figures_of(compared.same_run)
    check_equal(json.loads(compared.same_run.stdout)["interleaved"], True, "interleaved")
    for name in ("output throughput", "time per output token, p50", "end to end, p50"):
        f = figures[name]
        check_in("within the margin", f["verdict"], f"same: {name}: {f}")


def test_sessions_take_turns(compared):
    sql = "SELECT start_realtime_ns, '{0}' FROM session"
    order = sorted(row for s in "ab" for row in rows(f"{compared.d}/same-{s}.lynx", sql.format(s)))
    for k in range(0, 16, 2):
        check_equal(sorted(x[1] for x in order[k : k + 2]), ["a", "b"], f"round {k // 2} holds one of each")


def test_a_slower_server_is_beyond_it(compared):
    f = figures_of(compared.slow_run)["time per output token, p50"]
    check_equal(compared.slow_run.returncode, 1, "slower")
    check_equal(f["verdict"], "different beyond the margin", f"slower: {f}")
    check(0.45 < f["ratio"] < 0.55, f"4 ms / 8 ms: {f['ratio']}")


def test_bundles_are_compared_again(compared):
    d = compared.d
    text = lynx("compare", f"{d}/slow-a.lynx", f"{d}/slow-b.lynx")
    check_equal(text.returncode, compared.slow_run.returncode, "the same verdict from the bundles")
    check_in("compared session by session", text.stdout, "bundles")
    check_in("process.argument", text.stdout, "the executor diff is beside it")


def test_runs_that_did_not_take_turns_are_told(compared):
    d = compared.d
    text = lynx("compare", f"{d}/same-a.lynx", f"{d}/slow-a.lynx", "--margin", "0.5")
    check_in("not interleaved", text.stdout, "apart")


def test_misuse(compared):
    d = compared.d
    r = lynx("compare", f"{d}/same-a.lynx", f"{d}/same-b.lynx", "--margin", "much")
    check_equal(r.returncode, 2, "margin")
    check_in("accepted: a share", r.stderr, "margin")
    check_equal(lynx("compare", compared.a, f"{d}/nothing.yaml").returncode, 2, "no such file")
    r = lynx("compare", compared.a, compared.b, "--out", f"{d}/same", "--quiet")
    check_equal(r.returncode, 2, "records are not overwritten")


@pytest.fixture(scope="module")
def strict():
    """Two runs of a contract that allows conditions to be 3 % apart."""
    with folder() as d, reference("--mode", "metronome") as port:
        path = contract(
            f"{d}/c.yaml",
            port,
            method=METHOD,
            regime="{load: constant, rate_per_s: 50}",
            decision="{margin: 0.1, conditions_differ_at_most: 0.03}",
            checks="[]",
        )
        for name in "ab":
            r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
            assert r.returncode == 0, r.stderr
        yield d


def beside(strict, d, name, share):
    """The same run, on a machine whose processors others used by that share; what the server felt is not known."""
    unknown = "DELETE FROM sample WHERE series = 'server.processors_waited'"
    others = f"UPDATE sample SET value = {share} WHERE series = 'machine.others_ratio'"
    other = "UPDATE sample SET value = 0 WHERE series IN ('machine.steal_ratio', 'machine.cpu_pressure_percent')"
    return forge(f"{strict}/{name}.lynx", f"{d}/{name}.lynx", others, other, unknown)


# What the server felt in session s of side 0 or 1: seconds lost of each second.
NOTHING = "0.001 + 0.0005 * (session % 3)"
EVEN = """UPDATE request SET end_ns = issued_ns + CAST({} * 600000000 AS INTEGER)
    + 10000 * session WHERE phase = 'counted'"""


def felt(strict, d, name, lost, *more, longer=1):
    """Half of the processors were somebody else's in b, and none in a; every request took 0.6 s, times `longer`."""
    return forge(
        f"{strict}/{name}.lynx",
        f"{d}/{name}.lynx",
        f"UPDATE sample SET value = {0.5 if name == 'b' else 0} WHERE series = 'machine.others_ratio'",
        "UPDATE sample SET value = 0 WHERE series IN ('machine.steal_ratio', 'server.throttled_ratio')",
        f"UPDATE sample SET value = {lost} WHERE series = 'server.processors_waited'",
        "UPDATE sample SET value = 0.01 WHERE series = 'server.processors_used'",
        "UPDATE sample SET value = 0 WHERE series IN ('server.processors_ended', 'server.disk_waited',"
        " 'server.local_peers')",
        EVEN.format(longer),
        *more,
    )


def compared_end_to_end(d):
    r = lynx("compare", f"{d}/a.lynx", f"{d}/b.lynx", "--json")
    out = json.loads(r.stdout)
    [figure] = [f for f in out["figures"] if f["figure"] == "end to end, p50"]
    return out, figure


def check_open(figure):
    check("beyond" not in figure["verdict"] and "within" not in figure["verdict"], f"{figure}")


def test_neighbours_that_the_server_did_not_feel_change_nothing(strict, d):
    felt(strict, d, "a", NOTHING)
    felt(strict, d, "b", NOTHING)
    out, figure = compared_end_to_end(d)
    check_equal(out["conditions_differ"], None, "they decide nothing")
    check_in("other processes used 0 % in A and 50 % in B", out["conditions_felt"], "but are said")
    check_equal(figure["verdict"], "the same within the margin", f"{figure}")
    check_in("conditions explain at most 0", figure["conditions"], f"{figure}")


def test_a_change_beyond_what_was_felt_is_one(strict, d):
    felt(strict, d, "a", NOTHING)
    felt(strict, d, "b", NOTHING, longer=1.5)
    figure = compared_end_to_end(d)[1]
    check_equal(figure["verdict"], "different beyond the margin", f"{figure}")
    check_in("measured as 0.66", figure["conditions"], f"{figure}")


def test_what_the_server_felt_may_be_the_whole_difference(strict, d):
    """In b it lost between a third and a half of each second, and took the longer the more it lost."""
    felt(strict, d, "a", NOTHING)
    slower = EVEN.format("(1 + (0.33 + 0.08 * (session % 3)))")
    felt(strict, d, "b", "0.33 + 0.08 * (session % 3)", slower)
    check_open(compared_end_to_end(d)[1])
    felt(strict, d, "b", "0.4", longer=1.4)  # as much always: how much it does cannot be told
    check_open(compared_end_to_end(d)[1])


@pytest.mark.parametrize(
    "sql, why",
    [
        ("UPDATE sample SET value = 1 WHERE series = 'server.local_peers'", "waits for other processes"),
        ("DELETE FROM sample WHERE series = 'server.local_peers'", "its sockets could not be read"),
        ("UPDATE sample SET value = 0.005 WHERE series = 'server.processors_ended'", "in threads that end"),
        ("DELETE FROM sample WHERE series = 'server.processors_waited' AND session = 0", "of every session"),
    ],
)
def test_what_cannot_be_judged_by_what_was_felt_stays_open(strict, d, sql, why):
    felt(strict, d, "a", NOTHING, sql)
    felt(strict, d, "b", NOTHING)
    out, figure = compared_end_to_end(d)
    check_in(why, out["conditions_differ"], "why")
    check_open(figure)


def test_conditions_that_one_side_does_not_tell_are_no_comparison(strict, d):
    none = forge(f"{strict}/b.lynx", f"{d}/b.lynx", "DELETE FROM sample WHERE series LIKE 'machine.%'")
    for pair in ((f"{strict}/a.lynx", none), (none, f"{strict}/a.lynx")):
        r = lynx("compare", *pair)
        check_equal(r.returncode, 3, r.stdout)
        check_in("no sample of the machine", r.stdout, "what is missing")
    check("no sample" not in lynx("compare", none, none).stdout, "of neither side: as it was")


def test_figures_of_unlike_loads_are_no_comparison(d):
    nothing = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'
    for name, regime in (("a", "{load: constant, rate_per_s: 40}"), ("b", "{load: constant, rate_per_s: 80}")):
        path = contract(f"{d}/{name}.yaml", 1, executor="{}", workload=nothing, regime=regime)
        assert lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet").returncode == 0
    r = lynx("compare", f"{d}/a.lynx", f"{d}/b.lynx", "--json")
    out = json.loads(r.stdout)
    check_equal(r.returncode, 3, f"no verdict: {out}")
    check_equal(out["loads_differ"], "regime.rate_per_s: A 40, B 80", "which")
    check({f["why"] for f in out["figures"]} == {"the loads differ"}, out)
    r = lynx("compare", f"{d}/a.yaml", f"{d}/b.yaml", "--out", f"{d}/x")
    check(r.returncode == 2 and "nothing was run" in r.stderr and "regime.rate_per_s: A 40, B 80" in r.stderr, r.stderr)
    text = lynx("compare", f"{d}/a.lynx", f"{d}/b.lynx").stdout
    check("better one" not in text and "inconclusive: the loads differ" in text, text)


@pytest.mark.parametrize("share, differ", [(0.5, True), (0.22, False)])
def test_unlike_conditions_are_no_comparison(strict, d, share, differ):
    """Half of the processors were somebody else's in A, and a fifth in B: whose that is, and what to do."""
    r = lynx("compare", beside(strict, d, "a", share), beside(strict, d, "b", 0.21), "--json")
    out = json.loads(r.stdout)
    text = lynx("compare", f"{d}/a.lynx", f"{d}/b.lynx").stdout
    if not differ:
        check("conditions differ" not in text, text)
        return
    check_equal(r.returncode, 3, f"no verdict: {out}")
    verdicts = {f["verdict"] for f in out["figures"]} - {"not judged"}
    check(all("beyond" not in v and "within" not in v for v in verdicts), f"{verdicts}")
    check_in("conditions differ", text, "it says so")
    check_in("other processes used 50 % in A and 21 % in B", text, "which")
    check_in("layer system, Infrastructure", text, "whose")
    check_in("lynxbench compare", text, "and what to do")


if __name__ == "__main__":
    main(__file__)
