"""lynxbench diagnose on vLLM's build for processors, with py-spy: the threads of its processes, what they do by function
and file, whose that is; checked against /proc and against py-spy run by hand."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "e2e"))
from lynx import check, check_equal, check_in, finish, folder, free_port, lynx, skip

import vllm_server

BIN = os.path.dirname(vllm_server.PYTHON)
KEEP = os.environ.get("KEEP")  # a folder for the bundle, the page and the screen


def processor_seconds(pids):
    ticks = 0
    for pid in pids:
        fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


missing = vllm_server.install()
if missing:
    skip(f"vLLM, because {missing}")
r = subprocess.run([f"{BIN}/python", "-m", "pip", "install", "-q", "py-spy"], capture_output=True, text=True)
if r.returncode:
    skip(f"py-spy cannot be installed: {r.stderr[-300:]}")

with folder() as d:
    port, d = free_port(), KEEP or d
    config = json.dumps({"profiler": "torch", "torch_profiler_dir": f"{d}/traces"})
    words = [*vllm_server.command(d, port), "--profiler-config", config]
    url, log = f"http://127.0.0.1:{port}", f"{d}/vllm.log"
    with vllm_server.serving(words, f"{url}/health", log, **vllm_server.ENVIRONMENT) as ready:
        check(ready, f"vLLM is not ready: {open(log).read()[-3000:]}")
        out = f"{d}/vllm.lynx"
        flags = [
            "--for",
            os.environ.get("LENGTH", "2min"),
            "--at-most",
            "16",
            "--out",
            out,
            "--html",
            f"{d}/vllm.html",
            "--quiet",
            "--py-spy",
            f"{BIN}/py-spy",
        ]
        r = lynx("diagnose", url, *flags, timeout=600)
        check(r.returncode in (0, 4), f"diagnose: exit {r.returncode}: {r.stderr[-2000:]}")
    print(r.stdout)
    said = json.loads(lynx("attribute", out, "--json", timeout=300).stdout)

threads = said["account"]["threads"]
programs = {t["program"] for t in threads}
check(len({t["process"] for t in threads}) >= 2, f"several processes are busy: {programs}")
parts = [p for t in threads for p in t["parts"] if p["kind"] == "python"]
check(
    any("/vllm/" in p["where"] and p["layer"] == "serving" for p in parts), f"vLLM's own Python is serving: {parts[:5]}"
)
check(
    not any("/vllm/" in p["where"] and p["layer"] == "application" for p in parts), f"and not application: {parts[:5]}"
)
check_equal({t["program"] for t in said["traced"]} & {"VLLM::Worker"}, {"VLLM::Worker"}, "its own profiler's trace")
for t in said["traced"]:
    own = [p for p in t["parts"] if p["layer"] == "serving"]
    check(sum(p["share"] for p in own) > 0.1, f"of {t['program']} vLLM's own functions are serving: {t['parts'][:5]}")
names = [p["name"] for p in said["request_life"]["phases"]]
check({"queue", "prefill", "decode"} <= set(names), f"its metrics tell a request's life: {names}")
for t in threads:
    whole = t["running"] + t["ready"] + sum(t["waits"].values())
    check(
        abs(whole - t["present"]) < 0.05 * t["present"] + 0.01,
        f"the account closes: {whole} of {t['present']}: {t['name']}",
    )
check(said["sampling_cost"] <= 0.011, f"sampling costs {said['sampling_cost']} of the processors")
check_in(said["bottleneck"]["title"][:-1], r.stdout, "the screen begins with the bottleneck")
finish()
