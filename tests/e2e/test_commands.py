"""Every command answers --help with an example that works; misuse gets a sentence; init writes what run runs."""

import glob
import re

import pytest
from lynx import *

PLAIN = f"{SOURCE}/tests/recorded/plain"
NAMES = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", lynx("help", "--all").stdout, flags=re.M)


def named(line):
    """The words of the command that a line begins with: of two, or of one."""
    words = line.split()
    return words[:2] if " ".join(words[:2]) in NAMES else words[:1] if words[0] in NAMES else []


# The example of compare puts two short sessions beside themselves, and may find that too few; verify plans from it.
MAY_SAY = {"show": (0, 1), "audit": (0, 1), "compare": (0, 3), "gate": (3, 4), "verify": (0, 3)}


def test_there_are_commands():
    check(len(NAMES) >= 10, f"commands: {NAMES}")


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command(name):
    words = name.split()
    r = lynx(*words, "--help")
    check_equal(r.returncode, 0, f"{name} --help")
    check_in("example:", r.stdout, f"{name} --help")
    check_in(words[-1], lynx("--help").stdout, "lynxbench --help")
    check_equal(lynx(*words, "--no-such-option").returncode, 2, f"{name} with a wrong option")
    check_in(f".TH LYNXBENCH-{name.replace(' ', '-')} ", lynx("help", *words, "--man").stdout, f"manual page of {name}")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_of_its_shell(shell):
    text = lynx("help", f"--{shell}").stdout
    check(all(re.search(rf"\b{name.split()[-1]}\b", text) for name in NAMES), f"{shell}: every command")
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    check_equal(subprocess.run([shell, "-n"], input=text, text=True).returncode, 0, f"completion is {shell}")


def test_help_is_one_screen():
    text = lynx("--help").stdout
    check_equal([line for line in text.splitlines() if len(line) > 80], [], "lines of more than 80 characters")
    check(len(text.splitlines()) <= 24, "lines of a screen")
    check_equal(text, lynx("help").stdout, "help")
    assert 10 <= len({name.split()[0] for name in NAMES} - {"help"}) <= 32


def test_a_command_behind_another_word_is_found_without_it():
    check_in("did you mean 'ledger push'?", lynx("push").stderr, "push")
    check_in("did you mean 'show --claim'?", lynx("claim").stderr, "claim")
    check_in("accepted: create, policy", lynx("ledger", "pusch", "x.ledger").stderr, "an action")


@pytest.mark.parametrize("section", ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"])
def test_a_manual_page_is_whole(section):
    check_in(f".SH {section}\n", lynx("help", "run", "--man").stdout, "manual page of run")


MISTYPED = [
    (["dignose"], "did you mean 'diagnose'?"),
    (["diag"], "did you mean 'diagnose'?"),
    (["xyzzy"], "there is no command 'xyzzy'\n"),
    (["run", "--uot", "x"], "did you mean --out?"),
    (["run", "--otu=x"], "did you mean --out?"),
    (["run", "--zzzzzzzz"], "there is no option '--zzzzzzzz'"),
]


@pytest.mark.parametrize("words, said", MISTYPED)
def test_what_was_meant(words, said):
    r = lynx(*words)
    check_equal(r.returncode, 2, words)
    check_in(said, r.stderr, words)


def pasted_lines(page):
    """Command lines of its code blocks, each command of a pipeline alone."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", open(page).read().replace("\\\n", " "), flags=re.S | re.M):
        for line in block.splitlines():
            words = re.search(r"(?:^|&& |\| |\$ |^- run: )(?:build/)?lynxbench ((?:%s) .*)" % "|".join(NAMES), line)
            for part in re.split(r"\s(?:&&|\||;)\s(?:(?:build/)?lynxbench )?", words.group(1)) if words else []:
                if named(part):
                    yield re.sub(r"\s#.*", "", part)


PAGES = sorted(glob.glob(f"{SOURCE}/*.md") + glob.glob(f"{SOURCE}/docs/**/*.md", recursive=True))


@pytest.mark.parametrize("page", [os.path.relpath(p, SOURCE) for p in PAGES])
def test_what_a_page_pastes_is_there(page):
    """Commands and options of every code block: those of the README and of the tutorials run, too (test_readme)."""
    for line in pasted_lines(f"{SOURCE}/{page}"):
        text = lynx(*named(line), "--help").stdout
        known = {"help": "", **dict(re.findall(r"^  --([a-z-]+) ?(\S*)", text, flags=re.M))}
        words = re.sub(r"'[^']*'|\"[^\"]*\"", "QUOTED", line).split()
        while words:
            option = re.match(r"--([a-z][a-z-]*)(=?)", words.pop(0))
            if option is None:
                continue
            assert option[1] in known, f"{page}: lynxbench {line}: there is no --{option[1]}"
            if known[option[1]] and not option[2]:
                words = words[1:]  # its value


def test_the_pages_paste_commands():
    assert sum(len(list(pasted_lines(page))) for page in PAGES) > 80


def test_no_command_and_a_wrong_one():
    check_equal(lynx().returncode, 2, "no command")
    check_equal(lynx("nothing").returncode, 2, "a command that does not exist")
    check_equal(lynx("--version").returncode, 0, "--version")


COLOUR = [
    (False, {"CLICOLOR_FORCE": "0"}),
    (False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}),
    (True, {"CLICOLOR_FORCE": "1"}),
]


@pytest.mark.parametrize("wanted, env", COLOUR)
def test_colour(wanted, env):
    check_equal("\033" in lynx("capture", "--root", PLAIN, env=env).stdout, wanted, f"colour in a pipe, {env}")


@pytest.fixture(scope="module")
def tree():
    """A folder that looks like the source tree after `make build`, and the demo's bundle."""
    with folder() as d:
        os.makedirs(f"{d}/tree")
        for part in ("examples", "reference", "tests", "docs"):
            os.symlink(f"{SOURCE}/{part}", f"{d}/tree/{part}")
        os.symlink(BUILD, f"{d}/tree/build")
        lynx("run", f"{SOURCE}/tests/e2e/quick.yaml", "--out", f"{d}/demo.lynx", "--quiet")
        yield d


def example(name, d):
    text = lynx(*name.split(), "--help").stdout.split("example:\n")[1].strip()
    text = text.replace("/tmp/", f"{d}/").replace("build/demo/demo.lynx", f"{d}/demo.lynx")
    return text.split("|")[0] if "man -l" in text and not shutil.which("man") else text


@pytest.mark.long
def test_the_examples_of_help_pasted(tree):
    """In the order of the help: one may use what an earlier one made."""
    busy = False
    for name in NAMES:
        text = example(name, tree)
        r = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {text}"],
            cwd=f"{tree}/tree",
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
        )
        # Where the machine is too busy for an honest claim, the program says so with these codes, and is right.
        busy = busy or (name == "run" and r.returncode == 4 and machine_was_busy(r))
        fine = (0, 4) if name == "run" and busy else MAY_SAY.get(name, (0,))
        check(r.returncode in fine or "head -c" in text, f"example of {name}: exit {r.returncode}: {r.stderr}")


@pytest.fixture(scope="module")
def metronome():
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        yield port


@pytest.fixture(scope="module")
def made(metronome):
    """What init wrote, from flags, without a terminal to ask on; and what run made of it."""
    with folder() as d:
        flags = ("--model", "metronome", "--rate", "20", "--counted", "1s", "--sessions", "2")
        r = lynx("init", "--endpoint", f"http://127.0.0.1:{metronome}", *flags, "--out", f"{d}/new.yaml")
        assert r.returncode == 0, r.stderr
        with open(f"{d}/new.yaml") as f:
            text = f.read().replace("warm_up: 10s", "warm_up: 200ms")
        with open(f"{d}/new.yaml", "w") as f:
            f.write(text)
        yield d, lynx("run", f"{d}/new.yaml", "--out", f"{d}/new.lynx", "--json")


def test_init_says_what_is_wrong(d):
    given = ("--endpoint", "http://h:1", "--model", "m")
    open(f"{d}/there.yaml", "w").close()
    check_equal(lynx("init", *given, "--out", f"{d}/there.yaml").returncode, 2, "it does not overwrite")
    r = lynx("init", "--out", f"{d}/none.yaml", stdin=subprocess.DEVNULL)
    check_in("--endpoint", r.stderr, "without a terminal it says what it needs")
    r = lynx("init", *given, "--rate", "x", "--out", "-")
    check_in("regime.rate_per_s", r.stderr, "a wrong rate")
    pipe = f"{LYNX} init --endpoint http://h:1 --model m --out - | {LYNX} lint -"
    r = subprocess.run(pipe, shell=True, capture_output=True, text=True)
    check_equal(r.returncode, 0, f"lint of a pipe: {r.stdout}{r.stderr}")


def test_init_asks_a_server(d):
    """Its model, its route and its speed; the contract is one that runs."""
    with reference("--shape", "tiny") as port:
        url, path = f"http://127.0.0.1:{port}", f"{d}/asked.yaml"
        r = lynx("init", url + "/v1/", "--output-tokens", "8", "--out", path)
        check_equal(r.returncode, 0, r.stderr)
        check(re.search(r"tiny by /v1/completions: an answer of 8 tokens takes .* s alone", r.stdout), r.stdout)
        text = open(path).read()
        check_in('model: "tiny"', text, "its model")
        check(0.05 <= float(re.search(r"rate_per_s: (\S+)", text).group(1)) <= 20, text)
        check_equal(lynx("lint", path).returncode, 0, "lint")
        r = lynx("init", url, "--model", "another", "--chat", "--concurrency", "2", "--out", "-")
        check_in('model: "another"', r.stdout, "what was given counts")
        check_in("api: chat", r.stdout, "what was given counts")
        check_equal(lynx("init", url, "--endpoint", url, "--out", "-").returncode, 2, "a URL and --endpoint")
        check_equal(lynx("init", url, "--output-tokens", "x", "--out", "-").returncode, 2, "no number")
    r = lynx("init", url, "--out", "-")
    check_equal((r.returncode, r.stdout), (5, ""), r.stderr)
    check_in("is the server up", r.stderr, "nobody listens")
    check_equal(lynx("init", "ftp://h", "--out", "-").returncode, 2, "no URL")


def test_capture_of_nothing():
    check_equal(lynx("capture", "--pid", "99999999").returncode, 2, "capture of no process")
    check_equal(lynx("capture", "--endpoint", "ftp://h").returncode, 2, "capture of no endpoint")


def test_run_runs_what_init_wrote(made):
    d, r = made
    check_equal(lynx("lint", f"{d}/new.yaml").returncode, 0, "lint")
    check(r.returncode == 0 or (r.returncode == 4 and machine_was_busy(r)), f"run: {r.stderr}")
    check_equal(json.loads(r.stdout)["ended"], "complete", "run --json")
    check_in("counted", r.stderr, "progress in plain lines where standard error is no terminal")


def test_the_process_behind_the_endpoint_is_captured(made):
    facts = dict(rows(f"{made[0]}/new.lynx", "SELECT key, value FROM fact WHERE moment = 'start:as-served'"))
    check_in("lynxbench-ref", facts.get("process.executable", ""), "the process that serves")
    check("build id" in facts.get("library.libdnnl.so", ""), "its libraries, with build ids")
    check_equal([k for k in facts if k.startswith("hole.")], [], "no holes")


@pytest.fixture(scope="module")
def unexpected(made, metronome):
    """A run whose contract expects another processor."""
    executor = f'{{endpoint: "http://127.0.0.1:{metronome}", expect: {{accelerator.cpu.model: Z80}}}}'
    out = f"{made[0]}/expect.lynx"
    lynx("run", contract(f"{made[0]}/expect.yaml", metronome, executor=executor), "--out", out, "--quiet")
    return out


def test_expect_is_out_of_contract_by_name_and_owner(unexpected):
    r = lynx("show", "--claim", unexpected)
    check_equal(r.returncode, 1, "an executor that was not expected")
    check_in(
        "out of contract: accelerator.cpu.model (Hardware): expected 'Z80'", r.stdout, "and it says what and whose"
    )


def test_diff_of_two_runs_on_one_executor(made, unexpected):
    r = lynx("diff", f"{made[0]}/new.lynx", unexpected)
    check_equal(r.returncode, 0, f"the same executor: {r.stdout}")


def test_diff_of_two_executors(made, d):
    with reference("--mode", "metronome", "--gap", "2ms") as port:
        lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--out", f"{d}/other.json")
    r = lynx("diff", f"{made[0]}/new.lynx", f"{d}/other.json")
    check_equal(r.returncode, 1, "diff of two executors")
    check_in("serving", r.stdout, "by layer")
    check_in("process.argument", r.stdout, "the argument that differs")


def test_a_contract_of_100_megabytes(d):
    with open(f"{d}/huge.yaml", "wb") as f:
        f.write(b"lynxbench: 1\n" + b"# filler\n" * 11_000_000)
    began = time.time()
    r = lynx("lint", f"{d}/huge.yaml")
    check_equal(r.returncode, 2, "100 MB of contract")
    check(time.time() - began < 5 and "larger than" in r.stderr, f"100 MB of contract: {r.stderr}")


@pytest.mark.parametrize("data", [b"", b"hello\n" * 100, b"\x89PNG\r\n\x1a\n" + bytes(1000)])
def test_a_bundle_that_is_not_one(d, data):
    with open(f"{d}/a.lynx", "wb") as f:
        f.write(data)
    r = lynx("show", f"{d}/a.lynx")
    check(r.returncode == 2 and r.stderr, r.stderr)


if __name__ == "__main__":
    main(__file__)
