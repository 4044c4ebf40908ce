"""Why two instruments differ: one known server is measured by two, each in its own way; how much of the difference
follows from what they did is known, and what is left must be what the server itself did unlike."""

import json
import os

import pytest
from lynx import *

RECORDED = os.path.join(SOURCE, "tests", "recorded")


class Request:
    def __init__(self, start, first, gap, tokens, ok=True):
        self.start, self.first, self.gap, self.tokens, self.ok = start, first, gap, tokens, ok

    @property
    def whole(self):
        return self.first + self.gap * (self.tokens - 1)


def closed_loop(n=200, slots=4, first=1.0, gap=0.010, tokens=128, pause=0.0):
    """Slots that ask again `pause` after each answer."""
    requests = []
    for i in range(n):
        one = Request(0, first, gap, tokens)
        one.start = (i // slots) * (one.whole + pause)
        requests.append(one)
    return requests


def mean(values):
    return sum(values) / len(values)


def span(requests):
    return max(r.start + r.whole for r in requests) - min(r.start for r in requests)


def vllm(path, requests, slots=4, rate=None, streamed=True, detailed=True, counts=lambda n: n):
    seconds = span(requests)
    tokens = sum(counts(r.tokens) for r in requests)
    first = [r.first if streamed else r.whole for r in requests]
    whole = mean([r.whole for r in requests])
    record = {
        "backend": "openai",
        "model_id": "m",
        "request_rate": rate or "inf",
        "max_concurrency": None if rate else slots,
        "duration": seconds,
        "completed": len(requests),
        "failed": 0,
        "total_input_tokens": 100 * len(requests),
        "total_output_tokens": tokens,
        "request_throughput": len(requests) / seconds,
        "output_throughput": tokens / seconds,
        "total_token_throughput": (tokens + 100 * len(requests)) / seconds,
        "mean_ttft_ms": 1e3 * mean(first),
        "mean_e2el_ms": 1e3 * whole,
    }
    if streamed:
        record["mean_tpot_ms"] = 1e3 * mean([(r.whole - r.first) / (counts(r.tokens) - 1) for r in requests])
    if detailed:
        record["start_times"] = [r.start for r in requests]
        record["input_lens"] = [100 for r in requests]
        record["output_lens"] = [counts(r.tokens) for r in requests]
        record["ttfts"] = first
        record["itls"] = [[r.gap] * (r.tokens - 1) if streamed else [] for r in requests]
        record["errors"] = ["" for r in requests]
    with open(path, "w") as file:
        json.dump(record, file)
    return path


def statistics(values):
    ordered = sorted(values)
    at = lambda p: ordered[min(len(ordered) - 1, int(p * len(ordered)))]
    percentiles = {"p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p99": at(0.99), "p999": at(0.999)}
    return {"successful": {"mean": mean(values), "min": ordered[0], "max": ordered[-1], "percentiles": percentiles}}


def guidellm(path, requests, slots=4, with_requests=True):
    seconds = span(requests)
    listed = [
        {
            "info": {
                "timings": {
                    "request_start": r.start,
                    "first_token_iteration": r.start + r.first,
                    "last_token_iteration": r.start + r.whole,
                    "request_end": r.start + r.whole,
                }
            },
            "input_metrics": {"total_tokens": 100},
            "output_metrics": {"total_tokens": r.tokens},
        }
        for r in requests
    ]
    one = {
        "config": {
            "strategy": {"type_": "concurrent", "streams": slots},
            **({} if with_requests else {"sample_size": 0}),
        },
        "duration": seconds,
        "scheduler_metrics": {},
        "metrics": {
            "request_totals": {"successful": len(requests), "errored": 0, "incomplete": 0},
            "requests_per_second": statistics([len(requests) / seconds]),
            "output_tokens_per_second": statistics([sum(r.tokens for r in requests) / seconds]),
            "time_to_first_token_ms": statistics([1e3 * r.first for r in requests]),
            "time_per_output_token_ms": statistics([1e3 * r.whole / r.tokens for r in requests]),
            "inter_token_latency_ms": statistics([1e3 * r.gap for r in requests]),
            "request_latency": statistics([r.whole for r in requests]),
        },
        "requests": {"successful": listed if with_requests else [], "errored": [], "incomplete": []},
    }
    with open(path, "w") as file:
        json.dump({"metadata": {"version": 2, "guidellm_version": "0.4"}, "benchmarks": [one]}, file)
    return path


def lynxbench(*args, code=0):
    """code None: whichever, as long as it is no failure."""
    out = lynx(*args)
    wanted = (0, 1, 3) if code is None else (code,)
    assert out.returncode in wanted, (out.returncode, out.stdout, out.stderr)
    return out


def judged(code, *files):
    out = lynxbench("compare", "--instruments", *files, "--json", code=code)
    return json.loads(out.stdout)


def figure(result, name, statistic=None):
    found = [f for f in result["figures"] if f["figure"] == name and statistic in (None, f["statistic"])]
    assert found, [f["figure"] for f in result["figures"]]
    return found[0]


@pytest.mark.parametrize("detailed", [True, False])
def test_the_same_name_with_two_formulas_is_explained(tmp_path, detailed):
    """A first token after 1 s, 10 ms between 128 tokens: «TPOT» is 10.0 ms in one tool and 17.7 ms in the other."""
    requests = closed_loop()
    a = vllm(f"{tmp_path}/a.json", requests, detailed=detailed)
    b = guidellm(f"{tmp_path}/b.json", requests, with_requests=detailed)
    result = judged(1, a, b)
    tpot = figure(result, "time per output token", "mean")
    assert abs(tpot["a"] - 0.010) < 1e-6 and abs(tpot["b"] - 0.01773) < 1e-5
    assert tpot["status"] == "explained" and abs(tpot["left"] - 1) < 1e-3
    assert "formula" in tpot["factors"][0]["by"] and abs(tpot["factors"][0]["factor"] - 1.773) < 1e-3
    for name in ("requests per second", "time to first token", "whole answer"):
        assert figure(result, name)["status"] == "agrees", name
    text = lynxbench("compare", "--instruments", a, b, code=1).stdout
    first = "They differ, and how they measured explains it: time per output token, mean is 1.77 times as much by B"
    assert text.startswith(first)


def test_two_that_agree(tmp_path):
    requests = closed_loop()
    a, b = vllm(f"{tmp_path}/a.json", requests), vllm(f"{tmp_path}/b.json", requests, detailed=False)
    assert judged(0, a, b)["verdict"] == "agree"
    assert lynxbench("compare", "--instruments", a, b).stdout.startswith("They agree")


def test_what_the_server_did_is_not_explained_away(tmp_path):
    """The other server is 1.3 times as slow in all it does: nothing of that is the instruments'."""
    a = vllm(f"{tmp_path}/a.json", closed_loop())
    b = guidellm(f"{tmp_path}/b.json", closed_loop(first=1.3, gap=0.013))
    result = judged(3, a, b)
    assert result["verdict"] == "differ, not explained"
    assert abs(figure(result, "whole answer", "mean")["left"] - 1.3) < 0.01
    assert abs(figure(result, "requests per second")["left"] - 1 / 1.3) < 0.01
    tpot = figure(result, "time per output token", "mean")  # the formula is explained, the 1.3 is left
    assert abs(tpot["factors"][0]["factor"] - 1.773) < 2e-3 and abs(tpot["left"] - 1.3) < 0.01


def test_answers_that_were_not_streamed(tmp_path):
    requests = closed_loop()
    a, b = vllm(f"{tmp_path}/a.json", requests), vllm(f"{tmp_path}/b.json", requests, streamed=False)
    for files, factor in (((a, b), 2.27), ((b, a), 1 / 2.27)):
        first = figure(judged(1, *files), "time to first token", "mean")
        assert "streaming" in first["factors"][0]["by"]
        assert abs(first["factors"][0]["factor"] / factor - 1) < 1e-3 and abs(first["left"] - 1) < 1e-3


def test_longer_answers_explain_rate_and_latency(tmp_path):
    a = vllm(f"{tmp_path}/a.json", closed_loop(tokens=64))
    b = vllm(f"{tmp_path}/b.json", closed_loop(tokens=256))
    result = judged(1, a, b)
    for name in ("requests per second", "output tokens per second", "whole answer"):
        assert figure(result, name)["status"] == "explained", name
        assert abs(figure(result, name)["left"] - 1) < 0.02, name
    assert not result["tokens_counted_unlike"]


def test_tokens_that_are_counted_unlike_are_no_longer_answers(tmp_path):
    """One counts twice as many in the same answers: rates of tokens differ by that, times do not."""
    requests = closed_loop()
    a = vllm(f"{tmp_path}/a.json", requests)
    b = vllm(f"{tmp_path}/b.json", requests, counts=lambda n: 2 * n)
    result = json.loads(lynxbench("compare", "--instruments", a, b, "--json", code=None).stdout)
    assert result["tokens_counted_unlike"]
    assert figure(result, "whole answer")["status"] == "agrees"
    output = figure(result, "output tokens per second")
    assert abs(output["ratio"] - 2) < 1e-3 and abs(output["left"] - 1) < 1e-3
    text = lynxbench("compare", "--instruments", a, b, code=None).stdout
    assert "take no longer: the two probably count tokens unlike" in text


def test_a_client_that_leaves_slots_empty(tmp_path):
    a = vllm(f"{tmp_path}/a.json", closed_loop())
    b = vllm(f"{tmp_path}/b.json", closed_loop(pause=0.757))  # a quarter of each slot's time
    result = judged(1, a, b)
    rate = figure(result, "requests per second")
    assert abs(rate["ratio"] - 0.75) < 0.01 and abs(rate["left"] - 1) < 0.01
    assert "empty slots" in rate["factors"][0]["by"]
    assert figure(result, "whole answer")["status"] == "agrees"


def test_offered_rates(tmp_path):
    slow, fast = [], []
    for i in range(200):
        slow.append(Request(i / 10, 0.1, 0.005, 16))
        fast.append(Request(i / 20, 0.1, 0.005, 16))
    a, b = vllm(f"{tmp_path}/a.json", slow, rate=10.0), vllm(f"{tmp_path}/b.json", fast, rate=20.0)
    rate = figure(judged(1, a, b), "requests per second")
    assert "offered" in rate["factors"][0]["by"] and abs(rate["left"] - 1) < 0.03


def test_the_first_requests_of_a_cold_server(tmp_path):
    cold = [Request(i / 10, 2.0 if i < 20 else 0.1, 0.005, 16) for i in range(200)]
    warm = [Request(i / 10, 0.1, 0.005, 16) for i in range(200)]
    result = judged(1, vllm(f"{tmp_path}/a.json", cold, rate=10.0), vllm(f"{tmp_path}/b.json", warm, rate=10.0))
    first = figure(result, "time to first token", "mean")
    assert any("first tenth" in f["by"] for f in first["factors"]) and abs(first["left"] - 1) < 0.03


def test_a_bundle_and_what_it_is_in_the_terms_of_others(tmp_path):
    """The same requests, in four tools' formulas: what differs is formulas, ramp and tail, and nothing else."""
    bundle = os.path.join(RECORDED, "bundles", "small.lynx")
    for form in ("vllm", "guidellm"):
        other = f"{tmp_path}/{form}.json"
        lynxbench("export", bundle, "--format", form, "--out", other)
        result = judged(1, bundle, other)
        assert result["verdict"] == "differ, explained", form
        for f in result["figures"]:
            assert f["status"] != "not explained", (form, f)
    assert judged(0, bundle, bundle)["verdict"] == "agree"


VLLM_PAGE = """# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
vllm:request_success_total{{finished_reason="stop",model_name="m"}} {n}
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{{model_name="m"}} {prompts}
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{model_name="m"}} {tokens}
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_sum{{model_name="m"}} {first}
vllm:time_to_first_token_seconds_count{{model_name="m"}} {n}
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_sum{{model_name="m"}} {whole}
vllm:e2e_request_latency_seconds_count{{model_name="m"}} {n}
"""


def pages(d, n, first, whole, tokens, form=VLLM_PAGE):
    """Before: 1000 requests of somebody, in the same counters."""
    before, after = f"{d}/before.prom", f"{d}/after.prom"
    with open(before, "w") as file:
        file.write(form.format(n=1000, prompts=5000, tokens=7000, first=50.0, whole=900.0))
    with open(after, "w") as file:
        counts = dict(n=1000 + n, prompts=5000 + 100 * n, tokens=7000 + tokens * n)
        file.write(form.format(first=50.0 + first * n, whole=900.0 + whole * n, **counts))
    return before, after


def test_the_servers_own_clock_and_count(tmp_path):
    requests = closed_loop()
    a = vllm(f"{tmp_path}/a.json", requests)
    same = judged(0, a, *pages(tmp_path, 200, 1.0, 2.27, 128))
    assert same["verdict"] == "agree" and {f["figure"] for f in same["figures"]} >= {
        "requests that went well",
        "output tokens",
        "time to first token",
        "whole answer",
    }
    behind = lynxbench("compare", "--instruments", a, *pages(tmp_path, 200, 0.7, 1.97, 128), code=3).stdout
    assert "time to first token, mean: 300 ms lie before the server's clock and behind it." in behind
    others = judged(3, a, *pages(tmp_path, 300, 1.0, 2.27, 128))
    assert abs(figure(others, "requests that went well")["ratio"] - 1.5) < 1e-9
    assert any(t["what"] == "whose requests" and t["may_explain"] for t in others["traits"])
    tokens = figure(others, "output tokens")
    assert tokens["status"] == "explained" and "requests" in tokens["factors"][0]["by"]


def test_pages_of_tensorrt_llm(tmp_path):
    form = VLLM_PAGE.replace("vllm:", "trtllm_")
    a = vllm(f"{tmp_path}/a.json", closed_loop())
    assert judged(0, a, *pages(tmp_path, 200, 1.0, 2.27, 128, form))["verdict"] == "agree"


def test_wrong_input_is_named(tmp_path):
    requests = closed_loop(n=20)
    a, b = vllm(f"{tmp_path}/a.json", requests), vllm(f"{tmp_path}/b.json", requests)
    before, after = pages(tmp_path, 200, 1.0, 2.27, 128)
    text = f"{tmp_path}/notes.txt"
    with open(text, "w") as file:
        file.write("about 12 requests per second\n")
    bundle = os.path.join(RECORDED, "bundles", "small.lynx")
    for files, words in (
        ((a,), "found 1 side in 1 file"),
        ((a, b, b), "found 2 sides in 3 files"),
        ((a, after, before), "went back"),
        ((a, before), "two of them, before and after"),
        ((a, before, bundle), "two of them, before and after"),
        ((a, before, b), "not a metrics page"),
        ((a, text), "notes.txt"),
        ((a, f"{tmp_path}/none.json"), "none.json"),
    ):
        refused = lynxbench("compare", "--instruments", *files, code=2)
        assert words in refused.stderr and not refused.stdout, (words, refused.stderr)
    refused = lynxbench("compare", a, "--instruments", a, b, code=2)
    assert "nothing else" in refused.stderr
    refused = lynxbench("compare", "--instruments", a, b, "--before", a, "--after", b, code=2)
    assert "nothing else" in refused.stderr


if __name__ == "__main__":
    main(__file__)
