#!/usr/bin/env python3
"""An OpenAI-compatible server with a cause to find: it looks up each token in Python. slow_server.py PORT [--table: mended]"""
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = [f"word{i}" for i in range(6000)]


def detokenize(n):
    found = ""
    for i, word in enumerate(WORDS):
        if hash((i, n)) % 997 == n % 997:
            found = word
    return found


TABLE = {n: detokenize(n) for n in range(64)} if "--table" in sys.argv else {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": [{"id": "tiny-gpt"}]}).encode())

    def event(self, choice, **more):
        self.wfile.write(b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n")
        self.wfile.flush()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        n = int(body.get("max_tokens", 16))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for i in range(n):
            time.sleep(0.004)
            text = TABLE[i % 64] if TABLE else detokenize(i)
            self.event({"index": 0, "text": text + " ", "finish_reason": None})
        usage = {"prompt_tokens": 3, "completion_tokens": n, "total_tokens": n + 3}
        self.event({"index": 0, "text": "", "finish_reason": "length"}, usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # with five, which is usual, some of 16 clients wait a second to connect

    def handle_error(self, *_):
        pass  # who went away in the middle of an answer is no error of the server's


server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
