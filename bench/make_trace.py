#!/usr/bin/env python3
"""A Kineto trace of any size: a real one (H100, Python stacks and shapes included), over and over, its times and correlations moved on.
usage: make_trace.py MEGABYTES FILE [TEMPLATE.json.gz]"""

import gzip
import json
import os
import sys

megabytes, path = int(sys.argv[1]), sys.argv[2]
here = os.path.dirname(os.path.abspath(__file__))
template = sys.argv[3] if len(sys.argv) > 3 else os.path.join(here, "../tests/recorded/profiles/h100-falconsai.json.gz")
trace = json.load(gzip.open(template))
events = [e for e in trace["traceEvents"] if "ts" in e]
zero = min(e["ts"] for e in events)
length = max(e["ts"] + e.get("dur", 0) for e in events) - zero + 100
pieces = []
for e in events:
    e = dict(e)
    at = round((e.pop("ts") - zero) * 1000)
    e["ts"] = "@TS@"
    correlation = None
    if "correlation" in e.get("args", {}):
        correlation = e["args"]["correlation"]
        e["args"] = dict(e["args"], correlation="@CO@")
    elif e.get("cat") == "ac2g":
        correlation = e["id"]
        e["id"] = "@CO@"
    text = json.dumps(e, indent=2).replace("%", "%%").replace('"@TS@"', "%d.%03d").replace('"@CO@"', "%d")
    # in which order the two stand
    ts_first = (
        text.index("%d.%03d") < text.index("%d", text.index("%d.%03d") + 7)
        if correlation is not None and "%d" in text[text.index("%d.%03d") + 7 :]
        else correlation is None
    )
    pieces.append((text, at, correlation, ts_first))
with open(path, "w", buffering=1 << 20) as out:
    out.write(
        json.dumps({k: v for k, v in trace.items() if k != "traceEvents"}, indent=2)[:-2] + ',\n  "traceEvents": [\n'
    )
    n, copies, first = 0, 0, True
    while out.tell() < megabytes * 1000000:
        base = round(copies * length * 1000)
        for text, at, correlation, ts_first in pieces:
            ns = base + at
            ts = (ns // 1000, ns % 1000)
            if correlation is None:
                text = text % ts
            else:
                co = correlation + copies * 100000
                text = text % ((*ts, co) if ts_first else (co, *ts))
            out.write(text if first else ",\n" + text)
            first = False
            n += 1
        copies += 1
    out.write("\n  ]\n}\n")
print(f"{path}: {os.path.getsize(path) / 1e6:.0f} MB, {n} events, {copies} copies of {os.path.basename(template)}")
