#!/usr/bin/env python3
"""How much sessions of one unchanged executor differ from one another, on real executors: the standard deviation of the logarithms of each
session's figures, which is what verification plans with. What cannot be had here is said to be skipped.
usage: variance.py BUILD [SESSIONS] [SECONDS]"""

import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

build, sessions = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 2
here = os.path.dirname(os.path.abspath(__file__))
peers_python = os.path.join(build, "peers", "bin", "python")
lynx = os.path.join(build, "lynxbench")
folder = tempfile.mkdtemp(prefix="lynx-variance-", dir=os.environ.get("TMPDIR", "/tmp"))
children = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(command, url):
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    children.append(child)
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=1).read()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"{command[0]} does not answer")


def measure(name, executor, workload, rate):
    """Two runs, closed loop and at a rate; a line per figure that a verification would decide by, with what it would plan with."""
    for kind, regime, slo in (
        ("closed loop", "{load: closed, concurrency: 2}", ""),
        (
            f"{rate} requests/s",
            f"{{load: constant, rate_per_s: {rate}, concurrency: 8}}",
            "slo: [{metric: end_to_end, quantile: 0.5, at_most: 10s}, {metric: end_to_end, quantile: 0.99, at_most: 10s}]\n",
        ),
    ):
        path, bundle = f"{folder}/run.yaml", f"{folder}/run.lynx"
        with open(path, "w") as f:
            f.write(
                f'lynxbench: 1\nname: "{name}"\n'
                + (f"executor: {executor}\n" if executor else "")
                + f"workload: {workload}\nregime: {regime}\n{slo}"
                f"method: {{warm_up: 500ms, counted: {seconds}s, sessions: {sessions}, steady: reported, drain: 30s, request_timeout: 20s, stolen_at_most: 1, failures_at_most: 0.1, instrument_error_at_most: 1}}\n"
            )
        if os.path.exists(bundle):
            os.remove(bundle)
        p = subprocess.run([lynx, "run", path, "--out", bundle, "--quiet"], capture_output=True, text=True)
        plan = subprocess.run([lynx, "verify", bundle, "--plan", "--json"], capture_output=True, text=True)
        if not plan.stdout:
            print(f"skipped: {name}, {kind}, because {(p.stderr + plan.stderr)[-500:]}")
            continue
        for f in json.loads(plan.stdout)["figures"]:
            print(
                f"| {name} | {kind} | {f['figure']} | {f['sealed']:.4g} {f['unit']} | {f['sealed_sessions']} | {100 * f['sealed_deviation']:.2f} % | {f['sessions_needed'] or 'none would do'} |",
                flush=True,
            )


def endpoint(port, **more):
    return json.dumps({"endpoint": f"http://127.0.0.1:{port}", **more})


def reference():
    port = free_port()
    serve([os.path.join(build, "lynxbench-ref"), "--port", str(port)], f"http://127.0.0.1:{port}/health")
    measure("reference server, byte model", endpoint(port), "{output_tokens: 16, prompts: {count: 8, bytes: 64}}", 10)


def llama():
    server, model = os.environ.get("LLAMA_SERVER"), os.environ.get("LLAMA_MODEL")
    if not server or not model:
        return "LLAMA_SERVER and LLAMA_MODEL do not name llama.cpp's server and a model"
    port = free_port()
    serve(
        [server, "-m", model, "--port", str(port), "--host", "127.0.0.1", "-t", "1", "-np", "2"],
        f"http://127.0.0.1:{port}/health",
    )
    measure(
        "llama.cpp server",
        endpoint(port),
        "{api: completions, output_tokens: 16, prompts: {count: 8, bytes: 64}, options: {server: llamacpp}}",
        10,
    )


def onnxruntime():
    made = subprocess.run(
        [peers_python, f"{here}/../tests/peers/tiny_onnx.py", f"{folder}/m.onnx"], capture_output=True, text=True
    )
    libraries = glob.glob(f"{build}/peers/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")
    if made.returncode or not libraries:
        return "`make test-peers` has not brought ONNX Runtime"
    measure(
        "ONNX Runtime, in process",
        None,
        f'{{driver: onnxruntime, prompts: {{count: 8}}, options: {{model: "{folder}/m.onnx", library: "{libraries[0]}", sizes: "batch=16", intra_op_threads: "1"}}}}',
        200,
    )


def torch():
    with open(f"{folder}/infer.py", "w") as f:
        f.write("""import torch
from lynxbench import workload
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256))
@workload
def infer(request):
    with torch.inference_mode():
        model(torch.randn(request.output_tokens, 256)).argmax(-1).tolist()
    return request.output_tokens
""")
    if subprocess.run([peers_python, "-c", "import torch"], capture_output=True).returncode:
        return "`make test-peers` has not brought PyTorch"
    measure(
        "PyTorch, command driver",
        f'{{start: {{command: [env, "PYTHONPATH={here}/../python", "{peers_python}", "{folder}/infer.py"], ready_within: 60s}}}}',
        "{driver: command, output_tokens: 64, prompts: {count: 4, bytes: 8}}",
        100,
    )


def nginx():
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    if not os.access(binary, os.X_OK):
        return "there is no nginx"
    port = free_port()
    with open(f"{folder}/nginx.conf", "w") as f:
        f.write(
            f"daemon off; pid {folder}/nginx.pid; error_log /dev/null; events {{}} http {{access_log off; server {{listen 127.0.0.1:{port}; location / {{default_type application/json; "
            'return 200 \'{"object":"text_completion","choices":[{"text":"ok","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\';}}}\n'
        )
    serve([binary, "-c", f"{folder}/nginx.conf", "-p", folder], f"http://127.0.0.1:{port}/")
    measure(
        "nginx, a fixed answer",
        endpoint(port),
        "{api: completions, stream: false, output_tokens: 1, prompts: {count: 4, bytes: 40}}",
        500,
    )


print(
    f"{sessions} sessions of {seconds:g} s each\n\n| executor | load | figure | mean | sessions | standard deviation of its logarithm | sessions that a re-run needs at a margin of 5 % |\n|---|---|---|---|---|---|---|"
)
try:
    for part in (nginx, reference, llama, onnxruntime, torch):
        why = part()
        if why:
            print(f"skipped: {part.__name__}, because {why}")
        for child in children:
            child.kill()
            child.wait()
        children.clear()
finally:
    for child in children:
        child.kill()
    shutil.rmtree(folder, ignore_errors=True)
