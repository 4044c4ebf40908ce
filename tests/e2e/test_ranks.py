"""All ranks of a job on one page: from their traces at once, or from parts that were read apart."""

import random
import re
import subprocess

import job_traces as job
import pytest
from lynx import *

RANKS, STEPS = 16, 20


def attribute(*words, code=0):
    r = lynx("attribute", "--quiet", *words)
    assert r.returncode == code, r.stdout + r.stderr
    return r


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return job.write(tmp_path_factory.mktemp("ranks"), RANKS, STEPS)


def test_the_truth_is_found(traces, tmp_path):
    page = tmp_path / "ranks.html"
    found = json.loads(attribute("--ranks", "--json", "--html", page, *traces).stdout)
    ranks = {r["rank"]: r for r in found["ranks"]}
    slow, once = job.SLOW_US * 1000, job.SLOWER_US * 1000
    assert found["straggler"] == job.SLOW_RANK and (found["n_ranks"], found["missing"]) == (RANKS, 0), found["verdict"]
    # In the one step in which two others are slower it is not last, and those two are so together.
    assert ranks[job.SLOW_RANK]["came_last"] == STEPS - 1 and sum(r["came_last"] for r in ranks.values()) == STEPS - 1
    assert ranks[job.SLOW_RANK]["others_wait_ns"] == (STEPS - 1) * (RANKS - 1) * slow
    assert ranks[0]["wait_ns"] == (STEPS - 1) * slow + once and ranks[job.SLOW_RANK]["wait_ns"] == once - slow
    groups = {g["group"]: (g["ranks"], g["matched"], g["unmatched"]) for g in found["groups"]}
    assert groups == {"0": (RANKS, STEPS, 0), **{f"tp{k}": (4, STEPS * 7, 0) for k in range(RANKS // 4)}}, groups
    # 16 KiB in 625 us, by the one that waits for nobody: 2 (n - 1) / n of it on the bus
    for g in found["groups"]:
        on_bus = int(2 * (g["ranks"] - 1) / g["ranks"] * 16384)
        assert g["bus_bytes_per_s"] == pytest.approx(on_bus / 625e-6, rel=1e-6), g
    assert found["first_steps"] == [job.FIRST + k for k in range(STEPS)], found["first_steps"]
    usual = job.LAYERS * job.LAYER_US * 1000
    for rank in ranks:
        want = [usual + 1000 * job.late(rank, step) for step in range(STEPS)]
        assert ranks[rank]["own_ns"] == pytest.approx(want), rank
    for part in found["account"]:  # each rank's parts sum to its window
        assert 0 <= part["least_share"] <= part["mean_share"] <= part["greatest_share"] <= 1, part
    assert sum(a["mean_share"] for a in found["account"]) == pytest.approx(1, abs=1e-9)
    assert sum(a["ns"] for a in found["account"]) == sum(r["wall_ns"] for r in ranks.values())
    text = attribute("--ranks", *traces).stdout
    assert f"Ranks wait for rank {job.SLOW_RANK}: " in text and "x 1.30  rank 1, step 17: 26.000 ms" in text, text
    html = page.read_text()
    assert "rank 9, step 17: 1.30 of the median" in html and html.count("<h2>") == html.count("</h2>") >= 6


def test_parts_make_the_same_page(traces, tmp_path):
    """Read anywhere, in any order and number, and joined to the same bytes."""
    shuffled = list(traces)
    random.Random(3).shuffle(shuffled)
    parts = []
    for k in range(0, RANKS - 4, 4):
        parts.append(tmp_path / f"{k}.ranks")
        attribute("--part", parts[-1], *shuffled[k : k + 4])
    rest = shuffled[RANKS - 4 :]  # parts and traces, together
    for how in (["--json"], ["--ranks"]):
        assert attribute(*how, "--ranks", *rest, *parts).stdout == attribute(*how, "--ranks", *traces).stdout
    attribute("--part", tmp_path / "rest.ranks", *rest)
    joined = tmp_path / "all.ranks"
    joined.write_bytes(b"".join(p.read_bytes() for p in [*parts, tmp_path / "rest.ranks"]))
    assert attribute("--json", joined).stdout == attribute("--json", "--ranks", *traces).stdout


def test_the_next_step_runs_as_it_is_printed(traces, tmp_path):
    part = tmp_path / "it's $(id) of.ranks"
    said = lynx("attribute", "--part", part, *traces[:2]).stderr
    step = re.search(r"next: lynxbench (.*), with the parts", said).group(1)
    r = subprocess.run(["sh", "-c", f'"$0" {step} --ranks --json', LYNX], capture_output=True, text=True)
    assert r.returncode == 0 and json.loads(r.stdout)["n_ranks"] == 2, (said, r.stderr)


def test_ranks_that_are_missing(traces):
    found = json.loads(attribute("--ranks", "--json", *traces[:3], *traces[4:6]).stdout)
    assert (found["n_ranks"], found["world_size"], found["missing"]) == (5, RANKS, RANKS - 5)
    groups = {g["group"]: g["ranks"] for g in found["groups"]}
    assert groups == {"0": 5, "tp0": 3, "tp1": 2}, groups
    assert "11 of 16 ranks are missing" in attribute("--ranks", *traces[:3], *traces[4:6]).stdout


def write_calls(folder, ranks, calls, step_tracks=()):
    """Traces of collectives, one each 10 ms, each 5 ms long at most: of (group, members, {rank: how many us late})."""
    paths = job.write(folder, ranks, 1)
    for rank, path in enumerate(paths):
        t = json.load(open(path))
        events = []
        for k, (group, members, late) in enumerate(calls):
            if rank not in members:
                continue
            begin, late_us = 10000 * k, late.get(rank, 0)
            call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "dur": 4}
            of = {"Process Group Name": group, "Process Group Ranks": str(list(members))}
            more = {"Collective name": "allreduce", "In msg nelems": 1, "Seq": k, **of}
            kernel = {"ph": "X", "cat": "kernel", "name": "ncclKernel", "pid": 0, "tid": 7, "dur": 5000 - late_us}
            on_device = {"stream": 7, "device": 0, "correlation": k + 1, **more}
            events += [{**call, "ts": begin, "args": {"correlation": k + 1}}]
            events += [{**kernel, "ts": begin + 10 + late_us, "args": on_device}]
            mark = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k}", "pid": 1, "ts": begin}
            events += [{**mark, "tid": thread, "dur": length} for thread, length in step_tracks]
        t["traceEvents"] = events
        json.dump(t, open(path, "w"))
    return paths


def test_even_ranks_accuse_nobody(tmp_path):
    """Each is last in turn."""
    traces = write_calls(tmp_path, 4, [("0", range(4), {k % 4: 1000}) for k in range(40)])
    found = json.loads(attribute("--ranks", "--json", *traces).stdout)
    assert found["straggler"] == -1 and "No one rank is late all along" in found["verdict"], found["verdict"]
    assert found["steps"] == 0 and "no step is on all ranks" in attribute("--ranks", *traces).stdout
    # Two of them in turn are two, not one.
    traces = write_calls(tmp_path, 4, [("0", range(4), {k % 2 + 1: 1000}) for k in range(40)])
    found = json.loads(attribute("--ranks", "--json", *traces).stdout)
    assert found["straggler"] == -1 and "50 % of that for rank 1" in found["verdict"], found["verdict"]
    assert "and 50 % for rank 2." in found["verdict"], found["verdict"]


def test_a_group_of_two_among_many(tmp_path):
    """One waits for the other: its whole wait is said, not what all ranks have of it on average."""
    calls = [("pair", (0, 1), {1: 4000}) for _ in range(20)] + [("0", range(8), {}) for _ in range(20)]
    found = json.loads(attribute("--ranks", "--json", *write_calls(tmp_path, 8, calls)).stdout)
    assert found["straggler"] == 1 and "each of 1 there 4000.0 us on average" in found["verdict"], found["verdict"]


def test_groups_of_one_name(tmp_path):
    """Two groups that both call themselves tp are matched apart; neither waits for the other."""
    calls = [("tp", half, {half[0]: 1000}) for _ in range(10) for half in ((0, 1), (2, 3))]
    found = json.loads(attribute("--ranks", "--json", *write_calls(tmp_path, 4, calls)).stdout)
    groups = {g["group"]: (g["ranks"], g["matched"], g["unmatched"]) for g in found["groups"]}
    assert groups == {"tp [0, 1]": (2, 10, 0), "tp [2, 3]": (2, 10, 0)}, groups
    assert found["straggler"] == -1, found["verdict"]


def test_steps_of_the_thread_that_marks_most(tmp_path):
    calls = [("0", range(2), {}) for _ in range(12)]
    traces = write_calls(tmp_path, 2, calls, step_tracks=((2, 30), (1, 8000)))
    found = json.loads(attribute("--ranks", "--json", *traces).stdout)
    assert found["steps"] == 12 and all(own == 8_000_000 for r in found["ranks"] for own in r["own_ns"]), found["ranks"]


def test_traces_of_several_jobs(tmp_path):
    traces = job.write(tmp_path, 4, 12)
    t = json.load(open(traces[3]))
    json.dump({**t, "distributedInfo": {"rank": 9, "world_size": 4}}, open(traces[3], "w"))
    text = attribute("--ranks", *traces).stdout
    assert "1 of the ranks that were given have a number that a job of 4 has not" in text, text
    json.dump({**t, "distributedInfo": {"rank": 3, "world_size": 16}}, open(traces[3], "w"))
    assert "they may be of several jobs" in attribute("--ranks", *traces).stdout


def test_misuse(traces, tmp_path):
    part, bad = tmp_path / "a.ranks", tmp_path / "bad.ranks"
    attribute("--part", part, *traces[:2])
    lines = part.read_text().splitlines()
    whole = json.loads(lines[0])

    def refused(text, *words, extra=()):
        bad.write_text(text if isinstance(text, str) else json.dumps(text, separators=(",", ":")) + "\n")
        r = attribute(bad, *extra, code=2)
        named = bad if ".ranks:" in r.stderr else traces[0]
        assert str(named) in r.stderr and all(w in r.stderr for w in words) and r.stdout == "", r.stderr

    refused(lines[0] + "\n" + lines[0] + "\n", "rank 0", "one trace of each rank")
    refused({**whole, "lynxbench_rank": 9}, "found 9; accepted: 1")
    refused(lines[0] + "\n" + lines[1][:-40] + "\n", ":2:")
    longer = {"wall_ns": whole["wall_ns"] + 1, "shown_ns": whole["shown_ns"] + 1}
    refused({**whole, **longer}, "sum to wall_ns")
    refused({**whole, "shown_ns": whole["wall_ns"] - 1}, "shown_ns")
    refused({**whole, "groups": whole["groups"][::-1]}, "ascending")
    twice = {**whole["groups"][0], "calls": whole["groups"][0]["calls"][:1] * 2}
    refused({**whole, "groups": [twice]}, "ascending")
    refused({**whole, "account": [["compute.nothing", None, whole["wall_ns"]]]}, "known states")
    refused({**whole, "steps": [[2, 0, 5], [1, 5, 5]]}, "ascending")
    refused({**whole, "groups": [{"group": "0", "calls": [[7, 0, 0, 0, 1, 1]]}]}, "groups")
    refused({**whole, "groups": [{"group": "0", "calls": [[0, 0, 0, 0, -1, 1]]}]}, "groups")
    refused({**whole, "rank": -1}, "rank")
    refused(lines[0] + "\n", f"{traces[0]}", "one trace of each rank", extra=(traces[0],))
    r = attribute(part, "--window", "trace", code=2)
    assert str(part) in r.stderr and "read with options of its own" in r.stderr, r.stderr
    for option in ("--json", "--html=page.html"):
        r = attribute("--part", bad, option, traces[0], code=2)
        assert option.split("=")[0] in r.stderr and "by itself" in r.stderr, r.stderr
    blank = tmp_path / "blank.ranks"
    blank.write_text(part.read_text() + "\n\n")
    assert attribute("--json", blank).stdout == attribute("--json", part).stdout
    # Escapes of a stranger do not reach the terminal, nor markup the page.
    page = tmp_path / "page.html"
    odd = "\x1b[31m<script>"
    strange = {**whole, "device_name": odd, "trace": odd, "groups": [{**whole["groups"][0], "group": odd}]}
    bad.write_text(json.dumps(strange, separators=(",", ":")))
    r = attribute(bad, "--html", page)
    assert "\x1b" not in r.stdout + page.read_text() and "<script>" not in page.read_text(), r.stdout
    r = attribute("--ranks", os.path.join(SOURCE, "tests/recorded/profiles/h100-bert.json.gz"), code=2)
    assert "which rank it is of" in r.stderr, r.stderr
    for option in ("--folded", "--chrome", "--against"):
        r = attribute("--ranks", option, traces[1], traces[0], code=2)
        assert option in r.stderr and "all ranks" in r.stderr, r.stderr
    r = attribute(*[traces[0]] * 65, code=2)
    assert "found 65 files" in r.stderr and "--ranks" in r.stderr, r.stderr


if __name__ == "__main__":
    main(__file__)
