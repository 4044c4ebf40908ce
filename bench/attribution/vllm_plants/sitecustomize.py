"""Causes planted in vLLM's own processes: loaded by Python where this folder is in PYTHONPATH, it changes one function of
vLLM as its module is imported. LYNXBENCH_PLANT says which, LYNXBENCH_PLANT_SIZE how large; `beside` does what the plants
do in a thread that no request waits for. Used by scoreboard.py and confirm.py."""

import importlib.abc
import importlib.util
import os
import sys
import threading
import time

PLANT = os.environ.get("LYNXBENCH_PLANT", "")
SIZE = float(os.environ.get("LYNXBENCH_PLANT_SIZE", "1"))


def slow_tokenize(text):
    """Byte pairs by hand, in Python."""
    ids = list(str(text).encode())[:400] or [1]
    for _ in range(max(1, int(250 * SIZE))):
        ids = [(a * 31 + 7) % 257 for a in ids]
    return ids


def count_characters():
    """Work per step in the interpreter."""
    total = 0
    for i in range(int(30000 * SIZE)):
        total = (total + i) % 1000003
    return total


def nap():
    """A sleep per step."""
    time.sleep(0.006 * SIZE)


def work_beside():
    """Now and then: slower, it costs no request."""
    while True:
        time.sleep(0.5)
        slow_tokenize(" ")
        count_characters()
        nap()


def begin_beside():
    threading.Thread(target=work_beside, daemon=True).start()


# plant: (module, class, method, what is done before it)
TOKENIZE = ("vllm.v1.engine.input_processor", "InputProcessor", "process_inputs")
PLANTS = {
    "tokenizer": (*TOKENIZE, lambda a: slow_tokenize(a[2:])),
    # About a third of a request, where one is in flight.
    "long_tokenizer": (*TOKENIZE, lambda a: [slow_tokenize(a[2:]) for _ in range(40)]),
    "gil": ("vllm.v1.engine.core", "EngineCore", "step", lambda a: count_characters()),
    "sleep": ("vllm.v1.engine.core", "EngineCore", "step", lambda a: nap()),
    "detokenizer": (
        "vllm.v1.engine.detokenizer",
        "BaseIncrementalDetokenizer",
        "update",
        lambda a: slow_tokenize("x" * 40),
    ),
}


class Planter(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != PLANTS[PLANT][0]:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            _, owner, method, act = PLANTS[PLANT]
            cls = getattr(module, owner)
            original = getattr(cls, method)

            def planted(*args, **more):
                act(args)
                return original(*args, **more)

            setattr(cls, method, planted)

        spec.loader.exec_module = exec_module
        return spec


if PLANT in PLANTS:
    sys.meta_path.insert(0, Planter())
elif PLANT == "beside":
    begin_beside()
    os.register_at_fork(after_in_child=begin_beside)
