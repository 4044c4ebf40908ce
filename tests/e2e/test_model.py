"""The reference model at every precision that this CPU has: run, evidence of what executed, accuracy, claims."""

import machine
import pytest
from lynx import *

PRECISIONS = ["f32", "bf16", "int8"]
# train.py measured 1.9996 bits per byte of the same 32 windows in PyTorch, at f32.
BITS, TOLERANCE = 1.9996, {"f32": 0.0006, "bf16": 0.01, "int8": 0.03}


def write(path, port, precisions, accuracy=""):
    weights = f"{SOURCE}/reference/model/byte.safetensors"
    with open(path, "w") as f:
        f.write(
            f"""lynxbench: 1
name: model
executor:
  endpoint: http://127.0.0.1:{port}
  ready_path: /health
  start: {{command: [{REF}, --port, "{{port}}", --precision, "{{precision}}", --weights, {weights}]}}
workload:
  model: byte
  output_tokens: 16
  continuous_usage: true
  prompts: {{file: {SOURCE}/reference/model/shakespeare.txt, count: 16, bytes: 64}}
regime: {{load: constant, rate_per_s: 15}}
slo: [{{metric: time_to_first_token, quantile: 0.5, at_most: 5s}}]
precisions: {precisions}
method:
  steady: reported
  warm_up: 300ms
  counted: 700ms
  sessions: 6
  drain: 5s
  instrument_error_at_most: 1
  stolen_at_most: 1
accuracy:
  {accuracy}
  text_file: {SOURCE}/reference/model/held-out.txt
  windows: 32
  window_bytes: 256
  at_least_ratio: 0.98
"""
        )
    return path


@pytest.fixture(scope="module")
def bundle():
    with folder() as d:
        path = write(f"{d}/model.yaml", free_port(), "[f32, bf16, int8]")
        r = lynx("run", path, "--out", f"{d}/a.lynx", "--quiet", timeout=300)
        assert r.returncode == 0, r.stderr
        yield f"{d}/a.lynx"


@pytest.fixture(scope="module")
def by_name(bundle):
    return {p["precision"]: p for p in show(bundle)["precisions"]}


def test_each_precision_is_another_executor(by_name):
    check_equal(list(by_name), PRECISIONS, "precisions")
    measured = [p["fingerprint"] for p in by_name.values() if not p["unavailable"]]
    check_equal(len(set(measured)), len(measured), "fingerprints")


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_precision_is_what_it_says(by_name, name):
    p = by_name[name]
    check_equal(bool(p["unavailable"]), not machine.isa(name), f"{name}: {p['unavailable']}")
    if not machine.isa(name):
        return  # the machine says so, and the product agreed
    check(p["status"] in ("native", "emulated"), f"{name}: {p['status']}")
    check(p["primitive"] != "", f"{name}: the primitive is named")
    check_equal(p["requests"]["failed"], 0, f"{name}: failures")
    check_equal(p["mean_output_tokens"], 16, f"{name}: tokens")
    check_equal(len(p["sessions"]), 6, f"{name}: sessions")
    check(all(s["executor"] == "started for this session" for s in p["sessions"]), f"{name}: fresh processes")
    found = p["accuracy"]["estimate"]
    check(abs(found - BITS) < TOLERANCE[name], f"{name}: {found} bits per byte, PyTorch has {BITS}")


def test_claims_say_accuracy_and_sessions(bundle, by_name):
    for c in json.loads(lynx("show", "--claim", bundle, "--json").stdout):
        if not machine.isa(c["precision"]):
            check_in("unavailable", c["refused_because"][0], "an unavailable precision")
            continue
        check(c["claim"] is not None, f"{c['precision']}: {c['refused_because']}")
        check_in("% of f32", c["claim"], "accuracy is in the claim")
        check_in("each a fresh process", c["claim"], "sessions")


def test_the_same_rows_the_same_bytes(bundle, tmp_path):
    first = lynx("show", bundle, "--json").stdout
    check_equal(lynx("show", bundle, "--json").stdout, first, "recomputed")
    shutil.copy(bundle, f"{tmp_path}/b.lynx")
    check_equal(lynx("show", f"{tmp_path}/b.lynx", "--json").stdout, first, "recomputed from a copy")


@pytest.mark.parametrize("isa", ["SSE41", "AVX2"])
@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_processor_without_the_instructions_says_so(tmp_path, precision, isa):
    """oneDNN may use no newer instructions: emulated, and the answers are right all the same; or unavailable."""
    path = write(f"{tmp_path}/one.yaml", free_port(), f"[{precision}]", f"reference: {precision}")
    out = f"{tmp_path}/one.lynx"
    capped = {"ONEDNN_MAX_CPU_ISA": isa, "DNNL_MAX_CPU_ISA": isa}
    r = lynx("run", path, "--out", out, "--quiet", timeout=300, env=capped)
    p = show(out)["precisions"][0]
    wanted = (0, False) if machine.isa(precision, isa) else (3, True)
    check_equal((r.returncode, bool(p["unavailable"])), wanted, f"{precision} on {isa}: {r.stderr}")
    if not machine.isa(precision, isa):
        check_equal(lynx("show", out).returncode, 3, "nothing was measured")
        check_in("unavailable", r.stderr, "and said so")
        return
    check_equal(p["status"], "emulated", f"{precision} on {isa}: {p['primitive']}")
    # What the environment did is among the facts of the process that served.
    facts = dict(rows(out, "SELECT key, value FROM fact WHERE moment LIKE 'start:%'"))
    check_equal(facts.get("environment.ONEDNN_MAX_CPU_ISA"), isa, "the variable that changed it")
    found = p["accuracy"]["estimate"]
    check(abs(found - BITS) < TOLERANCE[precision], f"{precision} on {isa}: {found} bits per byte, PyTorch has {BITS}")


if __name__ == "__main__":
    main(__file__)
