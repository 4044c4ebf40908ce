"""A real PyTorch server with the OpenAI completions route: the byte model, computed by torch, one request at a time per step, streamed."""

import argparse
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from safetensors.torch import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "reference", "model"))
import train  # noqa: E402  the network itself

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
parser.add_argument("--threads", type=int, default=1)
args = parser.parse_args()
torch.set_num_threads(args.threads)
dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
weights = {
    k: v.to(dtype)
    for k, v in load_file(os.path.join(HERE, "..", "..", "reference", "model", "byte.safetensors")).items()
}
cos, sin = (t.to(dtype) for t in train.rope_tables(train.SHAPE["context"]))
turn = threading.Lock()  # steps of the requests in flight take turns


def step(tokens):
    with turn, torch.no_grad():
        return int(train.forward(weights, torch.tensor([tokens[-train.SHAPE["context"] :]]), cos, sin)[0, -1].argmax())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            self.answer(b"{}")
        elif self.path == "/v1/models":
            executed = {
                "requested": args.precision,
                "executed": str(dtype).removeprefix("torch."),
                "status": "native",
                "primitive": f"torch {torch.__version__}",
            }
            self.answer(
                json.dumps(
                    {"object": "list", "data": [{"id": "byte", "object": "model", "executed": executed}]}
                ).encode()
            )
        else:
            self.send_error(404)

    def chunk(self, data):
        text = data if isinstance(data, bytes) else b"data: " + json.dumps(data).encode() + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.flush()

    def do_POST(self):
        q = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = q["prompt"].encode()
        tokens, made = [0] + list(prompt), 0
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(q.get("max_tokens", 16)):
            tokens.append(step(tokens))
            made += 1
            usage = {"prompt_tokens": len(prompt), "completion_tokens": made, "total_tokens": len(prompt) + made}
            self.chunk(
                {
                    "choices": [{"index": 0, "text": bytes(tokens[-1:]).decode("latin-1"), "finish_reason": None}],
                    "usage": usage,
                }
            )
        self.chunk({"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": usage})
        self.chunk({"choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


step(list(range(100)))  # compiled kernels are chosen before anybody waits
print("ready", flush=True)
Server(("127.0.0.1", args.port), Handler).serve_forever()
