#!/bin/sh
# Where a GPU is at hand: a real capture of it, compared with what nvidia-smi says, and kept in the build folder.
set -eu
build=$1
kept=$build/gpu
command -v nvidia-smi >/dev/null || { echo "test-gpu: skipped, because there is no nvidia-smi here"; exit 0; }
mkdir -p "$kept"
"$build/lynxbench" capture --disclose shared --out "$build/gpu.json"
python3 - "$build/gpu.json" <<'PYTHON'
import json, subprocess, sys
facts = {f["key"]: f for f in json.load(open(sys.argv[1]))["facts"]}
query = ["name", "vbios_version", "power.limit", "pcie.link.gen.max", "pcie.link.width.max", "ecc.mode.current", "memory.total"]
rows = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(query)}", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True).stdout.strip().splitlines()
assert facts["gpu.count"]["value"] == str(len(rows)), (facts["gpu.count"], len(rows))
for i, row in enumerate(rows):
    said = [x.strip() for x in row.split(",")]
    found = {"name": "name", "vbios_version": "vbios", "pcie.link.gen.max": "pcie-generation-most", "pcie.link.width.max": "pcie-width-most"}
    for field, value in zip(query, said):
        if field in found:
            assert facts[f"gpu.{i}.{found[field]}"]["value"] == value, (field, value, facts[f"gpu.{i}.{found[field]}"])
        if field == "power.limit":
            assert abs(int(facts[f"gpu.{i}.power-limit"]["value"]) / 1000 - float(value)) < 1, (field, value)
        if field == "memory.total":
            assert abs(int(facts[f"gpu.{i}.memory"]["value"]) / 2**20 - float(value)) < 2, (field, value)
print(f"test-gpu: {len(rows)} GPUs: capture and nvidia-smi agree on {', '.join(query)}")
PYTHON
name=$(python3 -c "import json,sys; f={x['key']: x for x in json.load(open(sys.argv[1]))['facts']}; print(f['gpu.0.name']['value'].replace(' ', '-').lower())" "$build/gpu.json")
cp "$build/gpu.json" "$kept/$name.json"
echo "test-gpu: kept as $kept/$name.json (serial numbers and host withheld)"

# A trace of real kernels: what the account says of the device, compared with the events counted by Python.
python3 -c "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)" 2>/dev/null || { echo "test-gpu: no trace, because there is no PyTorch that sees the GPU"; exit 0; }
python3 - "$build/gpu-trace.json" <<'PYTHON'
import sys, torch
from torch.profiler import profile, schedule, ProfilerActivity
torch.manual_seed(1)
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True).cuda().half().eval()
with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=2, warmup=2, active=3),
                                     on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as p:
    for _ in range(8):
        x = torch.randn(8, 128, 512, dtype=torch.half).cuda()
        for _ in range(4): x = layer(x)
        x.cpu()
        p.step()
PYTHON
"$build/lynxbench" attribute --quiet --json --orphans drop "$build/gpu-trace.json" >"$build/gpu-account.json"
python3 - "$build/gpu-trace.json" "$build/gpu-account.json" <<'PYTHON'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
trace = json.load(open(sys.argv[2]))["traces"][0]
wanted = sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for e in events)
assert trace["device_spans"] == wanted and wanted > 100, (trace["device_spans"], wanted)
assert sum(s["ns"] for s in trace["states"]) == trace["wall_ns"]
spans = sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
busy, end = 0, 0
for a, b in spans:
    busy += max(0, b - max(a, end))
    end = max(end, b)
found = trace["gpu_timeline_ns"]["busy_time"]
assert abs(found - busy) < 10 * wanted, (found, busy)
print(f"test-gpu: {wanted} device spans; busy for {found / 1e6:.3f} ms, by counting {busy / 1e6:.3f} ms; {trace['verdict']}")
PYTHON
gzip -9 -n -c "$build/gpu-trace.json" >"$kept/$name.trace.json.gz"
echo "test-gpu: kept as $kept/$name.trace.json.gz"
