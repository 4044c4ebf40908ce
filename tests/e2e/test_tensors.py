"""Servers of tensors, and servers on Unix sockets, that do everything wrong; the right ones are in tests/peers. A key
from a file is recorded nowhere."""

import http.server
import socketserver
import threading

import pytest
from lynx import *

METHOD = (
    "{warm_up: 200ms, counted: 500ms, sessions: 1, drain: 2s, request_timeout: 400ms, instrument_error_at_most: 1, "
    "failures_at_most: 1, steady: reported}"
)
ABANDONED = "abandoned, not counted"


def outcomes(bundle):
    sql = "SELECT outcome, reason, count(*) FROM request WHERE phase = 'counted' GROUP BY 1, 2"
    return {(o, r): n for o, r, n in rows(bundle, sql)}


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # clients leave when their session is over


class Kserve(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    metadata, model, infer = None, None, None

    def log_message(self, *_):
        pass

    def answer(self, code, body, **headers):
        self.send_response(code)
        for key, value in {"Content-Type": "application/json", "Content-Length": len(body), **headers}.items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/v2":
            self.answer(200, json.dumps(self.metadata).encode())
        elif self.path == "/v2/models/m":
            self.answer(200 if self.model else 404, json.dumps(self.model or {"error": "no model m"}).encode())
        else:
            self.answer(200 if self.path.endswith("ready") or self.path == "/v1/models" else 404, b"{}")

    def do_POST(self):
        self.request_body = self.rfile.read(int(self.headers["Content-Length"]))
        self.infer(self)


@contextlib.contextmanager
def kserve(metadata, model, infer):
    handler = type("Handler", (Kserve,), {"metadata": metadata, "model": model, "infer": staticmethod(infer)})
    with Quiet(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def tensors(d, port, options="{}", regime="{load: closed, concurrency: 1}"):
    path = contract(
        f"{d}/tensors.yaml",
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /v2/health/ready}}',
        workload=f"{{driver: kserve, model: m, prompts: {{count: 2, bytes: 8}}, options: {options}}}",
        regime=regime,
        method=METHOD,
    )
    return lynx("run", path, "--out", f"{d}/tensors.lynx", "--quiet")


BINARY = {"name": "toy", "version": "1", "extensions": ["binary_tensor_data"]}
INPUT = {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
MODEL = {"name": "m", "inputs": [INPUT], "outputs": [{"name": "y"}]}
Y = {"name": "y", "datatype": "FP32", "shape": [1], "parameters": {"binary_data_size": 4}}
OUTPUT = json.dumps({"outputs": [Y]}).encode()


def good(h):
    h.answer(200, OUTPUT + b"\0\0\0\0", Inference_Header_Content_Length=len(OUTPUT))


def test_what_is_sent_and_asked_for(d):
    seen = []

    def looking(h):
        n = int(h.headers["Inference-Header-Content-Length"])
        seen.append((json.loads(h.request_body[:n]), len(h.request_body) - n))
        good(h)

    with kserve(BINARY, MODEL, looking) as port:
        r = tensors(d, port, '{sizes: "x.0=3"}')
    check_equal(r.returncode, 0, r.stderr)
    check_equal({o for o, _ in outcomes(f"{d}/tensors.lynx")} - {ABANDONED}, {"ok"}, "outcomes")
    head, n_bytes = seen[0]
    sent = head["inputs"][0]
    check_equal((sent["shape"], sent["parameters"], n_bytes), ([3, 4], {"binary_data_size": 48}, 48), "what was sent")
    check_equal(head["outputs"], [{"name": "y", "parameters": {"binary_data": True}}], "what was asked for")
    check_equal(show(f"{d}/tensors.lynx")["precisions"][0]["counts"], "requests", "requests are what is counted")


def model_of(**more):
    return {**MODEL, "inputs": [{**INPUT, **more}]}


REFUSED = {
    "no-model": (BINARY, None, "{}", "answers 404"),
    "no-binary": (
        {"name": "toy", "extensions": []},
        MODEL,
        "{tensors: binary}",
        "does not list the extension binary_tensor_data (it has: none)",
    ),
    "odd-type": (BINARY, model_of(datatype="FP8", shape=[1]), "{}", "is of datatype 'FP8'; BOOL, UINT8"),
    "deep": (BINARY, model_of(shape=[1] * 9), "{}", "has 9 dimensions"),
    "no-array": ([1], MODEL, "{}", "no JSON object"),
    "huge": (BINARY, model_of(shape=[2**40, 2**40]), "{}", "more than 16777216 bytes of a request (at 'x')"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_be_asked(d, name):
    metadata, model, options, words = REFUSED[name]
    with kserve(metadata, model, good) as port:
        r = tensors(d, port, options)
    check(r.returncode in (2, 3, 5), f"exit code {r.returncode}")
    check_in(words, r.stderr + lynx("show", f"{d}/tensors.lynx").stdout, "says why")


def cut(h):
    h.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    h.connection.shutdown(2)


WRONG = {
    "short": (
        lambda h: h.answer(200, OUTPUT + b"\0\0", Inference_Header_Content_Length=len(OUTPUT)),
        ("protocol error", "the outputs say that 4 bytes follow the JSON, and 2 do"),
    ),
    "error": (
        lambda h: h.answer(200, b'{"error": "out of \\u001b memory"}'),
        ("error in stream", "out of \\u001b memory"),
    ),
    "status": (lambda h: h.answer(429, b'{"error": "busy"}'), ("HTTP status", "busy")),
    "html": (
        lambda h: h.answer(200, b"<html>"),
        ("protocol error", "200, but no outputs in JSON; it begins '<html>'"),
    ),
    "header": (
        lambda h: h.answer(200, OUTPUT, Inference_Header_Content_Length="x"),
        ("protocol error", "Inference-Header-Content-Length is not a number"),
    ),
    "cut": (cut, ("closed early", "the connection ended in the middle of the answer")),
}


@pytest.mark.parametrize("name", WRONG)
def test_answers_that_are_wrong(d, name):
    infer, wanted = WRONG[name]
    with kserve(BINARY, MODEL, infer) as port:
        tensors(d, port, regime="{load: constant, rate_per_s: 50}")  # of 200 that all fail the run would end
    check_in(wanted, outcomes(f"{d}/tensors.lynx"), name)


# --- Unix sockets, and keys from files ---

KEY = "sk-SECRET-7aa1"


class Answer(Kserve):
    body = {
        "choices": [{"text": "ok", "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }

    def address_string(self):
        return "unix"

    def say(self):
        self.answer(200, json.dumps(self.body).encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.keys.add(self.headers["Authorization"])
        self.say()


class Unix(socketserver.ThreadingUnixStreamServer):
    request_queue_size = 4  # so that a ramp finds it full
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def at_socket(d, handler, base="", key=KEY):
    """A run against a server on a Unix socket; what keys it was sent."""
    with open(f"{d}/key.txt", "w") as f:
        f.write(key + "\n")
    path = contract(
        f"{d}/unix.yaml",
        0,
        executor=f'{{endpoint: "http://unix:{d}/s.sock{base}"}}',
        workload=f'{{stream: false, ignore_eos: false, api_key_file: "{d}/key.txt", prompts: {{count: 2, bytes: 8}}}}',
        regime="{load: closed, concurrency: 24}",
        method=METHOD.replace("400ms", "5s"),
    )
    with Unix(f"{d}/s.sock", handler) as server:
        server.keys = set()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        r = lynx("run", path, "--out", f"{d}/unix.lynx", "--quiet")
        server.shutdown()
    for name in os.listdir(d):
        if os.path.isfile(f"{d}/{name}") and name != "key.txt":
            check(KEY[3:].encode() not in open(f"{d}/{name}", "rb").read(), f"the key is in {name}")
    return r, server.keys


def test_a_base_path_behind_a_socket(d):
    r, _ = at_socket(d, Answer, ":/base")
    check_equal(r.returncode, 5, "/base/v1/models answers 404 there")


def test_a_full_queue_is_waited_for(d):
    r, keys = at_socket(d, Answer)
    check_equal(r.returncode, 0, r.stderr)
    found = outcomes(f"{d}/unix.lynx")
    check_equal({o for o, _ in found} - {ABANDONED}, {"ok"}, f"{found}")
    check_equal(keys, {f"Bearer {KEY}"}, "the key was sent")
    who = "SELECT 1 FROM fact WHERE key = 'process.program' AND value LIKE 'python%'"
    check(rows(f"{d}/unix.lynx", who), "who listens is captured")


class Echo(Answer):
    def say(self):
        message = "x" * 140 + " bad key " + self.headers["Authorization"]
        self.answer(401, json.dumps({"error": {"message": message}}).encode())


def test_a_server_that_repeats_the_key(d):
    r, _ = at_socket(d, Echo)
    check(r.returncode in (0, 3, 5), f"{r.returncode} {r.stderr}")  # 5: they were 200 or more
    # All are of the warm-up: a run whose requests all fail ends there.
    sql = "SELECT reason FROM request WHERE outcome = 'HTTP status'"
    refused = [reason for (reason,) in rows(f"{d}/unix.lynx", sql)]
    check(refused and all("bad key" in reason for reason in refused), f"{set(refused)}")


class Odd(Answer):
    most = {"prompt_tokens": 2**63 - 1, "completion_tokens": 2**63 - 1, "total_tokens": 1}
    bodies = [{**Answer.body, "usage": most}, {}, []]

    def say(self):
        self.bodies.append(self.bodies.pop(0))
        self.answer(200, json.dumps(self.bodies[0]).encode())


def test_nothing_is_not_something(d):
    """And a server that claims more tokens than there are."""
    r, _ = at_socket(d, Odd)
    check(r.returncode in (0, 3), f"{r.returncode} {r.stderr}")
    found = outcomes(f"{d}/unix.lynx")
    check_equal({o for o, _ in found} - {ABANDONED}, {"ok", "protocol error"}, f"{found}")
    check(any("neither text, nor usage" in reason for _, reason in found), f"{found}")


def test_a_key_with_a_blank(d):
    r, _ = at_socket(d, Answer, key="two words")
    check_equal(r.returncode, 2, "a key with a blank")
    check_in("key.txt", r.stderr, "the file is named")


if __name__ == "__main__":
    main(__file__)
