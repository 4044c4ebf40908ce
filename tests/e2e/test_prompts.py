"""Prompts: files of them, exact lengths, pictures, what the record keeps; load threads on processors of their own."""

import pytest
from lynx import *

BRIEF = "warm_up: 0s, counted: 100ms, sessions: 1, steady: reported, instrument_error_at_most: 1, stolen_at_most: 1"


def asked(d, prompts, workload="", method=""):
    """A brief run of the null driver."""
    path = contract(
        f"{d}/p.yaml",
        0,
        executor="{}",
        workload=f'{{driver: "null", output_tokens: 9, {workload}prompts: {prompts}}}',
        regime="{load: single_stream}",
        method=f"{{{BRIEF}{method}}}",
    )
    return lynx("run", path, "--out", f"{d}/p.lynx", "--quiet")


def sent(d):
    return [bytes(x).decode() for (x,) in rows(f"{d}/p.lynx", "SELECT text FROM input ORDER BY id")]


@pytest.fixture
def lines(d):
    """A file of ten prompts."""
    with open(f"{d}/p.jsonl", "w") as f:
        f.writelines(json.dumps({"prompt": f"question {i}", "output_tokens": i + 1}) + "\n" for i in range(10))
    return f"{d}/p.jsonl"


def taken(d, lines, n=4, workload="", more=""):
    return asked(d, f"{{file: {lines}, format: jsonl, count: {n}{more}}}", workload)


def test_json_lines(d, lines):
    check_equal(taken(d, lines, workload="output_distribution: given, ").returncode, 0, "run")
    first = sent(d)
    check(len(set(first)) == 4 and all(x.startswith("question ") for x in first), f"none twice: {first}")
    lengths = dict(rows(f"{d}/p.lynx", "SELECT DISTINCT input, output_tokens FROM request"))
    check_equal({i: int(first[i].split()[1]) + 1 for i in lengths}, lengths, "each as long as it says")
    os.unlink(f"{d}/p.lynx")
    taken(d, lines)
    check_equal(sent(d), first, "the same seed takes the same")


def test_more_prompts_than_there_are(d, lines):
    r = taken(d, lines, 11)
    check_equal(r.returncode, 2, "eleven of ten")
    check_in("holds 10 prompts, and 11 are asked for", r.stderr, "eleven of ten")


def test_a_line_that_is_wrong_is_named(d):
    with open(f"{d}/bad.jsonl", "w") as f:
        f.write('{"prompt": "a"}\n{"prompt": 1}\n')
    check_in("bad.jsonl:2:", taken(d, f"{d}/bad.jsonl", 1).stderr, "the line")


def test_sharegpt(d):
    talk = [
        {"conversations": [{"from": "human", "value": f"hello {i}"}, {"from": "gpt", "value": "x" * 40}]}
        for i in range(6)
    ]
    with open(f"{d}/share.json", "w") as f:
        json.dump([*talk, {"conversations": []}], f)
    asked(d, f"{{file: {d}/share.json, format: sharegpt, count: 6}}", "output_distribution: given, ")
    check_equal(sorted(sent(d)), [f"hello {i}" for i in range(6)], "the first turn of each")
    lengths = rows(f"{d}/p.lynx", "SELECT DISTINCT output_tokens FROM request")
    check_equal(lengths, [(10,)], "40 bytes are 10 tokens")
    events = str(rows(f"{d}/p.lynx", "SELECT text FROM event"))
    check_in("1 conversations without a human turn", events, "what was passed over is noted")


def test_withheld_prompts(d, lines):
    taken(d, lines)
    first = sent(d)[0]
    os.unlink(f"{d}/p.lynx")
    taken(d, lines, more=", withhold: true")
    check(all(x.startswith("withheld: 10 bytes of text") for x in sent(d)), f"{sent(d)}")
    check(b"question" not in open(f"{d}/p.lynx", "rb").read(), "they are nowhere")
    words = sent(d)[0].split()
    salt = bytes.fromhex(words[words.index("salt") + 1].rstrip(","))
    check_equal(hashlib.sha256(salt + first.encode()).hexdigest(), words[-1], "who has the text can show it")


def test_pictures(d):
    asked(d, '{count: 2, bytes: 8, image: "8x4"}', "api: chat, ")
    found = sent(d)
    check(all("SHA-256" in x and "a data URL of" in x for x in found) and len(set(found)) == 2, f"{found}")


def test_a_picture_that_would_not_be_sent(d):
    with open(f"{d}/pic.jsonl", "w") as f:
        f.write('{"prompt": "a", "image": "x.png"}\n')
    check_in("this route takes none", taken(d, f"{d}/pic.jsonl", 1).stderr, "it is said")


def test_prompts_of_exactly_so_many_tokens(d):
    vocabulary = {f"\u0120word{chr(97 + i)}": i for i in range(20)}
    with open(f"{d}/tokenizer.json", "w") as f:
        json.dump({"model": {"type": "BPE", "vocab": vocabulary}}, f)
    r = asked(d, f"{{count: 3, tokens: 50, tokenizer: {d}/tokenizer.json}}")
    check(r.returncode in RAN, r.stderr)
    check_equal({len(x.split(" ")) - 1 for x in sent(d)}, {50}, "50 words, each a token")


# --- what lint says ---

AT_X = '{endpoint: "http://x:1"}'
LINT = [
    ("{format: jsonl, count: 1}", "workload.prompts.file: found nothing"),
    (
        "{file: p.jsonl, format: jsonl, count: 1, bytes: 5}",
        "workload.prompts.bytes: found a length beside a file of prompts",
    ),
    ("{tokens: 5}", "workload.prompts.tokenizer: found nothing"),
    ("{tokenizer: server}", "workload.prompts.tokens: found nothing"),
    ('{image: "8"}', "WIDTHxHEIGHT"),
    ('{image: "8x8"}', "a picture with a route that takes none"),
]
SECTIONS = [
    ({"workload": '{driver: "null", prompts: {tokens: 5, tokenizer: server}}'}, "server, without executor.endpoint"),
    (
        {"executor": AT_X, "workload": "{driver: http, output_distribution: given}"},
        "a format that gives lengths",
    ),
    (
        {
            "executor": '{endpoint: "http://x:1", start: {command: [x]}}',
            "workload": "{driver: http, prompts: {tokens: 5, tokenizer: server}}",
        },
        "prompts are made before the executor is started",
    ),
    (
        {"executor": AT_X, "workload": "{driver: http}", "method": '{processors: "0-x"}'},
        "'0-x' where processors are expected",
    ),
]
SECTIONS += [({"executor": AT_X, "workload": f"{{driver: http, prompts: {text}}}"}, words) for text, words in LINT]


@pytest.mark.parametrize("sections, words", SECTIONS)
def test_lint(d, sections, words):
    sections = {"regime": "{load: closed, concurrency: 2}", **sections}
    with open(f"{d}/lint.yaml", "w") as f:
        f.write("lynxbench: 1\nname: lint\n" + "".join(f"{k}: {v}\n" for k, v in sections.items()))
    r = lynx("lint", f"{d}/lint.yaml")
    check_equal(r.returncode, 2, f"{sections}")
    check_in(words, r.stdout, f"{sections}")


# --- load threads on processors of their own ---


def test_load_threads_on_processors_of_their_own(d):
    check_equal(asked(d, "{count: 1}", method=', processors: "0"').returncode, 0, "run")
    record = json.loads(rows(f"{d}/p.lynx", "SELECT instrument FROM session")[0][0])
    check_equal(record["processors"], "0", "in the record")


@pytest.mark.parametrize("processors, words", [("1000", "method.processors"), ("0,1000", "1000 is not there")])
def test_processors_that_are_not_there(d, processors, words):
    r = asked(d, "{count: 1}", method=f', processors: "{processors}"')
    check_equal(r.returncode, 2, r.stderr)
    check_in(words, r.stderr, "which")


if __name__ == "__main__":
    main(__file__)
