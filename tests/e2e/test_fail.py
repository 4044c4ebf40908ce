"""Every allocation fails, in turn: an exit code and a sentence, never a signal."""
from lynx import *

if SANITIZED:
    skip("a preloaded allocator cannot stand before the sanitizer's")
with folder() as d:
    lynx("run", f"{SOURCE}/tests/e2e/quick.yaml", "--out", f"{d}/a.lynx", "--quiet")
    for args in (["lint", f"{SOURCE}/examples/demo.yaml"], ["show", f"{d}/a.lynx", "--json"], ["claim", f"{d}/a.lynx"], ["report", f"{d}/a.lynx", "--out", f"{d}/a.html"], ["capture", "--root", f"{SOURCE}/tests/recorded/plain"],
                 ["attribute", "--quiet", f"{SOURCE}/tests/recorded/profiles/torch-compile.json.gz", "--html", f"{d}/b.html", "--folded", f"{d}/b.folded"]):
        lynx(*args, env={"LD_PRELOAD": SHIM, "LYNX_FAIL_COUNT": f"{d}/n"})
        n = int(open(f"{d}/n").read().split()[0])
        check(n > 10, f"{args[0]}: the library sees the allocations ({n})")
        codes = {}
        for at in range(1, n + 1, max(1, n // 120)):
            r = lynx(*args, env={"LD_PRELOAD": SHIM, "LYNX_FAIL_MALLOC": at})
            codes[r.returncode] = codes.get(r.returncode, 0) + 1
            check(r.returncode in (0, 1, 2, 3, 4, 70), f"{args[0]}, allocation {at}: exit {r.returncode}: {r.stderr[-300:]}")
            check(r.returncode == 0 or r.stderr.strip() or r.stdout.strip(), f"{args[0]}, allocation {at}: failed without a word")
        print(f"{args[0]}: {n} allocations, exit codes {codes}")
finish()
