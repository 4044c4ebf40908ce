"""Traces made here by real programs: PyTorch's profiler on the CPU, with a data loader whose slowness is planted, and ONNX Runtime's profile.
What lynxbench makes of them is held against the events in the file, counted by Python."""

import gzip
import json
import os
import subprocess
import sys
import tempfile

LYNX = os.path.join(os.environ["BUILD"], "lynxbench")
PYTHON = os.environ["PEERS_PYTHON"]
failures, n_checks = [], 0

PROGRAM = r"""
import sys, time, torch
from torch.profiler import profile, schedule, ProfilerActivity
delay, path = float(sys.argv[1]), sys.argv[2]
torch.manual_seed(1)
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, i):
        time.sleep(delay)
        return torch.randn(512)
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.LayerNorm(2048), torch.nn.Linear(2048, 512))
loader = torch.utils.data.DataLoader(Slow(), batch_size=8)
with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=4), with_stack=True, record_shapes=True,
                                     on_trace_ready=lambda p: p.export_chrome_trace(path)) as p:
    for i, batch in enumerate(loader):
        for _ in range(20): model(batch)
        p.step()
        if i == 6: break
"""

ORT = r"""
import sys, os, numpy, onnx, onnxruntime
from onnx import helper, TensorProto
w = numpy.random.rand(256, 256).astype("float32")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["a"], name="product"), helper.make_node("Softmax", ["a"], ["y"], name="soft")], "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 256])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 256])],
    [helper.make_tensor("w", TensorProto.FLOAT, [256, 256], w.flatten())])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = sys.argv[1]
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
for _ in range(50): session.run(None, {"x": numpy.random.rand(64, 256).astype("float32")})
print(session.end_profiling())
"""


def check(condition, what):
    global n_checks
    n_checks += 1
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)


def attribute(path):
    r = subprocess.run([LYNX, "attribute", "--quiet", "--json", path], capture_output=True, text=True)
    check(r.returncode == 0, f"attribute {path}: {r.stderr}")
    trace = json.loads(r.stdout)["traces"][0]
    check(sum(s["ns"] for s in trace["states"]) == trace["wall_ns"], f"{path}: the account closes")
    return trace


def run(program, *arguments):
    r = subprocess.run([PYTHON, "-c", program, *map(str, arguments)], capture_output=True, text=True)
    check(r.returncode == 0, f"the program: {r.stderr[-2000:]}")
    return r.stdout.strip().splitlines()


with tempfile.TemporaryDirectory() as d:
    traces = {}
    for name, delay in (("quick", 0), ("slow", 0.01)):
        path = f"{d}/{name}.json"
        run(PROGRAM, delay, path)
        events = json.load(open(path))["traceEvents"]
        trace = traces[name] = attribute(path)
        categories = {"cpu_op": "operator", "python_function": "python function", "user_annotation": "annotation"}
        for category, kind in categories.items():
            wanted = sum(e.get("ph") == "X" and e.get("cat") == category for e in events)
            check(
                trace["spans"].get(kind, 0) == wanted and wanted > 0,
                f"{name}: {trace['spans'].get(kind)} spans of {kind}, {wanted} events of {category}",
            )
        steps = [
            e
            for e in events
            if e.get("ph") == "X" and e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"
        ]
        check(trace["steps"] == len(steps) == 4, f"{name}: {trace['steps']} steps, {len(steps)} in the file")
        wall = sum(round(e["dur"] * 1000) for e in steps)
        check(abs(trace["wall_ns"] - wall) < 10000, f"{name}: the window is {trace['wall_ns']}, the steps take {wall}")
        # the union of what is named so, cut to the steps: events of the operator, and Python functions of the loader's file
        loads, end = 0, 0
        named = sorted(
            (round(e["ts"] * 1000), round(e["ts"] * 1000) + round(e["dur"] * 1000))
            for e in events
            if e.get("ph") == "X"
            and e.get("cat") in categories
            and (e["name"].startswith("enumerate(DataLoader)") or "torch/utils/data/dataloader.py" in e["name"])
        )
        inside = [(round(s["ts"] * 1000), round(s["ts"] * 1000) + round(s["dur"] * 1000)) for s in steps]
        for a, b in named:
            loads += sum(max(0, min(b, t) - max(a, end, f)) for f, t in inside)
            end = max(end, b)
        found = sum(s["ns"] for s in trace["states"] if s["state"] == "idle.data_loader")
        check(
            abs(found - loads) <= 100 and loads > 0, f"{name}: the data loader takes {found} ns, by its events {loads}"
        )
    check("data_loader" in {f["finding"] for f in traces["slow"]["findings"]}, "the planted data loader is found")
    share = sum(s["share"] for s in traces["slow"]["states"] if s["state"] == "idle.data_loader")
    check(share > 0.5, f"its share is {share}: eight sleeps of 10 ms a batch")
    classes = {s["state"]: s["ns"] for s in traces["quick"]["states"]}
    largest = max((s for s in classes if s.startswith("compute.")), key=classes.get)
    check(largest == "compute.matrix_product", f"what computes most is {largest}")
    r = subprocess.run(
        [LYNX, "attribute", "--quiet", "--json", f"{d}/quick.json", "--against", f"{d}/slow.json"],
        capture_output=True,
        text=True,
    )
    change = json.loads(r.stdout)["change"]
    check(
        change["accounted_state"] == "idle.data_loader" and change["same_names"] > 0.9,
        f"what changed: {change['accounted_state']}, same work {change['same_names']}",
    )
    with gzip.open(f"{d}/slow.json.gz", "wb") as out:
        out.write(open(f"{d}/slow.json", "rb").read())
    check(attribute(f"{d}/slow.json.gz")["states"] == traces["slow"]["states"], "packed, the same account")

    path = run(ORT, f"{d}/ort")[-1]
    events = json.load(open(path))
    trace = attribute(path)
    check(trace["format"] == "onnxruntime", f"told as {trace['format']}")
    products = sum(
        e["dur"]
        for e in events
        if e["cat"] == "Node" and e.get("args", {}).get("op_name") == "MatMul" and e["name"].endswith("_kernel_time")
    )
    found = next((n for n in trace["names"] if n["name"] == "product"), {"ns": -1, "n": 0, "class": ""})
    check(
        (found["ns"], found["n"], found["class"]) == (products * 1000, 50, "matrix product"),
        f"the product: {found}, by its events {products} us",
    )
print(f"{n_checks} checks, {len(failures)} failed")
sys.exit(1 if failures else 0)
