"""Every scenario is what it says: seen in the rows, against the metronome."""
from lynx import *

METHOD = "{warm_up: 500ms, counted: 2s, sessions: 1, drain: 3s, request_timeout: 8s, instrument_error_at_most: 1, steady: reported}"
WORK = "{model: metronome, output_tokens: 4, prompts: {count: 12, bytes: 40}}"
TRACES = f"{SOURCE}/tests/recorded/traces"


def run(d, name, port, regime, work=WORK, method=METHOD, **more):
    path = contract(f"{d}/{name}.yaml", port, workload=work, regime=regime, method=method, **{"checks": "[]", **more})
    r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
    check_equal(r.returncode, 0, f"{name}: {r.stderr}")
    return [dict(zip(("id", "phase", "input", "at", "issued", "end", "prompt", "tokens", "outcome"), x)) for x in
            rows(f"{d}/{name}.lynx", "SELECT id, phase, input, scheduled_ns, issued_ns, end_ns, prompt_tokens, output_tokens, outcome FROM request ORDER BY id")]


def most_at_once(requests):
    events = sorted([(r["issued"], 1) for r in requests] + [(r["end"], -1) for r in requests])
    now = most = 0
    for _, step in events:
        now += step
        most = max(most, now)
    return most


with folder() as d, reference("--mode", "metronome", "--first-token", "10ms", "--gap", "2ms") as port:
    q = run(d, "single", port, "{load: single_stream}")
    check_equal(most_at_once(q), 1, "single stream")
    check(80 < len(q) < 170, f"single stream: {len(q)} requests of 16 ms in 2.5 s")

    q = run(d, "multi", port, "{load: multi_stream, batch: 6}")
    check_equal(most_at_once(q), 6, "multi-stream")
    batches = [q[i:i + 6] for i in range(0, len(q) - len(q) % 6, 6)]
    check(len(batches) > 10, f"{len(batches)} batches")
    for a, b in zip(batches, batches[1:]):
        check(min(x["issued"] for x in b) >= max(x["end"] for x in a), "a batch begins when the one before is over")
        check_equal(len({x["at"] for x in b}), 1, "all of a batch are due at once")

    q = run(d, "bursty", port, "{load: bursty, rate_per_s: 200, burst_shape: 0.1}")
    gaps = [b["at"] - a["at"] for a, b in zip(q, q[1:])]
    mean = sum(gaps) / len(gaps)
    variation = sum((g - mean) ** 2 for g in gaps) / len(gaps) / mean ** 2
    check(4 < variation < 25, f"bursty: squared coefficient of variation {variation:.1f}, 10 expected")

    q = run(d, "ramp", port, "{load: ramp, rate_per_s: 10, to_per_s: 150}")
    third = [sum(1 for x in q if k * 2.5e9 / 3 <= x["at"] < (k + 1) * 2.5e9 / 3) for k in range(3)]
    check(third[0] < third[1] < third[2], f"ramp: {third}")

    q = run(d, "offline", port, "{load: offline, batch: 50, concurrency: 10}")
    check_equal(sum(1 for x in q if x["phase"] == "counted"), 50, "offline")
    check_equal({x["at"] for x in q if x["phase"] == "counted"}, {500000000}, "offline: all due at once")
    check_equal(most_at_once(q), 10, "offline: in flight")
    p = show(f"{d}/offline.lynx")["precisions"][0]
    took = (max(x["end"] for x in q) - 500000000) / 1e9
    check(abs(p["output_rate"]["estimate"] - 200 / took) < 0.02 * 200 / took, f"offline: {p['output_rate']['estimate']} tokens/s, {200 / took} by the rows")

    q = run(d, "long", port, "{load: offline, batch: 400, concurrency: 2}", method=METHOD.replace("drain: 3s", "drain: 6s"))
    p = show(f"{d}/long.lynx")["precisions"][0]
    took = (max(x["end"] for x in q) - 500000000) / 1e9
    check(took > 2.2, f"offline: the batch outlasts the window: {took}")
    check(abs(p["output_rate"]["estimate"] - 1600 / took) < 0.02 * 1600 / took, f"offline: {p['output_rate']['estimate']} tokens/s, {1600 / took} by the rows")
    check_equal(p["instrument_limited"], False, "offline: waiting for a slot is not the instrument's lag")
    check(p["requests"]["oddities"]["waited for a free slot"] > 390, f"offline: {p['requests']}")

    q = run(d, "azure", port, f"{{load: replay, trace: {TRACES}/azure.csv, trace_speed: 20}}", checks="[seed]")  # there is no other seed of a trace: nothing is decided, and nothing breaks
    check_equal(show(f"{d}/azure.lynx")["precisions"][0]["checks"][0]["verdict"], "not decided", "replay: seed")
    check_equal(len(q), 30, "replay")
    check_equal(q[1]["at"], 2600000, "replay: 52 ms at 20 times the speed")
    check_equal([x["tokens"] for x in q[:4]], [10, 8, 27, 14], "replay: output lengths")
    check_equal([x["prompt"] for x in q[:2]], [4808 * 4, 3180 * 4], "replay: prompt lengths, 4 bytes a token")
    q = run(d, "mooncake", port, f"{{load: replay, trace: {TRACES}/mooncake.jsonl, trace_speed: 10}}")
    texts = [bytes(x[0]) for x in rows(f"{d}/mooncake.lynx", "SELECT text FROM input ORDER BY id")]
    check_equal(texts[0][:2048], texts[5][:2048], "block 0 is shared")
    check(texts[0][2048:2100] != texts[5][2048:2100], "other blocks are not")

    q = run(d, "talk", port, "{load: conversations, concurrency: 3, turns: 4, think_time: 50ms}", "{model: metronome, output_tokens: 4, prompts: {count: 12, bytes: 40, shared_prefix_bytes: 100}}")
    check(most_at_once(q) <= 3, "conversations: users")
    texts = [bytes(x[0]) for x in rows(f"{d}/talk.lynx", "SELECT text FROM input ORDER BY id")]
    check_equal([len(t) for t in texts[:4]], [140, 196, 252, 308], "a turn holds those before it, and stand-ins for the answers")
    check(texts[1].startswith(texts[0]) and texts[4][:100] == texts[0][:100], "shared beginnings")
    order = [x["input"] for x in q]
    for c in range(3):  # turns of a conversation come in order
        turns = [i % 4 for i in order if i // 4 == c][:4]
        check_equal(turns, list(range(len(turns))), f"conversation {c}")

    # Lengths: uniform, lognormal, and from a profile.
    q = run(d, "uniform", port, "{load: closed, concurrency: 4}", "{model: metronome, output_tokens: 10, output_distribution: uniform, output_spread: 0.5, prompts: {count: 200, bytes: 100, distribution: lognormal, spread: 0.5}}")
    tokens = {x["tokens"] for x in q if x["tokens"]}
    check(min(tokens) >= 5 and max(tokens) <= 15 and len(tokens) > 6, f"uniform: {sorted(tokens)}")
    lengths = sorted(len(bytes(x[0])) for x in rows(f"{d}/uniform.lynx", "SELECT text FROM input"))
    check(80 < lengths[100] < 125 and lengths[0] < 50 and lengths[-1] > 220, f"lognormal: {lengths[0]}, {lengths[100]}, {lengths[-1]}")
    r = lynx("profile", f"{TRACES}/azure.csv", "--out", f"{d}/p.json")
    check_equal(r.returncode, 0, r.stderr)
    work = f"{{model: metronome, output_tokens: 4, output_distribution: profile, profile_file: {d}/p.json, bytes_per_token: 1, prompts: {{count: 300, bytes: 40, distribution: profile}}}}"
    q = run(d, "drawn", port, "{load: poisson, rate_per_s: 60}", work, METHOD.replace("sessions: 1", "sessions: 2"))
    p = show(f"{d}/drawn.lynx")["precisions"][0]["representativeness"]
    print(p)
    check(p["prompt_length_distance"] < 0.25 and p["output_length_distance"] < 0.25, f"drawn from the profile: {p}")
    claim = lynx("claim", f"{d}/drawn.lynx")
    check_in(f"representativeness: profile of {json.load(open(f'{d}/p.json'))['taken_at']} (unsigned), prompt length distance", claim.stdout, "claim")
    # Signed: named in the claim by the key that openssl made; changed afterwards, refused wherever it is read.
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{d}/key.pem"], check=True, capture_output=True)
    public = subprocess.run(["openssl", "pkey", "-in", f"{d}/key.pem", "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout[-32:].hex()
    r = lynx("profile", f"{TRACES}/azure.csv", "--sign", f"{d}/key.pem", "--out", f"{d}/signed.json")
    check_equal(r.returncode, 0, f"profile --sign: {r.stderr}")
    check_equal(json.load(open(f"{d}/signed.json"))["signature"]["key"], public, "the public key of the one that signed")
    run(d, "signed", port, "{load: poisson, rate_per_s: 60}", work.replace("/p.json", "/signed.json"), METHOD.replace("sessions: 1", "sessions: 2"))
    check_in(f"(signed, key {public[:16]})", lynx("claim", f"{d}/signed.lynx").stdout, "the claim names the key")
    text = open(f"{d}/signed.json").read()
    open(f"{d}/changed.json", "w").write(text.replace('"n_requests":30', '"n_requests":31'))
    r = lynx("profile", f"{TRACES}/azure.csv", "--compare", f"{d}/changed.json")
    check_equal(r.returncode, 2, "a profile that was changed after it was signed")
    check_in("changed after it was signed", r.stderr, "a profile that was changed after it was signed")
    r = lynx("profile", f"{TRACES}/azure.csv", "--sign", f"{d}/p.json")
    check_equal(r.returncode, 2, "signing with what is no key")
    check_in("openssl genpkey", r.stderr, "signing with what is no key: the next step")
    q = run(d, "other", port, "{load: poisson, rate_per_s: 60}", f"{{model: metronome, output_tokens: 4, profile_file: {d}/p.json, prompts: {{count: 30, bytes: 40}}}}")
    p = show(f"{d}/other.lynx")["precisions"][0]["representativeness"]
    check(p["prompt_length_distance"] > 0.5, f"not drawn from it: {p}")
finish()
