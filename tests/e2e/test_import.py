"""What other tools measured: read, recomputed where it holds requests, held against itself. The three tampers that MLPerf's own checker passes
are found; the bundles say what they lack and support no claim."""
import re

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
    tampered(lambda t: t.replace("136069232834", "36069232834"), lambda t: t.replace("136069232834", "36069232834"), "'latency p97' is more than 'latency p99'")
    tampered(lambda t: t.replace('"effective_min_duration_ms", "value": 600000', '"effective_min_duration_ms", "value": 6000000'), same, "the least duration is said to be met")
    def value(key, new):
        return lambda t: re.sub(r'("key": "%s", "value": )[^,]+(, "time_ms")' % re.escape(key), lambda m: m.group(1) + new + m.group(2), t)

    def word(key, new):
        return lambda t: re.sub(r"(?m)^(\s*%s\s*: ).*$" % re.escape(key), lambda m: m.group(1) + new, t)

    def both(*edits):
        def edit(t):
            for e in edits:
                t = e(t)
            return t
        return edit

    tampered(value("result_min_duration_met", "false"), same, "'Min duration satisfied' is not", "the two files differ in 'Min duration satisfied'")
    tampered(same, word("Early stopping satisfied", "NO"), "'Early stopping satisfied' is not")
    tampered(both(value("result_completed_samples_per_sec", "96"), value("result_completed_tokens_per_second", "28906")), both(word("Completed samples per second", "96"), word("Completed tokens per second", "28906")), "96 samples/s are said to be completed, and 83.9")
    tampered(both(value("result_completed_tokens_per_second", "29020.6"), value("result_token_throughput_with_loadgen_overhead", "29810.8")), word("Completed tokens per second", "29020.6"), "the number of tokens a sample has")
    tampered(value("result_max_latency_ns", "9165057127340"), word("Max latency (ns)", "9165057127340"), "the longest latency is 9165")
    tampered(lambda t: t + [x for x in t.splitlines() if '"result_validity"' in x][0].replace('"VALID"', '"INVALID"') + "\n", same, "'result_validity' twice")
    tampered(same, word("Scenario", "Offline"), "the summary is of Offline")
    tampered(same, word("95.00 percentile latency (ns)", "1"), "'95.00 percentile latency (ns)' in the summary")
    tampered(value("num_errors", "7"), same, "num_errors is 7")
    tampered(same, lambda t: t.replace("No errors encountered during test.", "3 ERRORS encountered. See detailed log."), "the summary says that errors were encountered")
    tampered(value("requested_server_ttft_latency", "1000000"), same, "the time to first token at p99")
    with open(f"{d}/mlperf_log_summary.txt", "w", newline="\r\n") as f:
        f.write(summary)
    check_equal(imported(d, MLPERF[0], f"{d}/mlperf_log_summary.txt")[0]["against"], [], "lines that end as on Windows")
    with open(f"{d}/mlperf_log_detail.txt", "w") as f:
        f.write("".join(x + "\n" for x in detail.splitlines() if "generated_query" not in x and "logger_swap" not in x))
    check(any("cannot be held against its clock" in x for x in imported(d, f"{d}/mlperf_log_detail.txt", MLPERF[1])[0]["lacks"]), "what a check lacks is told")
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

    for edit, words in ((lambda b: b.update(duration=b["duration"] / 2), "the time that was measured"), (lambda b: b["metrics"]["request_totals"].update(errored=5), "request_totals.errored"),
                        (lambda b: b["metrics"]["output_tokens_per_second"]["successful"].update(mean=9999), "output tokens per second"), (lambda b: b["metrics"]["request_latency"]["successful"]["percentiles"].update(p99=1e-6), "is more than 'request latency p99'")):
        data = json.load(open(f"{DATA}/guidellm-benchmarks.json"))
        edit(data["benchmarks"][0])
        with open(f"{d}/edited.json", "w") as f:
            json.dump(data, f)
        found, _ = imported(d, f"{d}/edited.json", code=1)
        check(any(words in x for x in found["against"]), f"{words}: {found['against']}")
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

    for more, words in (({"duration": 0.4, "request_throughput": 100.0, "output_throughput": 1000.0}, "the time that was measured"), ({"max_concurrency": 1, "start_times": [0.0] * n}, "the most requests at once"), ({"mean_itl_ms": 0.5}, "'inter-token latency mean'"),
                        ({"total_token_throughput": 1e6}, "total_token_throughput"), ({"p99_ttft_ms": 1.0, "median_ttft_ms": 29.5}, "is more than 'time to first token p99'")):
        with open(f"{d}/edited.json", "w") as f:
            json.dump({**detailed, **more}, f)
        found, _ = imported(d, f"{d}/edited.json", code=1)
        check(any(words in x for x in found["against"]), f"{words}: {found['against']}")
    for more, words in (({"output_lens": [1e300] * n}, "no number of tokens"), ({"itls": gaps[:3]}, "itls has 3 items"), ({"duration": 1e300}, "a measurement of"), ({"max_concurrency": 2**62}, "requests at once"), ({"ttfts": [1e20] * n}, "takes years")):
        with open(f"{d}/edited.json", "w") as f:
            json.dump({**detailed, **more}, f)
        r = lynx("import", f"{d}/edited.json", "--out", f"{d}/edited.lynx")
        check_equal((r.returncode, os.path.exists(f"{d}/edited.lynx")), (2, False), f"{words}: {r.stderr}")
        check_in(words, r.stderr, words)
    # Words of the file are words: no structure, no escapes, and not too many.
    for bad in ("a\u0081b", "\u0001\u001b[2J", "x" * 5_000_000, '"}\nlynxbench: 2'):
        with open(f"{d}/words.json", "w") as f:
            json.dump({**detailed, "backend": bad, "model_id": bad, "date": bad}, f)
        out = f"{d}/{len(os.listdir(d))}.lynx"
        r = lynx("import", f"{d}/words.json", "--out", out)
        check_equal(r.returncode, 0, f"{bad[:20]!r}: {r.stderr}")
        shown = r.stdout + lynx("show", out).stdout
        check("\x1b" not in shown and len(shown) < 20000, f"{bad[:20]!r}: {shown[:200]!r}")
    # --- AIPerf, as it wrote it: its rates are over its phase, and not over the duration that it states ---
    real = [f"{DATA}/aiperf/profile_export_aiperf.json", f"{DATA}/aiperf/profile_export.jsonl"]
    found, bundle = imported(d, *real)
    check_equal((found["against"], found["version"]), ([], "0.13.0"), "a real run of AIPerf")
    check_in("not over the benchmark_duration", found["lacks"][0], "which time its rates are over")
    check_equal([f["figure"] for f in found["figures"] if f["recomputed"] is None], [], "all of a real run is recomputed")
    check_in("model: \"byte\"", rows(bundle, "SELECT value FROM meta WHERE key = 'contract'")[0][0], "the model"), check_in("concurrency: 2", rows(bundle, "SELECT value FROM meta WHERE key = 'contract'")[0][0], "the load is found in this release's form")
    for what, change in (("the phase's end", {"end_time": "2026-11-22T06:07:53.990470"}), ("the duration", {"benchmark_duration": {"unit": "sec", "avg": 0.09}}), ("the rate", {"request_throughput": {"unit": "requests/sec", "avg": 200.0}})):
        with open(f"{d}/profile_export_aiperf.json", "w") as f:
            json.dump({**json.load(open(real[0])), **change}, f)
        found, _ = imported(d, f"{d}/profile_export_aiperf.json", real[1], code=1)
        check(any("request_throughput" in a for a in found["against"]), f"{what} was altered: {found['against']}")
    # --- AIPerf, by the documented form of earlier releases ---
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

    # --- vLLM's own, as it wrote it ---
    found, bundle = imported(d, f"{DATA}/vllm-bench.json")
    check_equal((found["against"], len(found["figures"])), ([], 16), "a real run of vllm bench serve")
    check_equal([f["figure"] for f in found["figures"] if f["recomputed"] is None], [], "all of it is recomputed")
    # --- llama-bench, as it wrote it, and by its documented form ---
    found, _ = imported(d, f"{DATA}/llama-bench.json")
    check_equal((found["against"], len(found["figures"]), figure(found, "prompt of 32 tokens, tokens per second")["stated"]), ([], 4, 46892.544672), "a real run of llama-bench")
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

    with open(f"{d}/bench.jsonl", "w") as f:
        f.write((json.dumps(row) + "\n") * 1001)
    check_in("more than 1000 tests", lynx("import", f"{d}/bench.jsonl", "--out", f"{d}/no.lynx").stderr, "a bound")
    # --- what is none ---
    for text, words in (("{}", "no file of a tool that is known"), ("", "no file of a tool that is known"), (':::MLLOG {"key"', "not JSON"), ('{"load_summary": 1, "successes"', "not JSON"), (":::MLLOG {}", "without key and value"), ('["avg_ts","n_prompt"]', "without avg_ts"), ('{"load_summary":1,"successes":[]}', "no figure and no request"), ("{}\0", "a byte 0")):
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
