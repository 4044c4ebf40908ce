"""Traces of a job of many ranks whose truth is known.

Each step has LAYERS collectives: of the rank's group of four, and the last of all ranks. SLOW_RANK computes 2 ms longer
before the last of each step; in SLOW_STEP every eighth rank from 1 computes 6 ms longer instead."""

import json
import os

LAYERS, GROUP, LAYER_US = 8, 4, 2500
SLOW_RANK, SLOW_STEP, SLOW_US, SLOWER_US, FIRST = 5, 7, 2000, 6000, 10


def late(rank, step):
    return (SLOW_US if rank == SLOW_RANK else 0) + (SLOWER_US if step == SLOW_STEP and rank % 8 == 1 else 0)


def trace(rank, ranks, steps):
    events, at, n = [], 1000 * rank, 1  # clocks that do not agree
    for step in range(steps):
        begun, longest = at, max(late(r, step) for r in range(min(ranks, 8)))
        for layer in range(LAYERS):
            last = layer == LAYERS - 1
            compute = LAYER_US // 2 + (late(rank, step) if last else 0)
            transfer = LAYER_US // 4 + (longest - late(rank, step) if last else 0)
            group = "0" if last else f"tp{rank // GROUP}"
            told = {"Collective name": "allreduce", "Process Group Name": group, "In msg nelems": 4096}
            told |= {"Out msg nelems": 4096, "dtype": "Float", "Group size": ranks if last else min(GROUP, ranks)}
            told["Seq"] = step * LAYERS + layer
            for name, begin, length, more in (
                ("gemm_f16", at + 10, compute, {}),
                ("ncclDevKernel_AllReduce", at + 10 + compute, transfer, told),
            ):
                call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
                kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7}
                events.append({**call, "ts": at, "dur": 4, "args": {"correlation": n}})
                on_device = {"stream": 7, "device": 0, "correlation": n, **more}
                events.append({**kernel, "ts": begin, "dur": length, "args": on_device})
                n += 1
            at += LAYER_US + (longest if last else 0)
        mark = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{FIRST + step}", "pid": 1, "tid": 1}
        events.append({**mark, "ts": begun, "dur": at - begun})
    devices = [{"id": 0, "name": "H100"}]
    return {"distributedInfo": {"rank": rank, "world_size": ranks}, "deviceProperties": devices, "traceEvents": events}


def write(folder, ranks, steps, only=None):
    """Their paths, by rank."""
    paths = [os.path.join(folder, f"rank{rank:05}.json") for rank in range(ranks)]
    for rank, path in enumerate(paths):
        if only is None or rank in only:
            with open(path, "w") as f:
                json.dump(trace(rank, ranks, steps), f)
    return paths
