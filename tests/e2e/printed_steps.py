"""`make test-steps`: every next step that the test suite prints is run as it was printed, where and when it was.

What it does is done to a copy: it sees the folder of temporary files through an overlay, and is stopped after some
seconds, which is long after a command has read its arguments and its files. A step is wrong where lynxbench says that
who called it was (exit code 2)."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

SAID = re.compile(r"(?:next|to confirm): (.*)")
STEP = re.compile(r"^(?:[^ ]*/)?lynxbench(?: |$)")
LEFT_TO_READER = re.compile(r"^[A-Z]{2,}(?:\.[a-z0-9.]+)?$")  # what only who reads it can know: OTHER.json
# $1: the command; $2: where; $3: seconds; then the folders that are copies.
OVERLAY = """
step=$1 in=$2 seconds=$3; shift 3
for folder; do
  o=$(mktemp -d) && mount -t tmpfs steps "$o" && mkdir "$o/up" "$o/work" &&
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$o/up,workdir=$o/work" "$folder" || exit 9
done
cd "$in" && exec timeout -k 1 "$seconds" sh -c "$step"
"""
SECONDS = 4
seen = set()


def steps_in(text):
    """The commands of the lines that say what to do next, without the explanation behind them."""
    for line in SAID.findall(text):
        for part in re.split(r"; |, then |, on |, and ", line):
            part = re.split(r" \(|  ", part.strip())[0]
            if STEP.match(part):
                yield part.rstrip(".,")


def kind_of(step):
    """Steps that differ by names, numbers and paths alone are one."""
    words = step.split()
    return " ".join(re.sub(r"\d+", "0", w) if w.startswith("-") else w if k < 2 else "." for k, w in enumerate(words))


def run_steps(text, cwd, env, to):
    for step in steps_in(text):
        key = kind_of(step)
        if key in seen or " --help" in step:
            continue
        seen.add(key)
        row = {"step": step, "test": os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]}
        try:
            words = shlex.split(step)
        except ValueError as e:
            words, row["code"], row["said"] = [], 2, f"no shell reads it: {e}"
        left = [w for w in words if LEFT_TO_READER.match(w)]
        if left:
            row["left"] = left
        elif words:
            row.update(run_one(step, cwd, env))
        with open(to, "a") as f:
            f.write(json.dumps(row) + "\n")


def run_one(step, cwd, env):
    path = f"{os.environ['BUILD']}:{env.get('PATH', os.environ['PATH'])}"
    copies = [os.environ["SOURCE"], tempfile.gettempdir()]
    run = ["unshare", "--mount", "sh", "-c", OVERLAY, "sh", step, str(cwd or os.getcwd()), str(SECONDS), *copies]
    r = subprocess.run(
        run, env={**env, "PATH": path}, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    return {"code": r.returncode, "said": (r.stderr or r.stdout)[-600:]}


def main(path):
    """Tells what the rows say, and ends with 1 where a step does not run as it was printed."""
    with open(path) as f:
        rows = list({kind_of(row["step"]): row for row in map(json.loads, f)}.values())
    # A contract that came with a bundle is not run unasked: what it would do is shown.
    wrong = [row for row in rows if row.get("code") == 2 and "came with it" not in row["said"]]
    left = [row for row in rows if "left" in row]
    for row in left:
        print(f"left to the reader: {row['step']}  ({row['test']})")
    for row in wrong:
        print(f"WRONG: {row['step']}  ({row['test']})\n    {row['said'].strip()}")
    ran = len(rows) - len(wrong) - len(left)
    print(f"{len(rows)} kinds of next steps: {ran} ran, {len(left)} name what who reads knows, {len(wrong)} wrong")
    sys.exit(1 if wrong or not rows else 0)


if __name__ == "__main__":
    main(sys.argv[1])
