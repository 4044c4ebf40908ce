"""Every scenario is what it says: seen in the rows, against the metronome."""

import pytest
from lynx import *

METHOD = (
    "{warm_up: 500ms, counted: 2s, sessions: 1, drain: 3s, request_timeout: 8s, instrument_error_at_most: 1, "
    "steady: reported}"
)
TWO_SESSIONS = METHOD.replace("sessions: 1", "sessions: 2")
WORK = "{model: metronome, output_tokens: 4, prompts: {count: 12, bytes: 40}}"
TRACES = f"{SOURCE}/tests/recorded/traces"
COLUMNS = {
    "id": "id",
    "phase": "phase",
    "input": "input",
    "at": "scheduled_ns",
    "issued": "issued_ns",
    "end": "end_ns",
    "prompt": "prompt_tokens",
    "tokens": "output_tokens",
    "outcome": "outcome",
}


@pytest.fixture(scope="module")
def port():
    with reference("--mode", "metronome", "--first-token", "10ms", "--gap", "2ms") as port:
        yield port


def run(d, name, port, regime, work=WORK, method=METHOD, **more):
    path = contract(f"{d}/{name}.yaml", port, workload=work, regime=regime, method=method, **{"checks": "[]", **more})
    r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
    check_equal(r.returncode, 0, f"{name}: {r.stderr}")
    found = rows(f"{d}/{name}.lynx", f"SELECT {', '.join(COLUMNS.values())} FROM request ORDER BY id")
    return [dict(zip(COLUMNS, x)) for x in found]


def texts_of(bundle):
    return [bytes(x) for (x,) in rows(bundle, "SELECT text FROM input ORDER BY id")]


def most_at_once(requests):
    events = sorted([(r["issued"], 1) for r in requests] + [(r["end"], -1) for r in requests])
    now = most = 0
    for _, step in events:
        now += step
        most = max(most, now)
    return most


def test_a_single_stream(d, port):
    q = run(d, "single", port, "{load: single_stream}")
    check_equal(most_at_once(q), 1, "at once")
    check(10 < len(q) < 170, f"{len(q)} requests of 16 ms or more in 2.5 s")
    for a, b in zip(q, q[1:]):
        check(b["issued"] >= a["end"], "the next one begins when the one before is over")


def test_multi_stream(d, port):
    q = run(d, "multi", port, "{load: multi_stream, batch: 6}")
    check_equal(most_at_once(q), 6, "at once")
    batches = [q[i : i + 6] for i in range(0, len(q) - len(q) % 6, 6)]
    check(len(batches) > 10, f"{len(batches)} batches")
    for a, b in zip(batches, batches[1:]):
        check(min(x["issued"] for x in b) >= max(x["end"] for x in a), "a batch begins when the one before is over")
        check_equal(len({x["at"] for x in b}), 1, "all of a batch are due at once")


def test_bursts(d, port):
    q = run(d, "bursty", port, "{load: bursty, rate_per_s: 200, burst_shape: 0.1}")
    gaps = [b["at"] - a["at"] for a, b in zip(q, q[1:])]
    mean = sum(gaps) / len(gaps)
    variation = sum((g - mean) ** 2 for g in gaps) / len(gaps) / mean**2
    check(4 < variation < 25, f"squared coefficient of variation {variation:.1f}, 10 expected")


def test_a_ramp(d, port):
    q = run(d, "ramp", port, "{load: ramp, rate_per_s: 10, to_per_s: 150}")
    third = [sum(1 for x in q if k * 2.5e9 / 3 <= x["at"] < (k + 1) * 2.5e9 / 3) for k in range(3)]
    check(third[0] < third[1] < third[2], f"by thirds: {third}")


def check_rate(bundle, q, n_tokens):
    """By the rows: from the moment that all were due to the last end."""
    p = show(bundle)["precisions"][0]
    took = (max(x["end"] for x in q) - 500000000) / 1e9
    rate = p["output_rate"]["estimate"]
    check(abs(rate - n_tokens / took) < 0.02 * n_tokens / took, f"{rate} tokens/s, {n_tokens / took} by the rows")
    return p, took


def test_offline(d, port):
    q = run(d, "offline", port, "{load: offline, batch: 50, concurrency: 10}")
    counted = [x for x in q if x["phase"] == "counted"]
    check_equal(len(counted), 50, "counted")
    check_equal({x["at"] for x in counted}, {500000000}, "all due at once")
    check_equal(most_at_once(q), 10, "in flight")
    check_rate(f"{d}/offline.lynx", q, 200)


def test_an_offline_batch_that_outlasts_the_window(d, port):
    method = METHOD.replace("drain: 3s", "drain: 6s")
    q = run(d, "long", port, "{load: offline, batch: 400, concurrency: 2}", method=method)
    p, took = check_rate(f"{d}/long.lynx", q, 1600)
    check(took > 2.2, f"the batch outlasts the window: {took}")
    check_equal(p["instrument_limited"], False, "waiting for a slot is not the instrument's lag")
    check(p["requests"]["oddities"]["waited for a free slot"] > 390, f"{p['requests']}")


def test_a_replayed_trace(d, port):
    """There is no other seed of a trace: nothing is decided, and nothing breaks."""
    q = run(d, "azure", port, f"{{load: replay, trace: {TRACES}/azure.csv, trace_speed: 20}}", checks="[seed]")
    check_equal(show(f"{d}/azure.lynx")["precisions"][0]["checks"][0]["verdict"], "not decided", "seed")
    check_equal(len(q), 30, "requests")
    check_equal(q[1]["at"], 2600000, "52 ms at 20 times the speed")
    check_equal([x["tokens"] for x in q[:4]], [10, 8, 27, 14], "output lengths")
    check_equal([x["prompt"] for x in q[:2]], [4808 * 4, 3180 * 4], "prompt lengths, 4 bytes a token")


def test_blocks_that_a_trace_shares(d, port):
    run(d, "mooncake", port, f"{{load: replay, trace: {TRACES}/mooncake.jsonl, trace_speed: 10}}")
    texts = texts_of(f"{d}/mooncake.lynx")
    check_equal(texts[0][:2048], texts[5][:2048], "block 0 is shared")
    check(texts[0][2048:2100] != texts[5][2048:2100], "other blocks are not")


def test_conversations(d, port):
    work = "{model: metronome, output_tokens: 4, prompts: {count: 12, bytes: 40, shared_prefix_bytes: 100}}"
    q = run(d, "talk", port, "{load: conversations, concurrency: 3, turns: 4, think_time: 50ms}", work)
    check(most_at_once(q) <= 3, "users")
    texts = texts_of(f"{d}/talk.lynx")
    check_equal([len(t) for t in texts[:4]], [140, 196, 252, 308], "a turn holds those before it, and stand-in answers")
    check(texts[1].startswith(texts[0]) and texts[4][:100] == texts[0][:100], "shared beginnings")
    order = [x["input"] for x in q]
    for c in range(3):  # turns of a conversation come in order
        turns = [i % 4 for i in order if i // 4 == c][:4]
        check_equal(turns, list(range(len(turns))), f"conversation {c}")


def test_lengths_uniform_and_lognormal(d, port):
    work = (
        "{model: metronome, output_tokens: 10, output_distribution: uniform, output_spread: 0.5, "
        "prompts: {count: 200, bytes: 100, distribution: lognormal, spread: 0.5}}"
    )
    q = run(d, "uniform", port, "{load: closed, concurrency: 4}", work)
    tokens = {x["tokens"] for x in q if x["tokens"]}
    check(min(tokens) >= 5 and max(tokens) <= 15 and len(tokens) > 6, f"uniform: {sorted(tokens)}")
    lengths = sorted(len(t) for t in texts_of(f"{d}/uniform.lynx"))
    spread = (lengths[0], lengths[100], lengths[-1])
    check(80 < spread[1] < 125 and spread[0] < 50 and spread[2] > 220, f"lognormal: {spread}")


def drawn_from(profile):
    return (
        f"{{model: metronome, output_tokens: 4, output_distribution: profile, profile_file: {profile}, "
        "bytes_per_token: 1, prompts: {count: 300, bytes: 40, distribution: profile}}"
    )


def profile_of_azure(d, *more):
    r = lynx("profile", f"{TRACES}/azure.csv", *more, "--out", f"{d}/p.json")
    check_equal(r.returncode, 0, r.stderr)
    with open(f"{d}/p.json") as f:
        return json.load(f)


def test_lengths_drawn_from_a_profile(d, port):
    profile = profile_of_azure(d)
    run(d, "drawn", port, "{load: poisson, rate_per_s: 60}", drawn_from(f"{d}/p.json"), TWO_SESSIONS)
    p = show(f"{d}/drawn.lynx")["precisions"][0]["representativeness"]
    check(p["prompt_length_distance"] < 0.25 and p["output_length_distance"] < 0.25, f"drawn from the profile: {p}")
    words = f"representativeness: profile of {profile['taken_at']} (unsigned), prompt length distance"
    check_in(words, lynx("show", "--claim", f"{d}/drawn.lynx").stdout, "claim")


def test_lengths_that_are_not_drawn_from_it(d, port):
    profile_of_azure(d)
    work = f"{{model: metronome, output_tokens: 4, profile_file: {d}/p.json, prompts: {{count: 30, bytes: 40}}}}"
    run(d, "other", port, "{load: poisson, rate_per_s: 60}", work)
    p = show(f"{d}/other.lynx")["precisions"][0]["representativeness"]
    check(p["prompt_length_distance"] > 0.5, f"not drawn from it: {p}")


def key_pair(d):
    """A private key, and the public one by which openssl names it."""
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{d}/key.pem"], check=True, capture_output=True
    )
    public = ["openssl", "pkey", "-in", f"{d}/key.pem", "-pubout", "-outform", "DER"]
    return subprocess.run(public, check=True, capture_output=True).stdout[-32:].hex()


def test_a_claim_names_the_key_of_a_signed_profile(d, port):
    public = key_pair(d)
    profile = profile_of_azure(d, "--sign", f"{d}/key.pem")
    check_equal(profile["signature"]["key"], public, "the public key of the one that signed")
    run(d, "signed", port, "{load: poisson, rate_per_s: 60}", drawn_from(f"{d}/p.json"), TWO_SESSIONS)
    check_in(
        f"(signed, key {public[:16]})", lynx("show", "--claim", f"{d}/signed.lynx").stdout, "the claim names the key"
    )


def test_a_profile_that_was_changed_after_it_was_signed(d):
    key_pair(d)
    profile_of_azure(d, "--sign", f"{d}/key.pem")
    with open(f"{d}/p.json") as f:
        text = f.read()
    with open(f"{d}/changed.json", "w") as f:
        f.write(text.replace('"n_requests":30', '"n_requests":31'))
    r = lynx("profile", f"{TRACES}/azure.csv", "--compare", f"{d}/changed.json")
    check_equal(r.returncode, 2, "refused wherever it is read")
    check_in("changed after it was signed", r.stderr, "and why")


def test_signing_with_what_is_no_key(d):
    profile_of_azure(d)
    r = lynx("profile", f"{TRACES}/azure.csv", "--sign", f"{d}/p.json")
    check_equal(r.returncode, 2, "no key")
    check_in("openssl genpkey", r.stderr, "the next step")


def test_a_comparison_says_what_it_cannot_know(d):
    """A log without output lengths, beside one that has them: unknown, never a number that is none."""
    with open(f"{d}/log.jsonl", "w") as f:
        for i in range(20):
            f.write(json.dumps({"timestamp": 1000 * i, "input_length": 100 + i}) + "\n")
    profile_of_azure(d)
    r = lynx("profile", f"{d}/log.jsonl", "--compare", f"{d}/p.json")
    check(r.returncode in (0, 1, 2), f"exit {r.returncode}")
    check("nan" not in (r.stdout + r.stderr).lower(), r.stdout + r.stderr)
    check_in("concurrency             not known", r.stdout, "what the log does not tell")


if __name__ == "__main__":
    main(__file__)
