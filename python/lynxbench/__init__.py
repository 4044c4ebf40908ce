"""Makes a function a workload of lynxbench, and marks its phases. See README.md; the protocol is docs/command.md."""

import inspect
import json
import os
import sys
import time
import traceback
from contextlib import contextmanager

from ._library import Bundle, audit, capture, check_contract, library_version, open  # noqa: A004

__all__ = ["workload", "phase", "token", "fact", "executed", "unavailable", "Request", "serve"]
__all__ += ["open", "Bundle", "audit", "capture", "check_contract", "library_version"]

_facts = {}
_executed = {}
_current = None  # the request that runs now


class Request:
    """One request: input, prompt, output_tokens, image, and what hello told of the run."""

    def __init__(self, message, hello):
        self.input = message.get("input", 0)
        self.prompt = message.get("prompt", "")
        self.output_tokens = message.get("output_tokens", 0)
        self.image = message.get("image")
        self.seed = hello.get("seed", 0)
        self.temperature = hello.get("temperature", 0)
        self.model = hello.get("model", "")
        self.worker = hello.get("worker", 0)


class _Running:
    def __init__(self, number, send):
        self.number, self.send = number, send
        self.phases = []
        self.n_tokens = 0


def fact(key, value):
    """A fact of the executor: "framework.torch" is layer and name."""
    _facts[key] = str(value)


def executed(**what):
    """What this program executes: precision="bf16", status="native", primitive="..."."""
    _executed.update(what)


@contextmanager
def phase(name, synchronize=None):
    """Marks a part of the request that runs now. synchronize is called before it begins and before it ends."""
    if synchronize is not None:
        synchronize()
    begun = time.monotonic_ns()
    try:
        yield
    finally:
        if synchronize is not None:
            synchronize()
        if _current is not None:
            _current.phases.append([name, begun, time.monotonic_ns() - begun])


def token(text="", n=1):
    """A token (or n of them) that is there now."""
    if _current is None:
        return
    at = time.monotonic_ns()
    _current.n_tokens += n
    _current.send({"token": _current.number, "n": n, "at": at, "text": text})


def unavailable(why):
    """This precision cannot run here: said to lynxbench, and the program ends."""
    _channel().send({"unavailable": str(why)})
    sys.exit(69)


class _Channel:
    """Standard input and output, kept for the protocol; what the program prints goes to standard error."""

    def __init__(self):
        self.reader = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self.writer = os.dup(1)
        os.dup2(2, 1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)

    def send(self, message):
        data = (json.dumps(message, separators=(",", ":")) + "\n").encode("utf-8")
        while data:
            data = data[os.write(self.writer, data):]


_the_channel = None


def _channel():
    global _the_channel
    if _the_channel is None:
        _the_channel = _Channel()
    return _the_channel


def _tell_versions():
    for name in ("torch", "jax", "transformers", "numpy", "onnxruntime", "tensorflow"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            _facts.setdefault("framework." + name, str(version))
    _facts.setdefault("framework.python", "%d.%d.%d" % sys.version_info[:3])


def _answer(function, request, running):
    result = function(request)
    if inspect.isgenerator(result):
        for text in result:
            token(text if isinstance(text, str) else "")
        result = None
    if isinstance(result, str):
        return {"text": result}
    if isinstance(result, bool) or result is None:
        return {"output_tokens": running.n_tokens} if running.n_tokens else {}
    if isinstance(result, int):
        return {"output_tokens": result}
    return {key: result[key] for key in ("text", "output_tokens", "prompt_tokens") if key in result}


def _run_one(function, message, hello, channel):
    global _current
    running = _current = _Running(message["run"], channel.send)
    request = Request(message, hello)
    started = time.monotonic_ns()
    try:
        answer = _answer(function, request, running)
    except Exception as error:  # of this request; the next one may go well
        traceback.print_exc()
        channel.send({"error": running.number, "message": "%s: %s" % (type(error).__name__, error)})
        return
    finally:
        _current = None
    ended = time.monotonic_ns()
    answer.update({"done": running.number, "started": started, "ended": ended, "phases": running.phases})
    channel.send(answer)


def serve(function):
    """Answers lynxbench's requests by calling the function until it has no more."""
    channel = _channel()
    hello = {}
    for line in channel.reader:
        message = json.loads(line)
        if "hello" in message:
            hello = message
            _tell_versions()
            channel.send({"ready": 1, "facts": _facts, "executed": _executed} if _executed else {"ready": 1, "facts": _facts})
        elif "run" in message:
            _run_one(function, message, hello, channel)


def workload(function):
    """Under lynxbench: serves with this function until the run is over, then ends the program. Otherwise: the function, as it is."""
    if os.environ.get("LYNXBENCH_PROTOCOL") != "1":
        return function
    serve(function)
    sys.exit(0)
