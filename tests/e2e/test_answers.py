"""Accuracy of what is answered: exact match, agreement, a scorer; against references that are given and against a precision."""
from lynx import *

METHOD = "{warm_up: 200ms, counted: 1500ms, sessions: 2, drain: 3s, request_timeout: 8s, instrument_error_at_most: 1, steady: reported}"


def accuracy(d, name, port, text, work="{model: metronome, output_tokens: 10}", **more):
    path = contract(f"{d}/{name}.yaml", port, workload=work, regime="{load: constant, rate_per_s: 30}", method=METHOD, checks="[]", accuracy=text, **more)
    r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
    check_equal(r.returncode, 0, f"{name}: {r.stderr}")
    return show(f"{d}/{name}.lynx")["precisions"], lynx("claim", f"{d}/{name}.lynx").stdout, r


with folder() as d, reference("--mode", "metronome", "--first-token", "10ms", "--gap", "1ms") as port:
    with open(f"{d}/good.jsonl", "w") as f:  # ten tokens of the metronome
        for i in range(8):
            f.write(json.dumps({"prompt": f"question {i}", "output": "tick tock "}) + "\n")
    with open(f"{d}/half.jsonl", "w") as f:
        for i in range(8):
            f.write(json.dumps({"prompt": f"question {i}", "output": "tick tock " if i % 2 else "tick tack"}) + "\n")
    p, claim, _ = accuracy(d, "exact", port, f"{{measure: exact_match, references: {d}/good.jsonl, at_least_ratio: 0.99}}")
    check_equal(p[0]["accuracy"]["estimate"], 1, "exact match")
    check_in("passes the gate", claim, "exact match")
    check_equal(rows(f"{d}/exact.lynx", "SELECT count(*) FROM answer WHERE session = -1")[0][0], 8, "references are in the record")
    p, claim, _ = accuracy(d, "half", port, f"{{measure: exact_match, references: {d}/half.jsonl, at_least_ratio: 0.99}}")
    check_equal(p[0]["accuracy"]["estimate"], 0.5, "half of them")
    check_in("the contract's gate is", claim, "half: refused")
    p, claim, _ = accuracy(d, "words", port, f"{{measure: token_agreement, references: {d}/half.jsonl, at_least_ratio: 0.7}}")
    check_equal(p[0]["accuracy"]["estimate"], 0.75, "agreement: one of two words in half of them")
    with open(f"{d}/score.py", "w") as f:
        f.write("import json, sys\nfor line in sys.stdin:\n    x = json.loads(line)\n    print(0.25 if 'question 3' in x['prompt'] else 1.0 if x['output'] == x['reference'] else 0)\n")
    p, claim, _ = accuracy(d, "scored", port, f"{{measure: scorer, command: [{sys.executable}, {d}/score.py], references: {d}/good.jsonl, at_least_ratio: 0.9}}")
    check_equal(p[0]["accuracy"]["estimate"], 7.25 / 8, "scorer")
    with open(f"{d}/bad.py", "w") as f:  # what was well so far is not kept: half a score would pass for a whole one
        f.write("print(1)\nprint(1)\nprint('fine')\n")
    p, claim, r = accuracy(d, "bad", port, f"{{measure: scorer, command: [{sys.executable}, {d}/bad.py], references: {d}/good.jsonl, at_least_ratio: 0.9}}")
    check_in("which is no number from 0 to 1", r.stderr, "a scorer that does not score")
    check_in("none was measured", claim, "a scorer that does not score")
    check(not [f for f in os.listdir(d) if f.endswith((".answers", ".scores"))], "nothing is left behind")

# Against a precision: int8 of the byte model agrees with f32 on most words, and with itself on all.
with folder() as d:
    port = free_port()
    path = contract(f"{d}/p.yaml", port, executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health, start: {{command: ["{REF}", --port, "{{port}}", --precision, "{{precision}}"]}}}}',
                    workload=f"{{model: byte, output_tokens: 40, prompts: {{file: {SOURCE}/reference/model/shakespeare.txt, count: 16, bytes: 100}}}}", precisions="[f32, int8]",
                    regime="{load: constant, rate_per_s: 12}", method=METHOD, checks="[]", accuracy="{measure: token_agreement, at_least_ratio: 0.5}")
    r = lynx("run", path, "--out", f"{d}/p.lynx", "--quiet")
    check_equal(r.returncode, 0, r.stderr)
    p = show(f"{d}/p.lynx")["precisions"]
    print([x["accuracy"] for x in p])
    check_equal(p[0]["accuracy"]["estimate"], 1, "f32 against itself")
    if not p[1]["unavailable"]:
        check(0.2 < p[1]["accuracy"]["estimate"] <= 1, f"int8 against f32: {p[1]['accuracy']}")
    # Accuracy against a precision that is not measured is an error, not 100 %.
    r = lynx("lint", contract(f"{d}/none.yaml", port, precisions="[fp8]", accuracy="{measure: exact_match, reference: bf16, at_least_ratio: 0.99}"))
    check_equal(r.returncode, 2, "a reference that is not measured")
    check_in("accuracy.reference", r.stdout + r.stderr, "a reference that is not measured")
finish()
