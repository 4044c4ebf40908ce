"""What the benchmarks of clients share: servers to drive, processor seconds of a command, installations."""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def measured(command, folder, timeout=300, **env):
    """Processor seconds of a command with its children (None: it failed), the greatest memory of one in MB, its output."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=folder, env={**os.environ, **env}, start_new_session=True
        )
        begun, status = time.time(), None
        while status is None and time.time() - begun < timeout:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid == 0:
                status = None
                time.sleep(0.02)
        if status is None:
            os.killpg(process.pid, signal.SIGKILL)
            os.wait4(process.pid, 0)
            return None, 0, "it took too long"
        process.returncode = 0
        out.seek(0)
        text = out.read()
    if status != 0:
        return None, 0, text[-600:]
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


class Server:
    def __init__(self, command, port):
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1)
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{command[0]} does not answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def venv(build, name, check, packages):
    """A virtual environment with packages, or None, and why not."""
    path = os.path.join(build, f"bench-{name}")
    python = os.path.join(path, "bin", "python")
    if (
        subprocess.run([python, "-c", f"import {check}"], capture_output=True).returncode
        if os.path.exists(python)
        else True
    ):
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
        r = subprocess.run([python, "-m", "pip", "install", "-q", *packages], capture_output=True, text=True)
        if r.returncode:
            print(f"{name}: skipped, because {' '.join(packages)} cannot be installed: {r.stderr[-200:]}")
            return None
    return path


TOKENIZER = """
import sys
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast
vocabulary = {letter: i for i, letter in enumerate(sorted(ByteLevel.alphabet()))}
vocabulary["<s>"], vocabulary["</s>"] = 256, 257
t = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
t.pre_tokenizer = ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
whole = PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", pad_token="</s>")
whole.save_pretrained(sys.argv[1])
"""
