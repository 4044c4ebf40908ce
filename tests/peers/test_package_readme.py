"""The Python package's own page: its program, with a real PyTorch, under the contract that it shows."""

import re
import sys

sys.path.insert(0, __import__("os").path.join(__import__("os").environ["SOURCE"], "tests", "e2e"))
from lynx import *

METHOD = "method: {counted: 1s, warm_up: 500ms, sessions: 2, drain: 5s, steady: reported, stolen_at_most: 1}\n"

with open(f"{SOURCE}/python/README.md") as f:
    blocks = dict(re.findall(r"^```(python|yaml)\n(.*?)^```$", f.read(), flags=re.S | re.M))
with folder() as d:
    with open(f"{d}/infer.py", "w") as f:
        f.write(blocks["python"])
    with open(f"{d}/c.yaml", "w") as f:
        shown = blocks["yaml"].replace("[python3,", f"[{os.environ['PEERS_PYTHON']},")
        f.write("lynxbench: 1\n" + shown + METHOD)
    env = {"PYTHONPATH": f"{SOURCE}/python"}
    r = lynx("run", f"{d}/c.yaml", "--out", f"{d}/a.lynx", "--quiet", env=env, cwd=d, timeout=300)
    check_in(r.returncode, (0, 4), f"run: {r.stderr}")
    shown = show(f"{d}/a.lynx")["precisions"][0]
    check(shown["requests"]["ok"] > 0 and shown["requests"]["failed"] == 0, shown["requests"])
    check_in("forward", lynx("show", f"{d}/a.lynx").stdout, "its phases")
finish()
