"""Two settings, in turn: the same server is the same, a slower one is not, and too little says so."""
from lynx import *

SERVER = ["--mode", "metronome", "--first-token", "20ms"]
METHOD = "{warm_up: 200ms, counted: 1s, sessions: %d, drain: 2s, request_timeout: 5s, instrument_error_at_most: 1, steady: reported}"


def side(d, name, port, sessions, gap):
    return contract(f"{d}/{name}.yaml", port, executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health, start: {{command: ["{REF}", --mode, metronome, '
                    f'--port, "{{port}}", --first-token, 20ms, --gap, {gap}]}}}}', method=METHOD % sessions, regime="{load: constant, rate_per_s: 50}", decision="{margin: 0.1}", checks="[]")


with folder() as d:
    port = free_port()
    a, b, slow = side(d, "a", port, 4, "4ms"), side(d, "b", port, 4, "4ms"), side(d, "slow", port, 4, "6ms")
    r = lynx("compare", a, b, "--out", f"{d}/same", "--quiet", "--json", timeout=300)
    out = json.loads(r.stdout)
    figures = {f["figure"]: f for f in out["figures"]}
    print({k: (round(v["ratio"], 3), v["verdict"]) for k, v in figures.items()})
    check_equal(out["interleaved"], True, "interleaved")
    for name in ("output throughput", "time per output token, p50", "end to end, p50"):
        judged = figures[name]["verdict"] != "not judged"  # its sample may not bound it: then it says so
        check("within the margin" in figures[name]["verdict"] if judged else figures[name]["why"], f"same: {name}: {figures[name]}")
    order = sorted(rows(f"{d}/same-a.lynx", "SELECT start_realtime_ns, 'a' FROM session") + rows(f"{d}/same-b.lynx", "SELECT start_realtime_ns, 'b' FROM session"))
    print("".join(x[1] for x in order))
    for k in range(0, 8, 2):
        check_equal(sorted(x[1] for x in order[k:k + 2]), ["a", "b"], f"round {k // 2} holds one of each")
    r = lynx("compare", a, slow, "--out", f"{d}/slow", "--quiet", "--json", timeout=300)
    out = json.loads(r.stdout)
    figures = {f["figure"]: f for f in out["figures"]}
    check_equal(r.returncode, 1, "slower")
    f = figures["time per output token, p50"]
    check_equal(f["verdict"], "different beyond the margin", f"slower: {f}")
    check(0.6 < f["ratio"] < 0.72, f"4 ms / 6 ms: {f['ratio']}")
    # The bundles again, and apart: another run of the same contract, not interleaved.
    text = lynx("compare", f"{d}/slow-a.lynx", f"{d}/slow-b.lynx")
    check_equal(text.returncode, 1, "bundles")
    check_in("compared session by session", text.stdout, "bundles")
    check_in("process.argument", text.stdout, "the executor diff stands beside it")
    text = lynx("compare", f"{d}/same-a.lynx", f"{d}/slow-a.lynx", "--margin", "0.5")
    check_in("not interleaved", text.stdout, "apart")
    # Misuse.
    r = lynx("compare", f"{d}/same-a.lynx", f"{d}/same-b.lynx", "--margin", "much")
    check_equal(r.returncode, 2, "margin")
    check_in("accepted: a share", r.stderr, "margin")
    check_equal(lynx("compare", a, f"{d}/nothing.yaml").returncode, 2, "no such file")
    check_equal(lynx("compare", a, b, "--out", f"{d}/same", "--quiet").returncode, 2, "records are not overwritten")
finish()
