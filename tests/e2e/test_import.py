"""What other tools measured: read, recomputed where it holds requests, held against itself. The three tampers that MLPerf's own checker passes
are found; the bundles say what they lack and support no claim."""
from lynx import *

DATA = f"{SOURCE}/tests/recorded/imports"
MLPERF = [f"{DATA}/mlperf/mlperf_log_detail.txt", f"{DATA}/mlperf/mlperf_log_summary.txt"]


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
    check_equal(lynx("claim", out).returncode, 1, "no claim can be made")
    for text in found["against"] + found["lacks"]:
        check(any(text in c for c in shown["conditions"]), f"a condition: {text}")
    return found, out


def figure(found, name):
    return [f for f in found["figures"] if f["figure"] == name][0]


with folder() as d:
    formulas = [line.split()[0] for line in lynx("export", "--formulas").stdout.splitlines()]
    # --- MLPerf: clean, then the three tampers of a published run ---
    found, bundle = imported(d, *MLPERF)
    check_equal((found["against"], figure(found, "tokens per second")["stated"], figure(found, "latency p99")["stated"]), ([], 24593.8, 136069232834), "a published run, as it is")
    check(all(f["formula"] in formulas for f in found["figures"]), "every formula has a definition")
    check_equal(found["files"][0]["sha256"], hashlib.sha256(open(MLPERF[0], "rb").read()).hexdigest(), "its files are named by digest")
    check_in("tokens per second", lynx("show", bundle).stdout, "show tells what was stated")
    r = lynx("report", bundle, "--out", f"{d}/page.html")
    check_equal(r.returncode, 0, r.stderr)
    check_in("mlperf.ttft.1", open(f"{d}/page.html").read(), "and so does the page")
    detail, summary = (open(p).read() for p in MLPERF)

    def tampered(edit_detail, edit_summary, *wanted):
        files = [f"{d}/mlperf_log_detail.txt", f"{d}/mlperf_log_summary.txt"]
        for path, text in zip(files, (edit_detail(detail), edit_summary(summary))):
            with open(path, "w") as f:
                f.write(text)
        found, _ = imported(d, *files, code=1)
        for words in wanted:
            check(any(words in text for text in found["against"]), f"{words}: {found['against']}")

    same = lambda text: text
    tampered(lambda t: t.replace('"key": "result_validity", "value": "VALID"', '"key": "result_validity", "value": "INVALID"'), lambda t: t.replace("Result is : VALID", "Result is : INVALID"), "the result is INVALID")
    tampered(lambda t: t.replace('"key": "result_validity", "value": "VALID"', '"key": "result_validity", "value": "INVALID"'), same, "the summary says the result is VALID, the detail log INVALID")
    line = [x for x in detail.splitlines() if '"key": "generated_query_count"' in x][0]
    tampered(lambda t: t + line.replace('"generated_query_count"', '"error_runtime"').replace('"is_error": false', '"is_error": true') + "\n", same, "marked as an error", "num_errors is 0, and 1 lines")
    tampered(lambda t: t.replace("24593.8", "99999.0"), lambda t: t.replace("24593.77", "99999.00"), "'tokens per second' is stated as 99999", "the number of tokens a sample has")
    tampered(same, lambda t: t.replace("24593.77", "99999.00"), "'Completed tokens per second' in the summary is stated as 99999")
    tampered(lambda t: t.replace('"key": "result_completed_samples_per_sec", "value": 81.6768', '"key": "result_completed_samples_per_sec", "value": 181.6768'), lambda t: t.replace(": 81.68", ": 181.68"), "'samples per second' is 181.6")
    tampered(lambda t: t.replace("136069232834", "36069232834"), lambda t: t.replace("136069232834", "36069232834"), "is less than a lower quantile")
    tampered(lambda t: t.replace('"effective_min_duration_ms", "value": 600000', '"effective_min_duration_ms", "value": 6000000'), same, "the least duration is said to be met")
    r = lynx("import", MLPERF[0], MLPERF[0], "--out", f"{d}/twice.lynx")
    check_equal(r.returncode, 2, "the same kind twice")
    check_in("a second file of the same kind", r.stderr, "the same kind twice")
    found, _ = imported(d, MLPERF[1])
    check(any("mlperf_log_detail" in x for x in found["lacks"]), "the summary alone")

    # --- GuideLLM: a real run of it against lynxbench-ref; every figure that its requests yield is the same ---
    found, bundle = imported(d, f"{DATA}/guidellm-benchmarks.json")
    again = [f for f in found["figures"] if f["recomputed"] is not None]
    check(len(again) >= 14 and all(abs(f["recomputed"] / f["stated"] - 1) < 1e-6 for f in again), f"recomputed: {again}")
    p = show(bundle)["precisions"][0]
    check_equal((p["requests"]["ok"], p["requests"]["failed"]), (12, 0), "its requests are rows")
    check(p["output_rate"]["estimate"] > 2000, f"and yield figures of ours: {p['output_rate']}")
    audit = json.loads(lynx("audit", bundle, "--json").stdout)
    check_equal([c for c in audit["checks"] if c["verdict"] == "failed" and c["check"] not in ("claim", "conditions")], [], "an audit finds nothing but what it lacks")
    rows_of = lynx("export", bundle, "--format", "csv").stdout.splitlines()
    check_equal((len(rows_of), rows_of[0].split(",")[:3]), (13, ["session", "request", "phase"]), "as CSV")
    check_equal(lynx("import", f"{DATA}/guidellm-benchmarks.json", "--part", "2", "--out", f"{d}/no.lynx").returncode, 2, "there is no second benchmark")
    data = json.load(open(f"{DATA}/guidellm-benchmarks.json"))
    data["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]["mean"] /= 2
    with open(f"{d}/edited.json", "w") as f:
        json.dump(data, f)
    found, _ = imported(d, f"{d}/edited.json", code=1)
    check_in("'time to first token mean' is stated as 2.46", found["against"][0], "an edited mean is found")

    # --- vllm bench serve: a published file; and one with its requests ---
    found, _ = imported(d, f"{DATA}/vllm-glm5.json")
    check_equal((found["against"], figure(found, "output tokens per second")["stated"] > 403), ([], True), "published")
    data = json.load(open(f"{DATA}/vllm-glm5.json"))
    data["output_throughput"] *= 2
    with open(f"{d}/vllm.json", "w") as f:
        json.dump(data, f)
    found, _ = imported(d, f"{d}/vllm.json", code=1)
    check_in("total_output_tokens / duration", found["against"][0], "a rate that its totals do not give")
    n = 40
    first, gaps = [0.01 + i / 1000 for i in range(n)], [[0.005] * 9 for _ in range(n)]
    whole = [a + sum(b) for a, b in zip(first, gaps)]
    detailed = {"backend": "openai", "model_id": "m", "request_rate": 10.0, "burstiness": 1.0, "duration": 4.0, "completed": n, "failed": 0, "total_input_tokens": 5 * n, "total_output_tokens": 10 * n, "request_throughput": n / 4, "output_throughput": 10 * n / 4,
                "mean_ttft_ms": 1e3 * sum(first) / n, "p99_ttft_ms": 1e3 * (first[38] + 0.61 * (first[39] - first[38])), "mean_tpot_ms": 5.0, "median_e2el_ms": 1e3 * (whole[19] + whole[20]) / 2, "input_lens": [5] * n, "output_lens": [10] * n, "ttfts": first, "itls": gaps,
                "start_times": [i / 10 for i in range(n)], "errors": [""] * n, "generated_texts": [""] * n}
    with open(f"{d}/detailed.json", "w") as f:
        json.dump(detailed, f)
    found, bundle = imported(d, f"{d}/detailed.json")
    check_equal([f["figure"] for f in found["figures"] if f["recomputed"] is None], [], "every figure of a detailed file is recomputed")
    check_equal(show(bundle)["precisions"][0]["requests"]["ok"], n, "its requests")

    # --- AIPerf, by its documented form ---
    summary = {"schema_version": "1.4", "aiperf_version": "0.13.0", "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 2}}, "was_cancelled": False, "benchmark_duration": {"unit": "sec", "avg": 2.0}, "request_count": {"unit": "requests", "avg": 40.0},
               "request_throughput": {"unit": "requests/sec", "avg": 20.0}, "time_to_first_token": {"unit": "ms", "avg": 10.0, "p50": 10.0}, "request_latency": {"unit": "ms", "avg": 55.0}, "inter_token_latency": {"unit": "ms", "avg": 5.0}}
    with open(f"{d}/profile_export_aiperf.json", "w") as f:
        json.dump(summary, f)
    with open(f"{d}/profile_export.jsonl", "w") as f:
        for i in range(42):
            f.write(json.dumps({"metadata": {"request_start_ns": 10**18 + i * 50_000_000, "request_end_ns": 10**18 + i * 50_000_000 + 55_000_000, "benchmark_phase": "warmup" if i < 2 else "profiling"},
                                "metrics": {"time_to_first_token": {"value": 10.0, "unit": "ms"}, "request_latency": {"value": 55.0, "unit": "ms"}, "output_sequence_length": {"value": 10, "unit": "tokens"}}, "error": None}) + "\n")
    found, bundle = imported(d, f"{d}/profile_export_aiperf.json", f"{d}/profile_export.jsonl")
    check_equal([f["figure"] for f in found["figures"] if f["recomputed"] is None], [], "all is recomputed")
    check_equal(show(bundle)["precisions"][0]["requests"]["ok"], 40, "warm-up is none of them")

    # --- inference-perf: a published stage, whose time per output token is half of what its other figures give ---
    found, _ = imported(d, f"{DATA}/stage_3_lifecycle_metrics.json", code=1)
    check_equal(len(found["against"]), 1, f"one thing speaks against it: {found['against']}")
    check_in("'time_per_output_token'", found["against"][0], "inference-perf")

    # --- llama-bench, by its documented form ---
    row = {"build_commit": "abc", "build_number": 7000, "model_filename": "m.gguf", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-01-01T00:00:00Z", "avg_ns": 10**9, "stddev_ns": 0, "avg_ts": 512.0, "stddev_ts": 0.0, "samples_ns": [10**9, 10**9], "samples_ts": [512.0, 512.0]}
    for name, text in (("bench.json", json.dumps([row])), ("bench.jsonl", json.dumps(row) + "\n")):
        with open(f"{d}/{name}", "w") as f:
            f.write(text)
        found, _ = imported(d, f"{d}/{name}")
        check_equal(figure(found, "prompt of 512 tokens, tokens per second")["stated"], 512.0, name)
    with open(f"{d}/bench.json", "w") as f:
        json.dump([{**row, "avg_ts": 1024.0}], f)
    found, _ = imported(d, f"{d}/bench.json", code=1)
    check_in("the mean of its samples", found["against"][0], "a mean that its samples do not give")

    # --- what is none ---
    for text, words in (("{}", "no file of a tool that is known"), ("", "no file of a tool that is known"), (':::MLLOG {"key"', "not JSON"), ('{"load_summary": 1, "successes"', "not JSON"), (":::MLLOG {}", "without key and value")):
        with open(f"{d}/bad", "w") as f:
            f.write(text)
        r = lynx("import", f"{d}/bad", "--out", f"{d}/bad.lynx")
        check_equal((r.returncode, os.path.exists(f"{d}/bad.lynx")), (2, False), f"{text!r}: {r.stderr}")
        check_in(words, r.stderr, repr(text))
    r = lynx("import", MLPERF[0], f"{DATA}/vllm-glm5.json", "--out", f"{d}/mixed.lynx")
    check_equal(r.returncode, 2, "two tools")
    check_in("not a file of mlperf", r.stderr, "two tools")
    r = lynx("import", MLPERF[0], "--out", bundle)
    check_equal(r.returncode, 2, f"nothing is overwritten: {r.stderr}")
finish()
