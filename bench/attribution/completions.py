"""What the planted servers have in common: the OpenAI completions route over HTTP/1.1, a thread for each connection."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class CompletionsHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "planted", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def question(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        text = data if isinstance(data, bytes) else b"data: " + json.dumps(data).encode() + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.flush()

    def end_stream(self, usage):
        self.chunk({"choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")


class CompletionsServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
