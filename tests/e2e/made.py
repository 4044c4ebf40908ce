"""A server made for one test, in the test's own process.

`answer(handler, n, body)` writes the answer to the n-th request."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def event(text):
    return b"data: " + json.dumps({"choices": [{"index": 0, "text": text}]}).encode() + b"\n\n"


def usage(n):
    return b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\n\n' % n


class Stream:
    """What an answer is written with."""

    def __init__(self, handler):
        self.handler = handler
        self.handler.close_connection = True
        handler.wfile.write(STREAM)

    def text(self, text, after=0.0):
        time.sleep(after)
        self.handler.wfile.write(event(text))

    def end(self, tokens=None):
        self.handler.wfile.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n')
        self.handler.wfile.write((usage(tokens) if tokens is not None else b"") + b"data: [DONE]\n\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


@contextlib.contextmanager
def server(answer):
    count = iter(range(10**9))
    seen = []

    class Answering(Handler):
        def do_POST(self):
            body = self.body()
            seen.append(dict(self.headers))
            with contextlib.suppress(OSError):
                answer(self, next(count), body)

    s = Server(("127.0.0.1", 0), Answering)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    s.seen = seen
    try:
        yield s
    finally:
        s.shutdown()
        s.server_close()
