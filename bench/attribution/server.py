"""A server with the OpenAI completions route, a thread per request, that computes by PyTorch or ONNX Runtime, and has
planted causes: what it plants consumes the resource that it names. Used by scoreboard.py; `--plant none` is clean."""

import argparse
import logging
import mmap
import os
import queue
import sys
import threading
import time

import torch
from completions import CompletionsHandler, CompletionsServer
from servers import file_on_disk

PLANTS = "none nagle tokenizer gil lock sleep batch_of_one cast logging few_threads many_threads memory disk cold beside".split()
parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--address", default="127.0.0.1")
parser.add_argument("--plant", default="none", help=f"with + between: {', '.join(PLANTS)}")
parser.add_argument("--backend", choices=["torch", "onnx"], default="torch")
parser.add_argument(
    "--size", type=float, default=1.0, help="of the plant, against about a third of a request's own time"
)
parser.add_argument("--threads", type=int, default=1, help="of the library, for each request")
parser.add_argument("--workers", type=int, default=0, help="requests that are computed at once; 0: all")
args = parser.parse_args()
plants = set(args.plant.split("+"))
if plants - set(PLANTS):
    parser.error(f"--plant: {plants - set(PLANTS)}")
# A thread per request computes with one thread of the library, so that requests in flight share the processors.
torch.set_num_threads(4 * (os.cpu_count() or 1) if "many_threads" in plants else args.threads)

WIDTH = 768
torch.manual_seed(1)
layers = [torch.randn(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(8)]
far_away = torch.ones(96 << 20 if "memory" in plants else 0)  # 384 MiB: more than a cache holds
step_lock = threading.Lock()
log = logging.getLogger("server")
log.addHandler(logging.FileHandler("/dev/null"))
log.setLevel(logging.INFO)


def scaled(n):
    return max(1, int(n * args.size))


def slow_tokenize(text):
    """Byte pairs by hand, in Python."""
    ids = list(text.encode())
    for _ in range(scaled(3000)):
        ids = [(a * 31 + 7) % 257 for a in ids]
    return ids


def count_characters(n):
    """Work per token in the interpreter."""
    total = 0
    for i in range(scaled(54000)):
        total = (total + i * n) % 1000003
    return total


def forward(x):
    for w in layers:
        x = torch.tanh(x @ w)
    return x


def cast_and_back(x):
    for _ in range(scaled(12)):
        x = x.to(torch.bfloat16).to(torch.float64).to(torch.float32)
    return x


def onnx_session():
    """The same layers, in ONNX Runtime; casts are nodes of the model."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights, last = [], [], "x0"
    for i, w in enumerate(layers):
        weights.append(numpy_helper.from_array(w.numpy(), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"x{i + 1}"]))
        last = f"x{i + 1}"
    for i in range(scaled(60) if "cast" in plants else 0):
        nodes.append(helper.make_node("Cast", [last], [f"d{i}"], to=TensorProto.DOUBLE))
        nodes.append(helper.make_node("Sin", [f"d{i}"], [f"s{i}"]))  # or the optimiser takes the pair away
        nodes.append(helper.make_node("Cast", [f"s{i}"], [f"c{i}"], to=TensorProto.FLOAT))
        last = f"c{i}"
    shape = ["rows", WIDTH]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 4 * (os.cpu_count() or 1) if "many_threads" in plants else args.threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


session = onnx_session() if args.backend == "onnx" else None


def compute(state):
    if session is not None:
        return torch.from_numpy(session.run(None, {"x0": state.numpy()})[0])
    with torch.no_grad():
        state = forward(state)
        if "cast" in plants:
            state = cast_and_back(state.repeat(8, 1))[: state.shape[0]]
    return state


def stream(n):
    """Reads and writes memory that no cache holds, each time another part."""
    length = scaled(4 << 20)
    at = n % max(1, len(far_away) // length) * length
    far_away[at : at + length].mul_(1.0000001)


def weights_on_disk():
    """A file without a name that no cache keeps, as of weights that do not fit into memory."""
    with file_on_disk(64) as path:
        return os.open(path, os.O_RDONLY | os.O_DIRECT)


def fetch(n):
    """Reads one part of the weights, each time another."""
    length = scaled(192) << 14
    os.preadv(weights, [mmap.mmap(-1, length)], n * 7919 * 4096 % ((64 << 20) - length) // 4096 * 4096)


weights = weights_on_disk() if plants & {"disk", "beside"} else -1
first_step = []


def cold():
    """For a while after the first request each step computes what it will later have kept."""
    if not first_step:
        first_step.append(time.monotonic())
    return time.monotonic() - first_step[0] < 0.4 + 0.2 * args.size


def step(state, n):
    if "cold" in plants and cold():
        for _ in range(3):
            compute(state)
    if "gil" in plants:
        count_characters(n)
    if "memory" in plants:
        stream(n)
    if "disk" in plants:
        fetch(n)
    if "sleep" in plants:
        time.sleep(0.004 * args.size)
    if "logging" in plants:
        for k in range(scaled(120)):
            log.info("token %d of request: state %s, step %d", n, "x" * 40, k)
    if "lock" in plants:
        with step_lock:
            return compute(state)
    return compute(state)


jobs = queue.Queue()


def work_alone():
    """One request after the other: a batch of one."""
    while True:
        job, done = jobs.get()
        try:
            job()
        except OSError:
            pass  # the client has gone
        done.set()


def work_beside():
    """What the plants do, now and then in a thread that no request waits for: slower, it costs them nothing."""
    while True:
        time.sleep(0.5)
        slow_tokenize(" ")
        count_characters(1)
        log.info("beside")
        fetch(1)


class Handler(CompletionsHandler):
    disable_nagle_algorithm = "nagle" not in plants

    def do_POST(self):
        q = self.question()
        if not n_workers:
            return self.generate(q)
        done = threading.Event()
        jobs.put((lambda: self.generate(q), done))
        done.wait()

    def generate(self, q):
        ids = slow_tokenize(q["prompt"]) if "tokenizer" in plants else list(q["prompt"].encode())
        state = torch.full((64, WIDTH), float(len(ids) % 7))
        self.begin_stream()
        usage = {}
        for n in range(1, q.get("max_tokens", 16) + 1):
            state = step(state, n)
            usage = {"prompt_tokens": len(ids), "completion_tokens": n, "total_tokens": len(ids) + n}
            self.chunk({"choices": [{"index": 0, "text": chr(97 + n % 26), "finish_reason": None}], "usage": usage})
        self.chunk({"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": usage})
        self.end_stream(usage)


n_workers = 1 if plants & {"batch_of_one", "few_threads"} else args.workers
for _ in range(n_workers):
    threading.Thread(target=work_alone, daemon=True).start()
if "beside" in plants:
    threading.Thread(target=work_beside, daemon=True).start()
compute(torch.ones(64, WIDTH))
print("ready", flush=True)
sys.stdout.flush()
CompletionsServer((args.address, args.port), Handler).serve_forever()
