"""Accuracy of what is answered: exact match, agreement, a scorer; against references that are given and a precision."""

import pytest
from lynx import *

METHOD = (
    "{warm_up: 200ms, counted: 700ms, sessions: 2, drain: 3s, request_timeout: 8s, instrument_error_at_most: 1, "
    "steady: reported}"
)


class Given:
    """References: ten tokens of the metronome; and half of them so."""

    def __init__(self, d, port):
        self.d, self.port, self.good, self.half = d, port, f"{d}/good.jsonl", f"{d}/half.jsonl"
        for path, others in ((self.good, "tick tock "), (self.half, "tick tack")):
            with open(path, "w") as f:
                for i in range(8):
                    output = "tick tock " if i % 2 else others
                    f.write(json.dumps({"prompt": f"question {i}", "output": output}) + "\n")

    def accuracy(self, name, text):
        path = contract(
            f"{self.d}/{name}.yaml",
            self.port,
            workload="{model: metronome, output_tokens: 10}",
            regime="{load: constant, rate_per_s: 60}",
            method=METHOD,
            checks="[]",
            accuracy=text,
        )
        out = f"{self.d}/{name}.lynx"
        r = lynx("run", path, "--out", out, "--quiet")
        check_equal(r.returncode, 0, f"{name}: {r.stderr}")
        return show(out)["precisions"][0], lynx("show", "--claim", out).stdout, r

    def scored(self, name, program):
        with open(f"{self.d}/{name}.py", "w") as f:
            f.write(program)
        command = f"[{sys.executable}, {self.d}/{name}.py]"
        measure = f"{{measure: scorer, command: {command}, references: {self.good}, at_least_ratio: 0.9}}"
        return self.accuracy(name, measure)


@pytest.fixture(scope="module")
def given():
    with folder() as d, reference("--mode", "metronome", "--first-token", "10ms", "--gap", "1ms") as port:
        yield Given(d, port)


def test_an_exact_match_passes_its_gate(given):
    p, claim, _ = given.accuracy("exact", f"{{measure: exact_match, references: {given.good}, at_least_ratio: 0.99}}")
    check_equal(p["accuracy"]["estimate"], 1, "exact match")
    check_in("passes the gate", claim, "exact match")
    kept = rows(f"{given.d}/exact.lynx", "SELECT count(*) FROM answer WHERE session = -1")[0][0]
    check_equal(kept, 8, "references are in the record")


def test_half_of_them_do_not(given):
    p, claim, _ = given.accuracy("half", f"{{measure: exact_match, references: {given.half}, at_least_ratio: 0.99}}")
    check_equal(p["accuracy"]["estimate"], 0.5, "half of them")
    check_in("the contract's gate is", claim, "half: refused")


def test_agreement_counts_words(given):
    measure = f"{{measure: token_agreement, references: {given.half}, at_least_ratio: 0.7}}"
    p, _, _ = given.accuracy("words", measure)
    check_equal(p["accuracy"]["estimate"], 0.75, "agreement: one of two words in half of them")


def test_a_scorer_scores(given):
    program = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    x = json.loads(line)\n"
        "    print(0.25 if 'question 3' in x['prompt'] else 1.0 if x['output'] == x['reference'] else 0)\n"
    )
    p, _, _ = given.scored("scored", program)
    check_equal(p["accuracy"]["estimate"], 7.25 / 8, "scorer")


def test_half_a_score_is_none(given):
    """What was well so far is not kept: half a score would pass for a whole one."""
    _, claim, r = given.scored("bad", "print(1)\nprint(1)\nprint('fine')\n")
    check_in("which is no number from 0 to 1", r.stderr, "a scorer that does not score")
    check_in("none was measured", claim, "a scorer that does not score")
    left = [f for f in os.listdir(given.d) if f.endswith((".answers", ".scores"))]
    check(not left, f"nothing is left behind: {left}")


def test_against_a_precision(tmp_path):
    """int8 of the byte model agrees with f32 on most words, and with itself on all."""
    port = free_port()
    command = f'["{REF}", --port, "{{port}}", --precision, "{{precision}}"]'
    prompts = f"{{file: {SOURCE}/reference/model/shakespeare.txt, count: 16, bytes: 100}}"
    path = contract(
        f"{tmp_path}/p.yaml",
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health, start: {{command: {command}}}}}',
        workload=f"{{model: byte, output_tokens: 40, prompts: {prompts}}}",
        precisions="[f32, int8]",
        regime="{load: constant, rate_per_s: 12}",
        method=METHOD,
        checks="[]",
        accuracy="{measure: token_agreement, at_least_ratio: 0.5}",
    )
    r = lynx("run", path, "--out", f"{tmp_path}/p.lynx", "--quiet")
    check_equal(r.returncode, 0, r.stderr)
    p = show(f"{tmp_path}/p.lynx")["precisions"]
    check_equal(p[0]["accuracy"]["estimate"], 1, "f32 against itself")
    check(not p[1]["unavailable"] and 0.2 < p[1]["accuracy"]["estimate"] <= 1, f"int8 against f32: {p[1]['accuracy']}")


def test_a_reference_that_is_not_measured_is_an_error(tmp_path):
    """Not 100 %."""
    accuracy = "{measure: exact_match, reference: bf16, at_least_ratio: 0.99}"
    r = lynx("lint", contract(f"{tmp_path}/none.yaml", 1, precisions="[fp8]", accuracy=accuracy))
    check_equal(r.returncode, 2, "a reference that is not measured")
    check_in("accuracy.reference", r.stdout + r.stderr, "a reference that is not measured")


if __name__ == "__main__":
    main(__file__)
