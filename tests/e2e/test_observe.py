"""An observation sends nothing and becomes a profile; another tenant is seen; exports and calibration hold."""
import threading
import urllib.request
from lynx import *


def ask(port, n, stop):
    body = json.dumps({"model": "m", "prompt": "x" * n, "max_tokens": 12, "stream": False}).encode()
    while not stop.is_set():
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"}), timeout=10).read()


with folder() as d, reference("--mode", "metronome", "--first-token", "20ms", "--gap", "2ms") as port:
    path = contract(f"{d}/o.yaml", port, method="{counted: 4s, steady: reported}")
    r = lynx("run", path, "--observe", "--out", f"{d}/idle.lynx", "--quiet")
    check_equal(r.returncode, 0, r.stderr)
    r = lynx("profile", f"{d}/idle.lynx", "--out", f"{d}/idle.json")
    check_equal(r.returncode, 2, "nobody was served: no profile")
    check_in("finished no request", r.stderr, "idle")
    stop = threading.Event()
    users = [threading.Thread(target=ask, args=(port, 100, stop)) for _ in range(3)]
    [u.start() for u in users]
    r = lynx("run", path, "--observe", "--out", f"{d}/busy.lynx", "--quiet")
    check_equal(r.returncode, 0, r.stderr)
    check_equal(rows(f"{d}/busy.lynx", "SELECT count(*) FROM request")[0][0], 0, "nothing was sent")
    r = lynx("profile", f"{d}/busy.lynx", "--out", f"{d}/busy.json")
    check_equal(r.returncode, 0, r.stderr)
    p = json.load(open(f"{d}/busy.json"))
    print({k: v for k, v in p.items() if not isinstance(v, list)})
    check(1.5 < p["mean_concurrency"] <= 3.2, f"three users, some of them between two requests when the page is read: {p['mean_concurrency']}")
    check(all(64 <= x <= 128 for x in p["prompt_tokens"]) and p["prompt_tokens"], "prompts of 100 bytes are in the bucket from 64 to 128")
    check(all(8 <= x <= 16 for x in p["output_tokens"]), "12 tokens out are in the bucket from 8 to 16")
    # Another tenant while we measure: the run says so, and makes no claim.
    path = contract(f"{d}/m.yaml", port)
    r = lynx("run", path, "--out", f"{d}/shared.lynx", "--quiet")
    check_equal(r.returncode, 4, f"another tenant: {r.stderr}")
    check_in("another tenant", r.stderr, "another tenant")
    stop.set()
    [u.join() for u in users]
    r = lynx("run", path, "--out", f"{d}/alone.lynx", "--quiet")
    check_equal(r.returncode, 0, f"alone: {r.stderr}")
    # A service without metrics cannot be observed.
    check_equal(lynx("run", contract(f"{d}/n.yaml", free_port()), "--observe", "--out", f"{d}/n.lynx", "--quiet").returncode, 2, "no service")

    # Exports: each figure by the formula of the tool, recomputed here from the rows.
    q = rows(f"{d}/alone.lynx", "SELECT scheduled_ns, written_ns, first_token_ns, last_token_ns, end_ns, output_tokens FROM request WHERE phase = 'counted' AND outcome = 'ok'")
    out = {f: lynx("export", f"{d}/alone.lynx", "--format", f).stdout for f in ("vllm", "aiperf", "guidellm", "mlperf", "perf_analyzer")}
    near = lambda a, b, what: check(abs(a - b) <= 1e-6 * abs(b) + 1e-9, f"{what}: {a}, {b} by hand")
    mean = lambda x: sum(x) / len(x)
    v = json.loads(out["vllm"])
    near(v["mean_ttft_ms"], mean([(x[2] - x[1]) / 1e6 for x in q]), "vllm TTFT")
    near(v["mean_tpot_ms"], mean([(x[4] - x[2]) / (x[5] - 1) / 1e6 for x in q]), "vllm TPOT")
    near(json.loads(out["guidellm"])["benchmarks"][0]["metrics"]["time_per_output_token_ms"]["successful"]["mean"], mean([(x[3] - x[1]) / x[5] / 1e6 for x in q]), "guidellm TPOT, with TTFT in it")
    near(json.loads(out["aiperf"])["inter_token_latency"]["avg"], v["mean_tpot_ms"], "aiperf's ITL is vLLM's TPOT")
    latencies = sorted(x[4] - x[0] for x in q)
    near(json.loads(out["mlperf"])["90.00 percentile latency (ns)"], latencies[int(len(q) * 0.9)], "mlperf: from the scheduled time, rank floor(n p)")
    check_equal(len(out["perf_analyzer"].strip().split("\n")), 2, "perf_analyzer")
    check_equal(lynx("export", f"{d}/alone.lynx", "--format", "wrk").returncode, 2, "an unknown format")

    # Calibration: kept, carried by a run, and a gate.
    env = {"LYNXBENCH_CALIBRATION": f"{d}/cal/c.json"}
    check_equal(lynx("calibrate", "--quiet", env=env).returncode, 0, "calibrate")
    c = json.load(open(f"{d}/cal/c.json"))
    print(c)
    check(c["ceiling_requests_per_s"] > 100 and c["ceiling_tokens_per_s"] > 1000 and c["pacing_p99_ns"] > 0, f"calibration: {c}")
    c["ceiling_requests_per_s"] = 30
    json.dump(c, open(f"{d}/cal/c.json", "w"))
    r = lynx("run", path, "--out", f"{d}/gated.lynx", "--quiet", env=env)
    check_in("instrument-limited: ", lynx("claim", f"{d}/gated.lynx").stdout, "20 requests/s against a ceiling of 30")
finish()
