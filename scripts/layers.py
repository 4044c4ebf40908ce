#!/usr/bin/env python3
"""The order of dependency is law: a folder of src/ includes only those below it; a *_private.h belongs to its folder; reference/ uses
only base; names of files are unique; and each folder's build file lists no dependency above it."""
import os
import re
import subprocess
import sys

ORDER = ["base", "stats", "ledger", "record", "trace", "telemetry", "contract", "executor", "load", "result", "drivers", "measure", "attribute", "verify", "report", "serve", "cli"]
ALLOWED = {  # what may be used besides base
    "stats": set(), "ledger": set(), "record": set(), "trace": {"record"}, "telemetry": set(), "contract": {"stats"}, "executor": set(), "load": {"stats"},
    "result": {"stats", "record", "telemetry", "contract", "load", "executor"}, "drivers": {"load"},
    "measure": {"stats", "record", "telemetry", "contract", "executor", "load", "result", "drivers"},
    "attribute": {"stats", "trace", "executor", "result"},
    "serve": {"ledger"},
    "verify": {"stats", "ledger", "record", "contract", "executor", "load", "result"},
    "report": {"stats", "verify", "ledger", "record", "contract", "executor", "load", "result", "attribute"},
    "cli": {"stats", "ledger", "record", "telemetry", "contract", "executor", "load", "drivers", "result", "measure", "trace", "attribute", "report", "verify", "serve"},
    "base": set(),
}
problems = []
names = {}
files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "reference"], capture_output=True, text=True).stdout.split()
for path in files:
    if not path.endswith((".c", ".h")) or not os.path.exists(path):
        continue
    folder = path.split("/")[1] if path.startswith("src/") else "reference"
    base = os.path.basename(path)
    if base in names and folder != "reference" and not names[base].startswith("reference"):
        problems.append(f"{path}: {names[base]} has the same name")
    names[base] = path
    for line, text in enumerate(open(path), 1):
        m = re.match(r'#include "([a-z]+)/([a-z_0-9/]+\.h)"', text)
        if not m:
            continue
        used = m.group(1)
        if folder == "reference":
            if used not in ("base", "reference"):
                problems.append(f"{path}:{line}: reference uses {used}")
        elif used != folder and used != "base" and used not in ALLOWED[folder]:
            problems.append(f"{path}:{line}: {folder} uses {used}")
        if m.group(2).endswith("_private.h") and used != folder:
            problems.append(f"{path}:{line}: {used}/{m.group(2)} is private")
for folder in ORDER:
    text = open(f"src/{folder}/meson.build").read()
    for used in set(re.findall(r"dep_([a-z]+)", text)) & set(ORDER):
        if used not in ALLOWED[folder] | {"base", folder}:
            problems.append(f"src/{folder}/meson.build: uses {used}")
# Headers stand alone.
for path in files:
    if path.endswith(".h") and path.startswith("src/") and os.path.exists(path):
        r = subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-Isrc", "-fsyntax-only", "-x", "c", path], capture_output=True, text=True)
        if r.returncode:
            problems.append(f"{path} does not compile alone: {r.stderr.splitlines()[0]}")
print("\n".join(problems) or f"{len(files)} files in order")
sys.exit(1 if problems else 0)
