"""Every command line of the README and of the tutorials runs as it is pasted, in its order, from a tree as a fresh
clone leaves it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pytest

import lynx as l

# What makes a line quick enough for a test, or keeps it from the system.
SHORTER = [
    (r"^(build/lynxbench diagnose .*)$", r"\1 --for 30s --at-most 4"),
    (r"--for 1min", "--for 8s"),
    (r"^(build/lynxbench schedule add .*)$", r"\1 --print cron"),
]
# 3: too few runs for a verdict; 1 and 4: what was measured in a second supports no claim.
DONE = (0, 1, 3, 4)


def readme(page="README.md"):
    with open(f"{l.SOURCE}/{page}") as f:
        return f.read()


def lines(page="README.md"):
    for _, block in re.findall(r"^```(\w*)\n(.*?)^```$", readme(page), flags=re.S | re.M):
        for line in block.splitlines():
            if line.startswith("build/lynxbench"):
                yield re.sub(r"\s+#.*", "", line)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The server of the examples, earlier runs in runs/, and the contract that the README says to save."""
    port, tree = l.free_port(), tmp_path_factory.mktemp("tree")
    for part in ("examples", "reference", "tests", "docs", "python"):
        (tree / part).symlink_to(f"{l.SOURCE}/{part}")
    (tree / "build").mkdir()
    for program in ("lynxbench", "lynxbench-ref"):
        (tree / "build" / program).symlink_to(f"{l.BUILD}/{program}")
    server = [sys.executable, f"{l.SOURCE}/examples/slow_server.py", str(port)]
    with open(tree / "ready", "w") as out:
        process = subprocess.Popen(server, stdout=out, stderr=subprocess.DEVNULL)
    while not (tree / "ready").read_text():
        time.sleep(0.05)
    mine = re.search(r"^```yaml\n(.*?)^```", readme(), flags=re.S | re.M).group(1)
    mine = mine.replace("8000", str(port)).replace("my-model", "tiny-gpt").replace("60s", "1s, warm_up: 1s")
    (tree / "mine.yaml").write_text(mine)
    shutil.copy(f"{l.SOURCE}/tests/e2e/quick.yaml", tree / "nightly.yaml")
    (tree / "runs").mkdir()
    for i in range(3):
        r = l.lynx("run", tree / "nightly.yaml", "--out", tree / "runs" / f"{i}.lynx", "--quiet")
        assert r.returncode in (0, 4), r.stderr
    yield tree, port
    process.kill()
    process.wait()


def ran(line, tree, env):
    """Its exit code; of one that serves until it is stopped, what stopping it gives."""
    if " serve " in line:
        words = shlex.split(line) + ["--port", str(l.free_port())]
        process = subprocess.Popen(words, cwd=tree, env=env, stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        process.terminate()
        process.communicate(timeout=30)
        return 0 if "http://" in first else 2, first
    r = subprocess.run(["sh", "-c", line], cwd=tree, env=env, capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout[-1000:] + r.stderr[-2000:]


def run_lines(tree, page, at_least):
    folder, port = tree
    env = l.environment(HOME=folder, XDG_STATE_HOME=folder / "state", XDG_CACHE_HOME=folder / "cache")
    env.pop("LYNXBENCH_LEDGER", None)
    found = list(dict.fromkeys(lines(page)))
    assert len(found) >= at_least, found
    done = []
    for line in found:
        shorter = line.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
        for pattern, instead in SHORTER:
            shorter = re.sub(pattern, instead, shorter)
        out = re.search(r"--out (\S+)", shorter)
        if "diagnose" in shorter and out and os.path.exists(folder / out.group(1)):
            continue
        code, said = ran(shorter, folder, env)
        done.append((line, code))
        assert code in DONE, (shorter, code, said)
    return done


def test_every_line_runs(tree):
    folder, _ = tree
    done = run_lines(tree, "README.md", 20)
    for name in ("why.html", "where.html", "build/audit.html", "history.html", "mine.lynx"):
        assert (folder / name).stat().st_size > 1000, name
    # 4: by its own conditions the machine was too busy to say; 1: it had become another one by then.
    assert any("verify" in line and code in (0, 1, 3, 4) for line, code in done), done


ROLES = ["ml-engineer", "platform-engineer", "sre", "procurement", "vendor"]


@pytest.mark.parametrize("role", ROLES)
def test_every_line_of_a_tutorial_runs(tree, role):
    done = run_lines(tree, f"docs/tutorials/{role}.md", 4)
    assert any(code == 0 for _, code in done), done


def test_every_role_has_a_tutorial_that_the_readme_links():
    pages = sorted(p[:-3] for p in os.listdir(f"{l.SOURCE}/docs/tutorials"))
    assert pages == sorted(ROLES)
    assert all(f"docs/tutorials/{role}.md" in readme() for role in ROLES)


if __name__ == "__main__":
    l.main(__file__)
