"""Would an upgrade help? Asked of a recorded run whose server sleeps for 20 of 21 ms: its processor hardly matters.
And how many of a server with four slots; and a lower precision.
The bounds and queues themselves are held in tests/unit/test_decide.c and test_fleet.c."""

import contextlib
import json
import math
import os
import re
import sqlite3

import pytest

import lynx as l

SLEEPS = f"{l.SOURCE}/tests/recorded/bundles/perturb.lynx"  # E(processor) 0.13 [0.08, 0.19], up to x1.35 slower


def decide(*words, code, bundle=SLEEPS):
    r = l.lynx("decide", bundle, *words)
    assert r.returncode == code, (words, r.stdout, r.stderr)
    return r.stdout


def of(*words, code):
    return json.loads(decide(*words, "--json", code=code))


def test_a_faster_processor_does_not_help_who_sleeps():
    said = of("--upgrade", "host.clock x1.3", code=1)
    [part] = said["upgrade"][0]["measured"]
    low, high = part["low"], part["high"]
    assert 0 < low < part["elasticity"] < high < 0.2, part
    assert said["verdict"] == "does not help" and said["doubts"] == [], said
    assert said["serial_bound"] == pytest.approx(1 / (1 - high * (1 - 1 / 1.3)))
    assert 1 < said["if_serial_about"] < said["serial_bound"] < said["concave_bound"] == said["at_most"] < 1.1, said
    text = decide("--upgrade", "host.clock x1.3", code=1)
    first, then = text.splitlines()[:2]
    assert first.startswith(f"It does not help: at most x{said['at_most']:.4g}, and it pays from x1.1 on"), first
    assert then.startswith("next: ") and "1 request in flight" in text, text


def test_what_pays_decides():
    """The same upgrade, where it pays from less: the interval holds both sides, and so many blocks would tell."""
    said = of("--upgrade", "host.clock x1.3", "--margin", "6%", code=3)
    [doubt] = said["doubts"]
    assert "interval" in doubt["because"] and doubt["blocks_times"] > 1, said
    assert of("--upgrade", "host.clock x1.3", "--price-ratio", "1.28", code=1)["wanted_by"] == "ratio of prices"
    said = of("--upgrade", "host.clock x100", "--margin", "10%", code=3)
    assert said["at_most"] > 2 and "only a trial" in said["doubts"][0]["because"], said


@pytest.mark.parametrize(
    "upgrade, because, next_step",
    [
        ("disk x2", "not slowed in this run", "perturb CONTRACT --only disk"),
        ("memory.bandwidth x2, disk x2", "not slowed in this run", "--only memory,disk"),
        ("host.cores x2", "may gain more than its factor", "lynxbench compare"),
        ("link.peer x2", "nothing here can slow it", "lynxbench compare"),
        ("host.clock x1.3, memory.capacity 141GB", "more memory may let more fit", "the speed alone: --upgrade"),
        ("arithmetic.fp64 x2", "only a trial can show", "lynxbench compare"),
    ],
)
def test_what_cannot_be_decided_says_why_and_what_to_do(upgrade, because, next_step):
    verdict, then = decide("--upgrade", upgrade, code=3).splitlines()[:2]
    assert verdict.startswith("Cannot decide, because ") and because in verdict, verdict
    assert then.startswith("next: ") and next_step in then, then


def test_devices_of_the_table():
    said = of("--from", "H100-SXM", "--to", "h200 sxm", code=3)
    assert "another device" in said["doubts"][0]["because"], said  # the run was on a processor
    [bandwidth] = [p for p in said["upgrade"] if p["resource"] == "memory.bandwidth"]
    assert bandwidth["factor"] == pytest.approx(4.8 / 3.35), said
    r = l.lynx("decide", "--devices", "--json")
    table = json.loads(r.stdout)["devices"]
    assert r.returncode == 0 and len(table) > 25 and all(d["source"] for d in table)
    assert "H200-SXM" in l.lynx("decide", "--devices").stdout


@pytest.mark.parametrize(
    "words, says",
    [
        ((), "--upgrade: found nothing"),
        (("--upgrade", "disk"), "disk: found ''; accepted: a factor"),
        (("--upgrade", "disk x2", "--from", "H100-SXM"), "accepted: a list, or two devices"),
        (("--from", "H100-SXM"), "--to: found nothing"),
        (("--from", "H100-SXM", "--to", "H300"), "--to: found 'H300'"),
        (("--from", "H100-SXM", "--to", "H100-SXM"), "another device"),
        (("--upgrade", "disk x2", "--margin", "0"), "--margin: found '0'"),
        (("--upgrade", "disk x2", "--margin", "10"), "--margin: found '10'"),
        (("--upgrade", "disk x2", "--rate", "5"), "--rate: it is of another question"),
        (("more", "--upgrade", "disk x2"), "one word too many"),
        (("--upgrade", "disk x2", "--margin", "ten"), "--margin: found 'ten'"),
        (("--upgrade", "disk x2", "--price-ratio", "0.9"), "--price-ratio: found '0.9'"),
        (("--upgrade", "disk x2", "--price-ratio", "2", "--margin", "0.1"), "one of them"),
    ],
)
def test_bad_questions(words, says):
    r = l.lynx("decide", SLEEPS, *words)
    assert r.returncode == 2 and says in r.stderr.replace("'nothing'", "nothing") and r.stdout == "", (words, r.stderr)


def test_a_run_in_which_nothing_was_slowed():
    r = l.lynx("decide", f"{l.SOURCE}/tests/recorded/bundles/small.lynx", "--upgrade", "disk x2")
    assert r.returncode == 2 and "next: lynxbench perturb " in r.stderr, r.stderr


# --- how many ---

@pytest.fixture(scope="module")
def climb():
    """Four slots of 20 ms each: what more are sent only waits."""
    return f"{l.SOURCE}/tests/recorded/bundles/climb.lynx"


def fleet(climb, *words, code=0):
    r = l.lynx("decide", "fleet", climb, *words, "--json", timeout=120)
    assert r.returncode == code, (words, r.stdout, r.stderr)
    return json.loads(r.stdout)


def test_a_patient_fleet_is_as_large_as_its_load(climb):
    said = fleet(climb, "--rate", "1000", "--within", "1min")
    curve = [(p["in_flight"], p["requests_per_s"]) for p in said["curve"]]
    assert [n for n, _ in curve][:3] == [1, 2, 4], curve
    assert curve[2][1] > 2.5 * curve[0][1], curve  # it has four slots
    assert said["executors"] == math.ceil(1000 / (0.95 * curve[-1][1])), said
    assert fleet(climb, "--rate", "1000", "--within", "1min", "--spare", "2")["executors"] == said["executors"] + 2


def test_an_impatient_fleet_is_larger(climb):
    patient = fleet(climb, "--rate", "1000", "--within", "1min")
    limit = 1.2 * patient["alone_s"]
    said = fleet(climb, "--rate", "1000", "--within", f"{1000 * limit:.3f}ms")
    assert said["executors"] > patient["executors"] and said["with"]["quantile_s"]["high"] <= limit, said
    assert not said["with_one_fewer"]["steady"] or said["with_one_fewer"]["quantile_s"]["high"] > limit, said
    by = {v["what"]: v["executors"] for v in said["if_otherwise"]}
    assert by["10 % fewer requests"] <= said["executors"] <= by["10 % more requests"], by
    assert by["routed at random"] is None or by["routed at random"] >= said["executors"], by
    said = fleet(climb, "--rate", "1000", "--within", f"{500 * patient['alone_s']:.3f}ms", code=1)
    assert said["executors"] is None, said


def test_a_fleet_is_said_in_words(climb):
    r = l.lynx("decide", "fleet", climb, "--rate", "1000", "--within", "1min", "--spare", "1", timeout=120)
    first, then = r.stdout.splitlines()[:2]
    assert r.returncode == 0 and "of 1000 requests/s within 60 s" in first and "1 may be lost" in first, r.stdout
    assert then.startswith("next: "), r.stdout


@pytest.mark.parametrize(
    "words, says",
    [
        (("--within", "1s"), "--rate: found nothing"),
        (("--rate", "0", "--within", "1s"), "--rate: found '0'"),
        (("--rate", "10"), "--within: found nothing"),
        (("--rate", "10", "--within", "soon"), "--within: found 'soon'"),
        (("--rate", "10", "--within", "1s", "--percentile", "100"), "--percentile: found '100'"),
        (("--rate", "10", "--within", "1s", "--spare", "0.5"), "--spare: found '0.5'"),
        (("--rate", "10", "--within", "1s", "--route", "nearest"), "random, in-turn, two-choices, least"),
        (("--rate", "10", "--within", "1s", "--burstiness", "0.5"), "--burstiness: found '0.5'"),
    ],
)
def test_bad_fleets(climb, words, says):
    r = l.lynx("decide", "fleet", climb, *words)
    assert r.returncode == 2 and says in r.stderr and r.stdout == "", (words, r.stderr)


def test_a_run_that_did_not_climb_has_no_curve():
    r = l.lynx("decide", "fleet", SLEEPS, "--rate", "1", "--within", "1s")
    assert r.returncode == 2 and "at one load" in r.stderr, r.stderr
    r = l.lynx("decide", "fleet")
    assert r.returncode == 2 and "found no run" in r.stderr, r.stderr


# --- a lower precision ---


def answers(path, values, task_metric="exact_match", length=100, prompt="p", **more):
    """As lm-evaluation-harness writes them (--log_samples)."""
    with open(path, "w") as f:
        for i, value in enumerate(values):
            line = {"doc_id": i, "doc": {}, "target": "x", "resps": [["a" * length]], "filter": "strict-match"}
            line |= {"metrics": [task_metric], "doc_hash": f"d{i}", "prompt_hash": f"{prompt}{i}", task_metric: value}
            f.write(json.dumps({**line, **more}) + "\n")
    return path


def two(folder, n, right, lost, won, name="samples_gsm8k_2026-11-28T10-00-00.1.jsonl", **after):
    """Before: so many right; after: so many of those lost, and others won."""
    for side in ("b", "a"):
        (folder / side).mkdir(exist_ok=True)
    values = [1] * right + [0] * (n - right)
    changed = [0] * lost + values[lost : n - won] + [1] * won
    return answers(folder / "b" / name, values), answers(folder / "a" / name, changed, **after)


def precision(before, after, *words, code):
    r = l.lynx("decide", "precision", before, after, "--json", *words)
    assert r.returncode == code, (r.stdout, r.stderr)
    return json.loads(r.stdout)


@pytest.mark.parametrize(
    "n, right, lost, won, verdict, code",
    [
        (4000, 3000, 20, 22, "go", 0),
        (1319, 1000, 120, 30, "no-go", 1),
        (1319, 1000, 30, 30, "not decided", 3),
        (50, 40, 0, 0, "not decided", 3),  # nothing changed, of few
    ],
)
def test_a_precision_is_judged_by_pairs(tmp_path, n, right, lost, won, verdict, code):
    said = precision(*two(tmp_path, n, right, lost, won), "--margin", "1%", code=code)
    [task] = said["tasks"]
    assert said["verdict"] == verdict and (task["lost"], task["won"], task["n"]) == (lost, won, n), said
    assert task["task"] == "gsm8k, strict-match" and task["before"] == pytest.approx(right / n), task
    difference = task["difference"]
    assert difference["estimate"] == pytest.approx((won - lost) / n), task
    assert difference["low"] < difference["estimate"] < difference["high"], task
    if verdict == "not decided" and lost:
        assert task["questions_that_would_decide"] > n, task
    text = l.lynx("decide", "precision", tmp_path / "b", tmp_path / "a", "--margin", "1%").stdout
    words = {"go": "Go: it loses less than 1 point on", "no-go": "No-go: on gsm8k"}
    assert text.startswith(words.get(verdict, "Not decided: on gsm8k")) and "next: " in text, text


def test_one_bad_task_of_several_is_enough(tmp_path):
    for k in range(4):
        name = f"samples_task{k}_2026-11-28T10-00-00.1.jsonl"
        two(tmp_path, 4000, 3000, 150 if k == 2 else 20, 20, name)
    said = precision(tmp_path / "b", tmp_path / "a", "--margin", "1%", code=1)
    assert said["worst"] == "task2, strict-match" and len(said["tasks"]) == 4, said
    for task in said["tasks"]:  # several tasks: each chance counts
        assert task["corrected"]["low"] < task["difference"]["low"], task


def test_what_no_margin_sees_is_said(tmp_path):
    two(tmp_path, 4000, 3000, 230, 235, length=70)
    r = l.lynx("decide", "precision", tmp_path / "b", tmp_path / "a", "--margin", "5%")
    assert r.returncode == 0 and "0.7 times as long" in r.stdout, r.stdout
    assert "11.6 % of its answers changed sides" in r.stdout, r.stdout


def test_shares_and_several_answers_to_a_question(tmp_path):
    """Values between 0 and 1 have no McNemar; the answers to one question are its mean."""
    values = [(i % 5) / 4 for i in range(2000)]
    before, after = answers(tmp_path / "b.jsonl", values, "f1"), answers(tmp_path / "a.jsonl", values, "f1")
    [task] = precision(before, after, "--margin", "1%", code=0)["tasks"]
    assert task["mcnemar_p"] is None and task["difference"]["low"] == pytest.approx(math.log(0.025) / 2000), task
    with open(after, "a") as f, open(answers(tmp_path / "more.jsonl", [1.0] * 2000, "f1")) as more:
        f.write(more.read())
    [task] = precision(before, after, "--margin", "1%", code=0)["tasks"]
    assert task["n"] == 2000 and task["after"] == pytest.approx((sum(values) / 2000 + 1) / 2), task


def test_questions_that_are_not_the_same_are_no_pairs(tmp_path):
    before, _ = two(tmp_path, 100, 50, 0, 0)
    other = answers(tmp_path / "o.jsonl", [1] * 100, prompt="five shots")
    r = l.lynx("decide", "precision", before, other, "--margin", "1%")
    assert r.returncode == 2 and "100 have another prompt" in r.stderr, r.stderr
    some = answers(tmp_path / "s.jsonl", [1] * 60)
    said = precision(before, some, "--margin", "50%", code=3)  # who answers fewer may have left out the hard ones
    assert (said["paired"], said["only_before"], said["incomplete"]) == (60, 40, True), said
    r = l.lynx("decide", "precision", before, some, "--margin", "50%")
    assert r.stdout.startswith("Not decided: what was answered on both sides is not all"), r.stdout
    bare = {"doc_hash": "", "prompt_hash": None}
    one = answers(tmp_path / "samples_arc_2026-11-28T10.jsonl", [1] * 100, **bare)
    two_ = answers(tmp_path / "samples_hellaswag_2026-11-28T10.jsonl", [1] * 100, **bare)
    assert l.lynx("decide", "precision", one, two_, "--margin", "1%").returncode == 2, "numbers alone are no questions"


def test_a_task_that_one_side_lacks_is_no_go_ahead(tmp_path):
    two(tmp_path, 4000, 3000, 20, 20)
    answers(tmp_path / "b" / "samples_humaneval_2026-11-28T10-00-00.1.jsonl", [1] * 164, "pass@1")
    said = precision(tmp_path / "b", tmp_path / "a", "--margin", "1%", code=3)
    assert said["incomplete"] and [t["task"] for t in said["tasks"]] == ["gsm8k, strict-match"], said
    answers(tmp_path / "a" / "samples_humaneval_2026-11-28T10-00-00.1.jsonl", [1] * 164, "pass@1")
    said = precision(tmp_path / "b", tmp_path / "a", "--margin", "5%", code=0)
    assert {t["metric"] for t in said["tasks"]} == {"exact_match", "pass@1"}, said
    os.makedirs(tmp_path / "deep" / "meta-llama__Llama-3.1-8B")
    for name in os.listdir(tmp_path / "a"):
        os.rename(tmp_path / "a" / name, tmp_path / "deep" / "meta-llama__Llama-3.1-8B" / name)
    precision(tmp_path / "b", tmp_path / "deep", "--margin", "5%", code=0)


def test_what_would_decide(tmp_path):
    for n, right, lost, won, least, most in ((50, 40, 0, 0, 370, 390), (100, 80, 14, 9, 101, 2000)):
        [task] = precision(*two(tmp_path, n, right, lost, won), "--margin", "1%", code=3)["tasks"]
        assert least <= task["questions_that_would_decide"] <= most, task


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "found no answer"),
        ("[1]\n", ":1: found no object"),
        ("{}\n", "found no number"),
        ('{"doc_id": 1}\n', "metrics: found nothing"),
        ('{"doc_id": 1, "metrics": ["acc"]}\n', "acc: found nothing"),
        ('{"doc_id": 1, "metrics": ["acc"], "acc": "yes"}\n', "acc: found another value"),
        ('{"doc_id": 1, "metrics": ["acc"], "acc": 17}\n', "acc: found another value"),
        ('{"doc_id": 1, "acc": 1}\n{"doc_id": \n', ":2:"),
        ('{"doc_id": 1, "metrics": ["wer"], "wer": 0.1}\n', "wer: less of it is better"),
        ("\0\n", "found"),
    ],
)
def test_files_that_are_no_answers(tmp_path, text, says):
    (tmp_path / "x.jsonl").write_text(text)
    r = l.lynx("decide", "precision", tmp_path / "x.jsonl", tmp_path / "x.jsonl", "--margin", "1%")
    assert r.returncode == 2 and says in r.stderr, r.stderr


@pytest.mark.parametrize(
    "words, says",
    [
        (("B", "--margin", "1%"), "found 1 files; accepted: two"),
        (("B", "A"), "--margin: found 'nothing'"),
        (("B", "A", "--margin", "200%"), "--margin: found '200%'"),
        (("B", "A", "--margin", "1%", "--metric", "bleu"), "bleu: found nothing"),
        (("EMPTY", "A", "--margin", "1%"), "found no samples_*.jsonl"),
        (("TWICE", "A", "--margin", "1%"), "found two files of gsm8k"),
    ],
)
def test_bad_questions_of_precision(tmp_path, words, says):
    before, after = two(tmp_path, 100, 50, 0, 0)
    (tmp_path / "empty").mkdir()
    (tmp_path / "twice").mkdir()
    for day in (28, 29):
        answers(tmp_path / "twice" / f"samples_gsm8k_2026-11-{day}T10-00-00.1.jsonl", [1])
    stand = {"B": before, "A": after, "EMPTY": tmp_path / "empty", "TWICE": tmp_path / "twice"}
    r = l.lynx("decide", "precision", *[stand.get(w, w) for w in words])
    assert r.returncode == 2 and says in r.stderr, (words, r.stderr)


if __name__ == "__main__":
    l.main(__file__)


# --- cost ---

SELLS = {
    "workload": "{model: metronome, output_tokens: 12, prompts: {count: 8, bytes: 32}}",
    "regime": "{load: closed, concurrency: 4}",
    "method": "{warm_up: 200ms, counted: 800ms, sessions: 3, drain: 2s, request_timeout: 5s, "
    "instrument_error_at_most: 1, steady: reported}",
    "slo": "[{metric: end_to_end, quantile: 0.5, at_most: 1s}]",
}


@pytest.fixture(scope="module")
def sold(tmp_path_factory):
    """Two servers: a token each 8 ms, and each 4 ms. The second costs 1.6 times as much by its contract."""
    d = tmp_path_factory.mktemp("sold")
    for name, gap, price in (("a", "8ms", 5), ("b", "4ms", 8)):
        with l.reference("--mode", "metronome", "--first-token", "4ms", "--gap", gap) as port:
            cost = f"{{price_per_hour: {price}, currency: EUR, power_watts: 100}}"
            path = l.contract(f"{d}/{name}.yaml", port, cost=cost, **SELLS)
            r = l.lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
            assert r.returncode == 0, r.stderr
    return f"{d}/a.lynx", f"{d}/b.lynx"


def cost(*words, code):
    r = l.lynx("decide", "cost", *words, "--json")
    assert r.returncode == code, (words, r.stdout, r.stderr)
    return json.loads(r.stdout)


def good_tokens_per_s(bundle, within_ns, seconds=0.8):
    """From the rows: all tokens of answers that ended in the counted window, and soon enough."""
    sql = """SELECT sum(r.output_tokens) FROM request r JOIN session s ON r.session = s.id
        WHERE r.outcome = 'ok' AND r.end_ns >= s.warm_up_ns AND r.end_ns < s.warm_up_ns + s.counted_ns
        AND r.end_ns - r.scheduled_ns <= ? GROUP BY s.id"""
    with contextlib.closing(sqlite3.connect(f"file:{bundle}?mode=ro", uri=True)) as db:
        sums = [n for (n,) in db.execute(sql, (within_ns,))]
    return sum(sums) / len(sums) / seconds


def test_what_a_run_costs(sold):
    rate = good_tokens_per_s(sold[0], 1e9)
    [run] = cost(sold[0], code=0)["runs"]
    million, useful = run["per_million"], run["useful_per_s"]
    assert useful["estimate"] == pytest.approx(rate) and run["unit"] == "output tokens", run
    assert useful["high"] / useful["low"] > 1 + 2 * 12 / (0.8 * rate), "no narrower than a request of a window"
    assert million["estimate"] == pytest.approx(5 / (3600 * rate) * 1e6)
    assert million["low"] == pytest.approx(5 / (3600 * useful["high"]) * 1e6)
    assert run["joules_stated"]["estimate"] == pytest.approx(100 / rate)
    [other] = cost(sold[0], "--price", "10", "--price-error", "5%", "--sold", "0.5", code=0)["runs"]
    assert other["per_million"]["estimate"] == pytest.approx(4 * million["estimate"])
    reach = math.hypot(math.log(useful["estimate"] / useful["low"]), math.log(1.05))
    assert other["per_million"]["high"] == pytest.approx(4 * million["estimate"] * math.exp(reach))
    text = l.lynx("decide", "cost", sold[0]).stdout
    assert text.startswith(f"{million['estimate']:.4g} [") and "EUR per million output tokens.\nnext: " in text, text


def test_late_answers_are_not_sold(tmp_path):
    """The long ones are late: most tokens are theirs."""
    fields = SELLS | {
        "workload": "{model: metronome, output_tokens: 40, output_distribution: uniform, output_spread: 0.9, "
        "prompts: {count: 8, bytes: 32}}",
        "slo": "[{metric: end_to_end, quantile: 0.3, at_most: 330ms}]",
        "regime": "{load: constant, rate_per_s: 40}",
        "cost": "{price_per_hour: 5, currency: EUR}",
    }
    with l.reference("--mode", "metronome", "--first-token", "4ms", "--gap", "8ms") as port:
        path = l.contract(f"{tmp_path}/c.yaml", port, **fields)
        assert l.lynx("run", path, "--out", f"{tmp_path}/c.lynx", "--quiet").returncode == 0
    [run] = cost(f"{tmp_path}/c.lynx", code=0)["runs"]
    assert run["useful_per_s"]["estimate"] == pytest.approx(good_tokens_per_s(f"{tmp_path}/c.lynx", 330e6)), run
    shown = l.show(f"{tmp_path}/c.lynx")["precisions"][0]
    by_requests = shown["output_rate"]["estimate"] * shown["goodput"]["estimate"] / shown["request_rate"]["estimate"]
    assert run["useful_per_s"]["high"] < by_requests, "shares of requests would say more"


def test_which_of_two_costs_less(sold):
    found = cost(*sold, code=0)
    gain, even = found["useful_ratio"], found["break_even_price"]
    assert found["verdict"] == "B costs less" and 1.6 < gain["low"] <= gain["estimate"] <= gain["high"] < 2.6, found
    assert found["cost_ratio"]["estimate"] == pytest.approx(1.6 / gain["estimate"])
    assert even["estimate"] == pytest.approx(5 * gain["estimate"]) and even["low"] == pytest.approx(5 * gain["low"])
    assert cost(*sold, "--other-price", "15", code=1)["verdict"] == "B costs more"
    at = f"{even['estimate']:.6g}"
    assert cost(*sold, "--other-price", at, code=3)["verdict"] == "not decided", "at the break-even price"
    assert cost(*sold, "--other-price", f"{0.9 * even['estimate']:.6g}", "--price-error", "20%", code=3)
    assert cost(sold[0], sold[0], code=3)["cost_ratio"]["low"] < 1, "the same run"
    assert cost(*sold, "--other-sold", "50%", code=1)["runs"][0]["sold"] == 1, "idle hours are paid, too"


@pytest.mark.parametrize(
    "field, was, becomes, because",
    [
        ("what is bought", "output_tokens: 12", "output_tokens: 13", "workload.output_tokens: A 12, B 13"),
        ("objectives", "at_most: 1s", "at_most: 2s", "slo"),
        ("load", "concurrency: 4", "concurrency: 5", "regime.concurrency: A 4, B 5"),
        ("currency", "EUR", "USD", "two currencies"),
    ],
)
def test_only_the_same_goods_are_compared(sold, tmp_path, field, was, becomes, because):
    text = open(sold[1].replace(".lynx", ".yaml")).read()
    assert was in text, text
    with l.reference("--mode", "metronome", "--first-token", "4ms", "--gap", "4ms") as port:
        (tmp_path / "c.yaml").write_text(re.sub(r"127.0.0.1:\d+", f"127.0.0.1:{port}", text.replace(was, becomes)))
        r = l.lynx("run", tmp_path / "c.yaml", "--out", tmp_path / "c.lynx", "--quiet")
        assert r.returncode == 0, r.stderr
    found = cost(sold[0], tmp_path / "c.lynx", code=3)
    assert because in found["because"] and "cost_ratio" not in found, (field, found)


@pytest.mark.parametrize(
    "words, why", [((), "--price"), (("--price", "0"), "a millionth at least"), (("--price", "2"), "no claim")]
)
def test_what_has_no_price(words, why):
    r = l.lynx("decide", "cost", f"{l.SOURCE}/tests/recorded/bundles/small.lynx", *words)
    assert r.returncode == (3 if why == "no claim" else 2) and why in r.stdout + r.stderr, (r.stdout, r.stderr)
