"""An observation sends nothing and becomes a profile; another tenant is seen; exports and calibration hold."""

import http.server
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


class Sleeper(http.server.BaseHTTPRequestHandler):
    """Answers after a time for each token of the prompt, in one event; says how long both were."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    per_token_s = 0.0002

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        n = len(asked["prompt"]) // 4
        time.sleep(n * self.per_token_s)
        usage = {"prompt_tokens": n, "completion_tokens": 2, "total_tokens": n + 2}
        choice = {"index": 0, "text": "x", "finish_reason": None}
        said = "".join(f"data: {json.dumps(e)}\n\n" for e in ({"choices": [choice]}, {"choices": [choice]}))
        last = {"choices": [{**choice, "text": "", "finish_reason": "length"}], "usage": usage}
        said += f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_):
        pass


def watched(d, name, share_of_long, per_token_s):
    """Six seconds of four clients, one after the other each, whose prompts are long so often."""

    class Server(Sleeper):
        pass

    Server.per_token_s = per_token_s
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, stop = f"http://127.0.0.1:{server.server_port}", threading.Event()

    def ask(number):
        k = number
        while not stop.is_set():
            k += 1
            prompt = "x" * (800 if (k * 7 + number) % 10 < 10 * share_of_long else 80)
            body = json.dumps({"model": "m", "prompt": prompt, "max_tokens": 2, "stream": True}).encode()
            request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=10).read()

    clients = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for c in clients:
        c.start()
    r = lynx("watch", url, "--for", "6s", "--fine", "--quiet", "--out", f"{d}/{name}.lynx")
    stop.set()
    for c in clients:
        c.join()
    server.shutdown()
    server.server_close()
    assert r.returncode == 0, r.stderr
    return f"{d}/{name}.lynx"


@pytest.mark.skipif(os.geteuid() != 0, reason="packets may not be read here (CAP_NET_RAW)")
def test_other_demand_is_told_from_another_service(tmp_path):
    """Longer prompts alone; a slower server alone: what changed is planted, and the parts sum to the change."""
    before = watched(tmp_path, "before", 0.2, 0.0002)
    longer = watched(tmp_path, "longer", 0.6, 0.0002)
    slower = watched(tmp_path, "slower", 0.2, 0.0004)
    both = watched(tmp_path, "both", 0.6, 0.0003)
    cases = (longer, "mostly other demand:"), (slower, "at equal demand: the service itself"), (both, "changed too")
    for after, words in cases:
        r = lynx("attribute", after, "--against", before)
        assert r.returncode == 0 and words in r.stdout.split("\n")[0].lower(), r.stdout + r.stderr
        said = json.loads(lynx("attribute", after, "--against", before, "--json").stdout)
        first = said["time_to_first_token"]
        parts = first["demand"]["estimate_ns"] + first["equal_demand"]["estimate_ns"]
        assert abs(parts - (first["after_ns"] - first["before_ns"])) < 1, first
        for part in ("demand", "equal_demand"):
            assert first[part]["low_ns"] <= first[part]["estimate_ns"] <= first[part]["high_ns"], first


if __name__ == "__main__":
    main(__file__)
