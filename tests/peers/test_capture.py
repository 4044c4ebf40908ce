"""Captures of processes that we do not build: PyTorch and ONNX Runtime; and the formats, by the schemas of others."""

import sys

sys.path.insert(0, __import__("os").path.join(__import__("os").environ["SOURCE"], "tests", "e2e"))
from lynx import *

PYTHON = os.environ["PEERS_PYTHON"]

SERVE_ONNX = """
import sys, time
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper, numpy_helper
weight = numpy_helper.from_array(numpy.ones((64, 64), dtype=numpy.float32), "w")
bias = numpy_helper.from_array(numpy.ones((64,), dtype=numpy.float16), "b")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])], [weight, bias])
onnx.save(helper.make_model(graph, producer_name="tests", opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
session.run(None, {"x": numpy.zeros((1, 64), dtype=numpy.float32)})
print("ready", flush=True)
time.sleep(600)
"""


def facts(*args):
    r = lynx("capture", *args, "--json")
    check_equal(r.returncode, 0, f"capture {args}: {r.stderr}")
    return {f["key"]: f for f in json.loads(r.stdout)["facts"]}


def version(package):
    return subprocess.run(
        [PYTHON, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"], capture_output=True, text=True
    ).stdout.strip()


with folder() as d:
    # PyTorch, serving.
    port = free_port()
    p = subprocess.Popen(
        [PYTHON, f"{SOURCE}/tests/peers/torch_server.py", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(OMP_NUM_THREADS=1, HF_TOKEN="hunter2"),
        cwd=d,
    )
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.3)
    found = facts("--endpoint", f"http://127.0.0.1:{port}")
    for package in ("torch", "numpy", "safetensors"):
        check_equal(found[f"python.package.{package}"]["value"], version(package), f"the serving process's {package}")
    check_equal(found["torch.version"]["value"].split("+")[0], version("torch").split("+")[0], "torch/version.py")
    check_in("none: built without", found["torch.cuda"]["value"], "a CPU build")
    check(
        "library.libtorch_cpu.so" in found and found["library.libtorch_cpu.so"]["layer"] == "framework",
        "libtorch is mapped",
    )
    check_in("site-packages/torch/lib", found["library.libtorch_cpu.so.path"]["value"], "where it lies: in the wheel")
    check_equal(found["environment.OMP_NUM_THREADS"]["value"], "1", "environment")
    check("hunter2" not in json.dumps(found), "no secret")
    check_in("torch", found["python.loaded"]["value"], "torch is loaded")
    n_real = int(
        subprocess.run(
            [
                PYTHON,
                "-c",
                "import importlib.metadata as m; print(len({d.metadata['Name'].lower().replace('_', '-').replace('.', '-') for d in m.distributions()}))",
            ],
            capture_output=True,
            text=True,
        ).stdout
    )
    n_found = sum(k.startswith("python.package.") and not k.endswith((".files", ".origin")) for k in found)
    check(n_found >= n_real, f"every distribution: {n_found} of {n_real}")
    # What torch's own tool says of the same environment, read back, agrees where both know.
    text = subprocess.run([PYTHON, "-m", "torch.utils.collect_env"], capture_output=True, text=True).stdout
    open(f"{d}/collect_env.txt", "w").write(text)
    lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--out", f"{d}/torch.json")
    r = lynx("diff", f"{d}/collect_env.txt", f"{d}/torch.json", "--json")
    changed = {x["key"]: x for x in json.loads(r.stdout) if x["difference"] == "changed"}
    for key in ("torch.version", "python.package.torch", "python.package.numpy", "cpu.model", "cpu.vendor"):
        check(key not in changed, f"collect_env and capture agree on {key}: {changed.get(key)}")
    print(f"collect_env: {text.count(chr(10))} lines; capture: {len(found)} facts; they differ in {sorted(changed)}")
    # The formats, by their publishers' schemas and ours.
    lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--format", "cyclonedx", "--out", f"{d}/bom.json")
    r = subprocess.run(
        [
            PYTHON,
            "-c",
            """
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
import jsonschema
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
assert error is None, error
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[3])))
""",
        ]
        + [f"{d}/bom.json", f"{d}/torch.json", f"{SOURCE}/docs/capture.schema.json"],
        capture_output=True,
        text=True,
    )
    check_equal(r.returncode, 0, f"CycloneDX 1.6 and our schema: {r.stderr[-1500:]}")
    bom = json.load(open(f"{d}/bom.json"))
    check(
        any(c.get("purl", "").startswith("pkg:pypi/numpy@") for c in bom["components"]),
        "distributions have package URLs",
    )
    p.terminate()
    p.wait()
    # ONNX Runtime, with a model that its command line names.
    open(f"{d}/serve.py", "w").write(SERVE_ONNX)
    p = subprocess.Popen(
        [PYTHON, f"{d}/serve.py", "--model", f"{d}/m.onnx"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    check_in("ready", p.stdout.readline(), "ONNX Runtime is ready")
    found = facts("--pid", p.pid)
    check_equal(found["python.package.onnxruntime"]["value"], version("onnxruntime"), "onnxruntime")
    check_equal(
        (found["model.format"]["value"], found["model.producer"]["value"], found["model.opset"]["value"]),
        ("ONNX", "tests", "17"),
        "the model",
    )
    check_in("F32 98.5 %, F16 1.5 %", found["model.tensor-types"]["value"], "tensor types")
    check("model.digest" in found and found["model.digest"]["status"] == "read", "its digest")
    p.kill()
    p.wait()
finish()
