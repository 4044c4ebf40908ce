"""An observation sends nothing and becomes a profile; another tenant is seen; exports and calibration hold."""

import threading
import urllib.request

import pytest
from lynx import *

OBSERVE = "{counted: 4s, steady: reported}"


@pytest.fixture(scope="module")
def port():
    with reference("--mode", "metronome", "--first-token", "20ms", "--gap", "2ms") as port:
        yield port


@pytest.fixture
def users(port):
    """Three of them, each with the next request as soon as the last is answered."""
    stop = threading.Event()
    body = json.dumps({"model": "m", "prompt": "x" * 100, "max_tokens": 12, "stream": False}).encode()
    url, head = f"http://127.0.0.1:{port}/v1/completions", {"Content-Type": "application/json"}

    def ask():
        while not stop.is_set():
            urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=10).read()

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for t in threads:
        t.start()
    yield
    stop.set()
    for t in threads:
        t.join()


def observe(d, port, name):
    path = contract(f"{d}/{name}.yaml", port, method=OBSERVE)
    r = lynx("run", path, "--observe", "--out", f"{d}/{name}.lynx", "--quiet")
    check_equal(r.returncode, 0, r.stderr)
    return f"{d}/{name}.lynx"


def test_where_nobody_is_served_there_is_no_profile(tmp_path, port):
    r = lynx("profile", observe(tmp_path, port, "idle"), "--out", f"{tmp_path}/idle.json")
    check_equal(r.returncode, 2, "nobody was served: no profile")
    check("finished no request" in r.stderr or "no watched request" in r.stderr, "idle")


def test_what_others_do_becomes_a_profile(tmp_path, port, users):
    bundle = observe(tmp_path, port, "busy")
    purposes = rows(bundle, "SELECT DISTINCT purpose FROM request JOIN session ON session.id = request.session")
    check_equal(purposes, [("observe",)], "nothing was sent: the requests are others'")
    r = lynx("profile", bundle, "--out", f"{tmp_path}/busy.json")
    check_equal(r.returncode, 0, r.stderr)
    with open(f"{tmp_path}/busy.json") as f:
        p = json.load(f)
    # Some of the three are between two requests when the page is read.
    check(1.5 < p["mean_concurrency"] <= 3.2, f"three users: {p['mean_concurrency']}")
    prompts, outputs = p["prompt_tokens"], p["output_tokens"]
    check(prompts and all(64 <= x <= 128 for x in prompts), "prompts of 100 bytes are in the bucket from 64 to 128")
    check(outputs and all(8 <= x <= 16 for x in outputs), "12 tokens out are in the bucket from 8 to 16")


def test_another_tenant_is_seen_and_no_claim_is_made(tmp_path, port, users):
    r = lynx("run", contract(f"{tmp_path}/m.yaml", port), "--out", f"{tmp_path}/shared.lynx", "--quiet")
    check_equal(r.returncode, 4, f"another tenant: {r.stderr}")
    check_in("another tenant", r.stderr, "another tenant")


def test_where_nobody_listens_nothing_is_observed(tmp_path):
    path = contract(f"{tmp_path}/n.yaml", free_port())
    r = lynx("run", path, "--observe", "--out", f"{tmp_path}/n.lynx", "--quiet")
    check_equal(r.returncode, 2, "no service")


@pytest.fixture(scope="module")
def alone(port):
    with folder() as d:
        r = lynx("run", contract(f"{d}/m.yaml", port), "--out", f"{d}/alone.lynx", "--quiet")
        assert r.returncode == 0, r.stderr
        yield f"{d}/alone.lynx"


def near(a, b, what):
    check(abs(a - b) <= 1e-6 * abs(b) + 1e-9, f"{what}: {a}, {b} by hand")


def mean(x):
    return sum(x) / len(x)


def test_exports_are_by_each_tools_own_formula(alone):
    """Recomputed here from the rows."""
    columns = "scheduled_ns, written_ns, first_token_ns, last_token_ns, end_ns, output_tokens"
    q = rows(alone, f"SELECT {columns} FROM request WHERE phase = 'counted' AND outcome = 'ok'")
    formats = ("vllm", "aiperf", "guidellm", "mlperf", "perf_analyzer")
    out = {f: lynx("export", alone, "--format", f).stdout for f in formats}
    v = json.loads(out["vllm"])
    near(v["mean_ttft_ms"], mean([(x[2] - x[1]) / 1e6 for x in q]), "vllm TTFT")
    near(v["mean_tpot_ms"], mean([(x[4] - x[2]) / (x[5] - 1) / 1e6 for x in q]), "vllm TPOT")
    metrics = json.loads(out["guidellm"])["benchmarks"][0]["metrics"]
    tpot = metrics["time_per_output_token_ms"]["successful"]["mean"]
    near(tpot, mean([(x[3] - x[1]) / x[5] / 1e6 for x in q]), "guidellm TPOT, with TTFT in it")
    near(json.loads(out["aiperf"])["inter_token_latency"]["avg"], v["mean_tpot_ms"], "aiperf's ITL is vLLM's TPOT")
    latencies = sorted(x[4] - x[0] for x in q)
    p90 = json.loads(out["mlperf"])["90.00 percentile latency (ns)"]
    near(p90, latencies[int(len(q) * 0.9)], "mlperf: from the scheduled time, rank floor(n p)")
    check_equal(len(out["perf_analyzer"].strip().split("\n")), 2, "perf_analyzer")
    check_equal(lynx("export", alone, "--format", "wrk").returncode, 2, "an unknown format")


def test_a_calibration_is_kept_carried_and_a_gate(tmp_path, port):
    kept = f"{tmp_path}/cal/c.json"
    env = {"LYNXBENCH_CALIBRATION": kept}
    check_equal(lynx("calibrate", "--quiet", env=env).returncode, 0, "calibrate")
    with open(kept) as f:
        c = json.load(f)
    check(c["ceiling_requests_per_s"] > 100 and c["ceiling_tokens_per_s"] > 1000, f"calibration: {c}")
    check(c["pacing_p99_ns"] > 0, f"calibration: {c}")
    c["ceiling_requests_per_s"] = 30
    with open(kept, "w") as f:
        json.dump(c, f)
    lynx("run", contract(f"{tmp_path}/m.yaml", port), "--out", f"{tmp_path}/gated.lynx", "--quiet", env=env)
    claim = lynx("show", "--claim", f"{tmp_path}/gated.lynx").stdout
    check_in("instrument-limited: ", claim, "20 requests/s against a ceiling of 30")


if __name__ == "__main__":
    main(__file__)
