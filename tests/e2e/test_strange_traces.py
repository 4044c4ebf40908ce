"""Kinds of strangers' traces that were read wrong at first. Each is made here, so that what is right is known."""

import json
import sqlite3

import pytest
from lynx import lynx, main
from test_evidence import account, kineto, launch, named, span


def attributed(path, *options, code=0):
    r = lynx("attribute", path, "--quiet", *options)
    assert r.returncode == code, r.stderr
    return r.stderr if code else " ".join(r.stdout.split())


def flow(category, phase, number, process, thread, at):
    return {"ph": phase, "cat": category, "name": category, "id": str(number), "pid": process, "tid": thread, "ts": at}


def test_arrows_join_an_ascends_work_to_its_calls(tmp_path):
    """No number of a call is a number of the work. The main thread hands over, another one launches: both decide."""
    events = named(1, "Python", labels="CPU") + named(801, "Ascend Hardware", [(3, "Stream 3")], "NPU")
    events += named(900, "CANN")
    events += [span("ProfilerStep#1", 0, 1200, cat="cpu_op")]
    for k in range(12):
        at = 100 * k
        events += [
            span("aten::mm", at, 60, thread=10, cat="cpu_op"),
            span("Enqueue", at + 50, 5, thread=10, cat="enqueue"),
            flow("async_task_queue", "s", k, 1, 10, at + 52),
            flow("async_task_queue", "f", k, 1, 20, at + 61),
            span("aclnnMm", at + 60, 20, thread=20, cat="dequeue"),
            span("AscendCL@aclnnMm", at + 62, 16, 900, 20, args={"connection_id": 2 * k}),
            flow("HostToDevice", "s", 1000 + k, 900, 20, at + 70),
            flow("HostToDevice", "f", 1000 + k, 801, 3, at + 80),
            span("aclnnMm_TransData_TransData", at + 80, 10, 801, 3, args={"connection_id": 2 * k + 1}),
        ]
    trace, states, said = account(tmp_path, events)
    assert states["compute.layout"] == 120000 and trace["wall_ns"] == 1200000, states
    assert states["idle.operator"] + states["idle.launch"] + states.get("idle.latency", 0) >= 900000, states
    assert "launched before the trace began" not in said and "Software-bound" in said, said


def test_another_provider_of_onnxruntime_computes_elsewhere(tmp_path):
    def node(name, at, length, provider):
        args = {"op_name": name, "provider": provider + "ExecutionProvider"}
        return span(f"{name}_kernel_time", at, length, cat="Node", args=args)

    events = [span("session_initialization", 0, 9000, cat="Session")]
    for k in range(3):
        at = 10000 + 1000 * k
        events += [span("model_run", at, 1000, cat="Session"), node("CoreML_1", at, 800, "CoreML")]
        events += [node("Sign", at + 800, 200, "CPU")]
    path = tmp_path / "o.json"
    path.write_text(json.dumps(events))
    said = attributed(path)
    assert "For 80.0 % of the window another provider computes" in said and "operators: elementwise" in said, said
    assert "before the window session_initialization takes 9.000 ms, 3.0 times the window" in said, said


def nsys(path, **tables):
    db = sqlite3.connect(path)
    names = sorted({row[2] for rows in tables.values() for row in rows if len(row) > 3})
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    db.execute("CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT)")
    db.execute("INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 'CUDA profiling might have not been started correctly.')")
    db.execute("INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'CUDA injection initialized successfully.')")
    for table, rows in tables.items():
        db.execute(f'CREATE TABLE {table} ("start" INTEGER, "end" INTEGER, nameId INTEGER, globalTid INTEGER)')
        db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [(a, b, names.index(n), t) for a, b, n, t in rows])
    db.commit()
    db.close()


def test_calls_of_the_operating_system_are_seen(tmp_path):
    """The profiler's own work before and after is no part of the job; what it says of itself is."""
    path = tmp_path / "t.sqlite"
    thread = (7 << 24) + 7
    nsys(
        path,
        CUPTI_ACTIVITY_KIND_RUNTIME=[(1000000, 1100000, "cuInit", thread)],
        OSRT_API=[(1100000, 1700000, "poll", thread), (1900000, 2000000, "read", thread)],
        PROFILER_OVERHEAD=[(0, 10, "begin", thread), (9000000, 9000010, "end", thread)],
    )
    said = attributed(path)
    assert "first to last event, 1.000 ms" in said, said
    assert "70.00 % 0.700 ms in a call of the operating system" in said, said
    assert "CUDA profiling might have not been started correctly" in said and "injection" not in said, said
    assert "1 0.600 600.00 other call poll" in said, said


PERF = "".join(
    f"{program} {pid} {at:.6f}: {event}: \n\t{symbol} ({module})\n\n"
    for program, pid, at, event, symbol, module, n in [
        ("quick", 1, 1.0, "instructions", "0a spin", "/usr/bin/quick", 9),
        ("slow", 2, 1.1, "instructions", "0b walk", "/usr/bin/slow", 1),
        ("quick", 1, 1.2, "cycles:u", "0a spin", "/usr/bin/quick", 5),
        ("slow", 2, 1.3, "cycles:u", "0b walk", "/usr/bin/slow", 5),
    ]
    for _ in range(n)
)


def test_of_several_events_the_one_that_is_time_counts(tmp_path):
    path = tmp_path / "perf.txt"
    path.write_text(PERF)
    said = attributed(path)
    assert "10 samples of cycles:u" in said and "50.00 % 5 spin" in said and "50.00 % 5 walk" in said, said
    assert "10 samples of other events are left out" in said and "their functions are below" in said, said
    said = attributed(path, "--event", "instructions")
    assert "90.00 % 9 spin" in said and "count themselves, not time" in said, said
    assert "no sample of the event faults; it has 20 of others" in attributed(path, "--event", "faults", code=2)


def request(number, start, length, parent=None, service="p1", name=None):
    references = [{"refType": "CHILD_OF", "traceID": "t", "spanID": parent}] if parent else []
    return {
        "traceID": "t",
        "spanID": number,
        "operationName": name or number,
        "startTime": start,
        "duration": length,
        "references": references,
        "processID": service,
    }


def test_a_child_within_the_time_of_another_takes_nothing_twice(tmp_path):
    """What no child covers is a span's own, in whatever order they end; and a gateway by its name is nobody's."""
    spans = [request("P", 0, 100000), request("A", 10000, 80000, "P"), request("B", 30000, 20000, "P")]
    spans += [request("decode", 0, 1000, "P", "p2", "decode jwt")]
    processes = {"p1": {"serviceName": "graphql-gateway"}, "p2": {"serviceName": "predistribution"}}
    path = tmp_path / "j.json"
    path.write_text(json.dumps({"data": [{"traceID": "t", "spans": spans, "processes": processes}]}))
    rows = json.loads(lynx("attribute", path, "--json", "--quiet").stdout)["traces"][0]["operations"]
    own = {r["operation"]: r for r in rows}
    assert own["P"]["work_ns"] == 19000000, own
    assert all(r["layer"] == "-" for r in rows), rows


def test_one_conversion_is_no_habit(tmp_path):
    """A cold clone that takes most of it is once; what does nothing, or is a part of another, is not counted."""
    events = [span("model", 0, 1000, cat="user_annotation"), span("aten::reshape", 100, 500, cat="cpu_op")]
    events += [span("aten::clone", 110, 480, cat="cpu_op")]
    _, _, said = account(tmp_path, events)
    assert "(conversion)" not in said, said
    events = [span("model", 0, 1000, cat="user_annotation")]
    for k in range(10):
        events += [span("aten::to", 100 * k, 50, cat="cpu_op"), span("aten::_to_copy", 100 * k + 2, 40, cat="cpu_op")]
        events += [span("aten::copy_", 100 * k + 5, 30, cat="cpu_op"), span("aten::to", 100 * k + 60, 1, cat="cpu_op")]
    _, _, said = account(tmp_path, events)
    assert "10 kernels or operators convert numbers" in said and " 0 change layout" in said, said


def test_a_call_that_sets_memory_copies_nothing(tmp_path):
    events = []
    for k in range(20):
        events += [launch(100 * k, 4, k + 1), kineto("sgemm", 100 * k + 10, 5, k + 1)]
        events += [span("cudaMemsetAsync", 100 * k + 20, 60, cat="cuda_runtime", args={"correlation": 1000 + k})]
    _, states, _ = account(tmp_path, events)
    assert states["idle.call"] > 1000000 and "idle.copy_call" not in states, states


def test_device_work_without_a_category_is_known_by_its_name(tmp_path):
    """Copies as CUPTI's users call them, kernels with their call's number; of other names nothing is claimed."""
    events = []
    for k in range(12):
        args = {"correlationId": k + 1}
        events += [span("[MEMCPY] DtoH", 100 * k, 60, thread=7, args=args)]
        events += [span("void at::native::vectorized<4>(int)", 100 * k + 60, 10, thread=7, args=args)]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(events))
    said = attributed(path)
    assert "device 0" in said and "Copy-bound: for 61" in said and "host is in" not in said, said
    events = [span("void update(World&)", 10 * k, 8) for k in range(20)]
    path.write_text(json.dumps(events))
    said = attributed(path)
    assert "Nothing in this trace says what is a device's" in said and "device 0" not in said, said


def test_lives_that_overlap_are_no_threads_time(tmp_path):
    events = []
    for k in range(40):
        for phase, at in (("b", 10 * k), ("e", 10 * k + 200)):
            events.append({"ph": phase, "cat": "net", "id": k, "name": f"request {k}", "pid": 1, "tid": 1, "ts": at})
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    said = attributed(path)
    assert "It holds 40 asynchronous spans, up to 20 at once and of 0.200 ms on average" in said, said
    assert "the host is in" not in said, said


def test_a_device_that_is_named_and_did_nothing_is_said(tmp_path):
    events = [span("aten::uniform_", 100 * k, 90, cat="cpu_op") for k in range(20)]
    path = tmp_path / "k.json"
    path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "RTX"}], "traceEvents": events}))
    said = attributed(path)
    assert "names a device (RTX) and holds no work of it" in said, said
    assert "dispatching operators - nobody yet" in said, said
    path.write_text(json.dumps({"traceEvents": events}))
    said = attributed(path)
    assert "operators: unclassified" in said and "dispatching" not in said, said


def test_copies_of_nsys_say_which_memory_they_use(tmp_path):
    path = tmp_path / "t.sqlite"
    for kind, words in ((1, "host memory is pinned already"), (0, "100 % by time use pageable memory")):
        path.unlink(missing_ok=True)
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER)")
        columns = '"start", "end", deviceId, streamId, bytes, copyKind, srcKind, dstKind'
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({columns})")
        rows = [(1000 * k, 1000 * k + 900, 0, 7, 4096, 1, kind, 2) for k in range(20)]
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        db.commit()
        db.close()
        assert words in attributed(path), kind


def test_samples_of_one_line_each_are_read(tmp_path):
    """Without call chains perf writes the command to the right, and the frame behind the event."""
    path = tmp_path / "perf.txt"
    lines = [f"   my test   42 10.{k:06}:   7 cycles:  7fff0{k} walk+0x{k} (/usr/bin/mine)" for k in range(10)]
    path.write_text("\n".join([*lines, "   my test   42 11.000001:   7 cycles:  ffff [unknown] ([unknown])"]) + "\n")
    said = attributed(path)
    assert "11 samples of cycles over 1.000 s" in said and "90.91 % 10 walk" in said, said


def test_a_task_that_is_gone_has_a_time_too(tmp_path):
    """perf writes its number as -1, and a time as of any other."""
    path = tmp_path / "perf.txt"
    lines = [f"worker 42 [000] 150130.{k:06}:   7 cycles:\n\t0a walk (/usr/bin/mine)\n" for k in range(10)]
    lines.append(":-1 -1 [111] 150135.000000:   7 cycles:\n\t0b exit ([kernel.kallsyms])\n")
    path.write_text("\n".join(lines) + "\n")
    assert "11 samples of cycles over 5.000 s" in attributed(path)


def test_an_export_without_events_is_one(tmp_path):
    path = tmp_path / "t.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
    db.commit()
    db.close()
    said = attributed(path, code=2)
    assert "an export of Nsight Systems in which nothing of CUDA or NVTX was recorded" in said, said


GEMM = "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::NumericArrayConverter<float> > >(Params)"


@pytest.mark.parametrize("blocks, full", [(1, False), (400, True)])
def test_a_kernel_of_one_block_is_no_devices_limit(tmp_path, blocks, full):
    """The device is busy all the time, in one of its multiprocessors. And a product that converts is a product."""
    path = tmp_path / "t.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("INSERT INTO StringIds VALUES (1, ?)", (GEMM,))
    db.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER)")
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'A', 100)")
    columns = '"start", "end", deviceId, streamId, demangledName, gridX, gridY, gridZ'
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
    rows = [(1000 * k, 1000 * k + 950, 0, 7, 1, blocks, 1, 1) for k in range(20)]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    db.close()
    said = attributed(path)
    assert "computing: matrix product" in said and "number conversion" not in said, said
    assert ("Hardware-bound" in said) == full and ("too few thread blocks" in said) != full, said
    assert full or "(0.01 for each)" in said, said


def test_kinetos_blocks_count(tmp_path):
    events = []
    for k in range(20):
        events += [launch(100 * k, 5, k + 1), kineto("sgemm", 100 * k + 10, 95, k + 1, **{"blocks per SM": 0.25})]
    _, _, said = account(tmp_path, events)
    assert "(0.25 for each)" in said, said


def test_one_call_before_the_window_is_in_the_first_sentence(tmp_path):
    events = [span("cudaMalloc", 0, 900000, cat="cuda_runtime")]
    for k in range(20):
        at = 1000000 + 100 * k
        events += [launch(at, 5, k + 1), kineto("sgemm", at + 10, 20, k + 1)]
    _, _, said = account(tmp_path, events)
    assert "before the window one cudaMalloc took 900.000 ms" in said, said


def nsys_of_device(path, kernels=(), calls=(), copies=()):
    """kernels: (start, end, name, correlation); calls likewise; copies: (start, end, kind)."""
    db = sqlite3.connect(path)
    names = sorted({row[2] for row in [*kernels, *calls]})
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    times, place = '"start", "end"', "globalPid, correlationId, deviceId, streamId"
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ({times}, nameId, globalTid, correlationId)")
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({times}, demangledName, {place})")
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({times}, bytes, copyKind, {place})")
    process = 7 << 24
    of_host = [(a, b, names.index(n), process + 7, c) for a, b, n, c in calls]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", of_host)
    of_device = [(a, b, names.index(n), process, c, 0, 7) for a, b, n, c in kernels]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)", of_device)
    moved = [(a, b, 4096, kind, process, None, 0, 9) for a, b, kind in copies]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?, ?)", moved)
    db.commit()
    db.close()
    return path


MS = 1000000


def test_pages_of_unified_memory_move(tmp_path):
    copies = [(k * MS, k * MS + MS // 2, 11 + k % 2) for k in range(12)]
    kernels = [(k * MS + MS // 2, (k + 1) * MS, "mine", k) for k in range(12)]
    calls = [(k * MS, k * MS + 1000, "cudaLaunchKernel", k) for k in range(12)]
    said = attributed(nsys_of_device(tmp_path / "t.sqlite", kernels, calls, copies))
    assert "Memcpy HtoD (Unified Memory)" in said and "Memcpy DtoH (Unified Memory)" in said, said
    assert "12 migrations of unified memory" in said and "cudaMemPrefetchAsync" in said, said
    assert "pin host memory" not in said, "there is none that could be pinned"
    assert "computing: unclassified - nobody yet" in said, "a kernel of nobody knows whom"


def test_what_is_more_than_twice_the_unexplained_is_said(tmp_path):
    """Three quarters in a kernel, a quarter in which no call is recorded: that order does not change."""
    kernels = [(4 * k * MS, (4 * k + 3) * MS, "mine", k) for k in range(12)]
    calls = [(4 * k * MS, 4 * k * MS + 1000, "cudaLaunchKernel", k) for k in range(12)]
    said = attributed(nsys_of_device(tmp_path / "t.sqlite", kernels, calls))
    assert "of the window the device computes for 76.6 %" in said and "Not established" not in said, said


def test_a_call_that_frees_waits_for_the_device(tmp_path):
    kernels = [(2 * k * MS + 10000, 2 * k * MS + 10000 + MS, "mine", k) for k in range(12)]
    calls = [(2 * k * MS, 2 * k * MS + 5000, "cudaLaunchKernel", k) for k in range(12)]
    calls += [(2 * k * MS + 6000, 2 * k * MS + 12000 + MS, "cudaFree", 100 + k) for k in range(12)]
    said = attributed(nsys_of_device(tmp_path / "t.sqlite", kernels, calls))
    share = float(said.split("critical path: ")[1].split(" %")[0])
    assert 45 < share < 60, said


def test_a_host_that_runs_ahead_is_no_measure(tmp_path):
    """Five steps are handed over in 5 ms; the device works on them for 100 ms."""
    events = []
    for step in range(5):
        events.append(span(f"ProfilerStep#{step}", 1000 * step, 1000, cat="user_annotation"))
        for k in range(4):
            number = 10 * step + k
            events.append(launch(1000 * step + 10 * k, 5, number))
            events.append(kineto("sgemm", 20000 * step + 5000 * k + 100, 4990, number))
    trace, states, said = account(tmp_path, events)
    assert trace["wall_ns"] == 99990000, trace["wall_ns"]
    assert "per step (--window steps)" in said and "in 5 steps" not in said and "Hardware-bound" in said, said
    trace, states, said = account(tmp_path, events, "--window", "steps")
    assert trace["wall_ns"] == 5000000 and "in 5 steps" in said, said


def test_the_c_library_works_for_its_caller(tmp_path):
    path = tmp_path / "perf.txt"
    frames = "".join(f"\t0a {name} ({module})\n" for name, module in (
        ("msort", "/usr/lib/libc.so.6"), ("qsort", "/usr/lib/libc.so.6"), ("work", "/home/me/mine")))
    sample = "mine 1 {:.6f}: cycles: \n" + frames + "\n"
    path.write_text("".join(sample.format(1 + k / 10) for k in range(10)))
    said = attributed(path)
    assert "100.00 % 10 /home/me/mine" in said, said
    assert "Infrastructure" not in said and "they count with their caller" in said, said
    assert "100.00 % 10 msort" in said, "the functions stay what they are"


if __name__ == "__main__":
    main(__file__)
