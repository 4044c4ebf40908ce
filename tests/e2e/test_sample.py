"""lynxbench watch --samples-only, and merge: a server on another host, which is a network namespace of its own."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

import lynx as l
import machine

SERVER, CLIENT = "198.51.100.1", "198.51.100.2"
METHOD = "{warm_up: 200ms, counted: 800ms, sessions: 3, drain: 5s, steady: reported, instrument_error_at_most: 1}"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def two_hosts():
    """Names of two network namespaces with one wire between them. Nothing of this machine's own network is touched."""
    machine.need("netns", machine.netns(), "no network namespaces can be made")
    names = [f"lynx-{os.getpid()}-{side}" for side in "sc"]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "wire", "netns", names[0], "type", "veth", "peer", "name", "wire", "netns", names[1])
        for name, address in zip(names, (SERVER, CLIENT)):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "wire", "up")
            ip("-n", name, "addr", "add", address + "/30", "dev", "wire")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def within(name, *words, **kw):
    return subprocess.Popen(["ip", "netns", "exec", name, *map(str, words)], text=True, env=l.environment(), **kw)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A run from one host, and the samples of the other. The second sampler is killed."""
    folder = tmp_path_factory.mktemp("hosts")
    with two_hosts() as (server, client):
        ref = within(server, l.REF, "--address", SERVER, "--port", 8100, "--shape", "tiny", "--slow", "4ms", stdout=-1)
        assert "ready" in ref.stdout.readline()
        sampled = ["watch", "--samples-only", f"http://{SERVER}:8100", "--quiet", "--out"]
        samplers = [within(server, l.LYNX, *sampled, folder / f"{name}.jsonl", stdout=-1, stderr=-1) for name in "ab"]
        for name in "ab":
            for _ in range(200):
                if (folder / f"{name}.jsonl").exists() and (folder / f"{name}.jsonl").stat().st_size > 0:
                    break
                time.sleep(0.05)
        l.contract(
            folder / "c.yaml",
            8100,
            executor=f'{{endpoint: "http://{SERVER}:8100"}}',
            workload="{model: tiny, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
            regime="{load: closed, concurrency: 2}",
            method=METHOD,
        )
        words = ["run", folder / "c.yaml", "--out", folder / "r.lynx", "--quiet"]
        run = within(client, l.LYNX, *words, stdout=-1, stderr=-1)
        said = run.communicate(timeout=120)
        samplers[1].kill()
        samplers[0].send_signal(signal.SIGINT)
        heard = [s.communicate(timeout=60) for s in samplers]
        ref.terminate()
        ref.wait(10)
    assert run.returncode in l.RAN, said
    assert samplers[0].returncode == 0 and "merge RUN.lynx" in heard[0][0], heard
    return folder


def account(path):
    r = l.lynx("attribute", path, "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def test_the_threads_of_another_host_are_accounted_for(measured, tmp_path):
    """What the run alone cannot see, both together do, and the figures are the run's."""
    assert "account" not in account(measured / "r.lynx")
    whole = tmp_path / "w.lynx"
    r = l.lynx("merge", measured / "r.lynx", measured / "a.jsonl", "--out", whole, "--json")
    said = json.loads(r.stdout)
    # A busy machine may keep the sampler from a window; the account is then of the others.
    assert r.returncode == 0 and 2 <= said["covered_windows"] <= said["counted_windows"] == 3, r.stderr
    threads = account(whole)["account"]["threads"]
    assert threads and {t["program"] for t in threads} == {"lynxbench-ref"}, threads
    assert sum(t["running"] for t in threads) > 0.005, threads
    for t in threads:
        whole_s = t["running"] + t["ready"] + sum(t["waits"].values())
        assert abs(whole_s - t["present"]) < 0.02 * max(1, t["present"]), t
    before, after = (l.show(p)["precisions"][0] for p in (measured / "r.lynx", whole))
    for figure in ("request_rate", "output_rate", "requests", "latency"):
        assert before[figure] == after[figure], figure
    assert after["conditions"]["others"] is not None and l.lynx("audit", whole).returncode in (0, 3)


def test_the_load_hosts_own_series_keep_a_name_of_their_own(measured, tmp_path):
    whole = tmp_path / "w.lynx"
    assert l.lynx("merge", measured / "r.lynx", measured / "a.jsonl", "--out", whole).returncode == 0
    with sqlite3.connect(whole) as db, sqlite3.connect(measured / "r.lynx") as run:
        count = "SELECT count(*) FROM sample WHERE series = ?"
        own = run.execute(count, ["machine.busy_ratio"]).fetchone()
        assert db.execute(count, ["client.machine.busy_ratio"]).fetchone() == own and own[0] > 0
        assert db.execute(count, ["machine.busy_ratio"]).fetchone()[0] > 0
        host = db.execute("SELECT value FROM meta WHERE key = 'sampled_host'").fetchone()[0]
        assert json.loads(host)["processors"] > 0, host


def test_a_sampler_that_was_killed_loses_half_a_second(measured, tmp_path):
    whole = tmp_path / "w.lynx"
    assert "ended_ns" not in (measured / "b.jsonl").read_text()
    r = l.lynx("merge", measured / "r.lynx", measured / "b.jsonl", "--out", whole, "--json")
    assert r.returncode == 0 and json.loads(r.stdout)["covered_windows"] >= 2, r.stderr
    cut = tmp_path / "cut.jsonl"
    text = (measured / "a.jsonl").read_bytes()
    cut.write_bytes(text[: len(text) * 2 // 3 + 7])  # within a line
    r = l.lynx("merge", measured / "r.lynx", cut, "--out", tmp_path / "cut.lynx")
    assert r.returncode in (0, 2), r.stderr
    if r.returncode == 0:
        assert any("samples do not cover" in u for u in account(tmp_path / "cut.lynx")["not_seen"])


BAD = [
    (b'{"lynx_samples":9,"x":1}\n', "1: found no head of samples"),
    (b'{"lynx_samples":1}\n', "1: found no head of samples"),
    (lambda text: text + b'{"t":1,"s":"x","v":1e999}\n', "found a line that no sampler writes"),
    (lambda text: text + b'{"t":-1,"s":"x","v":1}\n', "found a line that no sampler writes"),
    (lambda text: text + b'{"did":[1,2,3],"looks":[0,0,0,0,0,0]}\n', "found a line that no sampler writes"),
    (lambda text: text + b"\xff\xfe\n", "found a line that no sampler writes"),
]


@pytest.mark.parametrize("bad, said", BAD)
def test_bad_samples_are_named_by_line(measured, tmp_path, bad, said):
    path, whole = tmp_path / "s.jsonl", tmp_path / "w.lynx"
    path.write_bytes(bad if isinstance(bad, bytes) else bad((measured / "a.jsonl").read_bytes()))
    r = l.lynx("merge", measured / "r.lynx", path, "--out", whole)
    assert r.returncode == 2 and said in r.stderr and f"{path}:" in r.stderr, r.stderr
    assert not whole.exists()


def test_samples_of_another_time_do_not_fit(measured, tmp_path):
    path = tmp_path / "s.jsonl"
    head = json.loads((measured / "a.jsonl").read_text().splitlines()[0])
    head["begun_ns"] -= 86400 * 10**9
    path.write_text(json.dumps(head, separators=(",", ":")) + "\n" + '{"t":%d,"s":"x","v":1}\n' % head["begun_ns"])
    r = l.lynx("merge", measured / "r.lynx", path, "--out", tmp_path / "w.lynx")
    assert r.returncode == 2 and "no counted window lies within these samples" in r.stderr, r.stderr


def test_samples_of_another_process_do_not_fit(measured, tmp_path):
    """Nor do some that hold nothing, however long they say that they went on."""
    lines = (measured / "a.jsonl").read_text().splitlines()
    head = json.loads(lines[0])
    head["ports"], head["program"] = [22], "sshd"
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join([json.dumps(head, separators=(",", ":")), *lines[1:]]) + "\n")
    r = l.lynx("merge", measured / "r.lynx", path, "--out", tmp_path / "w.lynx")
    assert r.returncode == 2 and "sshd" in r.stderr and "--any-port" in r.stderr, r.stderr
    r = l.lynx("merge", measured / "r.lynx", path, "--out", tmp_path / "w.lynx", "--any-port")
    assert r.returncode == 0, r.stderr
    head["ports"], head["begun_ns"] = [8100], 0
    path.write_text(json.dumps(head, separators=(",", ":")) + '\n{"ended_ns":9223372036854775807}\n')
    r = l.lynx("merge", measured / "r.lynx", path, "--out", tmp_path / "x.lynx")
    assert r.returncode == 2 and "no counted window" in r.stderr, r.stderr


def test_samples_replace_nothing_that_the_run_asked_the_server_for(measured, tmp_path):
    with sqlite3.connect(measured / "r.lynx") as db:
        start, at = db.execute("SELECT min(start_realtime_ns), 300000000 FROM session").fetchone()
    forged = ["server.waiting", "server.cache_hit_ratio", "wire.round_trip_s", "client.machine.busy_ratio", "anything"]
    path = tmp_path / "s.jsonl"
    lines = "".join('{"t":%d,"s":"%s","v":77}\n' % (start + at, name) for name in forged)
    path.write_text((measured / "a.jsonl").read_text() + lines)
    assert l.lynx("merge", measured / "r.lynx", path, "--out", tmp_path / "w.lynx").returncode == 0
    with sqlite3.connect(tmp_path / "w.lynx") as db:
        assert not db.execute("SELECT series FROM sample WHERE value = 77").fetchall()


def test_a_full_disk_leaves_nothing_in_the_way(measured, tmp_path):
    machine.need("mounts", machine.mounts(), "no small disk can be mounted")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        r = l.lynx("merge", measured / "r.lynx", measured / "a.jsonl", "--out", disk / "w.lynx")
        assert r.returncode == 4 and "disk is full" in r.stderr, r.stderr
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_run_that_saw_its_server_needs_none(measured, tmp_path):
    whole = tmp_path / "w.lynx"
    assert l.lynx("merge", measured / "r.lynx", measured / "a.jsonl", "--out", whole).returncode == 0
    r = l.lynx("merge", whole, measured / "a.jsonl", "--out", tmp_path / "x.lynx")
    assert r.returncode == 2 and "in it already" in r.stderr, r.stderr
    r = l.lynx("merge", measured / "r.lynx", measured / "a.jsonl", "--out", whole)
    assert r.returncode == 2 and "never overwritten" in r.stderr, r.stderr
    r = l.lynx("merge", measured / "r.lynx", measured / "a.jsonl", measured / "b.jsonl", "--out", tmp_path / "y.lynx")
    assert r.returncode == 2 and "one file of" in r.stderr, r.stderr


def test_misuse_of_sample(tmp_path):
    there = tmp_path / "there.jsonl"
    there.write_text("mine\n")
    with l.reference("--mode", "metronome") as port:
        url = f"http://127.0.0.1:{port}"
        for words, code, said in [
            ([], 2, "neither a URL nor --pid"),
            ([url, "--pid", "1"], 2, "a URL and --pid"),
            (["ftp://h"], 2, "found no http://"),
            (["--pid", "0"], 2, "the number of the serving process"),
            (["--pid", "4194304"], 5, "was not found"),
            (["http://127.0.0.1:1"], 5, "was not found"),
            ([url, "--for", "soon"], 2, "accepted: a duration"),
            ([url, "--out", there], 2, "not overwritten"),
            ([url, "--for", "1s", "--out", tmp_path / "no" / "s.jsonl"], 4, "No such file"),
        ]:
            r = l.lynx("watch", "--samples-only", *words, timeout=20)
            assert (r.returncode, said in r.stderr) == (code, True), (words, r.returncode, r.stderr)
        r = l.lynx("watch", "--samples-only", url, "--for", "1s", "--out", tmp_path / "good.jsonl", "--quiet")
        assert r.returncode == 0, r.stderr
        assert oct((tmp_path / "good.jsonl").stat().st_mode & 0o777) == "0o600"
        lines = (tmp_path / "good.jsonl").read_text().splitlines()
        assert json.loads(lines[0])["ports"] == [port] and "ended_ns" in lines[-1]
    assert there.read_text() == "mine\n"


if __name__ == "__main__":
    l.main(__file__)
