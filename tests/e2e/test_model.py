"""The reference model at every precision that this CPU has: run, evidence of what executed, accuracy, claims."""
from lynx import *

with folder() as d:
    port = free_port()
    path = f"{d}/model.yaml"
    with open(path, "w") as f:
        f.write(f"""lynxbench: 1
name: model
executor:
  endpoint: http://127.0.0.1:{port}
  ready_path: /health
  start: {{command: [{REF}, --port, "{{port}}", --precision, "{{precision}}", --weights, {SOURCE}/reference/model/byte.safetensors]}}
workload: {{model: byte, output_tokens: 16, continuous_usage: true, prompts: {{file: {SOURCE}/reference/model/shakespeare.txt, count: 16, bytes: 64}}}}
regime: {{load: constant, rate_per_s: 15}}
slo: [{{metric: time_to_first_token, quantile: 0.5, at_most: 5s}}]
precisions: [f32, bf16, int8]
method: {{steady: reported, warm_up: 300ms, counted: 700ms, sessions: 6, drain: 5s, instrument_error_at_most: 1, stolen_at_most: 1}}
accuracy: {{text_file: {SOURCE}/reference/model/held-out.txt, windows: 32, window_bytes: 256, at_least_ratio: 0.98}}
""")
    r = lynx("run", path, "--out", f"{d}/a.lynx", "--quiet", timeout=300)
    check_equal(r.returncode, 0, f"run: {r.stderr}")
    result = show(f"{d}/a.lynx")
    by_name = {p["precision"]: p for p in result["precisions"]}
    check_equal(list(by_name), ["f32", "bf16", "int8"], "precisions")
    fingerprints = set()
    for name, p in by_name.items():
        print(f"{name}: {'unavailable' if p['unavailable'] else p['status'] + ', ' + p['primitive']}; {p['accuracy']['estimate']} bits per byte")
        if p["unavailable"]:
            check(name != "f32", "f32 runs everywhere")
            continue
        check(p["status"] in ("native", "emulated"), f"{name}: {p['status']}")
        check(p["primitive"] != "", f"{name}: the primitive is named")
        check_equal(p["requests"]["failed"], 0, f"{name}: failures")
        check_equal(p["mean_output_tokens"], 16, f"{name}: tokens")
        check_equal(len(p["sessions"]), 6, f"{name}: sessions")
        check(all(s["executor"] == "started for this session" for s in p["sessions"]), f"{name}: fresh processes")
        fingerprints.add(p["fingerprint"])
        # train.py measured 1.9996 bits per byte of the same 32 windows in PyTorch, at f32.
        tolerance = {"f32": 0.0006, "bf16": 0.01, "int8": 0.03}[name]
        check(abs(p["accuracy"]["estimate"] - 1.9996) < tolerance, f"{name}: {p['accuracy']['estimate']} bits per byte, PyTorch has 1.9996")
    check_equal(len(fingerprints), sum(not p["unavailable"] for p in by_name.values()), "each precision is another executor")
    claim = lynx("claim", f"{d}/a.lynx", "--json")
    for c in json.loads(claim.stdout):
        if by_name[c["precision"]]["unavailable"]:
            check_in("unavailable", c["refused_because"][0], "an unavailable precision")
        else:
            check(c["claim"] is not None, f"{c['precision']}: {c['refused_because']}")
            check_in("% of f32", c["claim"], "accuracy is in the claim")
            check_in("each a fresh process", c["claim"], "sessions")

    # The same rows, the same bytes.
    check_equal(lynx("show", f"{d}/a.lynx", "--json").stdout, lynx("show", f"{d}/a.lynx", "--json").stdout, "recomputed")
    shutil.copy(f"{d}/a.lynx", f"{d}/b.lynx")
    check_equal(lynx("show", f"{d}/b.lynx", "--json").stdout, lynx("show", f"{d}/a.lynx", "--json").stdout, "recomputed from a copy")

    # A CPU without the instructions: oneDNN is told to look no further than SSE4.1. Emulated or unavailable, and said to be.
    for precision in ("bf16", "int8"):
        p = free_port()
        one = f"{d}/{precision}.yaml"
        text = open(path).read().replace("precisions: [f32, bf16, int8]", f"precisions: [{precision}]").replace("{text_file", f"{{reference: {precision}, text_file").replace(str(port), str(p))
        with open(one, "w") as f:
            f.write(text)
        r = lynx("run", one, "--out", f"{d}/{precision}.lynx", "--quiet", timeout=300, env={"ONEDNN_MAX_CPU_ISA": "SSE41", "DNNL_MAX_CPU_ISA": "SSE41"})
        check(r.returncode in (0, 3), f"{precision} on SSE4.1: {r.stderr}")
        q = show(f"{d}/{precision}.lynx")["precisions"][0]
        print(f"{precision} on SSE4.1: {'unavailable' if q['unavailable'] else q['status'] + ', ' + q['primitive']}")
        check(q["unavailable"] or q["status"] == "emulated", f"{precision} on SSE4.1: {q['status']} {q['primitive']}")
        if q["unavailable"]:
            check_equal(lynx("show", f"{d}/{precision}.lynx").returncode, 3, "nothing was measured")
            check_in("unavailable", r.stderr, "and said so")
        # What the environment did is among the facts of the process that served.
        else:
            facts = dict(rows(f"{d}/{precision}.lynx", "SELECT key, value FROM fact WHERE moment LIKE 'start:%'"))
            check_equal(facts.get("environment.ONEDNN_MAX_CPU_ISA"), "SSE41", "the variable that changed it")
finish()
