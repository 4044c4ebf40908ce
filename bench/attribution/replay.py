"""What the rules of today say of the bundles of the blind rounds (tests/recorded/blind), and what those of another build
said: replay.py PROGRAM [OTHER_PROGRAM]. Nothing is measured again, so that it takes seconds and no quiet machine.

A case that was run again, when its authors had seen it, counts in no sum.

Right: the first finding's layers hold one of the planted ones, or one that was accepted before. Named: one of the first
three findings names the function, setting or process. Accused: a clean server has a finding."""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROUNDS = pathlib.Path(__file__).parents[2] / "tests/recorded/blind"


def judge(program, bundle, case):
    r = subprocess.run([program, "attribute", bundle, "--json"], capture_output=True, text=True)
    if r.returncode not in (0, 1) or not r.stdout.startswith("{"):
        return {"said": f"exit {r.returncode}", "right": False, "named": False, "accused": False}
    found = json.loads(r.stdout)
    findings = found["findings"]
    layers = {x["layer"] for x in findings[0]["contributing"]} if findings else set()
    words = " ".join(f"{f.get('named', '')} {f['evidence']} {f['title']}" for f in findings[:3]).lower()
    return {
        "said": f"{found['bottleneck']['id']}: {findings[0]['id'] if findings else '-'}",
        "right": bool(layers & {*case["layers"], *case["also"]}),
        "named": any(n.lower() in words for n in case["names"]),
        "accused": case["planted"] is None and bool(layers) and findings[0]["id"] not in case.get("true_findings", []),
    }


def replay(programs):
    totals = [{"right": 0, "named": 0, "accused": 0, "nothing": 0} for _ in programs]
    n_planted = n_clean = 0
    for listed in sorted(ROUNDS.glob("round*.json")):
        described = json.loads(listed.read_text())
        print(f"{listed.stem}, seed {described['seed']}, run with the rules of {described['rules']}")
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(listed.with_suffix(".tar.xz")) as archive:
                archive.extractall(folder, filter="data")
            for case in described["cases"]:
                got = [judge(p, f"{folder}/{case['case']}.lynx", case) for p in programs]
                counts = not case.get("again", False)
                n_planted += counts and case["planted"] is not None
                n_clean += counts and case["planted"] is None
                for total, one in zip(totals, got if counts else ()):
                    for key in ("right", "named", "accused"):
                        total[key] += one[key] and (case["planted"] is not None or key == "accused")
                    total["nothing"] += case["planted"] is not None and one["said"].endswith(": -")
                words = [f"{one['said']}{' right' * one['right']}{' named' * one['named']}" for one in reversed(got)]
                changed = len(words) > 1 and words[0] != words[1]
                shown = " -> ".join(words) if changed else words[-1]
                print(f"  {case['case']} {case['server'][:26]:26} {(case['planted'] or 'clean')[:44]:44} {shown}")
    for program, total in zip(programs, totals):
        print(
            f"{program}: right layer first {total['right']} of {n_planted}, named {total['named']}, "
            f"no finding {total['nothing']}; clean servers accused {total['accused']} of {n_clean}"
        )


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: replay.py PROGRAM [OTHER_PROGRAM]")
    replay(sys.argv[1:])
