"""What a server's own metrics tell of speculative decoding, its prefix cache and preemption: over the counted windows
and over time, equal to what the server did; and answers whose events hold several tokens say so."""

import re
import threading

import pytest
from lynx import *
from made import Handler, Server, Stream

# Each answer: 4 steps, 12 tokens drafted, 6 kept; 100 prompt tokens looked up, 40 found; every fourth is preempted.
DRAFTS, DRAFTED, KEPT, LOOKED_UP, FOUND = 4, 12, 6, 100, 40

VLLM = {
    "vllm:spec_decode_num_drafts_total": lambda n: DRAFTS * n,
    "vllm:spec_decode_num_draft_tokens_total": lambda n: DRAFTED * n,
    "vllm:spec_decode_num_accepted_tokens_total": lambda n: KEPT * n,
    "vllm:prefix_cache_queries_total": lambda n: LOOKED_UP * n,
    "vllm:prefix_cache_hits_total": lambda n: FOUND * n,
    "vllm:num_preemptions_total": lambda n: n // 4,
    "vllm:time_to_first_token_seconds_sum": lambda n: 0.004 * n,  # the first text is sent after 5 ms
    "vllm:time_to_first_token_seconds_count": lambda n: n,
    "vllm:e2e_request_latency_seconds_sum": lambda n: 10.0 * n,  # more than anybody waited here
    "vllm:e2e_request_latency_seconds_count": lambda n: n,
}
SGLANG = {
    "sglang:spec_accept_length": lambda n: 2.5,
    "sglang:spec_accept_rate": lambda n: 0.5,
    "sglang:cache_hit_rate": lambda n: 0.4,
}

# At its own path; what stands at /metrics is JSON, and each who asks takes it away from the others.
TENSORRT = {
    "trtllm_spec_decode_num_draft_tokens_total": lambda n: DRAFTED * n,
    "trtllm_spec_decode_num_accepted_tokens_total": lambda n: KEPT * n,
    "trtllm_spec_decode_acceptance_length": lambda n: 2.5,
    "trtllm_prompt_tokens_total": lambda n: LOOKED_UP * n,
    "trtllm_prompt_cached_tokens_total": lambda n: FOUND * n,
}


@contextlib.contextmanager
def server(metrics, more="", asked=None):
    n = [0]
    at = "/prometheus/metrics" if metrics is TENSORRT else "/metrics"

    class Answering(Handler):
        def do_GET(self):
            if self.path != at and self.path != "/metrics":
                return super().do_GET()
            if asked is not None:
                asked.append(self.path)
            if self.path != at:
                return self.page('[{"iter": 154, "numActiveRequests": 1}]')
            page = "".join(f'{name}{{model_name="m"}} {of(n[0])}\n' for name, of in metrics.items())
            self.page(page + more)

        def page(self, text):
            page = text.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def do_POST(self):
            self.body()
            with contextlib.suppress(OSError):
                s = Stream(self)
                for _ in range(4):
                    s.text("two words ", after=0.005)
                n[0] += 1
                s.end(8)

    s = Server(("127.0.0.1", 0), Answering)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    try:
        yield s.server_address[1]
    finally:
        s.shutdown()
        s.server_close()


def measured(d, metrics, asked=None):
    with server(metrics, asked=asked) as port:
        path = contract(
            f"{d}/c.yaml",
            port,
            regime="{load: constant, rate_per_s: 20}",
            workload="{model: m, output_tokens: 8, prompts: {count: 8, bytes: 32}}",
            method="{warm_up: 500ms, counted: 4s, sessions: 2, drain: 2s, request_timeout: 5s, "
            "instrument_error_at_most: 1, steady: reported}",
        )
        r = lynx("run", path, "--out", f"{d}/r.lynx", "--quiet")
        assert r.returncode in (0, 1), r.stderr
    return f"{d}/r.lynx"


@pytest.mark.parametrize("name, metrics", [("vllm", VLLM), ("sglang", SGLANG), ("tensorrt", TENSORRT)])
def test_what_the_server_tells(d, name, metrics):
    asked = []
    bundle = measured(d, metrics, asked)
    # What only one can take is asked for by the probe of the executor, and by one look of the sampler.
    assert name != "tensorrt" or asked.count("/metrics") <= 3 < asked.count("/prometheus/metrics"), asked
    p = show(bundle)["precisions"][0]
    found = {f["figure"]: f for f in p["server_metrics"]}
    want = {"acceptance length": 1 + KEPT / DRAFTS, "acceptance rate": KEPT / DRAFTED}
    want["prefix cache hit rate"] = FOUND / LOOKED_UP
    for figure, value in want.items():
        assert found[figure]["value"] == pytest.approx(value), figure
        assert found[figure]["formula"].startswith("lynx.") and len(found[figure]["over_time"]) >= 3
        at = [x for x, _ in found[figure]["over_time"]]
        assert at == sorted(at) and 0 <= at[0] and at[-1] <= 8.001, "two windows, one behind the other"
        assert all(y == pytest.approx(value) for _, y in found[figure]["over_time"])
    if name == "vllm":
        preempted = found["preempted"]
        assert preempted["value"] == sum(y for _, y in preempted["over_time"]) and 20 <= preempted["value"] <= 42
        first = found["first token"]
        assert first["value"] == pytest.approx(4e6) and first["client_mean"] > 5e6
        assert first["client_mean"] == pytest.approx(p["latency"]["time_to_first_token"]["mean"]["estimate"])
    text = lynx("show", bundle).stdout
    if name == "vllm":
        assert re.search(r"first token +4 ms on average, [\d.]+ ms here: [\d.]+ ms lie before", text), text
        assert re.search(r"whole answer +10 s on average, [\d.]+ ms here: it counts other requests", text), text
    assert re.search(r"acceptance length +2\.5 tokens per step", text), text
    assert re.search(r"cache hit rate +40 %", text), text
    assert "an event held 2 tokens: the inter-token latency is between events" in text
    r = lynx("show", bundle, "--html", f"{d}/r.html")
    page = open(f"{d}/r.html").read()
    assert r.returncode == 0 and "By the server's own metrics" in page and "<b>acceptance length</b>" in page
    assert page.count("counted time") >= 3, "each has its course over time"


def test_a_key_in_a_metrics_page_is_starred(d):
    """What a server was started with may stand in the labels of its own metrics."""
    key = "geheim?>Schluessel-77"
    labels = f'block_size="{key}",cache_dtype="{key[::-1]}",gpu_memory_utilization="{key.encode().hex()}"'
    page = f"vllm:cache_config_info{{{labels}}} 1\n"
    with server({"vllm:num_requests_running": lambda n: 1}, page) as port:
        workload = "{model: m, output_tokens: 8, prompts: {count: 8, bytes: 32}, api_key_env: T_API_KEY}"
        path = contract(f"{d}/c.yaml", port, workload=workload)
        r = lynx("run", path, "--out", f"{d}/r.lynx", "--quiet", env={"T_API_KEY": key})
        assert r.returncode in (0, 1), r.stderr
    facts = rows(f"{d}/r.lynx", "SELECT key, value FROM fact WHERE key LIKE 'serving.cache.%'")
    assert len(facts) >= 3, facts
    with open(f"{d}/r.lynx", "rb") as f:
        record = f.read()
    assert not any(x in record for x in (key.encode(), key[::-1].encode(), key.encode().hex().encode())), facts


def test_nothing_is_said_of_nothing(d):
    bundle = measured(d, {"vllm:num_requests_running": lambda n: 1, "vllm:num_preemptions_total": lambda n: 0})
    assert "server_metrics" not in show(bundle)["precisions"][0]
    assert "server's own metrics" not in lynx("show", bundle).stdout


def test_a_server_that_was_restarted_counts_anew(d):
    """A counter that goes back is left out: no ratio is below nothing or above what can be."""
    again = dict(VLLM, **{"vllm:spec_decode_num_accepted_tokens_total": lambda n: KEPT * (n % 50)})
    found = {f["figure"]: f for f in show(measured(d, again))["precisions"][0]["server_metrics"]}
    assert found["acceptance rate"]["value"] == pytest.approx(KEPT / DRAFTED), found["acceptance rate"]["over_time"]


if __name__ == "__main__":
    main(__file__)
