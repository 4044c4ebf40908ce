"""The story as one: a baseline, a scheduled run, a library that became slower, a gate that fails and names whose it is,
a finding, a fix, and a run that closes it with the measured effect."""

import json
import os
import subprocess
import time

import pytest

import lynx as l

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
static void hold(void) { struct timespec t = {0, DELAY}; if (DELAY > 0) nanosleep(&t, 0); }
ssize_t send(int fd, const void *data, size_t n, int flags) {
  ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
  hold();
  return next(fd, data, n, flags);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
  hold();
  return next(fd, message, flags);
}
ssize_t write(int fd, const void *data, size_t n) {
  ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  if (fd > 2) hold();
  return next(fd, data, n);
}
"""
BASELINE = 6


class Team:
    def __init__(self, folder):
        self.folder, self.ledger, self.port = folder, folder / "team.ledger", l.free_port()
        self.library = folder / "libwire.so"
        (folder / "wire.c").write_text(SOURCE)
        self("ledger", "key", "ml", "--out", folder)
        self("ledger", "create", self.ledger)
        lax = "steady: reported, instrument_error_at_most: 1, stolen_at_most: 1"
        self.contract = folder / "nightly.yaml"
        l.contract(
            str(self.contract),
            self.port,
            name="nightly",
            executor=f'{{endpoint: "http://127.0.0.1:{self.port}"}}',
            workload="{model: reference, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
            regime="{load: closed, concurrency: 2}",
            method="{warm_up: 200ms, counted: 800ms, drain: 1s, sessions: 4, " + lax + "}",
        )

    def __call__(self, *args, codes=(0,), **kw):
        home = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder), "LYNXBENCH_LEDGER": str(self.ledger)}
        r = l.lynx(*args, env={**home, "LYNXBENCH_KEY": f"{self.folder}/ml.key"}, cwd=str(self.folder), **kw)
        assert r.returncode in codes, f"{args}: {r.returncode} {r.stdout} {r.stderr}"
        return r

    def build(self, delay_ns):
        new = f"{self.library}.new"
        words = ["cc", "-shared", "-fPIC", f"-DDELAY={delay_ns}", "-o", new, str(self.folder / "wire.c"), "-ldl"]
        subprocess.run(words, check=True)
        os.replace(new, self.library)

    def server(self):
        words = ("--mode", "metronome", "--gap", "3ms", "--first-token", "10ms")
        return l.reference(*words, port=self.port, env={"LD_PRELOAD": str(self.library)})

    def findings(self):
        return json.loads(self("iterate", "--all", "--json").stdout)


@pytest.mark.skipif(os.environ.get("SANITIZED", "none") != "none", reason="its own library must come first")
def test_from_a_slower_library_to_its_measured_end(tmp_path):
    team = Team(tmp_path)
    team.build(0)
    (tmp_path / "runs").mkdir()
    with team.server():
        for i in range(BASELINE):
            team("run", team.contract, "--out", tmp_path / "runs" / f"r{i}.lynx", "--quiet", codes=(0, 4))
        due = time.strftime("%H:%M", time.gmtime(time.time() - 1200))
        team("schedule", "run", team.contract, "--at", due, "--folder", "runs", "--busy-at-most", "1", codes=(0, 4))
        r = team("gate", team.contract, team.ledger, "--quiet", "--open", "--margin", "0.1")
        assert not team.findings(), "a gate that passes opens nothing"
    team.build(8000000)
    told = tmp_path / "told"
    hook = tmp_path / "hook.sh"
    hook.write_text(f"#!/bin/sh\ncat >> {told}\n")
    hook.chmod(0o755)
    with team.server():
        words = ("--quiet", "--margin", "0.1", "--open", "--hook", hook)
        r = team("gate", team.contract, team.ledger, *words, codes=(1,))
        assert "libwire.so" in r.stdout and "output throughput -" in r.stdout, r.stdout
        team("gate", team.contract, team.ledger, *words, codes=(1,))
    (finding,) = team.findings()
    assert (finding["state"], finding["runs"], finding["title"][:18]) == ("open", 2, "output throughput "), finding
    assert finding["owner"] and finding["layer"] and f"{finding['layer']} ({finding['owner']})" in r.stdout, finding
    said = json.loads(told.read_text().splitlines()[0])
    assert said["owner"] == finding["owner"] and "libwire" not in said["title"] and said["rung"] == "coincided", said
    team("iterate", "start", finding["finding"], "--change", "libwire 1.0 again")
    team.build(0)
    team("iterate", "done", finding["finding"], "--commit", "1a2b3c4")
    with team.server():
        team("gate", team.contract, team.ledger, "--quiet", "--out", "after.lynx", "--margin", "0.1")
    team("iterate", "measure", "after.lynx", "--finding", finding["finding"])
    (finding,) = team.findings()
    assert finding["state"] == "closed" and finding["after_to_before"] > 1.2, finding
    assert "schedule nightly" in team("history", tmp_path / "runs", "--quiet", codes=(0, 3)).stdout
    assert "holds" in team("audit", team.ledger).stdout


if __name__ == "__main__":
    l.main(__file__)
