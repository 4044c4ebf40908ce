"""Traces as people have them: devices that metadata names, work from before the trace, what was not recorded, and
files that are something else. Each is made here, so that what is right is known."""

import gzip
import json
import os

import pytest

from lynx import SOURCE, lynx, main


def span(name, at, length, process=1, thread=1, **more):
    return {"ph": "X", "name": name, "pid": process, "tid": thread, "ts": at, "dur": length, **more}


def named(process, name, threads=(), labels=None):
    events = [{"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}]
    if labels:
        events.append({"ph": "M", "name": "process_labels", "pid": process, "tid": 0, "args": {"labels": labels}})
    return events + [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": t, "args": {"name": n}} for t, n in threads
    ]


def kineto(name, at, length, correlation, category="kernel", **more):
    args = {"device": 0, "stream": 7, "correlation": correlation, **more}
    return span(name, at, length, 0, 7, cat=category, args=args)


def launch(at, length, correlation):
    return span("cudaLaunchKernel", at, length, cat="cuda_runtime", args={"correlation": correlation})


def account(tmp_path, events, *options):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    r = lynx("attribute", path, "--json", "--quiet", *options)
    assert r.returncode == 0, r.stderr
    said = lynx("attribute", path, "--quiet", *options).stdout
    trace = json.loads(r.stdout)["traces"][0]
    return trace, {s["state"]: s["ns"] for s in trace["states"]}, said


def test_a_device_of_xla_is_one(tmp_path):
    """Its streams count; modules, operations and scopes are the same work again."""
    events = named(1, "/host:CPU", [(5, "python")])
    threads = [(1, "Stream #1(Kernel)"), (2, "XLA Modules - from #1"), (3, "XLA Ops - from #1")]
    events += named(9, "/device:GPU:3", threads)
    events += [span("PjitFunction(f)", 0, 100, thread=5)]
    events += [span(f"loop_fusion_{k}", 10 + 30 * k, 20, 9, 1) for k in range(12)]
    events += [span("jit_f", 10, 400, 9, 2), span("loop_fusion", 10, 20, 9, 3)]
    trace, states, said = account(tmp_path, [*events, {}])
    assert trace["device"] == 3 and trace["busy_ns"] == 240000 and trace["wall_ns"] == 350000, trace
    assert "damaged" not in said and "not counted twice" in said, said


def test_a_device_of_ascend_is_one(tmp_path):
    """Work on its streams, collectives of its groups; waits are idle, planes and the analysis are not counted again."""
    events = named(1, "Python") + named(2, "Ascend Hardware", [(2, "Stream 2"), (4, "Stream 4")], "NPU")
    events += named(3, "HCCL", [(0, "Group 0 Communication"), (1, "Plane 0")], "NPU") + named(4, "CANN")
    events += named(6, "NPU MEM", labels="NPU") + named(3, "HCCL")  # named again, as msprof does
    events += named(5, "Overlap Analysis", [(0, "Computing")])
    events += [span("aten::mm", 0, 20, cat="cpu_op")]
    events += [span("Node@launch", 20 * k, 5, 4, 1, args={"connection_id": k + 1}) for k in range(10)]
    events += [span("aclnnMm_MatMul", 20 * k + 6, 10, 2, 2, args={"connection_id": k + 1}) for k in range(10)]
    events += [span("EVENT_WAIT", 200, 90, 2, 2), span("Notify Wait", 200, 90, 2, 4), span("Write Value", 299, 1, 2, 4)]
    events += [span("hcom_allReduce_", 200, 100, 3, 0), span("Reduce_Inline", 200, 50, 3, 1)]
    events += [span("Computing", 0, 300, 5, 0)]
    trace, states, said = account(tmp_path, events, "--window", "device")
    assert trace["bound_shares"]["computing"] * trace["wall_ns"] == pytest.approx(100000), trace["bound_shares"]
    assert states["exposed.communication"] == 100000, states


def test_collectives_of_a_tpu_are_no_computing(tmp_path):
    events = named(1, "/host:CPU", [(5, "python")]) + named(9, "/device:TPU:0", [(3, "XLA Ops")])
    for k in range(20):
        events += [span("fusion.1", 100 * k, 60, 9, 3), span("all-reduce.7", 100 * k + 60, 30, 9, 3)]
    trace, states, _ = account(tmp_path, events)
    assert states["exposed.communication"] == 600000, states
    assert trace["bound_shares"]["computing"] == pytest.approx(1200 / 1990), trace["bound_shares"]


@pytest.mark.parametrize(
    "name, ranks, factor",
    [("allreduce", 8, 1.75), ("_allgather_base", 4, 0.75), ("reduce_scatter", 2, 0.5), ("broadcast", 8, 1)],
)
def test_collectives_have_a_bus_bandwidth(tmp_path, name, ranks, factor):
    """67.1 million elements of two bytes in 1 ms and in 2 ms; the greater side of a gather is what comes out."""
    elements, events = 1 << 26, []
    for k in range(20):
        sizes = {"In msg nelems": elements, "Out msg nelems": elements, "dtype": "BFloat16", "Group size": ranks}
        if name == "_allgather_base":
            sizes["In msg nelems"] //= ranks
        if name == "reduce_scatter":
            sizes["Out msg nelems"] //= ranks
        events += [launch(3000 * k, 5, k + 1)]
        more = {"Collective name": name, "Process Group Name": "0", **sizes}
        events += [kineto("ncclDevKernel_X", 3000 * k + 10, 1000 if k % 4 == 0 else 2000, k + 1, **more)]
    trace, _, said = account(tmp_path, events)
    (rate,) = trace["collective_rates"]
    assert (rate["n"], rate["ranks"], rate["bytes"]) == (20, ranks, 20 * 2 * elements)
    assert rate["bus_bytes_per_s_median"] == pytest.approx(factor * 2 * elements / 2e-3, rel=1e-6)
    assert rate["bus_bytes_per_s_greatest"] == pytest.approx(factor * 2 * elements / 1e-3, rel=1e-6)
    assert "bus GB/s" in said and f"{factor * 2 * elements / 2e-3 / 1e9:.4g}" in said, said


def test_rates_stand_beside_the_links(tmp_path):
    """18 links of 25 GB/s between the GPUs, PCIe 5 with 16 lanes to the host: 450 and 63 GB/s each way."""
    machine = tmp_path / "machine.txt"
    head = "        GPU0    GPU1    CPU Affinity    NUMA Affinity\n"
    topology = head + "GPU0     X      NV18    0-47    0\nGPU1    NV18     X      0-47    0\n"
    report = """==============NVSMI LOG==============
Driver Version      : 570.86.10
GPU 00000000:01:00.0
    Product Name    : NVIDIA H100 80GB HBM3
    PCI
        GPU Link Info
            PCIe Generation
                Max : 5
            Link Width
                Max : 16x
"""
    machine.write_text(report + topology)
    events = []
    for k in range(20):
        sizes = {"In msg nelems": 1 << 26, "Out msg nelems": 1 << 26, "dtype": "BFloat16", "Group size": 2}
        events += [launch(3000 * k, 5, k + 1), launch(3000 * k + 6, 2, 50 + k)]
        events += [kineto("ncclDevKernel_X", 3000 * k + 10, 1000, k + 1, **{"Collective name": "allreduce", **sizes})]
        copy = "Memcpy HtoD (Pinned -> Device)"
        events += [kineto(copy, 3000 * k + 1100, 1000, 50 + k, "gpu_memcpy", bytes=31500000)]
    trace, _, said = account(tmp_path, events, "--machine", machine)
    reached = 2 * (1 << 26) / 1e-3 / 1e9
    said = " ".join(said.split())
    assert "NV18: 18 links of 25 GB/s = 450 GB/s each way; the fastest collective" in said, said
    assert f"reached {reached:.4g} GB/s, 30 %" in said, said
    assert "PCIe 5 with 16 lanes = 63.01 GB/s each way; copies to the device reached 31.5 GB/s, 50 %" in said, said
    machine.write_text(topology.replace("NV18", "SYS"))
    _, _, said = account(tmp_path, events, "--machine", machine)
    assert "between GPUs: SYS: over PCIe" in said and "to the host: PCIe" not in said, said
    machine.write_text("no machine\n")
    r = lynx("attribute", tmp_path / "t.json", "--machine", machine)
    assert r.returncode == 2 and "not an executor" in r.stderr


@pytest.mark.parametrize(
    "text, word",
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git-lfs pointer"),
        ('{"traceEvents": []}', "`lynxbench attribute` reads it"),
        ("<!DOCTYPE html><html><body>Sign in</body></html>", "a page of HTML"),
        ('{"request_throughput": 1, "total_output_tokens": 2}', "`lynxbench import` reads it"),
        ("Collecting environment information...\nPyTorch version: 2.9\nOS: Debian\n", "`lynxbench diff` reads it"),
        ("+---+\n| AMD-SMI 26.0.2 amdgpu version: 6 |\n", "`lynxbench diff` reads it"),
        ("# HELP vllm:x y\n# TYPE vllm:x gauge\nvllm:x 1\n", "metrics page"),
    ],
)
@pytest.mark.parametrize("command", [("run",), ("lint",), ("show",), ("show", "--claim"), ("compare",)])
def test_any_command_says_what_a_file_is(tmp_path, command, text, word):
    path = tmp_path / "given.txt"
    path.write_text(text)
    given = [path, path] if command == ("compare",) else [path]
    r = lynx(*command, *given)
    assert r.returncode == 2 and word in r.stderr and "given.txt" in r.stderr, (command, r.stderr)
    assert r.stderr.count("\n") <= 4, r.stderr
    if command == ("compare",):
        assert "compare --instruments A B" in r.stderr, r.stderr


def test_ledgers_bundles_and_contracts_are_told_apart(tmp_path):
    bundle = os.path.join(SOURCE, "tests", "recorded", "bundles", "small.lynx")
    ledger = tmp_path / "l.ledger"
    key = tmp_path / "ml.key"
    assert lynx("ledger", "key", "ml", "--out", tmp_path).returncode == 0
    r = lynx("ledger", "create", ledger, "--key", key)
    assert r.returncode == 0, r.stderr
    for command in ("run", "lint"):
        assert "a bundle of lynxbench: `lynxbench show` reads it" in lynx(command, bundle).stderr
        assert "a ledger of lynxbench" in lynx(command, ledger).stderr
    assert "a ledger of lynxbench" in lynx("show", ledger).stderr
    assert "a bundle of lynxbench" in lynx("import", bundle).stderr
    notes = "# Serving Benchmark Result of ours; \"traceEvents\" too\n"
    contract = tmp_path / "c.yaml"
    contract.write_text(notes + "lynxbench: 1\nname: x\nregime: {load: closed, concurrency: 1}\n")
    assert "not a contract" not in lynx("lint", contract).stderr


def test_a_step_that_is_unlike_the_others_is_named(tmp_path):
    def steps(lengths):
        events, at = [], 0
        for k, length in enumerate(lengths):
            events += [span(f"ProfilerStep#{k}", at, length, cat="user_annotation")]
            events += [launch(at + 10, 2, k + 1), kineto("sgemm", at + 20, length - 40, k + 1)]
            at += length
        return events

    _, _, said = account(tmp_path, steps([1000] * 20))
    assert "a mean over steps hides it" not in said, said
    trace, _, said = account(tmp_path, steps([1000] * 11 + [15000] + [1000] * 8))
    words = "! ProfilerStep#11 takes 15.000 ms, 15.0 times the median step of 1.000 ms; a mean over steps hides it"
    assert words in said, said
    assert (trace["step_longest"], trace["step_median_ns"]) == (12, 1000000)


def test_collectives_of_an_xpu_are_counted_once(tmp_path):
    """oneCCL's call on the host is of no device; its kernels, and what Level Zero does below SYCL, count once."""
    events = []
    for k in range(20):
        at, queue = 1000 * k, {"device": 0, "sycl queue": 64}
        events += [span("xccl::allreduce", at, 90, 4711, 4711, cat="collective_comm", args={"Communicator_id": 1})]
        both = {"correlation": k + 1}
        events += [span("urEnqueueKernelLaunch", at, 50, 4711, 4711, cat="xpu_runtime", args=both)]
        events += [span("zeCommandListAppendLaunchKernel", at + 5, 40, 4711, 4711, cat="xpu_driver", args=both)]
        write = {"correlation": 50 + k}
        events += [span("urEnqueueMemBufferWrite", at + 60, 20, 4711, 4711, cat="xpu_runtime", args=write)]
        events += [span("oneccl_allgatherv_pcie", at + 100, 200, 0, 0, cat="kernel", args={**both, **queue})]
        events += [span("ReduceScatterMediumKernel_local", at + 300, 100, 0, 0, cat="kernel", args=queue)]
        events += [span("XeGemm_kernel", at + 400, 300, 0, 0, cat="kernel", args=queue)]
        copy = {**queue, "bytes": 1000000, "correlation": 50 + k}
        name = "Memcpy M2D (Host (User Allocated) -> Device)"
        events += [span(name, at + 700, 100, 0, 0, cat="gpu_memcpy", args=copy)]
    trace, states, said = account(tmp_path, events, "--window", "device")
    assert states["exposed.communication"] == 20 * 300000 and trace["device"] == 0, states
    assert trace["launches"]["n"] == 20, trace["launches"]
    assert trace["streams"] == 1 or len(trace["streams"]) == 1, trace["streams"]
    assert "to the device 20.0 MB in 2.000 ms, 10 GB/s" in " ".join(said.split()), said


def test_an_mtias_waits_and_copies_are_no_kernels(tmp_path):
    """One category holds all of a queue: waits are idle, copies have a direction, a job's parts are in the job."""
    events = []
    for k in range(20):
        at = 1000 * k
        run = {"correlation": k + 1, "device": 17, "stream_id": 101}
        events += [span("runFunction - job_prep", at, 20, 865, 1, cat="mtia_runtime", args=run)]

        def work(name, begin, length, **more):
            args = {"stream": 101, **more}
            return span(name, at + begin, length, 17, 101, cat="mtia_ccp_events", args=args)

        events += [work("event_wait", 20, 80, wait_on_stream=9), work("fc-dtype_Float", 100, 400, correlation=k + 1)]
        events += [work("job_exe_0", 100, 400), work("packet", 100, 200), work("hccl::allreduce", 500, 100)]
        events += [work("dma_request", 600, 200, direction="HOST_TO_DEVICE", size=2000000)]
    trace, states, said = account(tmp_path, events, "--window", "device")
    assert trace["busy_ns"] == 20 * 700000, trace["busy_ns"]
    assert states["exposed.communication"] == 20 * 100000, states
    assert trace["bound_shares"]["computing"] * trace["wall_ns"] == pytest.approx(20 * 400000)
    assert trace["launches"]["n"] == 20, trace["launches"]
    assert "to the device 40.0 MB in 4.000 ms, 10 GB/s" in " ".join(said.split()), said


def test_engines_of_a_gaudi_work(tmp_path):
    """Its profiler calls what engines do a runtime's calls, on the device's threads; the host's calls stay calls."""
    engines = [(7012, "*TPC 0"), (7020, "*EDMA 1"), (7030, "*NIC External 1")]
    events = named(0, "/device:HPU:0", engines) + named(9, "host", [(1, "Synapse/host")])
    for k in range(20):
        at = 1000 * k
        events += [span("synLaunchWithExternalEvents", at, 30, 9, 1, cat="Runtime")]
        events += [span("fused_kernel_0", at + 100, 500, 0, 7012, cat="Kernel", args={"recipeId": 3})]
        events += [span("transfer", at + 600, 100, 0, 7020, cat="Runtime")]
        events += [span("exchange", at + 700, 50, 0, 7030, cat="Runtime")]
    trace, states, _ = account(tmp_path, events, "--window", "device")
    assert trace["format"] == "kineto" and trace["busy_ns"] == 20 * 650000, trace["busy_ns"]
    assert states["exposed.communication"] == 20 * 50000 and trace["bound_shares"]["copying"] > 0.09, states


def test_a_device_that_is_named_behind_its_events_is_said(tmp_path):
    events = named(9, "/device:GPU:3") + [span(f"loop_fusion_{k}", 10 + 30 * k, 20, 9, 1) for k in range(12)]
    trace, _, said = account(tmp_path, events + named(9, "/device:GPU:3", [(1, "Stream #1(Kernel)")]))
    assert "12 events of a device whose names come behind them" in said, said


def test_hardware_bound_is_said_of_computing_alone(tmp_path):
    """Three quarters are a collective, part of it launched before the trace began: that counts by what it is."""
    events = [kineto("ncclDevKernel_AllReduce", 100 * k, 75, 900 + k) for k in range(4)]
    events += [kineto("ncclDevKernel_AllReduce", 100 * k, 75, k + 1) for k in range(4, 12)]
    events += [kineto("sgemm", 100 * k + 75, 25, 50 + k) for k in range(12)]
    events += [launch(100 * k - 9, 2, k + 1) for k in range(4, 12)]
    events += [launch(100 * k - 5, 2, 50 + k) for k in range(12)]
    trace, states, said = account(tmp_path, events)
    assert trace["bound_by"] == "communication" and "Communication-bound" in said and "Hardware-bound" not in said, said
    assert states["exposed.communication"] == 825000 and trace["busy_launched_before_the_trace_ns"] == 225000, trace


def test_copies_have_a_rate_for_each_direction(tmp_path):
    ways, events = [("HtoD", 0, 80, 1, 800000), ("DtoD", 80, 10, 50, 9000000)], []
    for way, at, length, first, size in ways:
        name = f"Memcpy {way} (Pinned -> Device)"
        events += [kineto(name, 100 * k + at, length, first + k, "gpu_memcpy", bytes=size) for k in range(12)]
    events += [launch(100 * k - 9, 2, k + 1) for k in range(12)] + [launch(100 * k - 5, 2, 50 + k) for k in range(12)]
    trace, states, said = account(tmp_path, events)
    words = " ".join(said.split())
    assert trace["bound_by"] == "copies" and "Copy-bound" in said, said
    assert "to the device 9.6 MB in 0.960 ms, 10 GB/s" in words, words
    assert "within the device 108.0 MB in 0.120 ms, 900 GB/s" in words, words


def test_few_pieces_of_work_support_no_verdict(tmp_path):
    trace, _, said = account(tmp_path, [launch(0, 5, 1), kineto("sgemm", 10, 1000, 1)])
    assert trace["bound_by"] == "not established" and "Not established" in said, said


def test_launches_that_load_code_are_told_from_the_others(tmp_path):
    """The first launch of a kernel takes 20 ms, the others 5 us."""
    events, at = [], 0
    for k in range(40):
        length = 20000 if k in (0, 7, 20) else 5  # the third is of a kernel that was launched before
        events += [launch(at, length, k + 1), kineto("sgemm" if k < 7 else "relu", at + length + 2, 5, k + 1)]
        at += length + 20
    _, states, said = account(tmp_path, events)
    assert states["idle.compile"] == 20000000, states  # the first opens the window
    assert "2 launch calls load code: 40.000 ms together" in said and "capture the step as a graph" not in said, said


def test_a_cold_first_run_is_not_averaged_with_the_others(tmp_path):
    events, at = [], 0
    for length in (30000, 100, 110, 90):
        events += [span("model_run", at, length, cat="Session"), span("MatMul_kernel_time", at, length, cat="Node")]
        at += length + 10
    (tmp_path / "ort.json").write_text(json.dumps(events))
    said = lynx("attribute", tmp_path / "ort.json", "--quiet").stdout
    assert "in 3 steps, 0.100 ms on average" in said and "the first step takes more than three times" in said, said


def test_nodes_of_a_device_are_calls_whose_work_is_not_timed(tmp_path):
    node = {"op_name": "MatMul", "provider": "CUDAExecutionProvider"}
    events = [span("model_run", 0, 1000, cat="Session")]
    events += [span(f"M{k}_kernel_time", 100 * k, 90, cat="Node", args=node) for k in range(9)]
    (tmp_path / "ort.json").write_text(json.dumps(events))
    said = " ".join(lynx("attribute", tmp_path / "ort.json", "--quiet").stdout.split())
    assert "did not record the device: 9 launch calls" in said and "Infrastructure" not in said, said


def test_a_duration_that_runs_over_is_cut(tmp_path):
    events = [launch(10 * k, 2, k + 1) for k in range(20)]
    events += [kineto("sgemm", 10 * k + 4, 5 if k != 3 else 1e6, k + 1) for k in range(20)]
    trace, _, said = account(tmp_path, events)
    assert trace["busy_ns"] == 19 * 5000 + 10000 and "1 device span is said to run beyond" in said, said


def test_a_device_that_was_not_recorded_is_said(tmp_path):
    events = [span("aten::mm", 100 * k, 90, cat="cpu_op") for k in range(20)]
    events += [launch(100 * k + 10, 5, k + 1) for k in range(20)]
    trace, states, said = account(tmp_path, events)
    assert "did not record the device: 20 launch calls" in " ".join(said.split()), said
    assert not [s for s in states if s.startswith("compute.")], states


@pytest.mark.parametrize("category", ["user_annotation", "cpu_op", "anything"])
def test_a_collective_is_communication_in_any_category(tmp_path, category):
    events = [span("ProfilerStep#1", 0, 100, cat="user_annotation"), span("gloo:all_reduce", 10, 80, cat=category)]
    _, states, _ = account(tmp_path, [*events, span("aten::empty", 1, 1, cat="cpu_op")])
    assert states["exposed.communication"] == 80000, states


def test_what_another_program_names_is_nobodys(tmp_path):
    events = [
        {"ph": "b", "cat": "P2P", "id": 0, "name": "Send", "pid": 1, "tid": 1, "ts": 0},
        {"ph": "b", "cat": "P2P", "id": 1, "name": "Recv", "pid": 1, "tid": 1, "ts": 5},
        {"ph": "e", "cat": "P2P", "id": 0, "name": "Send", "pid": 1, "tid": 2, "ts": 40},
        {"ph": "e", "cat": "P2P", "id": 1, "name": "Recv", "pid": 1, "tid": 1, "ts": 50},
    ]
    trace, states, said = account(tmp_path, events)
    assert states == {"idle.range": 50000} or states.get("idle.range") == 50000, states
    assert "nobody yet" in said and " ML" not in said, said


@pytest.mark.parametrize(
    "path, layer",
    [
        ("/sgl-workspace/sglang/python/sglang/srt/models/utils.py", "serving"),
        ("/vllm-workspace/vllm/v1/worker/gpu_worker.py", "serving"),
        ("aiter/tuned_gemm.py", "runtime"),
        ("/tmp/torchinductor_root/ab/cab.py", "framework"),
        ("PIL/Image.py", None),
        ("tqdm/std.py", None),
        ("/home/me/torch/train.py", "application"),
        ("train.py", "application"),
    ],
)
def test_whose_python_it_is_by_its_package(tmp_path, path, layer):
    events = [launch(0, 1, 1), kineto("sgemm", 2, 1, 1), launch(1000, 1, 2), kineto("sgemm", 1002, 1, 2)]
    events += [span(f"{path}(12): work", 3, 990, cat="python_function")]
    trace, _, _ = account(tmp_path, events)
    [said] = [h for h in trace["host"] if path in h["name"]]
    assert said.get("layer") == (layer or "-"), said


@pytest.mark.parametrize(
    "content, said",
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "git lfs pull"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "a page of HTML"),
        (b'{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "rocprofv3"),
        (b'{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"ctrl_deps": 1}]}', "Chakra"),
        (b"PERFILE2" + bytes(40), "perf script"),
        (b"PK\x03\x04" + bytes(40), "ZIP"),
    ],
)
def test_a_file_that_is_something_else_is_called_by_its_name(tmp_path, content, said):
    for name in ("a.json", "trace-0123456789abcdef0123456789abcdef.json.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        r = lynx("attribute", path)
        assert r.returncode == 2 and said in r.stderr and name in r.stderr, r.stderr


@pytest.mark.parametrize(
    "content, command",
    [
        ('{"traceEvents": []}', "attribute"),
        ('{"data": [{"spans": [{"operationName": "GET", "spanID": "1"}]}]}', "attribute"),
        ('{"request_throughput": 1, "total_output_tokens": 2}', "import"),
        ("Collecting environment information...\nPyTorch version: 2.7.0\nOS: Debian\n", "diff"),
    ],
)
def test_a_file_for_another_command_says_which(tmp_path, content, command):
    path = tmp_path / "f"
    path.write_text(content)
    asked = {
        "attribute": ("attribute", path),
        "import": ("import", path, "--out", tmp_path / "o.lynx"),
        "diff": ("diff", path, path),
    }
    for words in [w for c, w in asked.items() if c != command]:
        r = lynx(*words)
        assert r.returncode == 2 and f"`lynxbench {command}` reads it" in r.stderr, (words, r.stderr)
    assert f"`lynxbench {command}`" not in lynx(*asked[command]).stderr


def test_one_trace_of_jaeger_is_enough(tmp_path):
    one = {
        "traceID": "a",
        "processes": {"p": {"serviceName": "gate"}},
        "spans": [{"spanID": "1", "operationName": "GET", "startTime": 1, "duration": 5, "processID": "p"}],
    }
    for document in (one, {"data": one}, {"data": [one]}, [one]):
        path = tmp_path / "j.json"
        path.write_text(json.dumps(document))
        r = lynx("attribute", path)
        assert r.returncode == 0 and "[gate] GET" in r.stdout, (document, r.stderr)


def test_an_idle_processor_is_no_work(tmp_path):
    text = "swapper     0 [000] 1.000001:   1 cycles:\n\tffff native_halt ([kernel.kallsyms])\n\n"
    text += "app  42/42 [000] 1.000002:   1 cycles:\n\tffff work (/usr/bin/app)\n\n"
    (tmp_path / "p.txt").write_text(text)
    r = lynx("attribute", tmp_path / "p.txt")
    assert "1 sample of cycles" in r.stdout and "swapper" not in r.stdout and "idle processors" in r.stdout, r.stdout


def test_an_operator_of_onnxruntime_computes(tmp_path):
    """Of no known class, too: its time is its kernel's, and nothing dispatches in it."""
    node = {"cat": "Node", "pid": 1, "tid": 1, "ph": "X"}
    session = {"cat": "Session", "pid": 1, "tid": 1, "ph": "X", "args": {}}
    events = [{**session, "name": "model_run", "ts": 0, "dur": 1000}]
    for k, kind in enumerate(["Frobnicate", "MatMul"] * 4):
        args = {"op_name": kind, "provider": "CPUExecutionProvider"}
        events.append({**node, "name": f"n{k}_kernel_time", "ts": 10 + 100 * k, "dur": 80, "args": args})
    path = tmp_path / "o.json"
    path.write_text(json.dumps(events))
    r = lynx("attribute", path, "--json", "--quiet")
    states = {s["state"]: s["ns"] for s in json.loads(r.stdout)["traces"][0]["states"]}
    assert states["compute.unclassified"] == 320000 and states["compute.matrix_product"] == 320000, states
    assert not states.get("idle.operator"), states


def test_a_quantile_is_no_more_than_the_greatest(tmp_path):
    events = [launch(10 * k, 2, k + 1) for k in range(40)]
    events += [kineto("gemm", 10 * k + 3, 6.999, k + 1) for k in range(40)]
    trace, _, _ = account(tmp_path, events)
    kernels = trace["kernels"]
    assert kernels["p99_ns"] <= kernels["greatest_ns"] == 6999, kernels


if __name__ == "__main__":
    main(__file__)
