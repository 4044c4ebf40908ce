"""A server with the OpenAI completions route that computes on a GPU by PyTorch, all requests in flight in one batch by one
thread, and has planted causes. Used by gpu.py; `--plant none` is clean: most of a step is its kernels."""

import argparse
import queue
import threading
import time

import torch
from completions import CompletionsHandler, CompletionsServer

PLANTS = "none launches sync copy gil sleep".split()
parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--plant", default="none", help=f"with + between: {', '.join(PLANTS)}")
parser.add_argument("--size", type=float, default=1.0, help="of the plant")
args = parser.parse_args()
plants = set(args.plant.split("+"))
if plants - set(PLANTS):
    parser.error(f"--plant: {plants - set(PLANTS)}")

WIDTH, WEIGHTS, LAYERS, BATCH_MOST = 8192, 8, 64, 64
torch.manual_seed(1)
weights = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) / WIDTH**0.5 for _ in range(WEIGHTS)]
offloaded = torch.randn(max(1, int(WIDTH * args.size)), WIDTH, dtype=torch.bfloat16)  # in pageable memory
waiting = queue.Queue()


def count_characters(n):
    """Work per token in the interpreter."""
    total = 0
    for i in range(int(6000 * args.size)):
        total = (total + i * n) % 1000003
    return total


def tiny_kernels(x):
    """Many small operations where one would do."""
    for _ in range(int(12 * args.size)):
        x = x * 1.0001 + 0.0001
    return x


def check_values(x):
    """A look at the values after every layer: the host waits for the device each time."""
    for _ in range(max(1, int(2 * args.size))):
        if bool(torch.isnan(x).any().item()):
            raise ValueError("not a number")


def load_offloaded():
    """Weights that are copied to the device at every step."""
    return offloaded.to("cuda")


@torch.inference_mode()
def forward(x):
    for i in range(LAYERS):
        x = torch.tanh(x @ weights[i % WEIGHTS])
        if "launches" in plants:
            x = tiny_kernels(x)
        if "sync" in plants:
            check_values(x)
    if "copy" in plants:
        x = x + load_offloaded()[0, 0]
    return x


def step(batch):
    """One token of every request in flight."""
    x = forward(torch.stack([state for _, state in batch]))
    for n, (request, _) in enumerate(batch):
        if "gil" in plants:
            count_characters(n)
        batch[n] = (request, x[n])
    ids = x[:, 0].float().abs().mul(26).long().remainder(26).tolist()
    if "sleep" in plants:
        time.sleep(0.004 * args.size)
    return ids


def engine():
    batch = []
    while True:
        while len(batch) < BATCH_MOST and (not batch or not waiting.empty()):
            request = waiting.get()
            batch.append((request, torch.full((WIDTH,), float(request["seed"]), device="cuda", dtype=torch.bfloat16)))
        ids = step(batch)
        for (request, _), token in zip(batch, ids):
            request["left"] -= 1
            request["out"].put(chr(97 + token))
        batch = [b for b in batch if b[0]["left"] > 0]


class Handler(CompletionsHandler):
    def do_POST(self):
        q = self.question()
        n_prompt, n_most = len(q["prompt"]), q.get("max_tokens", 16)
        request = {"left": n_most, "seed": n_prompt % 7, "out": queue.Queue()}
        waiting.put(request)
        self.begin_stream()
        usage = {}
        for n in range(1, n_most + 1):
            text = request["out"].get()
            usage = {"prompt_tokens": n_prompt, "completion_tokens": n, "total_tokens": n_prompt + n}
            reason = "length" if n == n_most else None
            self.chunk({"choices": [{"index": 0, "text": text, "finish_reason": reason}], "usage": usage})
        self.end_stream(usage)


forward(torch.ones(8, WIDTH, device="cuda", dtype=torch.bfloat16)).sum().item()
threading.Thread(target=engine, daemon=True).start()
print("ready", flush=True)
CompletionsServer(("127.0.0.1", args.port), Handler).serve_forever()
