#!/bin/sh
# Where a GPU is at hand: a real capture of it, held against what nvidia-smi says, and kept as a recorded capture for the tests.
set -eu
build=$1
kept=tests/recorded/gpu
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
