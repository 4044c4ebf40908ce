#!/usr/bin/env python3
"""Recall of `lynxbench history` beside Otava's (PyPI: apache-otava) at a matched rate of false alarms, on real noise.

Noise: of published series, what remains beside their running median, put together again from blocks of ten neighbouring
values, so that it keeps their shape and their correlation. Otava's bound on p is the one that names a series of such
noise as often as lynxbench does by its default. Then steps are put in, at random places. With --tcpd, a checkout of
alan-turing-institute/TCPD: which of the changes that people marked are found, within five values, at the same two bounds.
"""

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

from clients import venv

HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--build", default="build")
parser.add_argument("--tcpd", help="a folder with annotations.json and datasets/")
parser.add_argument("--series", type=int, default=100, help="series of noise from each published one")
args = parser.parse_args()
RECORDED = os.path.join(HERE, "..", "tests", "recorded", "history")
BLOCK, HALF, LENGTH, NEAR, BOUNDS = 10, 10, 99, 3, [10 ** (-k / 2) for k in range(2, 29)]
OTAVA = """
import json, sys
from otava.analysis import compute_change_points
bounds, series = json.load(sys.stdin)
print(json.dumps([[[int(c.index) for c in compute_change_points(x, window_len=50, max_pvalue=p, min_magnitude=0.0)[0]]
                   for x in series] for p in bounds]))
"""


def columns(name):
    with open(os.path.join(RECORDED, name)) as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    names = [n for n in rows[0] if n not in ("run", "time")]
    return {n: [float(r[n]) for r in rows if r[n]] for n in names}


def remainders(x):
    return [v - statistics.median(x[max(0, i - HALF) : i + HALF + 1]) for i, v in enumerate(x)]


def noise(x, rng):
    made = []
    while len(made) < LENGTH:
        at = rng.randrange(len(x) - BLOCK)
        made += x[at : at + BLOCK]
    return made[:LENGTH]


def ours(series, flags):
    """Each as a file of its own: what is named of many together is another question."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        for x in series:
            with open(path, "w") as f:
                f.write("x\n" + "".join(f"{v!r}\n" for v in x))
            r = subprocess.run([os.path.join(args.build, "lynxbench"), "history", path, "--json", *flags], capture_output=True, text=True)
            events = json.loads(r.stdout)["events"] if r.returncode == 0 else []
            found.append([c["place"] for e in events for c in e["changes"]])
    return found


def theirs(series, bounds):
    r = subprocess.run([python, "-c", OTAVA], input=json.dumps([bounds, series]), capture_output=True, text=True, check=True)
    return json.loads(r.stdout)


def named(found):
    return sum(bool(f) for f in found) / len(found)


def recall(found, places, near):
    return sum(any(abs(c - p) <= near for c in f) for f, p in zip(found, places)) / len(places)


SOURCES = {"RocksDB": columns("rocksdb.csv"), "TigerBeetle": columns("tigerbeetle.csv"), "TCPD's QC": columns("quality_control.csv")}


def on_noise(source, series, flags, rng):
    """Otava's bound on p at which it names as many series without a change."""
    rests = [remainders(x) for x in series.values()]
    quiet = [noise(x, rng) for x in rests for _ in range(args.series * 8 // len(rests) // 2)]
    mine, by_bound = named(ours(quiet, flags)), [named(f) for f in theirs(quiet, BOUNDS)]
    at = min(range(len(BOUNDS)), key=lambda i: abs(by_bound[i] - mine))
    print(f"{source}: {len(rests)} series, {len(quiet)} of noise of {LENGTH} values; named without a change: lynxbench {mine:.0%}", end="")
    print(f", Otava {by_bound[BOUNDS.index(1e-3)]:.0%} by its default, {by_bound[at]:.0%} at p < {BOUNDS[at]:.1g}", flush=True)
    for size in (1, 2, 3):
        stepped, places = [], []
        for x in rests:
            for _ in range(args.series * 8 // len(rests) // 4):
                made, place = noise(x, rng), rng.randrange(15, LENGTH - 15)
                step = size * statistics.pstdev(x)
                stepped.append([v + step * (i >= place) for i, v in enumerate(made)])
                places.append(place)
        a, (b, c) = ours(stepped, flags), theirs(stepped, [BOUNDS[at], 1e-3])
        print(f"  a step of {size} sd: lynxbench {recall(a, places, NEAR):.0%}, Otava {recall(b, places, NEAR):.0%}", end="")
        print(f" (by its default {recall(c, places, NEAR):.0%})", flush=True)
    return BOUNDS[at]


def on_marks(folder, bound, flags):
    marks = json.load(open(os.path.join(folder, "annotations.json")))
    hits, n_marks, n_named, near = [0, 0, 0], 0, [0, 0, 0], [0, 0, 0]
    for name in sorted(marks):
        path = os.path.join(folder, "datasets", name, name + ".json")
        data = json.load(open(path)) if os.path.exists(path) else {"n_dim": 2}
        if data["n_dim"] != 1 or any(v is None for v in data["series"][0]["raw"]):
            continue
        x = [float(v) for v in data["series"][0]["raw"]]
        a, ((b,), (c,)) = ours([x], flags)[0], theirs([x], [bound, 1e-3])
        for i, f in enumerate((a, b, c)):
            n_named[i] += len(f)
            near[i] += sum(any(abs(v - p) <= 5 for person in marks[name].values() for p in person) for v in f)
            hits[i] += sum(any(abs(v - p) <= 5 for v in f) for person in marks[name].values() for p in person)
        n_marks += sum(len(person) for person in marks[name].values())
    for i, who in enumerate(("lynxbench", f"Otava at p < {bound:.1g}", "Otava by its default")):
        print(f"TCPD, {who}: {hits[i] / n_marks:.0%} of {n_marks} marks of people found, by {n_named[i]} changes,", end=" ")
        print(f"{near[i] / max(1, n_named[i]):.0%} of which somebody marked")


folder = venv(args.build, "otava", "otava", ["apache-otava"])
if folder is None:
    sys.exit("skipped: apache-otava cannot be installed here")
python = os.path.join(folder, "bin", "python")
for flags in ((), ("--independent",)):
    print(" ".join(("lynxbench history", *flags)) + ":")
    rng = random.Random(1)
    matched = [on_noise(source, series, flags, rng) for source, series in SOURCES.items()]
    if args.tcpd:
        on_marks(args.tcpd, statistics.median_low(matched), flags)
