#!/usr/bin/env python3
"""`lynxbench history` beside Otava (PyPI: apache-otava) on the same published series: changes found, and processor time, in one run."""

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile

from clients import venv

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "..", "tests", "recorded", "history")
OTAVA = """
import json, sys, time
begin = time.process_time()
from otava.analysis import compute_change_points
imported = time.process_time()
series = json.load(sys.stdin)
found = {k: [int(c.index) for c in compute_change_points(v, window_len=50, max_pvalue=0.001, min_magnitude=0.0)[0]] for k, v in series.items()}
print(json.dumps([found, imported - begin, time.process_time() - imported]))
"""


def read(path):
    with open(path) as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    names = [n for n in rows[0] if n not in ("run", "time", "commit")]
    return {n: [float(r[n]) for r in rows if r[n]] for n in names}


def processor_s(command, **kw):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run(command, capture_output=True, text=True, check=True, **kw)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    folder = venv(BUILD, "otava", "otava", ["apache-otava"])
    if folder is None:
        sys.exit("skipped: apache-otava cannot be installed here")
    python = os.path.join(folder, "bin", "python")
    for name in sorted(n for n in os.listdir(RECORDED) if n.endswith(".csv")):
        series = read(os.path.join(RECORDED, name))
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, name)
            with open(table, "w") as f:
                n = max(map(len, series.values()))
                f.write(",".join(series) + "\n")
                for i in range(n):
                    f.write(",".join(repr(v[i]) if i < len(v) else "" for v in series.values()) + "\n")
            ours, ours_s = processor_s([os.path.join(BUILD, "lynxbench"), "history", table, "--json"])
        theirs, theirs_s = processor_s([python, "-c", OTAVA], input=json.dumps(series))
        found, import_s, search_s = json.loads(theirs)
        places = {s["figure"]: [] for s in json.loads(ours)["series"]}
        for event in json.loads(ours)["events"]:
            for change in event["changes"]:
                places[change["figure"]].append(change["place"])
        print(f"{name}: {len(series)} series of up to {n} values")
        for figure in series:
            print(f"  {figure}: lynxbench {sorted(places.get(figure, []))}, Otava {found[figure]}")
        print(
            f"  processor time: lynxbench, whole process, {1000 * ours_s:.0f} ms; Otava, whole process, {1000 * theirs_s:.0f} ms"
            f" (of which its import {1000 * import_s:.0f} ms, the search {1000 * search_s:.1f} ms):"
            f" 1/{theirs_s / ours_s:.0f} of the process, {ours_s / search_s:.1f} times the search alone"
        )


if __name__ == "__main__":
    main()
