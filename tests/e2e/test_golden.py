"""A folder per case under tests/golden: `command` (arguments of lynxbench, run inside the folder), `expected` (standard
output, then standard error), `exit`. `UPDATE=1 make test` rewrites what is expected; read the diff before committing.
"""

import shlex

import pytest
from lynx import *

BASE = f"{SOURCE}/tests/golden"
CASES = sorted(case for case in os.listdir(BASE) if os.path.isdir(f"{BASE}/{case}"))


@pytest.mark.parametrize("case", CASES)
def test_prints_what_is_expected(case):
    where = f"{BASE}/{case}"
    with open(f"{where}/command") as f:
        r = lynx(*shlex.split(f.read()), cwd=where)
    found = r.stdout + (f"--- standard error\n{r.stderr}" if r.stderr else "")
    if os.environ.get("UPDATE"):
        with open(f"{where}/expected", "w") as f:
            f.write(found)
        with open(f"{where}/exit", "w") as f:
            f.write(f"{r.returncode}\n")
    with open(f"{where}/expected") as f:
        assert found == f.read()
    with open(f"{where}/exit") as f:
        assert r.returncode == int(f.read())


if __name__ == "__main__":
    main(__file__)
