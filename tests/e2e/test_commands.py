"""Every command answers --help with an example that works; misuse gets a sentence; init writes what lint accepts and run runs."""
import shlex
from lynx import *

names = [line.split()[0] for line in lynx("help").stdout.splitlines()]
check(len(names) >= 10, f"commands: {names}")
main_help = lynx("--help").stdout
for name in names:
    r = lynx(name, "--help")
    check_equal(r.returncode, 0, f"{name} --help")
    check_in("example:", r.stdout, f"{name} --help")
    check_in(name, main_help, "lynxbench --help")
    check_equal(lynx(name, "--no-such-option").returncode, 2, f"{name} with a wrong option")
    check_in(".TH LYNXBENCH", lynx("help", name, "--man").stdout, f"manual page of {name}")
check_equal(subprocess.run(["bash", "-n"], input=lynx("help", "--bash").stdout, text=True).returncode, 0, "completion is bash")
check_equal(lynx().returncode, 2, "no command")
check_equal(lynx("nothing").returncode, 2, "a command that does not exist")
check_equal(lynx("--version").returncode, 0, "--version")
check("\033" not in lynx("capture", "--root", f"{SOURCE}/tests/recorded/plain", env={"CLICOLOR_FORCE": "0"}).stdout, "no colour in a pipe")
check("\033" not in lynx("capture", "--root", f"{SOURCE}/tests/recorded/plain", env={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).stdout, "NO_COLOR")
check("\033" in lynx("capture", "--root", f"{SOURCE}/tests/recorded/plain", env={"CLICOLOR_FORCE": "1"}).stdout, "CLICOLOR_FORCE")

with folder() as d:
    # The examples of --help, pasted: in a folder that looks like the source tree after `make build`.
    os.symlink(BUILD, f"{d}/build-here")
    os.makedirs(f"{d}/tree")
    for part in ("examples", "reference", "tests", "docs"):
        os.symlink(f"{SOURCE}/{part}", f"{d}/tree/{part}")
    os.symlink(BUILD, f"{d}/tree/build")
    lynx("run", f"{SOURCE}/tests/e2e/quick.yaml", "--out", f"{d}/demo.lynx", "--quiet")
    busy = False
    for name in names:
        text = lynx(name, "--help").stdout.split("example:\n")[1].strip()
        text = text.replace("/tmp/", f"{d}/").replace("build/demo/demo.lynx", f"{d}/demo.lynx")
        if "man -l" in text and not shutil.which("man"):
            text = text.split("|")[0]
        r = subprocess.run(["bash", "-c", f"set -o pipefail; {text}"], cwd=f"{d}/tree", capture_output=True, text=True, timeout=60, env=environment())
        # Where the machine is too busy for an honest claim, the program says so with these codes, and is right. The example of
        # compare holds a run of two short sessions against itself, and may find that too few to call the two the same; verify plans from it.
        busy = busy or (name == "run" and r.returncode == 4 and machine_was_busy(r))
        fine = {"claim": (0, 1), "audit": (0, 1), "compare": (0, 3), "verify": (0, 3), "run": (0, 4) if busy else (0,)}.get(name, (0,))
        check(r.returncode in fine or "head -c" in text, f"example of {name}: exit {r.returncode}: {r.stderr}")
    # init, from flags, without a terminal to ask on.
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        r = lynx("init", "--endpoint", f"http://127.0.0.1:{port}", "--model", "metronome", "--rate", "20", "--counted", "1s", "--sessions", "2", "--out", f"{d}/new.yaml")
        check_equal(r.returncode, 0, f"init: {r.stderr}")
        check_equal(lynx("init", "--endpoint", "http://h:1", "--model", "m", "--out", f"{d}/new.yaml").returncode, 2, "init does not overwrite")
        check_in("--endpoint", lynx("init", "--out", f"{d}/none.yaml", stdin=subprocess.DEVNULL).stderr, "init without a terminal says what it needs")
        check_in("regime.rate_per_s", lynx("init", "--endpoint", "http://h:1", "--model", "m", "--rate", "x", "--out", "-").stderr, "init with a wrong rate")
        check_equal(lynx("capture", "--pid", "99999999").returncode, 2, "capture of no process")
        check_equal(lynx("capture", "--endpoint", "ftp://h").returncode, 2, "capture of no endpoint")
        r = subprocess.run(f"{LYNX} init --endpoint http://h:1 --model m --out - | {LYNX} lint -", shell=True, capture_output=True, text=True)
        check_equal(r.returncode, 0, f"lint of a pipe: {r.stdout}{r.stderr}")
        check_equal(lynx("lint", f"{d}/new.yaml").returncode, 0, "lint of what init wrote")
        text = open(f"{d}/new.yaml").read().replace("warm_up: 10s", "warm_up: 200ms")
        open(f"{d}/new.yaml", "w").write(text)
        r = lynx("run", f"{d}/new.yaml", "--out", f"{d}/new.lynx", "--json")
        check(r.returncode == 0 or (r.returncode == 4 and machine_was_busy(r)), f"run of what init wrote: {r.stderr}")
        check_equal(json.loads(r.stdout)["ended"], "complete", "run --json")
        check_in("counted", r.stderr, "progress in plain lines where standard error is no terminal")
        # Where it serves on this machine, the process behind the endpoint is found and captured.
        facts = dict(rows(f"{d}/new.lynx", "SELECT key, value FROM fact WHERE moment = 'start:as-served'"))
        check_in("lynxbench-ref", facts.get("process.executable", ""), "the process that serves")
        check("library.libdnnl.so" in facts and "build id" in facts["library.libdnnl.so"], "its libraries, with build ids")
        check_equal([k for k in facts if k.startswith("hole.")], [], "no holes")
        # expect: out of contract, by name of the fact and its owner.
        path = contract(f"{d}/expect.yaml", port, executor=f'{{endpoint: "http://127.0.0.1:{port}", expect: {{accelerator.cpu.model: Z80}}}}')
        lynx("run", path, "--out", f"{d}/expect.lynx", "--quiet")
        r = lynx("claim", f"{d}/expect.lynx")
        check_equal(r.returncode, 1, "an executor that was not expected")
        check_in("out of contract: accelerator.cpu.model (Hardware): expected 'Z80'", r.stdout, "and it says what and whose")
        # diff of bundles: the same executor; and another process on it.
        r = lynx("diff", f"{d}/new.lynx", f"{d}/expect.lynx")
        check_equal(r.returncode, 0, f"diff of two runs on one executor: {r.stdout}")
    with reference("--mode", "metronome", "--gap", "2ms") as port:
        lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--out", f"{d}/other.json")
    r = lynx("diff", f"{d}/new.lynx", f"{d}/other.json")
    check_equal(r.returncode, 1, "diff of two executors")
    check_in("serving", r.stdout, "by layer")
    check_in("process.argument", r.stdout, "the argument that differs")
    # A contract of 100 MB.
    with open(f"{d}/huge.yaml", "wb") as f:
        f.write(b"lynxbench: 1\n" + b"# filler\n" * 11_000_000)
    began = time.time()
    r = lynx("lint", f"{d}/huge.yaml")
    check_equal(r.returncode, 2, "100 MB of contract")
    check(time.time() - began < 5 and "larger than" in r.stderr, f"100 MB of contract: {r.stderr}")
    # A bundle that is not one.
    for name, data in (("empty", b""), ("text", b"hello\n" * 100), ("png", b"\x89PNG\r\n\x1a\n" + bytes(1000))):
        open(f"{d}/{name}.lynx", "wb").write(data)
        r = lynx("show", f"{d}/{name}.lynx")
        check(r.returncode == 2 and r.stderr, f"{name}: {r.stderr}")
finish()
