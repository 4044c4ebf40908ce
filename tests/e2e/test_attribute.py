"""Accounts of public traces beside what other tools say of them, to the digits they print; misuse."""

import csv
import gzip
import tarfile

import pytest
from lynx import *

PROFILES = os.path.join(SOURCE, "tests/recorded/profiles")
qwen = os.path.join(PROFILES, "h100-qwen.json.gz")


def attribute(*arguments, code=0):
    r = lynx("attribute", "--quiet", *arguments)
    check_equal(r.returncode, code, f"attribute {' '.join(arguments)}: {r.stderr}")
    return r


def account(*arguments, code=0):
    return json.loads(attribute("--json", *arguments, code=code).stdout)


def test_a_trace_comes_through_a_named_pipe(tmp_path):
    """What looks whether a file is a bundle takes nothing of a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cp", qwen, "/dev/stdout"], stdout=subprocess.PIPE)
    feeder = subprocess.Popen(["sh", "-c", f"cat >{pipe}"], stdin=writer.stdout)
    try:
        found = account(str(pipe))["traces"][0]
    finally:
        for process in (writer, feeder):
            process.kill()
            process.wait()
    found_in_file = account(qwen)["traces"][0]
    for one in (found, found_in_file):
        one.pop("trace"), one.pop("bytes")  # a pipe has no size
    check(found == found_in_file, f"the same as of the file: {str(found)[:300]}")


def unpack(name, to):
    with tarfile.open(os.path.join(PROFILES, name)) as packed:
        packed.extractall(to)


# tb_plugin's ms per step, and the whole.
ROLES = {
    "num_workers_0-worker0.1623143089861": (95.937, 1.915, 0.088, 0, 2.797, 59.262, 13.674, 1.156, 174.829),
    "num_workers_0-worker0.1623143566756": (96.683, 1.734, 0.088, 0, 3.950, 35.504, 13.786, 1.210, 152.955),
    "num_workers_4-worker0.1623212756351": (97.873, 3.160, 0.097, 0, 10.462, 1.186, 22.663, 4.251, 139.692),
    "num_workers_4-worker0.1623213129365": (98.989, 2.885, 0.098, 0, 10.581, 0.292, 14.313, 15.596, 142.754),
}


@pytest.fixture(scope="module")
def resnet():
    """The files of ResNet-50's four runs: with the data loader in the step, and with four workers."""
    with folder() as d:
        unpack("resnet50.tar.xz", d)
        yield [sorted(f"{d}/resnet50/{n}.json" for n in ROLES if f"workers_{k}" in n) for k in (0, 4)]


def closes(trace, what):
    check_equal(sum(s["ns"] for s in trace["states"]), trace["wall_ns"], f"{what}: the states sum to the wall")
    check(all(s["layer"] and s["owner"] for s in trace["states"]), f"{what}: every state has a layer and an owner")


@pytest.mark.parametrize("path", sorted(name for name in os.listdir(PROFILES) if name.endswith(".csv")))
def test_the_device_timeline_is_tracelens(path):
    """Ours is in integers, theirs in doubles of microseconds: a quarter of a nanosecond for each span."""
    trace = account("--orphans", "drop", os.path.join(PROFILES, path[:-4] + ".json.gz"))["traces"][0]
    closes(trace, path)
    tolerance = 20 + 0.25 * trace["device_spans"]
    for row in csv.DictReader(open(os.path.join(PROFILES, path))):
        ours = trace["gpu_timeline_ns"][row["type"]]
        check(
            abs(ours - float(row["time ms"]) * 1e6) <= tolerance,
            f"{path}: {row['type']} is {ours / 1e6} ms, TraceLens says {row['time ms']}",
        )


def test_what_was_launched_before_the_trace_counts():
    """With every span kept a third more."""
    check_equal(account(qwen)["traces"][0]["launched_before_the_trace"], 509, "orphans are counted")
    kept = account("--orphans", "keep", qwen)["traces"][0]["gpu_timeline_ns"]["total_time"]
    check(49.6e6 < kept < 49.7e6, f"all kept: {kept / 1e6} ms, should be 49.65")
    check(account(qwen)["traces"][0]["busy_launched_before_the_trace_ns"] > 0, "how much of the window that is")


def test_holistic_trace_analysis_exactly():
    """Times in that trace are whole microseconds, so that its rounding takes nothing."""
    hta = json.load(open(os.path.join(PROFILES, "a100-rank0.hta.json")))
    trace = account("--orphans", "drop", os.path.join(PROFILES, "a100-rank0.json.gz"))["traces"][0]
    check_equal(
        trace["gpu_timeline_ns"]["total_time"], hta["temporal_us"]["kernel_time(us)"] * 1000, "HTA's kernel time"
    )
    check_equal(trace["gpu_timeline_ns"]["idle_time"], hta["temporal_us"]["idle_time(us)"] * 1000, "HTA's idle time")
    streams = {str(s["stream"]): s for s in trace["streams"]}
    for stream, wanted in hta["streams_us"].items():
        for kind, us in wanted.items():
            check_equal(streams[stream][f"{kind}_ns"], us * 1000, f"HTA's {kind} of stream {stream}")


def test_a_graph_is_one_call_and_hundreds_of_kernels():
    trace = account(os.path.join(PROFILES, "mi300-sglang-decode.json.gz"))["traces"][0]
    check_equal((trace["graph_launches"], trace["graph_spans"]), (1, 544), "kernels of a graph launch")
    check(any(s["state"] == "idle.graph" for s in trace["states"]), "gaps inside a graph are told apart")


def test_the_exclusive_roles_of_tb_plugin(resnet):
    """Of the four ResNet-50 traces, ms per step, to the digits it prints."""
    for path in resnet[0] + resnet[1]:
        name = os.path.basename(path)[: -len(".json")]
        row = ROLES[name]
        trace = account(path)["traces"][0]
        closes(trace, name)
        found = [ns / 1e6 / trace["steps"] for ns in trace["roles_ns"].values()] + [
            trace["wall_ns"] / 1e6 / trace["steps"]
        ]
        check(
            all(abs(f - w) <= 0.00051 for f, w in zip(found, row)), f"{name}: roles are {found}, tb_plugin's are {row}"
        )


def test_the_pair_of_resnet(resnet):
    """46.6 ms accounted, 22.7 realised, and an interval that includes zero."""
    none, four = resnet
    change = account("--against", ",".join(none), *four)["change"]
    loader = change["roles"]["DataLoader"]
    fell = (loader[0] - loader[1]) / 1e6
    check(abs(fell - 46.6) < 0.05, f"the data loader's share fell by {fell} ms")
    check(abs(change["difference_ns"] / 1e6 + 22.7) < 0.05, f"the step by {change['difference_ns'] / 1e6} ms")
    check(change["low_ns"] < 0 < change["high_ns"], "with two runs an arm, no change at all is not excluded")
    check_equal(change["accounted_state"], "idle.data_loader", "the state that changed with it")
    check(
        abs(sum(change["layers_ns"].values()) - change["difference_ns"]) < 10, "the layers' changes sum to the window's"
    )
    check(0.48 < change["non_additivity"] < 0.53, f"non-additivity {change['non_additivity']}")
    text = attribute("--against", ",".join(none), *four).stdout
    check_in("that includes no change at all", text, "the text says so")
    check("data_loader" in {f["finding"] for f in account(none[0])["traces"][0]["findings"]}, "the finding before")
    check("data_loader" not in {f["finding"] for f in account(four[0])["traces"][0]["findings"]}, "and not after")


@pytest.fixture
def written(resnet, d):
    """The four workers' first trace, with every output; and its account."""
    attribute(resnet[1][0], "--html", f"{d}/a.html", "--folded", f"{d}/a.folded", "--chrome", f"{d}/a.trace")
    return d, account(resnet[1][0])["traces"][0]


def test_the_page_needs_nothing_else(written):
    page = open(f"{written[0]}/a.html", encoding="utf-8").read()
    for part in ("<svg", "Findings", "What overlapped", "Notes", "Infrastructure"):
        check_in(part, page, "the page")
    check("<script" not in page and "http" not in page.replace("http-equiv", ""), "the page needs nothing else")


def test_the_chrome_trace_is_a_trace_again(written):
    d, trace = written
    slices = json.load(open(f"{d}/a.trace"))["traceEvents"]
    whole = sum(s.get("dur", 0) for s in slices) * 1e3
    check(abs(whole - trace["wall_ns"]) < 1e3, "the Chrome trace holds the whole window")
    again = json.loads(attribute("--json", f"{d}/a.trace").stdout)["traces"][0]
    covered = again["wall_ns"] - again["unexplained_ns"]  # between steps nothing is accounted for
    off = abs(covered - trace["wall_ns"])
    check(off < 10000, f"the account of the account: {covered}, should be {trace['wall_ns']}")


def test_folded_stacks_hold_all_device_time(written):
    d, trace = written
    folded = [line.rsplit(" ", 1) for line in open(f"{d}/a.folded")]
    check_equal(sum(int(n) for _, n in folded), sum(trace["classes"].values()), "all device time")
    check(any("aten::conv2d;" in stack for stack, _ in folded), "by the host's call path")


def test_two_devices_have_other_kernels_and_the_same_operators():
    change = account(
        "--against", os.path.join(PROFILES, "h100-bert.json.gz"), os.path.join(PROFILES, "mi300-bert.json.gz")
    )["change"]
    check(
        change["same_names"] > 0.85 and change["abstained"] is None,
        f"the same model on two devices: {change['same_names']}",
    )
    r = account(
        "--against", os.path.join(PROFILES, "h100-bert.json.gz"), os.path.join(PROFILES, "a100-rank0.json.gz"), code=3
    )
    check_in("would be a difference in work", r["change"]["abstained"], "two different models")


def test_nsight_systems(d):
    """Sums as the documentation of nsys-ai prints them, over both devices."""
    for name, kernels, nccl in (("before", 535.20, 25.40), ("after", 488.84, 33.74)):
        path = f"{d}/{name}.sqlite"
        with gzip.open(os.path.join(PROFILES, f"mfu_2gpu_{name}.sqlite.gz")) as packed, open(path, "wb") as out:
            shutil.copyfileobj(packed, out)
        sums = [account("--device", str(k), "--orphans", "keep", path)["traces"][0] for k in (0, 1)]
        for trace in sums:
            closes(trace, f"{name}, device {trace['device']}")
        found = sum(t["kernels"]["sum_ns"] + t["classes"].get("communication", 0) for t in sums) / 1e6
        check(abs(found - kernels) < 0.006, f"{name}: kernels sum to {found} ms, should be {kernels}")
        found = sum(t["classes"].get("communication", 0) for t in sums) / 1e6
        check(abs(found - nccl) < 0.006, f"{name}: communication sums to {found} ms, should be {nccl}")
        packed = account(os.path.join(PROFILES, f"mfu_2gpu_{name}.sqlite.gz"))["traces"][0]
        check_equal(packed["wall_ns"], account(path)["traces"][0]["wall_ns"], "packed or not")
    with sqlite3.connect(f"{d}/other.sqlite") as db:
        db.execute("CREATE TABLE a (b)")
    db.close()
    check_in("no export of Nsight Systems", attribute(f"{d}/other.sqlite", code=2).stderr, "another database")
    check_in(
        "found bundle format 1, which lynxbench 0.1 reads; accepted: formats 5 to 6",
        attribute(os.path.join(SOURCE, "tests/fuzz/corpus/bundle/format1"), code=2).stderr,
        "a bundle of another format",
    )


def test_perf_is_folded_as_stackcollapse_folds(d):
    """But for a last sample without an empty line behind it, which that drops."""
    unpack("perf.tar.xz", d)
    for name in sorted(n for n in os.listdir(d) if n.startswith("perf-")):
        # That takes the first of several events.
        several = ["--event", "instructions"] if name == "perf-cycles-instructions-01.txt" else []
        attribute(f"{d}/{name}", "--folded", f"{d}/out", *several)
        read = lambda path: {s: int(n) for s, n in (line.rsplit(" ", 1) for line in open(path, errors="replace"))}
        ours, theirs = read(f"{d}/out"), read(f"{d}/results/{name}")
        ends_open = not open(f"{d}/{name}", errors="replace").read().endswith("\n\n")
        differing = {s for s in set(ours) | set(theirs) if ours.get(s) != theirs.get(s)}
        check(
            len(differing) <= ends_open and all(ours.get(s, 0) > theirs.get(s, 0) for s in differing),
            f"{name}: {len(differing)} stacks differ",
        )
        if ends_open:
            check_equal(len(differing), 1, f"{name}: the last sample counts")


def test_the_critical_paths_of_crisp(d):
    unpack("crisp.tar.xz", d)
    for name in (f"{i}.json" for i in range(1, 26)):
        wanted = json.load(open(f"{d}/{name}"))["testing"]
        wanted = wanted[0] if isinstance(wanted, list) else wanted.get("opTimeExclusive", wanted)
        found = {
            f"[{o['service']}] {o['operation']}": o["on_path_ns"] / 1000
            for o in account(f"{d}/{name}")["traces"][0]["operations"]
        }
        check_equal({k: v for k, v in found.items() if v}, {k: v for k, v in wanted.items() if v}, f"CRISP {name}")


def test_a_straggler_that_was_planted(d):
    for rank in range(4):
        events, at = [], 0
        for i in range(40):
            late = 400 if rank == 2 else 10 * rank
            events.append(
                {
                    "ph": "X",
                    "cat": "cuda_runtime",
                    "name": "cudaLaunchKernel",
                    "pid": 1,
                    "tid": 1,
                    "ts": at + late,
                    "dur": 5,
                    "args": {"correlation": i + 1},
                }
            )
            events.append(
                {
                    "ph": "X",
                    "cat": "kernel",
                    "name": "ncclDevKernel_AllReduce",
                    "pid": 0,
                    "tid": 7,
                    "ts": at + late + 10,
                    "dur": 500 - late,
                    "args": {
                        "stream": 7,
                        "device": 0,
                        "correlation": i + 1,
                        "Collective name": "allreduce",
                        "Process Group Name": "0",
                    },
                }
            )
            at += 1000
        json.dump(
            {"distributedInfo": {"rank": rank, "world_size": 4}, "traceEvents": events},
            open(f"{d}/rank{rank}.json", "w"),
        )
    r = account(*(f"{d}/rank{k}.json" for k in range(4)))
    ranks = {x["rank"]: x for x in r["collectives"]["ranks"]}
    check_equal(
        (r["collectives"]["matched"], ranks[2]["came_last"], r["collectives"]["transfer_ns"]),
        (40, 40, 40 * 100000),
        "rank 2 is last each time",
    )
    check_equal(ranks[0]["wait_ns"], 40 * 400000, "rank 0 waits for it")
    check("straggler" in {f["finding"] for f in r["traces"][0]["findings"]}, "the straggler is found")


def test_misuse(d):
    unpack("crisp.tar.xz", d)
    open(f"{d}/empty.json", "w").write("{}")
    open(f"{d}/text", "w").write("hello\n")
    json.dump({"traceEvents": []}, open(f"{d}/nothing.json", "w"))
    open(f"{d}/cut.json.gz", "wb").write(open(qwen, "rb").read()[:200000])
    for arguments, part in (
        ([f"{d}/missing"], "No such file"),
        ([d], "a directory"),
        ([f"{d}/text"], "no trace that is known"),
        ([f"{d}/nothing.json"], "nothing to account for"),
        ([f"{d}/empty.json"], "traceEvents"),
        ([qwen, "--device", "7"], "no work of device 7"),
        ([qwen, "--window", "x"], "accepted: auto, steps"),
        ([qwen, "--orphans", "x"], "accepted: apart, drop, keep"),
        ([qwen, "--top", "-1"], "accepted"),
        ([qwen, "--back-to-back", "soon"], "5us"),
        ([qwen, "--against", ""], "an empty name"),
        ([qwen, "--against", f"{d}/1.json"], "accepted: traces of spans"),
        ([qwen, "--contract", f"{d}/text"], ""),
    ):
        check_in(part, attribute(*arguments, code=2).stderr, " ".join(arguments))
    check_in(
        "the file ends inside an event",
        attribute(f"{d}/cut.json.gz").stdout,
        "a file that was cut off is read as far as it goes",
    )
    closes(account(f"{d}/cut.json.gz")["traces"][0], "a file that was cut off")


def test_outputs_go_into_pipes_and_through_links(d):
    os.mkfifo(f"{d}/pipe")
    reader = subprocess.Popen(["cat", f"{d}/pipe"], stdout=subprocess.PIPE)
    attribute(qwen, "--html", f"{d}/pipe")
    check_in(b"</html>", reader.communicate()[0], "a pipe is written to")
    check(os.path.exists(f"{d}/pipe") and not os.path.isfile(f"{d}/pipe"), "and not replaced by a file")
    os.symlink(f"{d}/target.html", f"{d}/link.html")
    open(f"{d}/target.html", "w").close()
    attribute(qwen, "--html", f"{d}/link.html")
    check(os.path.islink(f"{d}/link.html") and os.path.getsize(f"{d}/target.html") > 1000, "a link is written through")


def test_lines_longer_than_what_is_looked_at_first(d):
    spans = [
        {"traceId": "t", "spanId": str(i), "name": "x" * 100, "startTimeUnixNano": "1000", "endTimeUnixNano": "2000"}
        for i in range(900)
    ]
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    open(f"{d}/long.jsonl", "w").write(line + "\n" + line.replace('"t"', '"u"') + "\n")
    check(len(line) > 1 << 17, "a line longer than what is looked at first")
    check_equal(account(f"{d}/long.jsonl")["traces"][0]["requests"], 1800, "lines longer than the head")


def kernel(i, **more):
    args = {"device": 0, "stream": 7, **more}
    return {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 1000 * i, "dur": 500, "args": args}


def test_windows_that_are_not_alike(d):
    op = lambda i: {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 100}
    step = lambda i: {
        "ph": "X",
        "cat": "user_annotation",
        "name": f"ProfilerStep#{i}",
        "pid": 1,
        "tid": 1,
        "ts": 1000 * i,
        "dur": 1000,
    }
    for name, n, steps in (("two", 2, True), ("three", 3, False), ("six", 6, False)):
        json.dump(
            [f(i) for i in range(n) for f in ((kernel, op, step) if steps else (kernel, op))],
            open(f"{d}/{name}.json", "w"),
        )
    check_in(
        "profiler steps",
        account("--against", f"{d}/two.json", f"{d}/three.json", code=3)["change"]["abstained"],
        "windows that are not alike",
    )
    check_in(
        "different amounts of work",
        account("--against", f"{d}/three.json", f"{d}/six.json", code=3)["change"]["abstained"],
        "twice the work",
    )
    check_in(
        "no profiler steps",
        attribute(f"{d}/six.json", "--window", "steps", code=2).stderr,
        "a window that is not there",
    )


def test_a_thread_that_drives_another_device(d):
    events = [
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "pid": 2,
            "tid": 5,
            "ts": 0,
            "dur": 10,
            "args": {"correlation": 1},
        },
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "pid": 1,
            "tid": 1,
            "ts": 0,
            "dur": 10,
            "args": {"correlation": 2},
        },
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaDeviceSynchronize",
            "pid": 2,
            "tid": 5,
            "ts": 10,
            "dur": 2000,
            "args": {"correlation": 3},
        },
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "pid": 1,
            "tid": 1,
            "ts": 1000,
            "dur": 10,
            "args": {"correlation": 4},
        },
        dict(kernel(0, correlation=2), ts=20, dur=100),
        dict(kernel(0, correlation=4), ts=1020, dur=100),
        {
            "ph": "X",
            "cat": "kernel",
            "name": "sgemm",
            "pid": 1,
            "tid": 7,
            "ts": 20,
            "dur": 50,
            "args": {"device": 1, "stream": 7, "correlation": 1},
        },
    ]
    json.dump({"deviceProperties": [], "traceEvents": events}, open(f"{d}/two-devices.json", "w"))
    states = {s["state"] for s in account("--device", "0", f"{d}/two-devices.json")["traces"][0]["states"]}
    check("idle.synchronise" not in states, f"a thread that drives another device explains nothing here: {states}")


def test_conversions_on_the_host_are_counted(d):
    """A share of the window is never said of 0 operators."""
    names = ["aten::mm", "aten::_to_copy"] * 20
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 990}
        for i, name in enumerate(names)
    ]
    with open(f"{d}/host.json", "w") as f:
        json.dump({"traceEvents": events}, f)
    found = {f["finding"]: f for f in account(f"{d}/host.json")["traces"][0]["findings"]}
    check_in("conversion", found, "the finding")
    check_in("20 kernels or operators convert numbers (4", found["conversion"]["evidence"], "as many as there are")


def spans(path, *rows):
    """A trace of one thread; each row: category, name, begin and end in microseconds."""
    events = [
        {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": end - begin}
        for cat, name, begin, end in rows
    ]
    with open(path, "w") as f:
        json.dump({"traceEvents": events}, f)
    return str(path)


def test_python_belongs_to_whose_file_it_is(d):
    path = spans(
        f"{d}/python.json",
        ("python_function", "serve.py(10): main", 0, 1000),
        ("user_annotation", "one request", 0, 900),
        ("python_function", "vllm/v1/engine/core.py(300): step", 100, 400),
        ("python_function", "threading.py(600): wait", 200, 400),  # works for who called it
        ("python_function", "torch/nn/modules/linear.py(130): forward", 400, 600),
        ("cpu_op", "aten::mm", 450, 600),
        ("python_function", "nobody_knows.py(1): f", 700, 800),
        ("python_function", "/venv/lib/python3.11/site-packages/unheard_of/x.py(1): g", 800, 900),
    )
    trace = account(path)["traces"][0]
    check_equal(sum(s["ns"] for s in trace["states"]), trace["wall_ns"], "the account closes")
    python = {s["layer"]: s["ns"] for s in trace["states"] if s["state"] == "idle.python"}
    expected = {"application": 400_000, "serving": 300_000, "framework": 50_000, "-": 100_000}
    check_equal(python, expected, "Python by the layer of its file")
    host = {h["name"]: (h["layer"], h["ns"]) for h in trace["host"] if h["state"] == "idle.python"}
    check_equal(host["vllm/v1/engine/core.py(300): step"], ("serving", 300_000), "by function")
    check_equal(host["serve.py(10): main"], ("application", 300_000), "and the caller where nothing else is open")
    check_equal([(r["name"], r["ns"]) for r in trace["ranges"]], [("one request", 900_000)], "named ranges")
    text = attribute(path, "--html", f"{d}/python.html", "--folded", f"{d}/python.folded").stdout
    for where, what in (("text", text), ("page", open(f"{d}/python.html").read())):
        check_in("vllm/v1/engine/core.py(300): step", what, where)
        check_in("one request", what, where)
        check("idle while the host" not in what, f"{where}: no device, so that nothing is idle")
    folded = open(f"{d}/python.folded").read()
    check_in("serve.py(10): main;one request;vllm/v1/engine/core.py(300): step 100000", folded, "folded")


def test_a_range_that_outlives_its_function(d):
    """A range's begin is inside of a function that ends before it: what is open then is the caller's."""
    path = spans(
        f"{d}/range.json",
        ("python_function", "serve.py(10): main", 0, 1000),
        ("python_function", "torch/_ops.py(1): __call__", 100, 200),
        ("user_annotation", "a range", 150, 900),
    )
    host = {h["name"]: h["ns"] for h in account(path)["traces"][0]["host"]}
    check_equal(host, {"serve.py(10): main": 900_000, "torch/_ops.py(1): __call__": 100_000}, "whose time it is")


def test_names_do_not_reach_the_terminal_raw(d):
    shutil.copy(qwen, f"{d}/\033[31mred.json.gz")
    check(
        "\033[31m" not in attribute(f"{d}/\033[31mred.json.gz").stdout, "a file's name does not reach the terminal raw"
    )
    check("\033[31m" not in attribute(f"{d}/\033[31mgone", code=2).stderr, "nor in an error")


def test_a_contract_names_the_owners(d):
    path = contract(f"{d}/c.yaml", 1, owners="{runtime: the kernel people}")
    check_in("the kernel people", attribute(qwen, "--contract", path).stdout, "owners of a contract")


if __name__ == "__main__":
    main(__file__)
