#!/usr/bin/env python3
"""The order of dependency is law: a folder of src/ includes only those below it; a *_private.h belongs to its folder; reference/ uses
only base; names of files are unique; each folder's build file lists no dependency above it; and no files form a circle, neither by
what they include nor, where a build folder is given, by what their objects call."""
import os
import re
import subprocess
import sys

ORDER = ["base", "stats", "ledger", "record", "trace", "telemetry", "contract", "executor", "load", "result", "drivers", "watch", "measure", "attribute", "experiment", "decide", "verify", "history", "report", "library", "board", "page", "serve", "cli"]
ALLOWED = {  # what may be used besides base
    "stats": set(), "ledger": set(), "record": set(), "trace": {"record"}, "telemetry": set(), "contract": {"stats"}, "executor": set(), "load": {"stats"},
    "result": {"stats", "record", "telemetry", "contract", "load", "executor"}, "drivers": {"load"}, "watch": {"load", "drivers"},
    "measure": {"stats", "record", "telemetry", "contract", "executor", "load", "result", "drivers", "watch"},
    "attribute": {"stats", "record", "contract", "trace", "executor", "result"},
    "experiment": {"stats", "record", "telemetry", "contract", "executor", "result", "measure"},
    "decide": {"stats", "record", "result", "experiment"},
    "serve": {"ledger"},
    "verify": {"stats", "ledger", "record", "contract", "executor", "load", "result", "measure"},
    "history": {"stats", "record", "contract", "executor", "result"},
    "report": {"stats", "verify", "history", "ledger", "record", "contract", "executor", "load", "result", "attribute", "experiment", "decide"},
    "library": {"record", "contract", "executor", "result", "measure", "verify", "report"},
    "board": {"stats", "record", "contract", "executor", "result", "ledger", "history", "report"},
    "page": {"stats", "contract", "executor", "result", "ledger", "history", "report", "board"},
    "cli": {"stats", "ledger", "record", "telemetry", "contract", "executor", "load", "drivers", "result", "measure", "trace", "attribute", "experiment", "decide", "report", "verify", "history", "board", "page", "serve"},
    "base": set(),
}
problems = []
names = {}
includes = {}  # a file and its header are one: "src/result/rows" -> {"src/record/bundle", ...}


def circles(graph):
    """Strongly connected parts of more than one member (Tarjan 1972, without recursion)."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in sorted(graph):
        work = [(root, iter(sorted(graph[root])))] if root not in index else []
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
            on.add(root)
        while work:
            node, more = work[-1]
            for other in more:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = stack[stack.index(node):]
                    del stack[stack.index(node):]
                    on -= set(part)
                    found += [sorted(part)] if len(part) > 1 else []
    return found


def calls(build):
    """Which object of the programs uses a symbol that which other one defines."""
    objects = [os.path.join(d, f) for d, _, fs in os.walk(build) for f in fs
               if f.endswith(".c.o") and not re.search(r"/(tests|bench)/", d + "/")]
    defined, used = {}, {}
    for line in subprocess.run(["nm", "-A", *objects], capture_output=True, text=True).stdout.splitlines():
        path, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        if kind in "TDBR":
            defined[symbol] = path
        elif kind == "U":
            used.setdefault(path, set()).add(symbol)
    return {p: {defined[s] for s in more if s in defined} - {p} for p, more in used.items()}


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
        includes.setdefault(os.path.splitext(path)[0], set()).add(("src/" if used != "reference" else "") + os.path.splitext(m.group(1) + "/" + m.group(2))[0])
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
# A private header is a part of the header that it begins with.
for part in circles({node: {m for m in more if node != m + "_private"} - {node} for node, more in includes.items()}):
    problems.append("a circle of files, by their includes: " + ", ".join(part))
if len(sys.argv) > 1:
    for part in circles(calls(sys.argv[1])):
        problems.append("a circle of files, by what they call: " + ", ".join(os.path.basename(p) for p in part))
# Headers stand alone.
for path in files:
    if path.endswith(".h") and path.startswith("src/") and os.path.exists(path):
        r = subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-Isrc", "-fsyntax-only", "-x", "c", path], capture_output=True, text=True)
        if r.returncode:
            problems.append(f"{path} does not compile alone: {r.stderr.splitlines()[0]}")
# A function is read at once: at most 60 lines. (clang-format puts its last brace, and nothing else, at a line's beginning.)
for path in files:
    if path.endswith(".c") and os.path.exists(path):
        begin = 0
        for number, line in enumerate(open(path), 1):
            if line.rstrip().endswith(") {") and not line.startswith(("}", "\t")) and not begin:
                begin = number
            elif line.startswith("}"):
                if begin and number - begin >= 60:
                    problems.append(f"{path}:{begin}: a function of {number - begin + 1} lines; at most 60")
                begin = 0
print("\n".join(problems) or f"{len(files)} files in order")
sys.exit(1 if problems else 0)
