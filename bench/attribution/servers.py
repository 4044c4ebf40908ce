"""What the scoreboards share of the servers that they start."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def file_on_disk(mebibytes, folder=None):
    """The path of a file that is no longer only in memory, of bytes that nothing makes smaller."""
    with tempfile.NamedTemporaryFile(dir=folder) as f:
        for _ in range(mebibytes):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
        yield f.name


@contextlib.contextmanager
def disk_group(name):
    """A control group of its own whose reading from disks can be limited; None where none can be made."""
    base, limit = "/sys/fs/cgroup/blkio", "blkio.throttle.read_bps_device"
    if os.path.exists("/sys/fs/cgroup/cgroup.subtree_control"):  # version 2
        base, limit = "/sys/fs/cgroup", "io.max"
        with contextlib.suppress(OSError), open(base + "/cgroup.subtree_control", "w") as f:
            f.write("+io")
    path = os.path.join(base, name)
    try:
        with contextlib.suppress(OSError):
            os.mkdir(path)
        yield path if os.path.exists(os.path.join(path, limit)) else None
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(path)


@contextlib.contextmanager
def serving(words, environment, port):
    """Starts a server, and gives its model's name once it answers."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(words, stdout=quiet, stderr=quiet, env=environment, start_new_session=True)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as r:
                model = json.load(r)["data"][0]["id"]
                break
            if process.poll() is not None:
                sys.exit(f"the server ended before it answered: {words}")
            time.sleep(0.25)
        else:
            sys.exit(f"the server does not answer: {words}")
        yield model
    finally:
        with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def request_times(words, environment, port, n):
    """Of a server that is started for it, the seconds of n requests, one after the other, as `diagnose` sends them."""
    with serving(words, environment, port) as model:
        question = {"model": model, "prompt": "a" * 256, "max_tokens": 64, "temperature": 0, "ignore_eos": True}
        url, headers = f"http://127.0.0.1:{port}/v1/completions", {"Content-Type": "application/json"}
        ask, times = urllib.request.Request(url, json.dumps(question).encode(), headers), []
        for _ in range(n):
            began = time.monotonic()
            urllib.request.urlopen(ask, timeout=60).read()
            times.append(time.monotonic() - began)
        return times


def vllm(python):
    """How the tests of other files start it."""
    os.environ.update(SOURCE=ROOT, PEERS_PYTHON=python)
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    import vllm_server

    return vllm_server
