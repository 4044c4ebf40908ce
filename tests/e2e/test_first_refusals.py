"""What a server refuses is shown at once: in its own words, with the one option that helps, which then does."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import lynx as l
from made import Stream, server
from test_tls import proxy, there  # noqa: F401  proxy: a fixture

NOTHING = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'
SHORT = "{warm_up: 100ms, counted: 300ms, sessions: 2, drain: 1s}"
COMMANDS = {"run": ["--for", "6s"], "diagnose": ["--for", "30s", "--at-most", "2"], "init": []}
EACH = [pytest.param(name, marks=[pytest.mark.long] * (name != "run")) for name in COMMANDS]
KEY = "sk-made-for-this-test"


def as_user(user, *words):
    subprocess.run(["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *map(str, words)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets another user's folder so")
@pytest.mark.parametrize("command", EACH)
@pytest.mark.parametrize("plant", ["link", "pipe", "file"])
def test_what_others_put_where_the_contract_goes_is_not_used(tmp_path, command, plant):
    """In a folder of theirs, while the server is asked: it is not written, and nothing of it is run."""
    folder, victim = Path(tempfile.mkdtemp(prefix="lynx-other-")), tmp_path / "victim"
    victim.write_text("dear")
    os.chmod(folder, 0o755)
    os.chown(folder, 65534, 65534)
    end = "c.yaml"

    def plants(handler, n, body):
        if n == 0:
            to = folder / end
            if plant == "link":
                as_user(65534, "ln", "-s", victim, to)
            elif plant == "pipe":
                as_user(65534, "mkfifo", to)
            else:
                as_user(65534, "sh", "-c", f"echo planted > {to}")
        return refuse(handler, 200, "an answer")

    try:
        with server(plants) as s:
            words = [command, f"http://127.0.0.1:{s.server_port}", *COMMANDS[command], "--model", "m"]
            out = folder / (end if command == "init" else "c.lynx")
            r = l.lynx(*words, "--out", out, *([] if command == "init" else ["--quiet"]))
        assert r.returncode in (2, 4) and not (folder / "c.lynx").exists(), (r.returncode, r.stderr)
        assert victim.read_text() == "dear" and (plant != "file" or (folder / end).read_text() == "planted\n"), r.stderr
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets another user's folder so")
def test_a_page_is_not_written_through_anothers_link(tmp_path):
    """Nor is another user's link followed where the page is named."""
    folder, victim = Path(tempfile.mkdtemp(prefix="lynx-other-")), tmp_path / "victim"
    victim.write_text("dear")
    os.chmod(folder, 0o755)
    path = l.contract(f"{tmp_path}/null.yaml", 1, executor="{}", workload=NOTHING, method=SHORT)
    try:
        assert l.lynx("run", path, "--out", folder / "x.lynx", "--quiet").returncode in l.RAN
        os.chown(folder, 65534, 65534)
        as_user(65534, "ln", "-s", victim, folder / "x.html")
        r = l.lynx("show", folder / "x.lynx", "--html", folder / "x.html")
        assert r.returncode != 0 and "x.html" in r.stderr and victim.read_text() == "dear", r.stderr
        os.symlink(victim, tmp_path / "own.html")
        r = l.lynx("show", folder / "x.lynx", "--html", tmp_path / "own.html")
        assert r.returncode == 0 and "<html" in victim.read_text(), "a link of one's own is followed"
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("command", EACH)
@pytest.mark.parametrize("written", [KEY, KEY.encode().hex(), base64.b64encode(KEY.encode()).decode()])
def test_a_key_that_is_written_back_is_not_shown(tmp_path, command, written):
    def echo(handler, n, body):
        refuse(handler, 400, f"no good: {written}")

    with server(echo) as s:
        r, contract = asked(tmp_path, s.server_port, command, "--model", "m", "--api-key-env", "A_TOKEN", A_TOKEN=KEY)
    assert r.returncode == 5 and not contract.exists(), r.stderr
    assert "no good: *" in r.stderr and written not in r.stderr, r.stderr


def refuse(handler, code, message):
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    handler.send_response(code)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class Strict:
    """A server that wants a key, another model, the chat route, or no ignore_eos."""

    def __init__(self, key=None, model="good", chat_only=False, plain=False):
        self.key, self.model, self.chat_only, self.plain, self.n = key, model, chat_only, plain, 0

    def __call__(self, handler, n, body):
        self.n += 1
        if self.key and handler.headers.get("Authorization") != f"Bearer {self.key}":
            return refuse(handler, 401, "Incorrect API key provided")
        if self.chat_only and handler.path != "/v1/chat/completions":
            return refuse(handler, 404, "Not Found")
        if self.plain and "ignore_eos" in body:
            return refuse(handler, 400, "Unrecognized request argument supplied: ignore_eos")
        if body["model"] != self.model:
            return refuse(handler, 404, f"The model `{body['model']}` does not exist.")
        if not body.get("stream"):
            return refuse(handler, 200, "an answer")
        s = Stream(handler)
        for _ in range(body["max_tokens"]):
            s.text("word ")
        s.end(body["max_tokens"])


def asked(folder, port, command, *more, url=None, **env):
    end = [] if command == "init" else ["--quiet"]
    out = folder / ("c.yaml" if command == "init" else "c.lynx")
    words = [command, url or f"http://127.0.0.1:{port}", *COMMANDS[command], "--out", out, *more, *end]
    return l.lynx(*words, env=env), folder / "c.yaml"


@pytest.mark.parametrize("command", EACH)
@pytest.mark.parametrize(
    "strict, more, said, helps",
    [
        ({"key": KEY}, ["--model", "good"], "Incorrect API key provided", ["--api-key-env", "OPENAI_API_KEY"]),
        ({}, ["--model", "nope"], "The model `nope` does not exist.", ["--model", "good"]),
    ],
)
def test_a_refusal_is_told_and_what_helps(tmp_path, command, strict, more, said, helps):
    answer = Strict(**strict)
    with server(answer) as s:
        r, contract = asked(tmp_path, s.server_port, command, *more, OPENAI_API_KEY=KEY)
        assert r.returncode == 5 and said in r.stderr and "next: " in r.stderr and helps[0] in r.stderr, r.stderr
        assert answer.n <= 4 and not contract.exists(), "and nothing was run"
        helped = [*more, *helps] if helps[0] not in more else helps
        r, contract = asked(tmp_path, s.server_port, command, *helped, OPENAI_API_KEY=KEY)
    assert r.returncode in l.RAN and contract.exists(), r.stderr
    assert KEY not in contract.read_text() + r.stdout + r.stderr


@pytest.mark.parametrize("command", EACH)
def test_a_server_with_the_chat_route_only_is_asked_by_that(tmp_path, command):
    with server(Strict(chat_only=True)) as s:
        r, contract = asked(tmp_path, s.server_port, command, "--model", "good")
    assert r.returncode in l.RAN and "api: chat" in contract.read_text(), r.stderr


@pytest.mark.parametrize("command", EACH)
def test_a_web_page_is_no_answer(tmp_path, command):
    """Somebody else's server says 200 to everything."""
    n_asked = []

    def page(handler, n, body):
        n_asked.append(n)
        text = b"<html><body>Welcome to nginx!</body></html>"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    with server(page) as s:
        r, contract = asked(tmp_path, s.server_port, command, "--model", "good")
    assert r.returncode == 5 and "no JSON: '<html><body>Welcome to nginx!" in r.stderr, r.stderr
    assert "is this its address?" in r.stderr and len(n_asked) <= 4 and not contract.exists(), r.stderr


def test_an_address_needs_no_scheme(tmp_path):
    with server(Strict()) as s:
        r, contract = asked(tmp_path, s.server_port, "init", "--model", "good", url=f"localhost:{s.server_port}")
    assert r.returncode == 0 and f"http://localhost:{s.server_port}" in contract.read_text(), r.stderr
    r, _ = asked(tmp_path, 1, "init", "--model", "good", url="ftp://localhost:1")
    assert r.returncode == 2 and "'ftp://localhost:1' is not an endpoint" in r.stderr, r.stderr


def test_a_server_that_refuses_ignore_eos_is_not_asked_for_it(tmp_path):
    with server(Strict(plain=True)) as s:
        r, contract = asked(tmp_path, s.server_port, "run", "--model", "good")
    assert r.returncode in l.RAN and "ignore_eos: false" in contract.read_text(), r.stderr


def test_a_variable_that_is_not_set_is_told(tmp_path):
    with server(Strict()) as s:
        r, contract = asked(tmp_path, s.server_port, "run", "--api-key-env", "NONE_SUCH_API_KEY", "--model", "good")
        assert r.returncode == 2 and "NONE_SUCH_API_KEY" in r.stderr and not contract.exists(), r.stderr
        r, _ = asked(tmp_path, s.server_port, "run", "--api-key-env", "HOME", "--model", "good")
    assert r.returncode == 2 and "_API_KEY or _TOKEN" in r.stderr, r.stderr


@pytest.mark.skipif(not there, reason="socat or openssl is not installed")
@pytest.mark.parametrize("command", ["init", pytest.param("run", marks=pytest.mark.long)])
def test_a_private_certificate_needs_its_file(tmp_path, proxy, command):  # noqa: F811
    folder, port = proxy
    url = f"https://127.0.0.1:{port}"
    r, contract = asked(tmp_path, port, command, "--model", "metronome", url=url)
    assert r.returncode == 5 and "--ca-file FILE" in r.stderr and not contract.exists(), r.stderr
    r, contract = asked(tmp_path, port, command, "--model", "metronome", "--ca-file", f"{folder}/cert.pem", url=url)
    assert r.returncode in l.RAN and f"{folder}/cert.pem" in contract.read_text(), r.stderr
    r, _ = asked(tmp_path, port, command, "--model", "metronome", "--ca-file", f"{folder}/none.pem", url=url)
    assert r.returncode == 2 and "none.pem" in r.stderr and os.path.exists(contract), r.stderr


if __name__ == "__main__":
    l.main(__file__)
