"""What the scoreboards share of the servers that they start."""

import contextlib
import os
import socket
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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


def vllm(python):
    """How the tests of other files start it."""
    os.environ.update(SOURCE=ROOT, PEERS_PYTHON=python)
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    import vllm_server

    return vllm_server
