"""What the scoreboards share of the servers that they start."""

import os
import socket
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def vllm(python):
    """How the tests of other files start it."""
    os.environ.update(SOURCE=ROOT, PEERS_PYTHON=python)
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    import vllm_server

    return vllm_server
