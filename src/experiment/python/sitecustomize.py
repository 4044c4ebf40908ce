"""lynxbench puts this folder first in PYTHONPATH of an executor that it starts for an experiment: it slows one function.
Where it slows several, each has a folder.

FOLDER/wanted names the function: "name|file|line"; "time.sleep name|file|line" what it sleeps, and "time.sleep||"
every sleep. FOLDER/amount holds one double: by how much of its own time each call
is lengthened; 0: not at all. FOLDER/lock holds another: the share of its processor time in which it holds the
interpreter's lock. It is lengthened in the same proportion: what runs outside of the lock is in nobody's way. A call's
own time is the processor time of its thread and what it sleeps; waits for locks,
for the interpreter's too, are what others do to it. FOLDER/PID is what this process counts: five integers of 64 bits: 1,
functions found (-1: its file is loaded, and holds none of that name), calls, their own time and the time added, both in
nanoseconds."""

import os
import sys

FUNCTIONS_MOST = 1000
CALLERS_MOST = 4
CALL_NS = 3000  # about what a call of pbkdf2_hmac takes besides what it is asked for


def _next_sitecustomize(here):
    """The one that ours hides."""
    import importlib.machinery
    import importlib.util

    folders = [os.path.realpath(p or ".") for p in sys.path]
    after = folders.index(here) + 1 if here in folders else 0
    path = [p for p, folder in list(zip(sys.path, folders))[after:] if folder not in folders[:after]]  # who has run already
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        module, ours = importlib.util.module_from_spec(spec), sys.modules.get("sitecustomize")
        sys.modules["sitecustomize"] = module  # as without us: functions are looked for in modules, its own too
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules["sitecustomize"] = ours
            raise


def _install(folder, wanted):
    import builtins
    import dis
    import gc
    import inspect
    import mmap
    import struct
    import threading
    import time
    import types

    name, _, place = wanted.partition("|")
    sleeps = name.startswith("time.sleep")
    name = name[len("time.sleep") :].strip() if sleeps else name
    file, _, line = place.rpartition("|")
    line = int(line) if line.isdigit() else 0
    with open(os.path.join(folder, "amount"), "rb") as handle:
        amount = mmap.mmap(handle.fileno(), 8, prot=mmap.PROT_READ)
    with open(os.path.join(folder, "lock"), "rb") as handle:
        locked = struct.unpack("<d", handle.read(8))[0]
    state = {"pid": 0, "counts": None}
    patched = {}
    thread = threading.local()

    def counts():
        """A child that was forked counts for itself; one that may not write there counts nothing."""
        if state["pid"] != os.getpid():
            state["pid"], state["counts"] = os.getpid(), bytearray(40)
            try:
                descriptor = os.open(os.path.join(folder, str(os.getpid())), os.O_RDWR | os.O_CREAT, 0o600)
                os.ftruncate(descriptor, 40)
                state["counts"] = mmap.mmap(descriptor, 40)
                os.close(descriptor)
            except OSError:
                pass
            struct.pack_into("<2q", state["counts"], 0, 1, 1 if sleeps else len(patched))
        return state["counts"]

    plain_sleep = time.sleep
    callers = {}  # code: is it the wanted one?

    def is_called_by(frame):
        """The wanted function sleeps, itself or in what it calls to sleep."""
        for _ in range(CALLERS_MOST):
            if frame is None:
                return False
            code = frame.f_code
            if code not in callers:
                callers[code] = matches(code)
            if callers[code]:
                return True
            frame = frame.f_back
        return False

    def sleep(seconds):
        began = time.perf_counter_ns()
        try:
            plain_sleep(seconds)
        finally:
            slept = time.perf_counter_ns() - began
            thread.slept = getattr(thread, "slept", 0) + slept
            if sleeps and (not name or is_called_by(sys._getframe(1))):
                count(slept, lengthen_sleep(slept))

    def meter():
        return time.thread_time_ns(), getattr(thread, "slept", 0)

    def wanted_share():
        share = struct.unpack_from("<d", amount)[0]
        return share if 0 < share <= 10 else 0

    def lengthen_sleep(slept):
        more = wanted_share() * slept / 1e9
        began = time.perf_counter_ns()
        if more > 0:
            plain_sleep(more)
        return time.perf_counter_ns() - began if more > 0 else 0

    def compute_outside(left):
        """Without the interpreter's lock, a quarter of a millisecond at most: who has to have it back often waits for it."""
        derive("sha256", b"", b"", max(1, min(1000, int((left - CALL_NS) / 250))))

    derive = None
    if locked < 1:
        try:
            from hashlib import pbkdf2_hmac as derive
        except ImportError:
            pass

    def lengthen_work(worked):
        more = wanted_share() * worked
        began = time.thread_time_ns()
        outside = (1 - locked) * more if derive is not None else 0
        while (left := outside - (time.thread_time_ns() - began)) > CALL_NS:
            compute_outside(left)
        while time.thread_time_ns() - began < more:
            pass
        return time.thread_time_ns() - began if more > 0 else 0

    def count(own, added):
        page = counts()
        before = struct.unpack_from("<3q", page, 16)
        struct.pack_into("<3q", page, 16, before[0] + 1, before[1] + own, before[2] + added)

    def pay(before):
        after = meter()
        worked, slept = after[0] - before[0], after[1] - before[1]
        count(worked + slept, lengthen_work(worked) + lengthen_sleep(slept))

    def call(key, arguments, named):
        if getattr(thread, "inside", False):  # a call of itself belongs to the outermost
            return patched[key](*arguments, **named)
        thread.inside = True
        before = meter()
        try:
            return patched[key](*arguments, **named)
        finally:
            thread.inside = False
            pay(before)

    def steps(generator):
        """What a generator or a coroutine does between two waits is its own time; one within it is part of that."""
        send, value = generator.send, None
        while True:
            outermost = not getattr(thread, "inside", False)
            thread.inside = True
            before = meter()
            try:
                item = send(value)
            except StopIteration as end:
                return end.value
            finally:
                if outermost:
                    thread.inside = False
                    pay(before)
            try:
                send, value = generator.send, (yield item)
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                send, value = generator.throw, error

    @types.coroutine
    def await_steps(key, arguments, named):
        return (yield from steps(patched[key](*arguments, **named).__await__()))

    def generate_steps(key, arguments, named):
        return (yield from steps(patched[key](*arguments, **named)))

    time.sleep = sleep
    mark = "".join(c for c in os.path.basename(folder) if c.isalnum())  # several functions, several folders
    for kind, what in (("call", call), ("await", await_steps), ("generate", generate_steps)):
        setattr(builtins, f"__lynxbench_{mark}_{kind}__", what)

    # "Handler.chunk" is a method; "encode.<locals>.<listcomp>", which is no function of its own, is of encode
    parts = name.split(".")
    while parts and parts[-1].startswith("<"):
        parts.pop()
    last = parts[-1] if parts else ""

    def lines_of(code):
        lines = [n for _, n in dis.findlinestarts(code) if n]
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                lines += lines_of(inner)
        return lines

    seen_of_it = {"file": False, "name": False}

    def matches(code):
        if not ("/" + code.co_filename).endswith("/" + file.lstrip("/")):
            return False
        seen_of_it["file"] = True
        if last and code.co_name != last:
            return False
        seen_of_it["name"] = True
        lines = lines_of(code)
        return (line == 0 and last) or (bool(lines) and min(lines) <= line <= max(lines))

    slowed_codes = {}  # by identity, and held, so that no other gets that identity

    def patch(function):
        """Its code is exchanged in place, so that every name by which it is known calls the slowed one."""
        code = function.__code__
        if inspect.isasyncgenfunction(function):
            return
        key = len(patched)
        original = types.FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__
        original.__annotations__ = function.__annotations__
        original.__dict__.update(function.__dict__)
        if inspect.iscoroutinefunction(function):
            source = f"async def f(*a, **k): return await __lynxbench_{mark}_await__({key}, a, k)"
        elif inspect.isgeneratorfunction(function):
            source = f"def f(*a, **k): return (yield from __lynxbench_{mark}_generate__({key}, a, k))"
        else:
            source = f"def f(*a, **k): return __lynxbench_{mark}_call__({key}, a, k)"
        room = {}
        exec(compile(source, "<lynxbench>", "exec"), room)
        slowed = room["f"].__code__.replace(co_freevars=code.co_freevars, co_name=code.co_name)
        patched[key] = original
        slowed_codes[id(slowed)] = slowed
        function.__code__ = slowed
        function.__wrapped__ = original  # whoever asks for its signature gets the right one

    def add_codes(code, found):
        """And those of functions that it makes."""
        if id(code) not in slowed_codes and matches(code):
            found[id(code)] = code
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                add_codes(inner, found)

    def reached():
        """What names of modules, classes and closures lead to: functions, and codes. Not by the collector's list of objects: a
        tuple that C code is still filling is on it, and whoever holds it breaks that. No code of an object's own runs here,
        and no module that is yet to be loaded is."""
        wraps = {id(t) for t in (types.CellType, types.MethodType, staticmethod, classmethod, property)}
        seen, functions, codes = set(), {}, {}
        stack = [(m, False) for m in list(sys.modules.values()) if issubclass(type(m), types.ModuleType)]
        while stack:
            one, of_space = stack.pop()
            kind = type(one)
            inside = of_space and (kind is dict or kind is tuple)
            if (id(one), inside) in seen:
                continue
            seen.add((id(one), inside))
            if kind is types.FunctionType:
                add_codes(one.__code__, codes)
                if id(one.__code__) in codes:
                    functions[id(one)] = one
            space = kind is types.FunctionType or issubclass(kind, (type, types.ModuleType))
            if space or inside or id(kind) in wraps:
                stack += [(o, space) for o in gc.get_referents(one) if gc.is_tracked(o)]
        return functions, list(codes.values())

    def search():
        """Every function of such a code, whoever holds it; the collector knows none that were frozen."""
        originals = {id(f) for f in patched.values()}
        functions, codes = reached()
        if not last:  # by its line alone: the innermost
            codes = sorted(codes, key=lambda code: len(set(lines_of(code))))[:1]
        functions.update({id(f): f for f in (gc.get_referrers(*codes) if codes else ()) if type(f) is types.FunctionType})
        return [f for f in functions.values() if id(f) not in originals and any(f.__code__ is code for code in codes)]

    def look():
        began, wait = time.monotonic(), 1.0
        while time.monotonic() - began < 600 and len(patched) < FUNCTIONS_MOST:
            looked = time.monotonic()
            try:
                for function in search()[: FUNCTIONS_MOST - len(patched)]:
                    patch(function)
            except Exception as error:  # what it met is odd; it may be gone when it looks again
                sys.stderr.write(f"lynxbench: {error!r}\n")
            gone = seen_of_it["file"] and not seen_of_it["name"]
            if patched or gone:
                struct.pack_into("<q", counts(), 8, len(patched) or -1)
            if patched and not last:
                return
            wait = min(2 * wait, 60.0) if patched else 1.0
            plain_sleep(max(wait, 10 * (time.monotonic() - looked)))

    if sleeps:
        return
    threading.Thread(target=look, name="lynxbench", daemon=True).start()


def _begin():
    here = os.path.realpath(os.path.dirname(__file__))
    try:
        _next_sitecustomize(here)
    except Exception as error:  # as Python itself does with one that fails
        sys.stderr.write(f"sitecustomize: {error!r}\n")
    with open(os.path.join(here, "wanted"), encoding="utf-8", errors="surrogateescape") as handle:
        _install(here, handle.read())


_begin()
