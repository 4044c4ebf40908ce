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
    """The same run, on a machine whose processors others used by that share."""
    others = f"UPDATE sample SET value = {share} WHERE series = 'machine.others_ratio'"
    other = "UPDATE sample SET value = 0 WHERE series IN ('machine.steal_ratio', 'machine.cpu_pressure_percent')"
    return forge(f"{strict}/{name}.lynx", f"{d}/{name}.lynx", others, other)


def test_conditions_that_one_side_does_not_tell_are_no_comparison(strict, d):
    none = forge(f"{strict}/b.lynx", f"{d}/b.lynx", "DELETE FROM sample WHERE series LIKE 'machine.%'")
    for pair in ((f"{strict}/a.lynx", none), (none, f"{strict}/a.lynx")):
        r = lynx("compare", *pair)
        check_equal(r.returncode, 3, r.stdout)
        check_in("no sample of the machine", r.stdout, "what is missing")
    check("no sample" not in lynx("compare", none, none).stdout, "of neither side: as it was")


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
