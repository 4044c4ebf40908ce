"""liblynxbench by ctypes: sealed bundles, contracts, captures and audits as plain Python values."""

import ctypes
import ctypes.util
import json
import os

_STATUS = {1: ValueError, 2: FileNotFoundError, 3: OSError, 4: NotImplementedError}
_loaded = None


class _Error(ctypes.Structure):
    _fields_ = [
        ("line", ctypes.c_int),
        ("file", ctypes.c_char * 256),
        ("field", ctypes.c_char * 128),
        ("message", ctypes.c_char * 640),
    ]

    def __str__(self):
        parts = [self.file, str(self.line).encode() if self.line else b"", self.field, self.message]
        return ": ".join(part.decode("utf-8", "replace") for part in parts if part)


def _find():
    """The library: as LYNXBENCH_LIBRARY says, beside this file (a wheel), or the system's."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "liblynxbench.so.0")
    for path in (os.environ.get("LYNXBENCH_LIBRARY"), beside if os.path.exists(beside) else None):
        if path:
            return path
    found = ctypes.util.find_library("lynxbench")
    if found is None:
        raise ImportError("liblynxbench is not installed: `make install`, a package, or LYNXBENCH_LIBRARY=PATH")
    return found


def _library():
    global _loaded
    if _loaded is None:
        lib = ctypes.CDLL(_find())
        text, error = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_Error)
        lib.lynxbench_version.restype = ctypes.c_char_p
        lib.lynxbench_free.argtypes = [ctypes.c_void_p]
        lib.lynxbench_bundle_open.argtypes = [ctypes.c_char_p, text, error]
        lib.lynxbench_bundle_close.argtypes = [ctypes.c_void_p]
        lib.lynxbench_bundle_root.argtypes = [ctypes.c_void_p]
        lib.lynxbench_bundle_root.restype = ctypes.c_char_p
        for name in ("result", "claims", "contract"):
            getattr(lib, "lynxbench_bundle_" + name).argtypes = [ctypes.c_void_p, text, error]
        lib.lynxbench_bundle_verify.argtypes = [ctypes.c_void_p, ctypes.c_void_p, text, error]
        lib.lynxbench_audit.argtypes = [ctypes.c_char_p, text, error]
        lib.lynxbench_contract_check.argtypes = [ctypes.c_char_p, ctypes.c_size_t, text, error]
        lib.lynxbench_capture.argtypes = [ctypes.c_int64, ctypes.c_char_p, text, error]
        _loaded = lib
    return _loaded


def _call(name, *arguments):
    """The handle or text that a function gives; what it refuses is an exception with its words."""
    ret, error = ctypes.c_void_p(), _Error()
    status = getattr(_library(), name)(*arguments, ctypes.byref(ret), ctypes.byref(error))
    if status != 0:
        raise _STATUS.get(status, RuntimeError)(str(error))
    return ret


def _text(name, *arguments):
    ret = _call(name, *arguments)
    try:
        return ctypes.string_at(ret).decode("utf-8")
    finally:
        _library().lynxbench_free(ret)


class Bundle:
    """A sealed bundle whose digests were checked. Use it in `with`, or close() it."""

    def __init__(self, path):
        self._handle = None
        self.path = os.fspath(path)
        self._handle = _call("lynxbench_bundle_open", os.fsencode(self.path))

    def close(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            _library().lynxbench_bundle_close(handle)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self, name):
        if self._handle is None:
            raise ValueError("the bundle is closed")
        return _text("lynxbench_bundle_" + name, self._handle)

    @property
    def root(self):
        """Its identity: 64 hexadecimal digits."""
        if self._handle is None:
            raise ValueError("the bundle is closed")
        return _library().lynxbench_bundle_root(self._handle).decode()

    def result(self):
        """The figures, as `lynxbench show --json` prints them."""
        return json.loads(self._read("result"))

    def claims(self):
        """A sentence for each precision, or why there is none."""
        return json.loads(self._read("claims"))

    def contract(self):
        """The contract that it ran, as YAML text."""
        return self._read("contract")

    def verify(self, again):
        """What a re-run of its contract, another open bundle, decides: as `lynxbench verify --against --json`. ValueError where it decides
        nothing."""
        if not isinstance(again, Bundle):
            raise TypeError("verify() takes another open bundle: lynxbench.open(...)")
        if self._handle is None or again._handle is None:
            raise ValueError("the bundle is closed")
        return json.loads(_text("lynxbench_bundle_verify", self._handle, again._handle))

    def figures(self):
        """A row for each precision and figure with an interval: dictionaries of precision, figure, estimate, low, high."""
        rows = []
        for precision in self.result()["precisions"]:
            for name, value in precision.items():
                if isinstance(value, dict) and "estimate" in value:
                    row = {"precision": precision["precision"], "figure": name}
                    rows.append(row | {key: value.get(key) for key in ("estimate", "low", "high")})
        return rows

    def frame(self):
        """The same as a pandas DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.figures())


def open(path):  # noqa: A001 (as gzip.open and others)
    """A sealed bundle: lynxbench.open("a.lynx").result()"""
    return Bundle(path)


def audit(path):
    """Does all of a bundle hold? The checks, each passed, failed, or not established."""
    return json.loads(_text("lynxbench_audit", os.fsencode(os.fspath(path))))


def check_contract(text):
    """The problems of a contract, its grade and digest."""
    data = text.encode("utf-8")
    return json.loads(_text("lynxbench_contract_check", data, len(data)))


def capture(pid=0, url=None):
    """What of the executor is visible from here, by layer."""
    return json.loads(_text("lynxbench_capture", pid, url.encode() if url else None))


def library_version():
    return _library().lynxbench_version().decode()
