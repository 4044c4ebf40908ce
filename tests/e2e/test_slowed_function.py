"""The module that slows a Python function, by itself: the program does what it did, and nothing in it breaks."""

import os
import shutil
import struct
import subprocess
import sys

import pytest

import lynx as l


def slowed(folder, text, name, locked=1, place="program.py"):
    """Runs the program with a function that can be slowed; locked: the share of its time under the lock of Python."""
    shim, program = folder / "shim", folder / "program.py"
    shim.mkdir()
    shutil.copy(os.path.join(l.SOURCE, "src/experiment/python/sitecustomize.py"), shim)
    (shim / "amount").write_bytes(bytes(8))
    (shim / "lock").write_bytes(struct.pack("<d", locked))
    (shim / "wanted").write_text(f"{name}|{folder / place}|0")
    program.write_text(text)
    env = dict(os.environ, PYTHONPATH=f"{shim}:{folder}/again:{folder}")
    r = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env, timeout=60)
    assert r.returncode == 0, r.stderr
    return r


SHIM = """
import inspect, os, struct, sys, threading, time
FOLDER = os.environ["PYTHONPATH"].split(":")[0]


def spin(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        pass


def plain(n):
    spin(0.002)
    return n and plain(n - 1)


def walk(n):
    spin(0.002)
    yield n
    if n:
        yield from walk(n - 1)


async def wait(n):
    spin(0.002)
    return n and await wait(n - 1)


class Model:
    def step(self, x, *, by=2):
        spin(0.002)
        return x * by


def run():
    import asyncio

    return plain(4), list(walk(4)), asyncio.run(wait(4)), Model().step(3, by=4), inspect.signature(Model.step)


def counts():
    with open(os.path.join(FOLDER, str(os.getpid())), "rb") as f:
        return struct.unpack("<5q", f.read(40))


def amount(share):
    with open(os.path.join(FOLDER, "amount"), "r+b") as f:
        f.write(struct.pack("<d", share))


for _ in range(100):
    time.sleep(0.1)
    page = os.path.join(FOLDER, str(os.getpid()))
    if os.path.exists(page) and os.path.getsize(page) >= 40:
        break
before = run()
began = time.thread_time()
run()
usual = time.thread_time() - began
amount(1.0)
own, added = counts()[3:]
began = time.thread_time()
after = run()
slow = time.thread_time() - began
own, added = counts()[3] - own, counts()[4] - added
pid = os.fork()
if pid == 0:  # a worker that may not write to the folder
    os.chmod(FOLDER, 0o500) if os.geteuid() else os.setuid(65534)
    try:
        os._exit(0 if run()[3] == 12 else 1)
    except BaseException:
        os._exit(2)
worker = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(repr((before == after, before[:4], str(before[4]), usual, slow, own, added, worker)))
"""


@pytest.mark.parametrize("name", ["plain", "walk", "wait", "step"])
def test_a_slowed_function_does_what_it_did(tmp_path, name):
    """Of itself: recursion, generators, coroutines, methods with keywords; and in a worker that may not count."""
    r = slowed(tmp_path, SHIM, name)
    same, values, signature, usual, slow, own, added, worker = eval(r.stdout)
    assert same and values == (0, [4, 3, 2, 1, 0], 0, 12) and worker == 0, r.stdout
    assert signature == "(self, x, *, by=2)", signature
    assert 0.8 * own < added < 1.5 * own, "twice as long by its own count"
    assert slow < 3 * usual + 0.02, "and no more: calls within itself count once"


ABSENT = """
import os, struct, time
FOLDER = os.environ["PYTHONPATH"].split(":")[0]


def work():
    def made_again():
        pass
    return made_again


def found():
    for _ in range(100):
        time.sleep(0.05)
        page = os.path.join(FOLDER, str(os.getpid()))
        if os.path.exists(page) and os.path.getsize(page) >= 40:
            return struct.unpack("<5q", open(page, "rb").read(40))[1]
    return None


print(found())
"""


@pytest.mark.parametrize(
    "name, place, found",
    [
        ("tidy", "program.py", "-1"),  # its file is loaded, and holds none of that name
        ("work", "program.py", "1"),
        ("made_again", "program.py", "None"),  # it may be there at the next look
        ("tidy", "other.py", "None"),  # a file that is not loaded yet
    ],
)
def test_a_function_that_is_gone_is_known_from_one_that_was_not_found(tmp_path, name, place, found):
    assert slowed(tmp_path, ABSENT, name, place=place).stdout.strip() == found


LOCKED = """
import os, struct, sys, threading, time
FOLDER = os.environ["PYTHONPATH"].split(":")[0]
sys.setswitchinterval(3600)


def work():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass


while "__lynxbench" not in "".join(work.__code__.co_names):
    time.sleep(0.01)
with open(os.path.join(FOLDER, "amount"), "r+b") as f:
    f.write(struct.pack("<d", 5))
turns, done = 0, []
thread = threading.Thread(target=lambda: done.append(work()))
thread.start()
while not done:
    turns += 1
    time.sleep(0)
print(turns)
"""


@pytest.mark.parametrize("locked", [0, 1])
def test_what_runs_outside_of_the_lock_is_lengthened_outside(tmp_path, locked):
    """Nobody has to give the lock away in this interpreter: other threads get a turn only while it is not held."""
    r = slowed(tmp_path, LOCKED, "work", locked)
    turns = int(r.stdout)
    assert turns > 20 if locked == 0 else turns <= 4, turns


FILLED = """
import importlib.util, inspect, sys, threading, time
sys.setswitchinterval(1e-5)
filler = [[i] for i in range(300000)]  # a long list of objects


class Odd(type):
    def __eq__(self, other):
        raise RuntimeError("compared")

    def __getattribute__(self, name):
        raise RuntimeError("asked for " + name)


class Thing(metaclass=Odd):
    pass


def make(n):
    def hidden(x: int = 0):
        return n
    return hidden


spec = importlib.util.find_spec("colorsys")
spec.loader = importlib.util.LazyLoader(spec.loader)
lazy = importlib.util.module_from_spec(spec)
sys.modules["lazy"] = lazy
spec.loader.exec_module(lazy)


def slowed(f):
    return hasattr(f, "__wrapped__")


def main():
    first, end = make(1), time.monotonic() + 40
    handlers = {"/": [first]}
    while not slowed(first) and time.monotonic() < end:
        tuple(time.sleep(0) for _ in range(50))  # filled by C code meanwhile
    second = make(2)
    while not slowed(second) and time.monotonic() < end:
        time.sleep(0.01)
    print(first(), second(), slowed(first), slowed(second), inspect.signature(handlers["/"][0]), type(lazy).__name__)


main()
"""


def test_a_function_is_looked_for_without_breaking_what_is_made_meanwhile(tmp_path):
    """Functions that only running code holds, and one that is made later; beside what must not be touched: tuples that
    C code is filling, a module that is loaded when it is asked for something, a class that answers no question."""
    r = slowed(tmp_path, FILLED, "hidden")
    assert r.stdout == "1 2 True True (x: int = 0) _LazyModule\n", r.stdout
    assert r.stderr == "", r.stderr


HIDDEN = """
import threading, time


def tick():
    return 7


def work_beside():
    while True:
        time.sleep(0.01)
        tick()


threading.Thread(target=work_beside, daemon=True).start()
"""
BESIDE = """
import os, sitecustomize, sys, time

end = time.monotonic() + 40
while not hasattr(sitecustomize.tick, "__wrapped__") and time.monotonic() < end:
    time.sleep(0.01)
print(sitecustomize.tick(), hasattr(sitecustomize.tick, "__wrapped__"), os.path.dirname(sitecustomize.__file__))
"""


def test_a_sitecustomize_of_the_server_is_the_one_it_knows(tmp_path):
    """Ours is found first, under two names, and runs that of the server: under its name, so its functions are found."""
    (tmp_path / "again").symlink_to(tmp_path / "shim")
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    r = slowed(tmp_path, BESIDE, "tick", place="sitecustomize.py")
    assert (r.stdout, r.stderr) == (f"7 True {tmp_path}\n", ""), (r.stdout, r.stderr)


def test_a_sitecustomize_that_fails_is_not_known(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("MARK = 1\nraise ValueError('no')\n")
    text = "import sys\nprint(hasattr(sys.modules['sitecustomize'], 'MARK'))\n"
    r = slowed(tmp_path, text, "nothing_such")
    assert (r.stdout, r.stderr) == ("False\n", "sitecustomize: ValueError('no')\n"), (r.stdout, r.stderr)


TWO_SLEEP = """
import os, struct, time
FOLDER = os.environ["PYTHONPATH"].split(":")[0]


def idle():
    time.sleep(0.001)


def step():
    time.sleep(0.001)


with open(os.path.join(FOLDER, "amount"), "r+b") as f:
    f.write(struct.pack("<d", 1.0))
for k in range(6):
    step()
    if k % 3 == 0:
        idle()
with open(os.path.join(FOLDER, str(os.getpid())), "rb") as f:
    print(*struct.unpack("<5q", f.read(40)))
"""


@pytest.mark.parametrize("name, calls", [("time.sleep idle", 2), ("time.sleep step", 6), ("time.sleep", 8)])
def test_only_what_the_named_function_sleeps_is_lengthened(tmp_path, name, calls):
    of_it = slowed(tmp_path, TWO_SLEEP, name, place="" if name == "time.sleep" else "program.py").stdout.split()
    known, found, called, own, added = map(int, of_it)
    assert (known, found, called) == (1, 1, calls) and own > 0 and added > 0, of_it


if __name__ == "__main__":
    l.main(__file__)
