#!/usr/bin/env python3
"""The plots of docs/method.md, from docs/simulation.txt (`make simulate`): docs/figures/*.svg. The same input gives the same bytes.
Needs matplotlib; `scripts/regenerate.sh figures` has it in a place of its own. usage: figures.py"""

import os
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INK, GRID, OURS, THEIRS = "#57606a", "#d0d7de", "#2563eb", "#b45309"
plt.rcParams.update(
    {
        "svg.hashsalt": "lynxbench",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GRID,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": GRID,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
    }
)
with open(os.path.join(ROOT, "docs", "simulation.txt")) as f:
    TEXT = f.read()


def found(pattern, least):
    rows = re.findall(pattern, TEXT, flags=re.M)
    assert len(rows) >= least, f"docs/simulation.txt: {len(rows)} lines like {pattern}; at least {least} are expected"
    return rows


def save(figure, name):
    os.makedirs(os.path.join(ROOT, "docs", "figures"), exist_ok=True)
    figure.savefig(os.path.join(ROOT, "docs", "figures", name + ".svg"), metadata={"Date": None, "Creator": None}, bbox_inches="tight", transparent=True)
    plt.close(figure)
    print(f"docs/figures/{name}.svg")


def rows_of(axes, names):
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="x", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def sheet(names, each=0.36):
    """A plot with a row for each name."""
    return plt.subplots(figsize=(7.2, each * len(names) + 1.1))


def finish(figure, axes, names, name, label):
    axes.set_xlabel(label)
    rows_of(axes, names)
    axes.legend(loc="lower right")
    save(figure, name)


def intervals():
    """Coverage of 5 sessions of 1500 requests."""
    rows = found(r"^  (\S.*?) +5 x 1500 +(p50|p90|p99|mean) +covered ([\d.]+) \+- ([\d.]+) .*? ok$", 20)
    names = list(dict.fromkeys(r[0] for r in rows))
    figure, axes = sheet(names)
    for name, color, offset in (("mean", OURS, -0.15), ("p99", THEIRS, 0.15)):
        own = [(names.index(r[0]), float(r[2]), float(r[3])) for r in rows if r[1] == name]
        axes.errorbar(
            [c for _, c, _ in own],
            [i + offset for i, _, _ in own],
            xerr=[2 * e for _, _, e in own],
            fmt="o",
            color=color,
            markersize=4.5,
            label=name,
        )
    axes.axvline(0.95, color=INK, linewidth=1, linestyle="--")
    axes.set_xlim(0.9, 1.003)
    axes.set_xlabel("share of 95 % intervals that hold the true figure (± 2 standard errors)")
    rows_of(axes, names)
    axes.legend(loc="upper left", ncols=2, bbox_to_anchor=(0, 1.14))
    save(figure, "intervals")


def changes():
    """Any change in a series that has none."""
    rows = found(r"^  (\S.*?) +(\d+) values: any change +([\d.]+) % \(at most (\d+)\); Otava, defaults +([\d.]+) %", 3)
    names = [f"{r[0]}, {r[1]} values" for r in rows]
    figure, axes = sheet(names, 0.42)
    axes.barh([i - 0.18 for i in range(len(rows))], [float(r[2]) for r in rows], 0.34, color=OURS, label="lynxbench")
    axes.barh([i + 0.18 for i in range(len(rows))], [float(r[4]) for r in rows], 0.34, color=THEIRS, label="Otava, its defaults")
    for i, r in enumerate(rows):
        axes.plot([float(r[3])] * 2, [i - 0.4, i + 0.4], color=INK, linewidth=1.5)
    finish(figure, axes, names, "changes", "series without a change in which one is found, % (line: what is promised at most)")


def bisect():
    """How many sessions, beside trying every combination."""
    rows = found(r"^  (\S.*?) +(\d+) facts: right +([\d.]+) %.*?; sessions +([\d.]+) \(all: (\d+)\)", 3)
    names = [f"{r[0].strip()} ({r[1]} facts)" for r in rows]
    figure, axes = sheet(names)
    for i, r in enumerate(rows):
        axes.plot([float(r[3]), float(r[4])], [i, i], color=GRID, linewidth=2, zorder=1)
        axes.annotate(f"right {float(r[2]):.0f} %", (float(r[3]), i), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=7)
    axes.scatter([float(r[3]) for r in rows], range(len(rows)), color=OURS, s=24, label="bisect", zorder=2)
    axes.scatter([float(r[4]) for r in rows], range(len(rows)), color=THEIRS, s=24, label="every combination", zorder=2)
    axes.set_xscale("log")
    axes.set_xlim(left=3)
    finish(figure, axes, names, "bisect", "sessions")


def others():
    """An executor beside others, when they take more beside B."""
    rows = found(r"^  others ([\d.]+), ([\d.]+) more: the same within the margin ([\d.]+), different beyond it ([\d.]+)", 8)
    figure, axes = plt.subplots(figsize=(7.2, 3.0))
    for beside, color in (("0.00", OURS), ("0.20", THEIRS)):
        own = [r for r in rows if r[0] == beside]
        axes.plot([100 * float(r[1]) for r in own], [100 * float(r[3]) for r in own], "o-", color=color, markersize=4, label=f"others take {float(beside):.0%} beside A")
    axes.set_xlabel("of the machine that others take more beside B, %")
    axes.set_ylabel("falsely «different», %")
    axes.set_xlim(0, 12)
    axes.grid(linewidth=0.6)
    axes.legend(loc="lower right")
    save(figure, "others")


for draw in (intervals, changes, bisect, others):
    draw()
