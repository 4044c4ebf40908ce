"""What the scoreboards share of the servers that they start."""

import contextlib
import os
import socket
import sys
import tempfile

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


def vllm(python):
    """How the tests of other files start it."""
    os.environ.update(SOURCE=ROOT, PEERS_PYTHON=python)
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    import vllm_server

    return vllm_server
