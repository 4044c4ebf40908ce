"""Every command line and every piece of code that the pages of docs/ show runs, in a place where what they name is
there; those of the README and of the tutorials: test_readme."""

import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import pytest

import lynx as l
from pasted import DONE, SHORTER, blocks, environment_of, lines, make_tree, ran

# The pages whose commands run here, in an order in which what one makes is there for the next.
PAGES = ["executor", "attribution", "experiments", "ledger", "iterations", "page", "history", "decide"]
# Run by other tests, which name them so: a build, a machine or minutes are needed.
CONFIRMED = "tests/e2e/test_perturb.py"
ELSEWHERE = [
    (r"lynxbench confirm \S+ (instruction_set|one_at_a_time) --by", CONFIRMED, '"one_at_a_time", "--by"'),
    (r"lynxbench confirm \S+ host_python", CONFIRMED, '"confirm", out, "one_at_a_time"'),
    (r"lynxbench merge d.lynx server.jsonl", "tests/e2e/test_sample.py", '"merge"'),
    (r"lynxbench (attribute|profile) watch.lynx", "tests/e2e/test_watch.py", 'l.lynx("profile", tmp_path / "w.lynx")'),
    (r"lynxbench attribute after.lynx --against before", "tests/e2e/test_observe.py", "after, \"--against\", before"),
    (r"(make deb|apt-get install \./build/deb)", "scripts/fresh.sh", "make deb"),
    (r"(make wheel|pip install --no-index)", "scripts/release.sh", "make wheel"),
    (r"make (build|install)", "tests/e2e/test_documents.py", "make install"),
]
BEGIN = r"(build/)?lynxbench [a-z]+( |$)|curl |export LYNX"


PROGRAM = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "hello" in message:
        print(json.dumps({"ready": 1, "executed": {"precision": sys.argv[2], "status": "native"}}), flush=True)
    if "run" in message:
        for i in range(message["output_tokens"]):
            print(json.dumps({"token": message["run"]}), flush=True)
        print(json.dumps({"done": message["run"]}), flush=True)
"""


class Told(http.server.BaseHTTPRequestHandler):
    """Takes a webhook, and metrics."""

    def do_POST(self):
        self.server.told.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


def contract_of(folder, port):
    """The page's contract.yaml: of the server that is there, in a second."""
    method = "{warm_up: 100ms, counted: 500ms, sessions: 2, drain: 2s, steady: reported, stolen_at_most: 1, "
    method += "instrument_error_at_most: 1}"
    l.contract(
        str(folder / "contract.yaml"),
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}"}}',
        workload="{model: tiny-gpt, output_tokens: 4, prompts: {count: 4, bytes: 64}}",
        regime="{load: closed, concurrency: 2}",
        method=method,
    )


def starts(folder, name, gap, first_token, port):
    """One of two executors that differ in two settings."""
    command = f'[build/lynxbench-ref, --port, "{port}", --mode, metronome, --gap, {gap}, --first-token, {first_token}]'
    method = "{warm_up: 100ms, counted: 400ms, sessions: 1, drain: 1s, steady: reported, stolen_at_most: 1}"
    l.contract(
        str(folder / name),
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}", start: {{command: {command}}}}}',
        workload="{model: reference, output_tokens: 8, prompts: {count: 4, bytes: 64}}",
        regime="{load: closed, concurrency: 2}",
        method=method,
    )


class Place:
    def __init__(self, folder):
        self.folder, self.port, self.ledger = folder, l.free_port(), None
        self.server = make_tree(folder, self.port)
        self.told = http.server.HTTPServer(("127.0.0.1", 0), Told)
        self.told.told = []
        threading.Thread(target=self.told.serve_forever, daemon=True).start()
        self.env = environment_of(folder, PATH=f"{folder}/build:{os.environ['PATH']}")
        contract_of(folder, self.port)
        (folder / "units").mkdir()
        port = l.free_port()
        for name in ("before", "a"):
            starts(folder, f"{name}.yaml", "2ms", "2ms", port)
        for name in ("after", "b"):
            starts(folder, f"{name}.yaml", "4ms", "3ms", port)
        pytest_benchmarks = ".benchmarks/Linux-CPython-3.11-64bit"
        recorded = [("nightly", "google_benchmark"), ("nightly", "inferencex"), (pytest_benchmarks, "pytest_benchmark")]
        for where, name in recorded:
            (folder / where).mkdir(parents=True, exist_ok=True)
            shutil.copy(f"{l.SOURCE}/tests/recorded/history/{name}.json", folder / where)
        for name in ("bf16", "fp8"):
            (folder / name).mkdir()
            with open(folder / name / "samples_gsm8k_2026-11-28T10-00-00.1.jsonl", "w") as f:
                for i in range(1000):
                    f.write(json.dumps({"doc_id": i, "doc_hash": str(i), "metrics": ["acc"], "acc": i % 2}) + "\n")
        self.must("lynxbench ledger key sre")
        self.must("lynxbench run contract.yaml --out a.lynx && cp a.lynx before.lynx")
        self.must("lynxbench run contract.yaml --out b.lynx")
        for name in ("b", "laptop", "gpu-7"):
            self.must(f"lynxbench capture --out {name}.json")
        certificate = "-newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 -subj /CN=localhost"
        self.must(f"openssl req -x509 {certificate}")

    def must(self, line):
        code, said = ran(line, self.folder, self.env)
        assert code in DONE, (line, code, said)
        return said

    def json_of(self, *words):
        r = subprocess.run([l.LYNX, *words, "--json"], cwd=self.folder, env=self.env, capture_output=True, text=True)
        return json.loads(r.stdout.splitlines()[0])

    def serving(self):
        """The team's ledger, from the first time that it is asked for."""
        if self.ledger is None:
            words = [l.LYNX, "serve", "team.ledger", "--port", "0"]
            self.ledger = subprocess.Popen(words, cwd=self.folder, env=self.env, stdout=subprocess.PIPE, text=True)
            self.url = re.search(r"(http://\S+)/", self.ledger.stdout.readline())[1]
        return self.url

    def copy(self):
        """As `lynxbench ledger pull` makes it."""
        if not (self.folder / "copy.ledger").exists():
            self.must(f"lynxbench ledger pull {self.serving()} copy.ledger")
        return "copy.ledger"

    def stop(self):
        self.told.shutdown()
        for process in (self.server, self.ledger):
            if process is not None:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("documents"))
    yield place
    place.stop()


def adapted(place, line):
    """The line with this place's ports and digests, and with times that are short."""
    told = f"http://127.0.0.1:{place.told.server_port}"
    for pattern, instead in [
        *SHORTER,
        (r"(127\.0\.0\.1|SERVER):8000", f"127.0.0.1:{place.port}"),
        (r"http://127.0.0.1:4318", told),
        (r"--endpoint URL", f"--endpoint http://127.0.0.1:{place.port}"),
        (r"--hook URL", f"--hook {told}/hook"),
        (r"ROOT", lambda _: place.json_of("show", "a.lynx")["bundle"]["root"]),
        (r"DIGEST", lambda _: place.json_of("lint", "contract.yaml")["digest"]),
        (r"http://127.0.0.1:8300", lambda _: place.serving()),
        (r"copy.ledger", lambda _: place.copy()),
        (r"num_workers_4-\*.json", "tests/recorded/profiles/h100-bert.json.gz"),
        (r"num_workers_0-worker0.\d+.json(,\S*)?", "tests/recorded/profiles/h100-qwen.json.gz"),
        (r"trace\$RANK.json.gz", "tests/recorded/profiles/a100-rank0.json.gz"),
        (r"onnxruntime_profile.json", "tests/recorded/profiles/alexnet.json.gz"),
        (r"our-run.lynx", "after.lynx"),
        (r"(start|done|--finding) 12", lambda m: f"{m[1]} {place.json_of('iterate')[0]['finding']}"),
        (r"(accept|dispute|hand-on) 12", lambda m: f"{m[1]} {place.json_of('iterate')[0]['finding']}"),
        (r"--for 30min", "--for 10s --session 1s"),
        (r"^(build/lynxbench (perturb (d.lynx|\S+ --out p.lynx)|bisect before.yaml after.yaml))$", r"\1 --for 10s"),
        (r"^(build/lynxbench experiment before.yaml after.yaml)$", r"\1 --for 10s --session 1s"),
        (r"--runs 16", "--runs 4 --session 1s"),
        (r"--address 10.0.0.5", "--address 127.0.0.1"),
        (r"/var/lib/node_exporter/", ""),
        (r"build/team.ledger", "team.ledger"),
        (r"^(build/lynxbench watch --samples-only .*)$", r"timeout --preserve-status -s INT 2 \1"),
        (r"^(lynxbench schedule (add .*--folder runs|list|remove nightly))$", r"\1 --units units"),
    ]:
        line = re.sub(pattern, instead, line)
    return line


def is_elsewhere(line):
    for pattern, file, named in ELSEWHERE:
        if re.match(rf"(build/)?{pattern}", line):
            with open(f"{l.SOURCE}/{file}") as f:
                assert named in f.read(), (line, file)
            return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_every_line_of_a_page_runs(place, page):
    done, env = [], dict(place.env)
    for line in lines(f"docs/{page}.md", BEGIN):
        if is_elsewhere(line):
            continue
        if line.startswith("export "):
            place.env.update(word.split("=", 1) for word in line.split()[1:])
            continue
        line = adapted(place, line)
        made = [place.folder / out for out in re.findall(r"--out (\S+)", line)]
        if "diagnose" in line and made[0].exists():
            continue  # half a minute, and the same
        if "attribute whole.lynx" in line and not (place.folder / "whole.lynx").exists():
            continue  # the samples of another host, which is_elsewhere
        for file in made:
            file.unlink(missing_ok=True)
        code, said = ran(line, place.folder, place.env)
        print(line, code, said[-300:])
        done.append(code)
        shown = code == 2 and "verify" in line and "--run" not in line and "Running it does this here" in said
        assert code in DONE or shown, (line, code, said)
    place.env = env
    assert len(done) > 2 and 0 in done, done


CODE = {"contract": "yaml", "command": "yaml", "history": "yaml", "experiments": "yaml", "library": "python"}
OTHERS = {"fresh-machine"}  # what a script printed, commands and all


def test_no_page_shows_what_does_not_run():
    commands = rf"{BEGIN}|make |pip |apt-get |cc "
    for path in sorted(os.listdir(f"{l.SOURCE}/docs")):
        page = path.removesuffix(".md")
        if page == path or page in OTHERS:
            continue
        for language, block in blocks(f"docs/{path}"):
            pasted = [line for line in block if re.match(commands, line)]
            known = page in PAGES or page == "library" or all(is_elsewhere(line) for line in pasted)
            assert known and language in ("", "sh", CODE.get(page)), (path, language, block[:2])


def code_of(page, language):
    (block,) = [block for found, block in blocks(f"docs/{page}.md") if found == language]
    return "\n".join(block) + "\n"


# --- files ---


def ran_contract(place, text):
    """A contract that a page shows, in a second and of the server that is there; what its bundle says."""
    text = text.replace("8000", str(place.port)).replace("my-model", "tiny-gpt")
    text = text.replace("counted: 60s", "counted: 1s, warm_up: 1s")
    (place.folder / "shown.yaml").write_text(text)
    (place.folder / "shown.lynx").unlink(missing_ok=True)
    place.must("lynxbench run shown.yaml --out shown.lynx --quiet")
    return place.json_of("show", "shown.lynx")


def test_the_contract_of_the_reference(place):
    assert ran_contract(place, code_of("contract", "yaml"))["precisions"]


def test_the_contract_of_a_machine_that_drifts(place):
    field = code_of("history", "yaml").split("\n")[1].strip()
    text = (place.folder / "contract.yaml").read_text()
    shown = ran_contract(place, text.replace("steady: reported", f"steady: reported, {field}"))
    assert shown["machine_speed"], shown


def test_the_contract_of_a_program(place):
    """Whose program speaks the protocol of that page, written from the page."""
    (place.folder / "my-program").write_text(PROGRAM)
    (place.folder / "my-program").chmod(0o755)
    method = "method: {counted: 300ms, warm_up: 0s, sessions: 2, steady: reported, stolen_at_most: 1}\n"
    shown = ran_contract(place, "lynxbench: 1\nprecisions: [bf16]\n" + code_of("command", "yaml") + method)
    (precision,) = shown["precisions"]
    assert precision["requests"]["ok"] > 0 and precision["requests"]["failed"] == 0, precision["requests"]
    assert (precision["executed"], precision["status"]) == ("bf16", "native"), precision["executed"]


def test_the_plan_of_an_experiment(place):
    """All of its kinds of factors; the one that is changed by hand wants somebody at a terminal."""
    words = f'{sys.executable}, /srv/app-1.4/server.py, --max-num-seqs, "8"'
    text = (place.folder / "before.yaml").read_text()
    (place.folder / "a.yaml").write_text(text.replace("build/lynxbench-ref", words))
    (place.folder / "plan.yaml").write_text(code_of("experiments", "yaml"))
    code, said = ran("lynxbench experiment plan.yaml < /dev/null", place.folder, place.env)
    print(said)
    assert code == 2 and "by_hand" in said, said


# --- installing, and the library ---


@pytest.mark.skipif(l.SANITIZED, reason="a sanitizer's build is not installed")
def test_what_make_install_brings(tmp_path):
    line = f"make install PREFIX=/usr/local DESTDIR={tmp_path} BUILD={os.path.relpath(l.BUILD, l.SOURCE)}"
    r = subprocess.run(["sh", "-c", line], cwd=l.SOURCE, capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stdout + r.stderr
    place = tmp_path / "usr" / "local"
    said = subprocess.run([place / "bin" / "lynxbench", "--version"], capture_output=True, text=True).stdout
    assert said == l.lynx("--version").stdout, said
    names = {path.name for path in place.rglob("*")}
    wanted = {"lynxbench-ref", "lynxbench.h", "lynxbench.pc", "lynxbench-run.1", "_lynxbench", "lynxbench.fish"}
    assert wanted <= names, wanted - names




@pytest.mark.skipif(l.SANITIZED, reason="a program without the sanitizer cannot load a library with it")
def test_the_library_is_linked_as_shown(place):
    shutil.copy(f"{l.SOURCE}/examples/read_bundle.c", place.folder)
    env = {**place.env, "PKG_CONFIG_PATH": f"{l.BUILD}/meson-uninstalled"}
    (line,) = lines("docs/library.md", "cc ")
    code, said = ran(line, place.folder, env)
    assert code == 0, said
    library = f"{l.BUILD}/src/library"
    code, said = ran(f"LD_LIBRARY_PATH={library} ./read_bundle b.lynx", place.folder, place.env)
    assert code == 0 and len(said) > 500, (code, said)


@pytest.mark.skipif(l.SANITIZED, reason="nor can Python")
def test_the_python_of_the_library(place):
    text = code_of("library", "python")
    if importlib.util.find_spec("pandas") is None:  # optional
        text = re.sub(r".*bundle.frame.*\n", "", text)
    library = f"{l.BUILD}/src/library/liblynxbench.so.0"
    env = {**place.env, "PYTHONPATH": f"{l.SOURCE}/python", "LYNXBENCH_LIBRARY": library}
    (place.folder / "shown.py").write_text(text + "print(len(rows), len(claims), decision, len(checks))\n")
    code, said = ran(f"{sys.executable} shown.py", place.folder, env)
    assert code == 0 and int(said.split()[0]) > 0, said


if __name__ == "__main__":
    l.main(__file__)
