"""What tests of captures share: taking one, its facts, how two of them differ."""

import pytest
from lynx import *

PLAIN = f"{SOURCE}/tests/recorded/plain"


def capture(*args, **kw):
    r = lynx("capture", "--json", *args, **kw)
    check_equal(r.returncode, 0, f"capture {args}: {r.stderr}")
    return json.loads(r.stdout)


def facts_of(capture):
    return {f["key"]: f for f in capture["facts"]}


def differences(a, b, *args):
    """Of identity: (key, layer, owner) of each, and the whole list."""
    r = lynx("diff", a, b, "--json", *args)
    check(r.returncode in (0, 1), f"diff {a} {b}: exit {r.returncode}: {r.stderr}")
    rows = [d for d in json.loads(r.stdout) if d["of"] == "identity"]
    check_equal(r.returncode, 1 if rows else 0, f"diff {a} {b}")
    return sorted((d["key"], d["layer"], d["owner"]) for d in rows), rows


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def loaded(path):
    with open(path) as f:
        return json.load(f)


def saved(path, value):
    with open(path, "w") as f:
        json.dump(value, f)
    return path


@pytest.fixture
def d():
    """A folder that other users may look into."""
    with folder() as d:
        os.chmod(d, 0o755)
        yield d
