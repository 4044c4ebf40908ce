"""Every command line of the README and of the tutorials runs as it is pasted, in its order."""

import os
import re

import pytest

import lynx as l
from pasted import DONE, SHORTER, blocks, environment_of, lines, make_tree, page_text, ran


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    port, tree = l.free_port(), tmp_path_factory.mktemp("tree")
    process = make_tree(tree, port)
    mine = "\n".join(next(block for language, block in blocks("README.md") if language == "yaml"))
    mine = mine.replace("8000", str(port)).replace("my-model", "tiny-gpt").replace("60s", "1s, warm_up: 1s")
    (tree / "mine.yaml").write_text(mine)
    yield tree, port
    process.kill()
    process.wait()


def run_lines(tree, page, at_least):
    folder, port = tree
    env = environment_of(folder)
    found = list(dict.fromkeys(lines(page)))
    assert len(found) >= at_least, found
    done = []
    for line in found:
        if "watch.lynx" in line:
            continue  # of others' requests, by a right that not everybody has: test_watch
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
    assert all(f"docs/tutorials/{role}.md" in page_text("README.md") for role in ROLES)


if __name__ == "__main__":
    l.main(__file__)
