"""What other tools measured: read, recomputed where it holds requests, checked against itself. The tampers that
MLPerf's own checker passes are found; the bundles say what they lack and support no claim."""

import gzip
import hashlib
import re

import pytest
from lynx import *

DATA = f"{SOURCE}/tests/recorded/imports"
DETAIL, SUMMARY = MLPERF = [f"{DATA}/mlperf/mlperf_log_{kind}.txt" for kind in ("detail", "summary")]
AIPERF = [f"{DATA}/aiperf/profile_export_aiperf.json", f"{DATA}/aiperf/profile_export.jsonl"]


def imported(d, *files, code=0, **more):
    """The import's JSON, checked against the bundle's own."""
    out = f"{d}/{len(os.listdir(d))}.lynx"
    r = lynx("import", *files, "--out", out, "--json", *[f"--{k}={v}" for k, v in more.items()])
    check_equal(r.returncode, code, f"import {files}: {r.stderr} {r.stdout[:300]}")
    if not r.stdout:
        return {"figures": [], "against": [], "lacks": []}, out
    found = json.loads(r.stdout)["imported"]
    shown = json.loads(lynx("show", out, "--json").stdout.splitlines()[0])
    check_equal(json.loads(shown["imported"]), found, "the bundle says the same")
    check_equal(lynx("show", "--claim", out).returncode, 1, "no claim can be made")
    for text in found["against"] + found["lacks"]:
        check(any(text in c for c in shown["conditions"]), f"a condition: {text}")
    return found, out


def text_of(path):
    with open(path) as f:
        return f.read()


def written(path, text):
    with open(path, "w") as f:
        f.write(text if isinstance(text, str) else json.dumps(text))
    return path


def against(d, words, *files):
    """It is imported, and something in it speaks against it in these words."""
    found, _ = imported(d, *files, code=1)
    check(any(words in x for x in found["against"]), f"{words}: {found['against']}")
    return found


def figure(found, name):
    return [f for f in found["figures"] if f["figure"] == name][0]


def check_all_recomputed(found):
    by_seconds = ("peak output tokens per second", "most requests in flight")  # vLLM counts these by whole seconds
    left = [f["figure"] for f in found["figures"] if f["recomputed"] is None and f["figure"] not in by_seconds]
    check_equal(left, [], "every figure is recomputed")


# --- MLPerf: as it was published, then tampered with ---


def test_a_published_run_of_mlperf(d):
    found, bundle = imported(d, *MLPERF)
    stated = [figure(found, name)["stated"] for name in ("tokens per second", "latency p99")]
    check_equal((found["against"], stated), ([], [24593.8, 136069232834]), "as it is")
    formulas = [line.split()[0] for line in lynx("export", "--formulas").stdout.splitlines()]
    check(all(f["formula"] in formulas for f in found["figures"]), "every formula has a definition")
    with open(DETAIL, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    check_equal(found["files"][0]["sha256"], digest, "its files are named by digest")
    check_in("tokens per second", lynx("show", bundle).stdout, "show tells what was stated")
    r = lynx("show", bundle, "--html", f"{d}/page.html")
    check_equal(r.returncode, 0, r.stderr)
    check_in("mlperf.ttft.1", text_of(f"{d}/page.html"), "and so does the page")


def same(text):
    return text


def replaced(*pairs):
    def edit(text):
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return edit


def value(**new):
    """Members of the detail log."""

    def edit(text):
        for key, v in new.items():
            pattern = r'("key": "%s", "value": )[^,]+(, "time_ms")' % re.escape(key)
            text = re.sub(pattern, lambda m: m.group(1) + v + m.group(2), text)
        return text

    return edit


def word(*pairs):
    """Lines of the summary."""

    def edit(text):
        for key, v in pairs:
            text = re.sub(r"(?m)^(\s*%s\s*: ).*$" % re.escape(key), lambda m: m.group(1) + v, text)
        return text

    return edit


def again(key, *changes):
    """The line with this key once more, changed."""

    def edit(text):
        line = next(x for x in text.splitlines() if f'"key": "{key}"' in x)
        return text + replaced(*changes)(line) + "\n"

    return edit


INVALID = replaced(('"key": "result_validity", "value": "VALID"', '"key": "result_validity", "value": "INVALID"'))
ERROR = again(
    "generated_query_count", ('"generated_query_count"', '"error_runtime"'), ('"is_error": false', '"is_error": true')
)
SAMPLES = '"key": "result_completed_samples_per_sec", "value": '
DURATION = '"effective_min_duration_ms", "value": 600000'
NO_ERRORS = ("No errors encountered during test.", "3 ERRORS encountered. See detailed log.")
TAMPERS = [
    (INVALID, replaced(("Result is : VALID", "Result is : INVALID")), "the result is INVALID"),
    (INVALID, same, "the summary says the result is VALID, the detail log INVALID"),
    (ERROR, same, "marked as an error"),
    (ERROR, same, "num_errors is 0, and 1 lines"),
    (
        replaced(("24593.8", "99999.0")),
        replaced(("24593.77", "99999.00")),
        "'tokens per second' is stated as 99999",
    ),
    (replaced(("24593.8", "99999.0")), replaced(("24593.77", "99999.00")), "the number of tokens a sample has"),
    (same, replaced(("24593.77", "99999.00")), "'Completed tokens per second' in the summary is stated as 99999"),
    (
        replaced((f"{SAMPLES}81.6768", f"{SAMPLES}181.6768")),
        replaced((": 81.68", ": 181.68")),
        "'samples per second' is 181.6",
    ),
    (
        replaced(("136069232834", "36069232834")),
        replaced(("136069232834", "36069232834")),
        "'latency p97' is more than 'latency p99'",
    ),
    (replaced((DURATION, DURATION + "0")), same, "the least duration is said to be met"),
    (value(result_min_duration_met="false"), same, "'Min duration satisfied' is not"),
    (value(result_min_duration_met="false"), same, "the two files differ in 'Min duration satisfied'"),
    (same, word(("Early stopping satisfied", "NO")), "'Early stopping satisfied' is not"),
    (
        value(result_completed_samples_per_sec="96", result_completed_tokens_per_second="28906"),
        word(("Completed samples per second", "96"), ("Completed tokens per second", "28906")),
        "96 samples/s are said to be completed, and 83.9",
    ),
    (
        value(result_completed_tokens_per_second="29020.6", result_token_throughput_with_loadgen_overhead="29810.8"),
        word(("Completed tokens per second", "29020.6")),
        "the number of tokens a sample has",
    ),
    (
        value(result_max_latency_ns="9165057127340"),
        word(("Max latency (ns)", "9165057127340")),
        "the longest latency is 9165",
    ),
    (again("result_validity", ('"VALID"', '"INVALID"')), same, "'result_validity' twice"),
    (same, word(("Scenario", "Offline")), "the summary is of Offline"),
    (same, word(("95.00 percentile latency (ns)", "1")), "'95.00 percentile latency (ns)' in the summary"),
    (value(num_errors="7"), same, "num_errors is 7"),
    (same, replaced(NO_ERRORS), "the summary says that errors were encountered"),
    (value(requested_server_ttft_latency="1000000"), same, "the time to first token at p99"),
]


@pytest.mark.parametrize("k", range(len(TAMPERS)))
def test_a_tampered_run_of_mlperf(d, k):
    edit_detail, edit_summary, words = TAMPERS[k]
    detail = written(f"{d}/mlperf_log_detail.txt", edit_detail(text_of(DETAIL)))
    against(d, words, detail, written(f"{d}/mlperf_log_summary.txt", edit_summary(text_of(SUMMARY))))


def test_lines_that_end_as_on_windows(d):
    with open(f"{d}/mlperf_log_summary.txt", "w", newline="\r\n") as f:
        f.write(text_of(SUMMARY))
    check_equal(imported(d, DETAIL, f"{d}/mlperf_log_summary.txt")[0]["against"], [], "nothing speaks against it")


def test_what_a_check_lacks_is_told(d):
    lines = [x for x in text_of(DETAIL).splitlines() if "generated_query" not in x and "logger_swap" not in x]
    detail = written(f"{d}/mlperf_log_detail.txt", "".join(x + "\n" for x in lines))
    lacks = imported(d, detail, SUMMARY)[0]["lacks"]
    check(any("cannot be compared with its clock" in x for x in lacks), f"the detail log: {lacks}")
    lacks = imported(d, SUMMARY)[0]["lacks"]
    check(any("mlperf_log_detail" in x for x in lacks), f"the summary alone: {lacks}")


def test_the_same_kind_twice(d):
    r = lynx("import", DETAIL, DETAIL, "--out", f"{d}/twice.lynx")
    check_equal(r.returncode, 2, "the same kind twice")
    check_in("a second file of the same kind", r.stderr, "the same kind twice")


# --- GuideLLM: a real run of it against lynxbench-ref ---

GUIDELLM = f"{DATA}/guidellm-benchmarks.json"


def test_a_real_run_of_guidellm(d):
    """Every figure that its requests yield is the same."""
    found, bundle = imported(d, GUIDELLM)
    again = [f for f in found["figures"] if f["recomputed"] is not None]
    good = len(again) >= 14 and all(f["recomputed"] == pytest.approx(f["stated"], rel=1e-6) for f in again)
    check(good, f"recomputed: {again}")
    p = show(bundle)["precisions"][0]
    check_equal((p["requests"]["ok"], p["requests"]["failed"]), (12, 0), "its requests are rows")
    check(p["output_rate"]["estimate"] > 2000, f"and yield figures of ours: {p['output_rate']}")
    audit = json.loads(lynx("audit", bundle, "--json").stdout)
    failed = [c for c in audit["checks"] if c["verdict"] == "failed" and c["check"] not in ("claim", "conditions")]
    check_equal(failed, [], "an audit finds nothing but what it lacks")
    table = lynx("export", bundle, "--format", "csv").stdout.splitlines()
    check_equal((len(table), table[0].split(",")[:3]), (13, ["session", "id", "phase"]), "as CSV")


def test_there_is_no_second_benchmark(d):
    check_equal(lynx("import", GUIDELLM, "--part", "2", "--out", f"{d}/no.lynx").returncode, 2, "part 2 of 1")


def successful(metric, **new):
    return lambda b: b["metrics"][metric]["successful"].update(**new)


def halved_mean(b):
    b["metrics"]["time_to_first_token_ms"]["successful"]["mean"] /= 2


GUIDELLM_EDITS = [
    (halved_mean, "'time to first token mean' is stated as 2.46"),
    (lambda b: b.update(duration=b["duration"] / 2), "the time that was measured"),
    (lambda b: b["metrics"]["request_totals"].update(errored=5), "request_totals.errored"),
    (successful("output_tokens_per_second", mean=9999), "output tokens per second"),
    (
        lambda b: b["metrics"]["request_latency"]["successful"]["percentiles"].update(p99=1e-6),
        "is more than 'request latency p99'",
    ),
]


@pytest.mark.parametrize("k", range(len(GUIDELLM_EDITS)))
def test_an_edited_run_of_guidellm(d, k):
    edit, words = GUIDELLM_EDITS[k]
    data = json.loads(text_of(GUIDELLM))
    edit(data["benchmarks"][0])
    against(d, words, written(f"{d}/edited.json", data))


# --- vllm bench serve: a published file, a real run, and one with its requests ---

N = 40
FIRST, GAPS = [0.01 + i / 1000 for i in range(N)], [[0.005] * 9 for _ in range(N)]
WHOLE = [a + sum(b) for a, b in zip(FIRST, GAPS)]
DETAILED = {
    "backend": "openai",
    "model_id": "m",
    "request_rate": 10.0,
    "burstiness": 1.0,
    "duration": 4.0,
    "completed": N,
    "failed": 0,
    "total_input_tokens": 5 * N,
    "total_output_tokens": 10 * N,
    "request_throughput": N / 4,
    "output_throughput": 10 * N / 4,
    "mean_ttft_ms": 1e3 * sum(FIRST) / N,
    "p99_ttft_ms": 1e3 * (FIRST[38] + 0.61 * (FIRST[39] - FIRST[38])),
    "mean_tpot_ms": 5.0,
    "median_e2el_ms": 1e3 * (WHOLE[19] + WHOLE[20]) / 2,
    "input_lens": [5] * N,
    "output_lens": [10] * N,
    "ttfts": FIRST,
    "itls": GAPS,
    "start_times": [i / 10 for i in range(N)],
    "errors": [""] * N,
    "generated_texts": [""] * N,
}


def test_a_published_run_of_vllm_bench(d):
    found, _ = imported(d, f"{DATA}/vllm-glm5.json")
    stated = figure(found, "output tokens per second")["stated"]
    check_equal((found["against"], stated > 403), ([], True), "published")


def test_a_rate_that_its_totals_do_not_give(d):
    data = json.loads(text_of(f"{DATA}/vllm-glm5.json"))
    data["output_throughput"] *= 2
    against(d, "its count over its seconds", written(f"{d}/vllm.json", data))


def test_a_real_run_of_vllm_bench(d):
    found = against(d, "240, lies below their mean, 538.274", f"{DATA}/vllm-bench.json")  # of half a second, by seconds
    by_seconds = "20 requests were in flight at once, where 2 are allowed: its tool counts those of a whole second"
    check(by_seconds in found["lacks"], f"named, and no contradiction: {found['lacks']}")
    check_equal((len(found["against"]), len(found["figures"])), (1, 18), "as it wrote it")
    check_all_recomputed(found)


SGLANG = {
    "backend": "sglang",
    "request_rate": float("inf"),
    "max_concurrency": 4,
    "server_info": {"model_path": "a/model", "tp_size": 2},
    "duration": 10.0,
    "completed": 100,
    "total_input_tokens": 1000,
    "total_output_tokens": 2000,
    "request_throughput": 10.0,
    "output_throughput": 200.0,
    "total_throughput": 300.0,
    "mean_e2e_latency_ms": 400.0,
    "mean_ttft_ms": float("nan"),
    "max_output_tokens_per_s": 250.0,
    "max_concurrent_requests": 4,
}


def test_a_run_of_sglang_as_python_writes_it(d):
    """Infinity and NaN, which are no JSON; its latency by its name; what the server says of itself; several runs."""
    found, _ = imported(d, written(f"{d}/s.json", SGLANG))
    check_in("SGLang", found["tool"], "whose it is")
    check_equal(figure(found, "end to end mean")["stated"], 400.0, "request latency")
    check(any('tp_size 2' in x for x in found["lacks"]), f"{found['lacks']}")
    with open(f"{d}/many.jsonl", "w") as f:
        f.writelines(json.dumps({**SGLANG, "mean_e2e_latency_ms": 100.0 * k}) + "\n" for k in (1, 2, 3))
    found, _ = imported(d, f"{d}/many.jsonl", part=3)
    check_equal(figure(found, "end to end mean")["stated"], 300.0, "the third run")
    check(any("3 runs" in x for x in found["lacks"]), f"{found['lacks']}")
    check_in("1 to 3", lynx("import", f"{d}/many.jsonl", "--part", "4", "--out", f"{d}/x.lynx").stderr, "which")


def test_what_cannot_be_is_named(d):
    against(d, "lies below their mean", written(f"{d}/p.json", {**SGLANG, "max_output_tokens_per_s": 150.0}))
    against(d, "at once, where 4 are allowed", written(f"{d}/c.json", {**SGLANG, "max_concurrent_requests": 9000}))
    retokenized = {**SGLANG, "total_output_tokens_retokenized": 1500}
    against(d, "the client's tokenizer 1500", written(f"{d}/t.json", retokenized))


GENAI = {
    "request_throughput": {"unit": "requests/sec", "avg": 17.2},
    "request_latency": {"unit": "ms", "avg": 5767.0},
    "time_to_first_token": {"unit": "ms", "avg": 184.0},
    "output_sequence_length": {"unit": "tokens", "avg": 500.0},
    "input_sequence_length": {"unit": "tokens", "avg": 200.0},
    "input_config": {"model": ["m"], "output_tokens_mean": 500, "synthetic_input_tokens_mean": 200, "concurrency": 100},
}


def test_what_was_asked_and_what_came(d):
    found, _ = imported(d, written(f"{d}/a.json", GENAI))
    check_equal(found["against"], [], "as it was asked")
    longer = {**GENAI, "output_sequence_length": {"unit": "tokens", "avg": 2566.0}}
    against(d, "500 output tokens a request were asked for, and 2566 came", written(f"{d}/b.json", longer))
    whole = {**GENAI, "time_to_first_token": {"unit": "ms", "avg": 5767.0}}
    against(d, "the answers were not streamed", written(f"{d}/c.json", whole))
    shown = lynx("import", f"{d}/b.json", "--out", f"{d}/said.lynx").stdout
    check(shown.index("asked for") < shown.index("as its tool states it"), "it is said first")


def test_a_file_with_its_requests(d):
    found, bundle = imported(d, written(f"{d}/detailed.json", DETAILED))
    check_all_recomputed(found)
    check_equal(show(bundle)["precisions"][0]["requests"]["ok"], N, "its requests")


VLLM_EDITS = [
    ({"duration": 0.4, "request_throughput": 100.0, "output_throughput": 1000.0}, "the time that was measured"),
    ({"max_concurrency": 1, "start_times": [0.0] * N}, "the most requests at once"),
    ({"mean_itl_ms": 0.5}, "'inter-token latency mean'"),
    ({"total_token_throughput": 1e6}, "'tokens per second'"),
    ({"p99_ttft_ms": 1.0, "median_ttft_ms": 29.5}, "is more than 'time to first token p99'"),
]


@pytest.mark.parametrize("k", range(len(VLLM_EDITS)))
def test_an_edited_run_of_vllm_bench(d, k):
    more, words = VLLM_EDITS[k]
    against(d, words, written(f"{d}/edited.json", {**DETAILED, **more}))


VLLM_NONSENSE = [
    ({"output_lens": [1e300] * N}, "no number of tokens"),
    ({"itls": GAPS[:3]}, "itls has 3 items"),
    ({"duration": 1e300}, "a measurement of"),
    ({"max_concurrency": 2**62}, "requests at once"),
    ({"ttfts": [1e20] * N}, "takes years"),
]


@pytest.mark.parametrize("k", range(len(VLLM_NONSENSE)))
def test_numbers_that_cannot_be(d, k):
    more, words = VLLM_NONSENSE[k]
    r = lynx("import", written(f"{d}/edited.json", {**DETAILED, **more}), "--out", f"{d}/edited.lynx")
    check_equal((r.returncode, os.path.exists(f"{d}/edited.lynx")), (2, False), f"{words}: {r.stderr}")
    check_in(words, r.stderr, words)


WORDS = ["a\u0081b", "\u0001\u001b[2J", "x" * 5_000_000, '"}\nlynxbench: 2']


@pytest.mark.parametrize("k", range(len(WORDS)))
def test_words_of_a_file_are_words(d, k):
    """No structure, no escapes, and not too many."""
    more = {"backend": WORDS[k], "model_id": WORDS[k], "date": WORDS[k]}
    r = lynx("import", written(f"{d}/words.json", {**DETAILED, **more}), "--out", f"{d}/a.lynx")
    check_equal(r.returncode, 0, r.stderr)
    shown = r.stdout + lynx("show", f"{d}/a.lynx").stdout
    check("\x1b" not in shown and len(shown) < 20000, f"{shown[:200]!r}")


# --- AIPerf: as it wrote it, and by the documented form of earlier releases ---


def test_a_real_run_of_aiperf(d):
    """Its rates are over its phase, and not over the duration that it states."""
    found, bundle = imported(d, *AIPERF)
    check_equal((found["against"], found["version"]), ([], "0.13.0"), "as it wrote it")
    check_in("not over the benchmark_duration", found["lacks"][0], "which time its rates are over")
    check_all_recomputed(found)
    agreed = rows(bundle, "SELECT value FROM meta WHERE key = 'contract'")[0][0]
    check_in('model: "byte"', agreed, "the model")
    check_in("concurrency: 2", agreed, "the load is found in this release's form")


AIPERF_EDITS = [
    {"end_time": "2026-11-22T06:07:53.990470"},
    {"benchmark_duration": {"unit": "sec", "avg": 0.09}},
    {"request_throughput": {"unit": "requests/sec", "avg": 200.0}},
]


@pytest.mark.parametrize("k", range(len(AIPERF_EDITS)))
def test_an_edited_run_of_aiperf(d, k):
    edited = {**json.loads(text_of(AIPERF[0])), **AIPERF_EDITS[k]}
    against(d, "request_throughput", written(f"{d}/profile_export_aiperf.json", edited), AIPERF[1])


def test_aiperf_by_its_earlier_form(d):
    summary = {
        "schema_version": "1.4",
        "aiperf_version": "0.13.0",
        "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 2}},
        "was_cancelled": False,
        "benchmark_duration": {"unit": "sec", "avg": 2.0},
        "request_count": {"unit": "requests", "avg": 40.0},
        "request_throughput": {"unit": "requests/sec", "avg": 20.0},
        "time_to_first_token": {"unit": "ms", "avg": 10.0, "p50": 10.0},
        "request_latency": {"unit": "ms", "avg": 55.0},
        "inter_token_latency": {"unit": "ms", "avg": 5.0},
    }
    lines = []
    for i in range(42):
        start = 10**18 + i * 50_000_000
        metadata = {"request_start_ns": start, "request_end_ns": start + 55_000_000}
        metadata["benchmark_phase"] = "warmup" if i < 2 else "profiling"
        metrics = {
            "time_to_first_token": {"value": 10.0, "unit": "ms"},
            "request_latency": {"value": 55.0, "unit": "ms"},
            "output_sequence_length": {"value": 10, "unit": "tokens"},
        }
        lines.append(json.dumps({"metadata": metadata, "metrics": metrics, "error": None}) + "\n")
    requests = written(f"{d}/profile_export.jsonl", "".join(lines))
    found, bundle = imported(d, written(f"{d}/profile_export_aiperf.json", summary), requests)
    check_all_recomputed(found)
    check_equal(show(bundle)["precisions"][0]["requests"]["ok"], 40, "warm-up is none of them")


# --- the others ---


def test_a_published_stage_of_inference_perf(d):
    """Its time per output token is half of what its other figures give."""
    found = against(d, "'time_per_output_token'", f"{DATA}/stage_3_lifecycle_metrics.json")
    check_equal(len(found["against"]), 1, f"one thing speaks against it: {found['against']}")


ROW = {
    "build_commit": "abc",
    "build_number": 7000,
    "model_filename": "m.gguf",
    "n_prompt": 512,
    "n_gen": 0,
    "n_depth": 0,
    "test_time": "2026-01-01T00:00:00Z",
    "avg_ns": 10**9,
    "stddev_ns": 0,
    "avg_ts": 512.0,
    "stddev_ts": 0.0,
    "samples_ns": [10**9, 10**9],
    "samples_ts": [512.0, 512.0],
}


def test_a_real_run_of_llama_bench(d):
    found, _ = imported(d, f"{DATA}/llama-bench.json")
    stated = figure(found, "prompt of 32 tokens, tokens per second")["stated"]
    check_equal((found["against"], len(found["figures"]), stated), ([], 4, 46892.544672), "as it wrote it")


@pytest.mark.parametrize("name, text", [("bench.json", json.dumps([ROW])), ("bench.jsonl", json.dumps(ROW) + "\n")])
def test_llama_bench_by_its_documented_form(d, name, text):
    found, _ = imported(d, written(f"{d}/{name}", text))
    check_equal(figure(found, "prompt of 512 tokens, tokens per second")["stated"], 512.0, name)


def test_a_mean_that_its_samples_do_not_give(d):
    against(d, "the mean of its samples", written(f"{d}/bench.json", [{**ROW, "avg_ts": 1024.0}]))


def test_more_tests_than_are_read(d):
    many = written(f"{d}/bench.jsonl", (json.dumps(ROW) + "\n") * 1001)
    check_in("more than 1000 tests", lynx("import", many, "--out", f"{d}/no.lynx").stderr, "a bound")


NONE = [
    ("{}", "no file of a tool that is known"),
    ("", "no file of a tool that is known"),
    (':::MLLOG {"key"', "not JSON"),
    ('{"load_summary": 1, "successes"', "not JSON"),
    (":::MLLOG {}", "without key and value"),
    ('["avg_ts","n_prompt"]', "without avg_ts"),
    ('{"load_summary":1,"successes":[]}', "no figure and no request"),
    ("{}\0", "a byte 0"),
]


@pytest.mark.parametrize("text, words", NONE)
def test_what_is_no_result(d, text, words):
    r = lynx("import", written(f"{d}/bad", text), "--out", f"{d}/bad.lynx")
    check_equal((r.returncode, os.path.exists(f"{d}/bad.lynx")), (2, False), f"{text!r}: {r.stderr}")
    check_in(words, r.stderr, repr(text))


def test_two_tools_at_once(d):
    r = lynx("import", DETAIL, f"{DATA}/vllm-glm5.json", "--out", f"{d}/mixed.lynx")
    check_equal(r.returncode, 2, "two tools")
    check_in("not a file of mlperf", r.stderr, "two tools")


def test_nothing_is_overwritten(d):
    _, bundle = imported(d, f"{DATA}/llama-bench.json")
    check_equal(lynx("import", DETAIL, "--out", bundle).returncode, 2, "it is there")


def test_as_people_have_the_file(d):
    """Packed, or with a byte-order mark: the same figures, and the digest of the file itself. Else what it is."""
    plain = json.dumps(SGLANG).encode()
    want = imported(d, written(f"{d}/plain.json", plain.decode()))[0]["figures"]
    forms = {"packed": gzip.compress(plain[:500]) + gzip.compress(plain[500:]), "marked": b"\xef\xbb\xbf" + plain}
    for name, data in forms.items():
        with open(f"{d}/{name}.json", "wb") as f:
            f.write(data)
        found, _ = imported(d, f"{d}/{name}.json")
        check_equal(found["figures"], want, name)
        check_equal(found["files"][0]["sha256"], hashlib.sha256(data).hexdigest(), f"{name}: the file's own digest")
    wrong = {
        "utf16": (plain.decode().encode("utf-16"), "UTF-16; accepted: UTF-8"),
        "zero": (plain + b"\0", "found a byte 0"),
        "short": (gzip.compress(plain)[:-20], "ends too early"),
        "other": (b"\x1f\x8b" + plain, "no gzip file inside"),
        "bomb": (gzip.compress(b"x" * (600 << 20), 1), "more than 100 times its size"),
    }
    for name, (data, words) in wrong.items():
        with open(f"{d}/{name}.json", "wb") as f:
            f.write(data)
        r = lynx("import", f"{d}/{name}.json", "--out", f"{d}/{name}.lynx")
        check_equal(r.returncode, 2, name)
        check_in(words, r.stderr, name)


K6 = {
    "metrics": {
        "iterations": {"values": {"count": 200, "rate": 20}},
        "http_reqs": {"values": {"count": 400, "rate": 40}},
        "http_req_failed": {"values": {"rate": 0.01, "passes": 4, "fails": 396}},
        "http_req_duration": {
            "values": {"avg": 120, "med": 100, "p(95)": 300, "max": 900},
            "thresholds": {"p(95)<200": {"ok": False}, "med<150": {"ok": True}},
        },
    }
}


@pytest.mark.parametrize("flat", [False, True])
def test_the_summary_of_k6(tmp_path, flat):
    """handleSummary's, and --summary-export's: statistics one level higher, thresholds that say true where crossed."""
    metrics = {k: dict(v) for k, v in K6["metrics"].items()}
    if flat:
        metrics = {k: {**v["values"], **{t: w for t, w in v.items() if t != "values"}} for k, v in metrics.items()}
        metrics["http_req_duration"]["thresholds"] = {"p(95)<200": True, "med<150": False}
    (tmp_path / "k.json").write_text(json.dumps({"metrics": metrics}))
    r = lynx("import", tmp_path / "k.json", "--out", tmp_path / "k.lynx")
    assert r.returncode == 1, "its own threshold speaks against it"
    said = " ".join(r.stdout.split())
    assert "threshold of http_req_duration was not met: p(95)<200" in said and "med<150" not in said, said
    for words in ("requests 400", "requests per second 40 /s", "requests that failed 4", "request latency p95 300 ms"):
        assert words in said, (words, said)


AIPERF_TABLE = """Metric,avg,min,max,sum,p50,p90,p99,std
Request Latency (ms),2000.00,1500.00,2600.00,4000.00,1990.00,2500.00,2590.00,9.00
Time to First Token (ms),200.00,150.00,260.00,400.00,199.00,250.00,259.00,9.00

Metric,Value
OSL Mismatch Count,2.00
Request Count,10.00
Request Throughput (requests/sec),2.50
Output Token Throughput (tokens/sec),250.00

Endpoint,GPU_Index,Metric,avg
http://x,0,GPU Power Usage (W),300
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_table_of_aiperf(tmp_path, line_end):
    (tmp_path / "profile_export_aiperf.csv").write_bytes(AIPERF_TABLE.replace("\n", line_end).encode())
    r = lynx("import", tmp_path / "profile_export_aiperf.csv", "--out", tmp_path / "a.lynx")
    assert r.returncode == 1, "its lengths speak against it"
    said = " ".join(r.stdout.split())
    for words in ("2 of its answers have another", "time to first token p99 259 ms", "output tokens per second 250 /s"):
        assert words in said, (words, said)
    assert "requests that went well 10" in said and "power" not in said.lower(), said


def test_all_that_end_at_once_are_counted_twice_in_their_second(tmp_path):
    """vLLM counts whoever was there within a second: ten that end, and the ten in their place."""
    text = """============ Serving Benchmark Result ============
Maximum request concurrency:             10
Successful requests:                     320
Benchmark duration (s):                  520.00
Request throughput (req/s):              0.62
Peak concurrent requests:                %d.00
==================================================
"""
    for peak, against in ((20, False), (21 + 10, True)):
        path = tmp_path / f"{peak}.txt"
        path.write_text(text % peak)
        r = lynx("import", path, "--out", tmp_path / f"{peak}.lynx")
        assert r.returncode == against, r.stderr
        before = r.stdout.split("What it lacks")[0]
        assert ("in flight at once, where 10 are allowed" in before) == against, r.stdout


if __name__ == "__main__":
    main(__file__)
