"""What a server reads from disks is kept back by a known part, confirmed as a cause, and let go whoever is killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import lynx as l
import machine

sys.path.insert(0, os.path.join(l.SOURCE, "bench/attribution"))
import servers  # noqa: E402

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may limit what a control group reads"),
]
METHOD = "{warm_up: 500ms, counted: 2s, sessions: 2, drain: 5s, steady: reported, instrument_error_at_most: 1}"
SERVER = f"""
import mmap, os, sys, time
sys.path.insert(0, {os.path.join(l.SOURCE, "bench/attribution")!r})
from completions import CompletionsHandler, CompletionsServer

port, weights, length, clock = sys.argv[1:5]
weights, length = os.open(weights, os.O_RDONLY | os.O_DIRECT), int(length)
place = mmap.mmap(-1, length or 4096)
reading = working = 0


class Handler(CompletionsHandler):
    def do_POST(self):
        global reading, working
        asked = self.question()
        self.begin_stream()
        usage = {{}}
        for n in range(1, asked["max_tokens"] + 1):
            began = time.perf_counter()
            if length:
                os.preadv(weights, [place], n * 7919 * 4096 % (32 << 20) // 4096 * 4096)
            read = time.perf_counter()
            sum(i * i for i in range(20000))
            usage = {{"prompt_tokens": 1, "completion_tokens": n, "total_tokens": n + 1}}
            self.chunk({{"choices": [{{"index": 0, "text": "a ", "finish_reason": None}}], "usage": usage}})
            reading, working = reading + read - began, working + time.perf_counter() - began
        self.chunk({{"choices": [{{"index": 0, "text": "", "finish_reason": "length"}}], "usage": usage}})
        self.end_stream(usage)
        with open(clock + ".new", "w") as f:
            f.write(f"{{reading}} {{working}}")
        os.replace(clock + ".new", clock)


CompletionsServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def weights():
    with servers.file_on_disk(72, l.BUILD) as path:
        yield path


@pytest.fixture(scope="module")
def group(weights):
    with servers.disk_group(f"lynxbench-test-{os.getpid()}") as path:
        able = path is not None and machine.reading_can_be_limited(path, weights)
        machine.need("cgroup-io", able, "no control group limits what is read below the build folder")
        yield path


@pytest.fixture(scope="module")
def served(group, weights, tmp_path_factory):
    """A contract that starts a server in that group, which reads for a good part of its time: by its own clock."""
    for mebibytes in (4, 8, 16, 32):
        path, folder = contract(tmp_path_factory.mktemp("served"), group, weights, mebibytes << 20)
        share = own_share(path, folder)
        if share > 0.4:
            break
    machine.need(
        "disk", share > 0.2, f"this disk is so fast that reading 32 MiB for each token is {share:.0%} of its time"
    )
    return path, folder, share


def contract(folder, group, weights, length):
    port = l.free_port()
    (folder / "server.py").write_text(SERVER)
    words = f"exec {sys.executable} {folder}/server.py {port} {weights} {length} {folder}/clock"
    if group:
        words = f"echo $$ > {group}/cgroup.procs; {words}"
    path = str(folder / "c.yaml")
    l.contract(
        path,
        port,
        executor=f"{{endpoint: 'http://127.0.0.1:{port}', ready_path: /v1/models, "
        f"start: {{command: {json.dumps(['sh', '-c', words])}}}}}",
        workload="{model: planted, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
        regime="{load: closed, concurrency: 1}",
        method=METHOD.replace("sessions: 2", "sessions: 2, attribution_sessions: 1"),
    )
    return path, folder


def perturb(path, out, *words):
    r = l.lynx("perturb", path, "--for", "24s", "--only", "disk", "--out", out, "--quiet", *words, timeout=120)
    assert r.returncode in (0, 3), r.stderr
    assert "take no limit" not in r.stdout and "server reads 0 MB/s" not in r.stdout, r.stdout
    return r.stdout, json.loads(l.lynx("perturb", out, "--json").stdout)


def own_share(path, folder):
    """Of its time, what the server reads, by its own clock, with nothing slowed."""
    r = l.lynx("run", path, "--out", folder / "r.lynx", "--quiet")
    assert r.returncode == 0, r.stderr
    with open(folder / "clock") as f:
        reading, working = map(float, f.read().split())
    return reading / working


def limits(group):
    """Empty: what the group reads is not limited."""
    name = "io.max" if os.path.exists(group + "/io.max") else "blkio.throttle.read_bps_device"
    with open(os.path.join(group, name)) as f:
        return f.read().replace("rbps=max wbps=max riops=max wiops=max", "").strip()


@pytest.mark.long
@pytest.mark.quiet
def test_slower_reading_costs_what_it_takes(served, group, tmp_path):
    path, _, share = served
    _, said = machine.beside_nothing(lambda k: perturb(path, tmp_path / f"p{k}.lynx"))
    [disk] = said["sensitivities"]
    assert (disk["target"], disk["layer"]) == ("disk: what is read", "system"), disk
    given = [level["given"] for level in disk["levels"]]
    assert len(given) == 2 and min(given) > 1, given
    assert limits(group) == ""
    machine.holds(disk["throughput"], share, within=0.2, widest=0.8)
    assert disk["throughput"]["low"] > 0, disk


@pytest.mark.long
@pytest.mark.quiet
def test_a_wait_for_the_disk_is_found_and_confirmed(served, tmp_path):
    machine.need("waits", machine.waits(), "what a thread waits in cannot be read (ptrace rights, yama)")
    path = served[0]
    out = tmp_path / "d.lynx"
    r = l.lynx("run", path, "--out", out, "--quiet")
    assert r.returncode == 0, r.stderr
    found = json.loads(l.lynx("attribute", out, "--json").stdout)
    assert "disk" in [f["id"] for f in found["findings"]], found["findings"]
    words = ("confirm", out, "disk", "--contract", path, "--for", "60s", "--quiet")
    r = machine.beside_nothing(lambda k: l.lynx(*words, "--out", tmp_path / f"c{k}.lynx"))
    assert r.returncode == 0, "what it reads for each token is confirmed: " + r.stdout + r.stderr


def test_a_server_that_reads_nothing_has_nothing_to_slow(group, weights, tmp_path):
    path, _ = contract(tmp_path, group, weights, 0)
    r = l.lynx("perturb", path, "--for", "10s", "--only", "disk", "--out", tmp_path / "n.lynx", "--quiet")
    assert r.returncode == 3 and "there is nothing to slow" in r.stdout, r.stdout


def test_a_group_that_others_are_in_is_left_alone(group, weights, tmp_path):
    path, _ = contract(tmp_path, group, weights, 4 << 20)
    with subprocess.Popen(["sleep", "100"]) as other:
        try:
            with open(group + "/cgroup.procs", "w") as f:
                f.write(str(other.pid))
            r = l.lynx("perturb", path, "--for", "10s", "--only", "disk", "--out", tmp_path / "o.lynx", "--quiet")
        finally:
            other.kill()
    assert r.returncode == 3 and f"with process {other.pid}" in r.stdout, r.stdout
    assert limits(group) == ""


def test_the_group_of_lynxbench_is_left_alone(group, weights, tmp_path):
    path, _ = contract(tmp_path, "", weights, 4 << 20)
    r = l.lynx("perturb", path, "--for", "10s", "--only", "disk", "--out", tmp_path / "o.lynx", "--quiet")
    said = "lynxbench itself" in r.stdout or "in no control group whose reading could be limited" in r.stdout
    assert r.returncode == 3 and said, r.stdout


@pytest.mark.long
def test_killed_at_any_moment_the_limit_is_as_it_was(served, group, tmp_path):
    """KILLS=100: the perturber alone, or with its watchdog, at random moments; the limit that was there comes back."""
    kills, random_, state = int(os.environ.get("KILLS", "6")), random.Random(3), str(tmp_path / "state")
    env, seen = l.environment(XDG_STATE_HOME=state), 0
    before = limits(group)
    for i in range(kills):
        words = ["perturb", served[0], "--for", "20s", "--only", "disk", "--out", tmp_path / f"k{i}.lynx", "--quiet"]
        run = subprocess.Popen([l.LYNX, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        until = time.monotonic() + 60
        while limits(group) == before and time.monotonic() < until and run.poll() is None:
            time.sleep(0.0005)
        seen += limits(group) != before
        time.sleep(random_.uniform(0, 0.004))
        if i % 2 and run.poll() is None:
            for child in children(run.pid):
                os.kill(child, signal.SIGKILL)
        run.kill()
        run.wait()
        time.sleep(0.7)  # the watchdog's turn
        assert l.lynx("perturb", "--restore", env=env).returncode == 0
        assert limits(group) == before, i
        subprocess.run(["pkill", "-f", os.path.join(served[1], "server.py")])
    assert seen >= kills // 2 or kills < 2, f"of {kills} kills {seen} came while something was limited"


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


if __name__ == "__main__":
    l.main(__file__)
