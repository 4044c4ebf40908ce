"""Who looks at a ledger changes nothing of it, whatever lies beside it and whoever writes meanwhile."""

import fcntl
import glob
import itertools
import os
import shutil
import sqlite3
import subprocess

import pytest

import lynx as l
from lynx import LYNX, contract, environment
from test_security import NOTHING, a_file, bundle, journal_naming  # noqa: F401  bundle: a fixture


def test_looking_at_a_ledger_deletes_nothing(tmp_path):
    l.lynx("ledger", "key", "keeper", "--out", tmp_path)
    ledger, victim = f"{tmp_path}/team.ledger", a_file(f"{tmp_path}/victim")
    r = l.lynx("ledger", "create", ledger, "--key", f"{tmp_path}/keeper.key", "--origin", "test/ledger")
    assert r.returncode == 0, r.stderr
    journal_naming(ledger, victim)
    for command in (("ledger", "list", ledger), ("audit", ledger)):
        r = l.lynx(*command)
        assert os.path.exists(victim) and r.returncode == 2 and "team.ledger-journal" in r.stderr, r.stderr


LOOKS = {
    "log list": ("ledger", "list"),
    "log policy": ("ledger", "policy"),
    "log checkpoint": ("ledger", "checkpoint"),
    "log export": ("ledger", "export"),
    "site": ("site",),
    "audit": ("audit",),
    "history": ("history",),
    "metrics": ("history", "--export", "prometheus"),
    "show": ("show", "BUNDLE", "--ledger"),
    "claim": ("show", "--claim", "BUNDLE", "--ledger"),
    "evidence": ("evidence", "BUNDLE", "--ledger"),
    "iterate": ("iterate", "--ledger"),
    "audit of a bundle": ("audit", "BUNDLE", "--ledger"),
}
OUTS = {"site": ("OUT/site",), "log export": ("OUT/files",), "evidence": ("--out", "OUT/pack.tar")}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, bundle):
    """A ledger with a bundle, alone in its folder; what a killed writer leaves of it; and the state of who looks."""
    d = tmp_path_factory.mktemp("recorded")
    env = {"HOME": str(d), "XDG_STATE_HOME": str(d / "state"), "LYNXBENCH_KEY": str(d / "keeper.key")}
    (d / "whole").mkdir()
    ledger = d / "whole" / "team.ledger"
    for words in (
        ("ledger", "key", "keeper", "--out", d),
        ("ledger", "create", ledger),
        ("ledger", "put", ledger, bundle),
    ):
        r = l.lynx(*words, env=env)
        assert r.returncode == 0, r.stderr
    assert sorted(os.listdir(d / "whole")) == ["team.ledger", "team.ledger.key"], "a writer takes its log in"
    shutil.move(f"{ledger}.key", d / "whole-key")
    shutil.copytree(d / "whole", d / "killed")
    db = sqlite3.connect(d / "killed" / "team.ledger")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("INSERT INTO blob VALUES(x'00', x'00')")
    db.commit()
    for end in ("", "-wal", "-shm"):
        shutil.copy(d / "killed" / f"team.ledger{end}", d / f"left{end}")
    db.close()
    for end in ("", "-wal", "-shm"):
        shutil.move(d / f"left{end}", d / "killed" / f"team.ledger{end}")
    return d, env


def cut_log(path, how):
    """What a killed writer, or a machine without power, leaves of a log."""
    with open(path, "r+b") as f:
        if how == "no header":
            f.write(bytes(32))
        elif how == "wrong sum":
            f.seek(24)
            f.write(bytes(8))
        else:
            f.truncate(how)


CUTS = (0, 7, 32, 2000, "no header", "wrong sum")


@pytest.mark.parametrize("index", ["index", "empty index", "no index"])
@pytest.mark.parametrize("cut", CUTS)
def test_what_a_killed_writer_left_is_read(tmp_path, recorded, cut, index):
    """At whatever place it was killed: the entries are there for who only looks, and nothing is changed."""
    made, env = recorded
    work = tmp_path / "work"
    shutil.copytree(made / "killed", work)
    cut_log(work / "team.ledger-wal", cut)
    (work / "team.ledger-shm").write_bytes(b"" if index == "empty index" else bytes(32768))
    if os.geteuid() == 0:
        os.chown(work / "team.ledger", 1000, 1000)  # SQLite gives what lies beside it to its owner
    if index == "no index":
        os.remove(work / "team.ledger-shm")
    before = all_of(work)
    r = l.lynx("ledger", "list", work / "team.ledger", env={**env, "XDG_STATE_HOME": str(tmp_path / "state")})
    assert r.returncode == 0 and len(r.stdout.splitlines()) == 3, r.stderr
    assert all_of(work) == before


def test_who_may_not_add_changes_nothing(tmp_path, recorded):
    """`serve` without the log's key refuses before it takes in what another writer left."""
    made, env = recorded
    work = tmp_path / "work"
    shutil.copytree(made / "killed", work)
    before = all_of(work)
    env = {**env, "XDG_STATE_HOME": str(tmp_path / "state")}
    for words in (("serve", work / "team.ledger", "--port", "0"), ("ledger", "add", work / "team.ledger", __file__)):
        r = l.lynx(*words, env=env, timeout=30)
        assert r.returncode == 2 and "key is not at hand" in r.stderr, r.stderr
        assert all_of(work) == before, words


@pytest.mark.parametrize("index", ["index", "no index", "index of zeros"])
def test_entries_of_a_log_that_nobody_writes_are_read(tmp_path, recorded, index):
    made, env = recorded
    work = tmp_path / "work"
    shutil.copytree(made / "whole", work)
    shutil.copy(made / "whole-key", work / "team.ledger.key")
    path = contract(f"{tmp_path}/null.yaml", 1, executor="{}", workload=NOTHING)
    env = {**env, "XDG_STATE_HOME": str(tmp_path / "state")}
    folder = os.open(work, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_SH)  # as a reader does: the writer leaves its log
    r = l.lynx("ledger", "sign", path, "--ledger", work / "team.ledger", "--reservation", "left", env=env)
    os.close(folder)
    assert r.returncode == 0, r.stderr
    if index != "index":
        os.remove(work / "team.ledger-shm")
    if index == "index of zeros":
        (work / "team.ledger-shm").write_bytes(bytes(32768))
    before = all_of(work)
    for words in (("ledger", "list"), ("audit",)):
        r = l.lynx(*words, work / "team.ledger", env=env)
        assert r.returncode == 0 and ("left" in r.stdout or words == ("audit",)), (r.stdout, r.stderr)
        assert all_of(work) == before


def test_a_log_that_is_a_link_is_refused(tmp_path, recorded):
    made, env = recorded
    shutil.copytree(made / "whole", tmp_path / "work")
    (tmp_path / "work" / "team.ledger-wal").symlink_to(a_file(f"{tmp_path}/victim"))
    r = l.lynx(
        "ledger", "list", tmp_path / "work" / "team.ledger", env={**env, "XDG_STATE_HOME": str(tmp_path / "state")}
    )
    assert r.returncode == 2 and "no plain file" in r.stderr, r.stderr


def all_of(folder):
    """Every file of it: bytes, whose it is, and when anything of it was changed."""
    found = {}
    for name in sorted(os.listdir(folder)):
        info = os.lstat(f"{folder}/{name}")
        with open(f"{folder}/{name}", "rb") as f:
            found[name] = (f.read(), info.st_uid, info.st_mode, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    return found


LONGER = pytest.param("log alone", marks=pytest.mark.long)


@pytest.mark.parametrize("case", ["alone", "killed", LONGER, "journal", "journal beside the link"])
def test_looking_at_a_ledger_changes_nothing(tmp_path, recorded, bundle, case):
    """Whatever lies beside it, and by whatever link it is named; and no look waits for others."""
    made, env = recorded
    work, links = tmp_path / "work", tmp_path / "links"
    shutil.copytree(made / ("killed" if case in ("killed", "log alone") else "whole"), work)
    links.mkdir()
    link, victim = links / "a.ledger", a_file(f"{tmp_path}/victim")
    link.symlink_to(work / "team.ledger")
    (work / "team.ledger.key").write_text("no key: who reads needs none")
    if case == "killed" and os.geteuid() == 0:
        os.chown(work / "team.ledger", 1000, 1000)  # SQLite gives the log to the ledger's owner
    if case == "log alone":
        os.remove(work / "team.ledger-shm")
    if case == "journal":
        journal_naming(work / "team.ledger", victim)
    if case == "journal beside the link":
        shutil.copy(work / "team.ledger", tmp_path / "other")
        journal_naming(tmp_path / "other", victim)
        shutil.move(tmp_path / "other-journal", f"{link}-journal")
    before, beside = all_of(work), sorted(os.listdir(links))
    for name, words in LOOKS.items():
        for number, ledger in enumerate((work / "team.ledger", link)):
            out = tmp_path / f"{name}-{number}".replace(" ", "-")
            out.mkdir()
            given = [bundle if w == "BUNDLE" else w for w in words] + [ledger]
            given += [w.replace("OUT", str(out)) for w in OUTS.get(name, ())]
            r = l.lynx(*given, env={**env, "XDG_STATE_HOME": str(tmp_path / "state")}, timeout=30)
            assert os.path.exists(victim) and all_of(work) == before and sorted(os.listdir(links)) == beside, (
                name,
                r.stderr,
            )
            said = r.stdout + r.stderr
            if case == "journal":
                assert r.returncode == 2 and "team.ledger-journal" in said, (name, r.returncode, said)
            else:
                assert r.returncode in (0, 1, 3), (name, r.returncode, said)


def test_readers_and_writers_beside_one_another(tmp_path):
    """Entries are added while others look: each look is of one state, none fails; the log is taken in afterwards."""
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "LYNXBENCH_KEY": str(tmp_path / "ml.key")}
    ledger = tmp_path / "team.ledger"
    for words in (("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", ledger)):
        assert l.lynx(*words, env=env).returncode == 0
    path = contract(f"{tmp_path}/null.yaml", 1, executor="{}", workload=NOTHING)
    more = {**environment(), **env}
    signing = 'for i in $(seq 12); do "$0" ledger sign "$1" --ledger "$2" --reservation "$3 $i" || exit 1; done'
    writers = [
        subprocess.Popen(
            ["sh", "-c", signing, LYNX, path, ledger, str(k)],
            env=more,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        for k in range(3)
    ]
    seen, looks = [], itertools.cycle(
        (("ledger", "list"), ("audit",), ("history",), ("history", "--export", "prometheus"))
    )
    while any(w.poll() is None for w in writers):
        words = next(looks)
        r = l.lynx(*words, ledger, env=env)
        assert r.returncode in (0, 3), (words, r.stderr)  # 3: too few runs for a history
        if words == ("ledger", "list"):
            seen.append(len(r.stdout.splitlines()))
    for w in writers:
        assert w.wait() == 0, w.stderr.read()
    assert seen == sorted(seen) and len(l.lynx("ledger", "list", ledger, env=env).stdout.splitlines()) == 38, seen
    assert l.lynx("ledger", "sign", path, "--ledger", ledger, "--reservation", "alone", env=env).returncode == 0
    assert sorted(n for n in os.listdir(tmp_path) if "ledger" in n) == ["team.ledger", "team.ledger.key"], "taken in"


def test_memory_of_a_ledger_beside_writers(tmp_path):
    """What was seen is remembered while others add: no step back where there was none, and the newest stays."""
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "LYNXBENCH_KEY": str(tmp_path / "ml.key")}
    ledger = tmp_path / "team.ledger"
    for words in (("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", ledger)):
        assert l.lynx(*words, env=env).returncode == 0
    path = contract(f"{tmp_path}/null.yaml", 1, executor="{}", workload=NOTHING)
    signing = 'for i in $(seq 15); do "$0" ledger sign "$1" --ledger "$2" --reservation "$3 $i" || exit 1; done'
    words = [["sh", "-c", signing, LYNX, path, str(ledger), str(k)] for k in range(6)]
    writers = [
        subprocess.Popen(w, env={**environment(), **env}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for w in words
    ]
    for w in writers:
        assert w.wait() == 0, w.stderr.read()
    (memory,) = glob.glob(f"{tmp_path}/state/lynxbench/ledgers/*.checkpoint")
    r = l.lynx("ledger", "checkpoint", ledger, env={**env, "XDG_STATE_HOME": str(tmp_path / "other")})
    assert open(memory).read().split("\n")[:3] == r.stdout.split("\n")[:3], "the newest checkpoint"


if __name__ == "__main__":
    l.main(__file__)
