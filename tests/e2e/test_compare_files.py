"""Did a change help, by files of other tools alone: what they printed is read, two sides are compared, and where
the work, or the number of files, does not carry a verdict there is none."""

import random
import re

import pytest
from lynx import *


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


SERVING = """
============ Serving Benchmark Result ============
Successful requests:                     {n}
Failed requests:                         {failed}
Maximum request concurrency:             {flight}
Benchmark duration (s):                  {seconds:.2f}
Total input tokens:                      {prompts}
Total generated tokens:                  {answers}
Request throughput (req/s):              {requests:.2f}
Output token throughput (tok/s):         {tokens:.2f}
Peak output token throughput (tok/s):    {peak:.2f}
Total Token throughput (tok/s):          {total:.2f}
---------------Time to First Token----------------
Mean TTFT (ms):                          {ttft:.2f}
P99 TTFT (ms):                           {ttft99:.2f}
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          {tpot:.2f}
==================================================
"""


def serving(tokens=2560.0, ttft=112.5, tpot=7.0, n=1000, flight=20, prompt=512, answer=128, failed=0):
    seconds = n * answer / tokens
    return SERVING.format(
        n=n,
        failed=failed,
        flight=flight,
        seconds=seconds,
        prompts=n * prompt,
        answers=n * answer,
        requests=n / seconds,
        tokens=tokens,
        peak=2 * tokens,
        total=tokens * (prompt + answer) / answer,
        ttft=ttft,
        ttft99=4 * ttft,
        tpot=tpot,
    )


def runs(d, name, factor, spread, n, seed=1, **more):
    """Files of n runs: so many times as fast, each with its own deviation."""
    random.seed(seed)
    paths = []
    for i in range(n):
        f = factor * (1 + random.gauss(0, spread))
        paths.append(f"{d}/{name}{i}.txt")
        with open(paths[-1], "w") as file:
            file.write("```\n" + serving(2560 * f, 112.5 / f, 7 / f, **more) + "```\n")
    return paths


def compared(before, after, *more, code):
    r = lynx("compare", "--before", *before, "--after", *after, "--json", *more)
    assert r.returncode == code, (r.returncode, r.stdout[:600], r.stderr)
    text = lynx("compare", "--before", *before, "--after", *after, *more)
    assert text.returncode == code, text.stderr
    return json.loads(r.stdout), text.stdout


def figure(found, name):
    return next(f for f in found["figures"] if f["figure"] == name)


def test_a_change_that_helps(d):
    found, text = compared(runs(d, "a", 1, 0.01, 3), runs(d, "b", 1.2, 0.01, 3, seed=2), code=1)
    tokens = figure(found, "output tokens per second")
    assert found["verdict"] == "better" and tokens["verdict"] == "better"
    assert tokens["low"] < 1.2 < tokens["high"] and tokens["high"] - tokens["low"] < 0.2
    assert abs(figure(found, "time to first token mean")["ratio"] - 1 / 1.2) < 0.02
    assert found["shared_confidence"] == pytest.approx(1 - 0.05 / 3), "three figures share the error"
    first = text.splitlines()[0]
    assert first.startswith("Better after: output tokens per second is 1.") and "(3 files before, 3 after)" in first
    assert "--env-before" in text.splitlines()[1], "what else changed is asked for"


def test_the_other_way_is_worse_and_nothing_is_the_same(d):
    slow, fast = runs(d, "a", 1, 0.005, 3), runs(d, "b", 1.2, 0.005, 3, seed=2)
    assert compared(fast, slow, code=1)[0]["verdict"] == "worse"
    again = runs(d, "c", 1.001, 0.005, 5, seed=3)
    assert compared(runs(d, "d", 1, 0.005, 5, seed=4), again, code=0)[0]["verdict"] == "the same within the margin"


def test_too_few_files_decide_nothing(d):
    before, after = runs(d, "a", 1, 0.05, 3), runs(d, "b", 1.1, 0.05, 3, seed=2)
    found, text = compared(before[:1], after[:1], code=3)
    assert found["verdict"] == "undecided" and "low" not in figure(found, "output tokens per second")
    assert "2 of each at least" in text.splitlines()[1]
    found, text = compared(before, after, code=3)
    assert found["verdict"] == "undecided" and found["files_needed_per_side"] > 3
    assert re.match(r"next: about \d+ files a side", text.splitlines()[1]), text


def test_the_interval_is_honest_for_few_files(d):
    """Of 60 pairs of sides without a difference, with 2 and 3 files a side, few are called different."""
    wrong = 0
    for i in range(60):
        before, after = (runs(d, side, 1, 0.03, 2 + i % 2, seed=2 * i + k) for k, side in enumerate("ab"))
        r = lynx("compare", "--json", "--margin", "0.01", "--before", *before, "--after", *after)
        wrong += json.loads(r.stdout)["verdict"] in ("better", "worse", "mixed")
    assert wrong <= 8, f"{wrong} of 60 at 5 %: more than 8 come by chance once in 300"


OTHER_WORK = [
    ({"prompt": 1024}, "tokens of a prompt, mean: 512 before, 1024 after"),
    ({"answer": 256}, "tokens of an answer, mean: 128 before, 256 after"),
    ({"flight": 40}, "requests in flight that were allowed: 20 before, 40 after"),
    ({"failed": 100}, "requests failed"),
]


@pytest.mark.parametrize("more, words", OTHER_WORK)
def test_other_work_is_not_compared(d, more, words):
    found, text = compared(runs(d, "a", 1, 0.01, 3), runs(d, "b", 2, 0.01, 3, seed=2, **more), code=3)
    assert found["verdict"] == "not the same work" and any(words in x for x in found["other_work"]), found["other_work"]
    assert text.startswith("Not compared") and words in text
    assert all("verdict" not in f for f in found["figures"]), "no figure has one"


def test_one_run_twice_is_no_second_run(d):
    a, b = runs(d, "a", 1, 0.01, 2), runs(d, "b", 1.2, 0.01, 2, seed=2)
    for before, after in (([a[0], a[0]], b), (a, [b[0], a[0]])):
        r = lynx("compare", "--before", *before, "--after", *after)
        assert r.returncode == 2 and "are the same bytes" in r.stderr, r.stderr
    for path in a:  # the same figures in other bytes: nothing varies, and nothing is known
        write(path, serving())
    for path in b:
        write(path, serving(3000))
    write(a[1], serving() + "\n")
    write(b[1], serving(3000) + "\n")
    found, text = compared(a, b, code=3)
    assert found["verdict"] == "undecided" and "agree to the last digit" in text


COLLECT = """Collecting environment information...
PyTorch version: {torch}
CUDA used to build PyTorch: {cuda}
OS: Ubuntu 22.04.4 LTS (x86_64)
Nvidia driver version: {driver}
"""


def test_what_else_changed(d):
    before, after = runs(d, "a", 1, 0.01, 3), runs(d, "b", 1.2, 0.01, 3, seed=2)
    write(f"{d}/x.txt", COLLECT.format(torch="2.5.1", cuda="12.4", driver="550.54"))
    write(f"{d}/y.txt", COLLECT.format(torch="2.6.0", cuda="12.6", driver="570.86"))
    found, text = compared(before, after, "--env-before", f"{d}/x.txt", "--env-after", f"{d}/y.txt", code=1)
    assert found["environment_differences"] >= 3 and found["swap_back_first"], found
    assert re.match(r"next: \d+ things differ beside; .* back at '", text.splitlines()[1]), text
    assert "2.5.1 -> 2.6.0" in text and "550.54 -> 570.86" in text
    r = lynx("compare", "--before", *before, "--after", *after, "--env-before", f"{d}/x.txt")
    assert r.returncode == 2 and "go together" in r.stderr


def test_wrong_input(d):
    a = runs(d, "a", 1, 0.01, 2)
    write(f"{d}/page.html", "<!DOCTYPE html><html><body>login</body></html>")
    for words, want in (
        (("--before", *a), "accepted: 1 to 16 behind"),
        (("--before", *a, "--after"), "this option needs a value"),
        (("--before", *a, "--after", f"{d}/page.html"), "page of HTML"),
        (("--before", *a, "--after", f"{d}/none.txt"), "no such file"),
        (("--before", *a, "--after", *a, "--margin", "x"), "--margin: found 'x'"),
        (("x.lynx", "--before", *a, "--after", *a), "other arguments: 1"),
        ((), "an argument is missing"),
    ):
        r = lynx("compare", *words)
        assert r.returncode == 2 and want in r.stderr, (words, r.returncode, r.stderr)


# --- what tools print ---

PRINTED = {
    "perf_analyzer, its summary": (
        """Inferences/Second vs. Client p95 Batch Latency
Concurrency: 4, throughput: 812.5 infer/sec, latency 4920 usec
""",
        {"inferences per second": 812.5, "request latency, as its heading says which": 4.92},
    ),
    "perf_analyzer, before 2021": (
        """  Inferences/Second vs. Client Average Batch Latency
  Concurrency: 2, 301.5 infer/sec, latency 6630 usec
""",
        {"inferences per second": 301.5, "request latency, as its heading says which": 6.63},
    ),
    "llama-bench, laid out again": (
        """# | model    | size     | params | backend | threads | test       | t/s          |
# |----------|----------|--------|---------|---------|------------|--------------|
# | tiny Q4  | 1.00 GiB | 1.10 B | CPU     | 4       | pp 512     | 45.23±0.31   |
# | tiny Q8  | 1.90 GiB | 1.10 B | CPU     | 4       | pp 512     | 38.45 ± 0.19 |
""",
        {
            "prompt of 512 tokens (tiny Q4, 1.10 B, CPU, 4), tokens per second": 45.23,
            "prompt of 512 tokens (tiny Q4, 1.10 B, CPU, 4), standard deviation": 0.31,
            "prompt of 512 tokens (tiny Q8, 1.10 B, CPU, 4), tokens per second": 38.45,
        },
    ),
    "ghz": (
        """Summary:
  Count:\t200
  Total:\t80.00 ms
  Slowest:\t16.20 ms
  Average:\t10.50 ms
  Requests/sec:\t2500.00

Response time histogram:
  3.6 [200]\t|

Latency distribution:
  50 % in 10.20 ms
  99 % in 15.90 ms

Status code distribution:
  [OK]   200 responses
""",
        {
            "requests": 200,
            "requests that went well": 200,
            "requests per second": 2500,
            "request latency mean": 10.5,
            "request latency p99": 15.9,
        },
    ),
    "perf_analyzer": (
        """Request concurrency: 1
  Client:
    Request count: 1440
    Throughput: 79.9 infer/sec
    Avg latency: 12500 usec (standard deviation 871 usec)
    p50 latency: 12400 usec
    p99 latency: 15100 usec
    Avg HTTP time: 12490 usec (send/recv 40 usec + response wait 12450 usec)
Request concurrency: 2
  Client:
    Request count: 2880
    Throughput: 159.9 infer/sec
    Avg latency: 12510 usec (standard deviation 871 usec)
""",
        {
            "requests that went well": 1440,
            "inferences per second": 79.9,
            "request latency mean": 12.5,
            "request latency p99": 15.1,
        },
    ),
    "llama-bench": (
        """| model                | size     | params | backend | ngl |          test |             t/s |
| -------------------- | -------: | -----: | ------- | --: | ------------: | --------------: |
| llama 7B mostly Q4_0 | 3.56 GiB | 6.74 B | CUDA    |  99 |         pp512 | 2368.80 ± 93.24 |
| llama 7B mostly Q4_0 | 3.56 GiB | 6.74 B | CUDA    |  99 | tg128 @ d4096 |   131.42 ± 0.59 |
""",
        {
            "prompt of 512 tokens, tokens per second": 2368.8,
            "prompt of 512 tokens, standard deviation": 93.24,
            "generation of 128 after 4096 tokens, tokens per second": 131.42,
        },
    ),
    "wrk": (
        """Running 30s test @ http://127.0.0.1:8080/index.html
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
     99%    4.10ms
  22464657 requests in 30.00s, 17.76GB read
  Non-2xx or 3xx responses: 7
Requests/sec: 748868.53
""",
        {
            "requests per second": 748868.53,
            "latency mean": 0.63591,
            "latency max": 12.92,
            "latency p99": 4.1,
            "requests that failed": 7,
        },
    ),
    "hey": (
        """Summary:
  Total:\t1.2500 secs
  Slowest:\t0.0500 secs
  Fastest:\t0.0011 secs
  Average:\t0.0120 secs
  Requests/sec:\t160.0000

Latency distribution:
  50% in 0.0110 secs
  99% in 0.0400 secs

Status code distribution:
  [200]\t200 responses
""",
        {
            "requests per second": 160,
            "request latency mean": 12,
            "request latency p99": 40,
            "requests that went well": 200,
        },
    ),
    "k6": (
        """     http_req_duration..............: avg=131.52ms min=125.75ms med=130ms max=1m2.5s p(90)=137.7ms
       { expected_response:true }...: avg=1s min=1s med=1s max=2s
     http_req_failed................: 0.50%  5 out of 1000
     http_reqs......................: 1000   33.284/s
""",
        {
            "requests": 1000,
            "requests per second": 33.284,
            "requests that failed": 5,
            "request latency max": 62500,
            "request latency p90": 137.7,
        },
    ),
    "locust": (
        """Type     Name      # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|---------|-------|-------------|-------|-------|-------|-------|--------|-----------
         Aggregated     10     0(0.00%) |     12       3      40     11 |   10.00        0.00

Type     Name      # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|---------|-------|-------------|-------|-------|-------|-------|--------|-----------
         Aggregated  1,200    12(1.00%) |    120      30     400    110 |   33.30        0.33

Type     Name         50%    66%    75%    80%    90%    95%    98%    99%  99.9% 99.99%   100% # reqs
         Aggregated   110    120    130    140    160    200    260    300    390    400    400   1200
""",
        {
            "requests": 1200,
            "requests that failed": 12,
            "requests per second": 33.3,
            "request latency median": 110,
            "request latency mean": 120,
            "request latency p95": 200,
            "request latency p99": 300,
        },
    ),
    "SGLang's bench_serving": (
        serving().replace("====\n", "====\nBackend:                                 sglang\n", 1)
        + "\nTotal generated tokens (retokenized):    999\nMean E2E Latency (ms):   900.0\n",
        {
            "output tokens": 128000,
            "output tokens per second": 2560,
            "end to end mean": 900,
            "time to first token p99": 450,
        },
    ),
}


@pytest.mark.parametrize("tool", PRINTED)
def test_what_tools_print(d, tool):
    text, want = PRINTED[tool]
    write(f"{d}/p.txt", "I ran this on my machine:\n" + text)
    r = lynx("import", f"{d}/p.txt", "--out", f"{d}/p.lynx", "--json")
    assert r.returncode == 0, (r.stdout, r.stderr)
    found = json.loads(r.stdout)["imported"]
    stated = {f["figure"]: f["stated"] for f in found["figures"]}
    assert found["tool"] == tool.split(",")[0], found["tool"]
    assert {k: stated.get(k) for k in want} == pytest.approx(want), stated


FAILING = {
    "k6": ("http_req_duration..............: avg=1{i}0ms\n"
           "http_req_failed................: {share}%  {bad} out of 1000\n"
           "http_reqs......................: 1000   33.{i}/s\n"),
    "wrk": ("Running 10s test @ http://x\n  1 threads and 8 connections\n  Thread Stats   Avg\n    Latency   1{i}.5ms\n"
            "  1000 requests in 10.00s, 1MB read\n  Socket errors: connect 0, read {bad}, write 0, timeout 0\n"
            "Requests/sec: 10{i}.1\n"),
    "hey": ("Summary:\n  Total:\t10.0{i} secs\n  Slowest:\t0.05 secs\n  Average:\t0.01{i} secs\n"
            "Latency distribution:\n  50% in 0.01{i} secs\nStatus code distribution:\n  [200]\t1000 responses\n"
            "  [503]\t{bad} responses\n"),
}


@pytest.mark.parametrize("tool", FAILING)
def test_answers_that_failed_are_not_fast(d, tool):
    """A server that refuses is quick: of most tools the count of what failed stands in another line than the rest."""
    for side, bad in (("a", 0), ("b", 400)):
        for i in range(3):
            write(f"{d}/{side}{i}.txt", FAILING[tool].format(i=i + (5 if bad else 0), bad=bad, share=bad / 10))
    before, after = ([f"{d}/{side}{i}.txt" for i in range(3)] for side in "ab")
    found, _ = compared(before, after, code=3)
    assert any("requests failed" in x for x in found["other_work"]), found


def test_rows_of_one_test_in_several_settings(d):
    head = "| model | size | backend | threads | test | t/s |\n| --- | ---: | --- | --: | --: | --: |\n"
    row = "| llama 7B | 3.5 GiB | CPU | {t} | tg128 | {v:.2f} ± 0.1 |\n"
    for side, eight in (("a", 40), ("b", 20)):
        for i in range(3):
            write(f"{d}/{side}{i}.txt", head + row.format(t=1, v=10 + i / 100) + row.format(t=8, v=eight + i / 100))
    before, after = ([f"{d}/{side}{i}.txt" for i in range(3)] for side in "ab")
    found, _ = compared(before, after, code=1)
    assert found["verdict"] == "worse" and "8" in found["figure"], found
    assert [round(f["ratio"], 2) for f in found["figures"]] == [1, 0.5], found["figures"]


NUMBERS = [
    ("avg=\x1b[36m131.52ms\x1b[0m min=1ms", 131.52),
    ("avg=1,234.5ms min=1ms", 1234.5),
    ("avg=635,91us min=1us", 0.63591),
    ("avg=12'800ms min=1ms", 12800),
    ("avg=1.5e+03ms min=1ms", 1500),
    ("avg=1m2.5s min=1ms", 62500),
]


@pytest.mark.parametrize("text, want", NUMBERS)
def test_numbers_as_tools_write_them(d, text, want):
    write(f"{d}/k.txt", f"http_req_duration..: {text}\nhttp_reqs....: 10 1/s\n")
    found = json.loads(lynx("import", f"{d}/k.txt", "--out", f"{d}/k.lynx", "--json").stdout)["imported"]
    stated = {f["figure"]: f["stated"] for f in found["figures"]}
    assert stated["request latency mean"] == pytest.approx(want), stated


POD = "[pod/bench-7f/main] 2026-11-28T20:00:00.123456789Z "
PASTED = {
    "kubectl logs --prefix --timestamps": POD
    + "==== Serving Benchmark Result ====\n"
    + POD
    + "Successful requests:      1234\n"
    + POD
    + "Mean TTFT (ms):      42.5\n",
    "a table in Markdown": "| Metric | Value |\n|---|---|\n| **Successful requests** | 1\u00a0234 |\n"
    "| Request throughput (req/s) | 3.5 |\n| Mean TTFT (ms) | `42.5` |\n",
    "narrow blanks between thousands": "Request throughput (req/s): 3.5\nSuccessful requests: 1\u202f234\n"
    "Mean TTFT (ms): 42.5\n",
}


@pytest.mark.parametrize("how", PASTED)
def test_as_people_paste_it(d, how):
    write(f"{d}/t.txt", PASTED[how])
    r = lynx("import", f"{d}/t.txt", "--out", f"{d}/t.lynx", "--json")
    assert r.returncode == 0, r.stderr
    stated = {f["figure"]: f["stated"] for f in json.loads(r.stdout)["imported"]["figures"]}
    assert stated["requests that went well"] == 1234 and stated["time to first token mean"] == 42.5, stated


def test_a_count_is_shown_whole(d):
    """And a tool is called by its own name: ghz prints much as hey does."""
    write(f"{d}/n.txt", serving(n=1001, prompt=1201))
    r = lynx("import", f"{d}/n.txt", "--out", f"{d}/n.lynx")
    assert re.search(r"input tokens +1202201 ", r.stdout), r.stdout
    write(f"{d}/g.txt", PRINTED["ghz"][0])
    assert lynx("import", f"{d}/g.txt", "--out", f"{d}/g.lynx").stdout.startswith("ghz\n")
    of_batches = "Request concurrency: 1\n  Client:\n    Throughput: 800 infer/sec\n    Avg latency: 20000 usec\n"
    write(f"{d}/b.txt", of_batches)
    r = lynx("import", f"{d}/b.txt", "--out", f"{d}/b.lynx")  # sixteen to a request: no 16 requests are in flight
    assert r.returncode == 0 and "Little" not in r.stdout, r.stdout


def test_a_file_name_forges_nothing(d):
    name = f"{d}/f\x1b[31mRED\x07\nFORGED.txt"
    write(name, serving())
    r = lynx("import", name, "--out", f"{d}/x.lynx")
    assert r.returncode == 0 and "\x1b" not in r.stdout + r.stderr and "\nFORGED" not in r.stdout + r.stderr
    r = lynx("import", f"{d}/x.lynx", "--out", name + ".lynx")
    assert "\x1b" not in r.stdout + r.stderr and "\nFORGED" not in r.stdout + r.stderr


def test_several_runs_in_one_text(d):
    text = PRINTED["perf_analyzer"][0]
    write(f"{d}/p.txt", text)
    found = json.loads(lynx("import", f"{d}/p.txt", "--part", "2", "--out", f"{d}/2.lynx", "--json").stdout)["imported"]
    assert next(f for f in found["figures"] if f["figure"] == "inferences per second")["stated"] == 159.9
    r = lynx("import", f"{d}/p.txt", "--part", "3", "--out", f"{d}/3.lynx")
    assert r.returncode == 2 and "accepted: 1 to 2" in r.stderr, r.stderr


def test_what_cannot_be(d):
    """A first token behind the end; more in flight than is allowed, by Little's law; a rate that no count gives."""
    rate = "Request throughput (req/s):              "
    for name, text, words in (
        ("ttft", serving() + "Mean E2EL (ms):  50.00\n", "is more than the mean of the whole answer"),
        ("little", serving() + "Mean E2EL (ms):  5000.00\n", "100 in flight (Little's law), where 20 are allowed"),
        ("rate", serving().replace(f"{rate}20.00", f"{rate}30.00"), "gives 20"),
        ("peak", serving().replace("5120.00", "2000.00"), "lies below their mean"),
    ):
        write(f"{d}/{name}.txt", text)
        r = lynx("import", f"{d}/{name}.txt", "--out", f"{d}/{name}.lynx")
        assert r.returncode == 1 and words in r.stdout, (name, r.stdout)


if __name__ == "__main__":
    main(__file__)
