"""A folder per case under tests/golden: `command` (arguments of lynxbench, run inside the folder), `expected` (standard output, then
standard error), `exit`. `UPDATE=1 make test` rewrites what is expected; read the diff before committing it."""
import shlex
from lynx import *

base = f"{SOURCE}/tests/golden"
for case in sorted(os.listdir(base)):
    where = f"{base}/{case}"
    if not os.path.isdir(where):
        continue
    r = lynx(*shlex.split(open(f"{where}/command").read()), cwd=where)
    found = r.stdout + (f"--- standard error\n{r.stderr}" if r.stderr else "")
    if os.environ.get("UPDATE"):
        open(f"{where}/expected", "w").write(found)
        open(f"{where}/exit", "w").write(f"{r.returncode}\n")
    check_equal(found, open(f"{where}/expected").read(), case)
    check_equal(r.returncode, int(open(f"{where}/exit").read()), f"{case}: exit code")
finish()
