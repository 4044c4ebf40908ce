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


def request_times(command, environment, port, model, n):
    """Starts the server, and gives the seconds of n requests one after the other."""
    url, quiet = f"http://127.0.0.1:{port}/v1/", subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, start_new_session=True, stdout=quiet, stderr=quiet)
    try:
        for _ in range(480):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url + "models", timeout=2).read()
                break
            if process.poll() is not None:
                sys.exit(f"the server ended before it answered: {command}")
            time.sleep(0.25)
        question = {"model": model, "prompt": "a" * 256, "max_tokens": 64, "temperature": 0, "ignore_eos": True}
        ask = urllib.request.Request(url + "completions", json.dumps(question).encode(), {"Content-Type": "application/json"})
        times = []
        for _ in range(n):
            began = time.monotonic()
            urllib.request.urlopen(ask, timeout=60).read()
            times.append(time.monotonic() - began)
        return times
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def vllm(python):
    """How the tests of other files start it."""
    os.environ.update(SOURCE=ROOT, PEERS_PYTHON=python)
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    import vllm_server

    return vllm_server
