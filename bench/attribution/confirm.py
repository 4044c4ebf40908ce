"""Plants causes in a PyTorch server and scores what `lynxbench confirm` says of the findings (`make bench-confirm`).

A true case: the cause is planted, diagnosed and confirmed on the same server. A false one: it is diagnosed, then taken
out (the same code runs now and then in a thread that nobody waits for), and the old finding is put to the test: it must
be refuted. Null: a function that no request waits for is slowed by itself. With --swap, a third way: the cause is one
factor of an experiment among two that do nothing; it must come out first, and the finding confirmed by it. With --rank,
`perturb` is given the run and no hint: what is planted must cost most of all that it slows. Sizes are drawn by the seed."""

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from servers import disk_group, free_port, request_times, vllm

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--python", default=os.path.join(ROOT, "build", "peers", "bin", "python"))
parser.add_argument("--lynxbench", default=os.path.join(ROOT, "build", "lynxbench"))
parser.add_argument("--for", dest="length", default="80s", help="each confirmation, at most")
parser.add_argument("--rank-for", help="each ranking (default: what `perturb` takes of itself)")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--only", default="", help="cases, with commas between")
parser.add_argument("--swap", action="store_true", help="also swap each cause among settings that do nothing")
parser.add_argument("--rank", action="store_true", help="also let `perturb` rank what it can slow")
parser.add_argument("--sizes", default="0.8,2", help="of the plants, least and most, in thirds of a request's own time")
parser.add_argument("--no-verdicts", action="store_true", help="only --rank: with --sizes 4,6 what is planted costs most")
parser.add_argument("--json", help="write every verdict there")
parser.add_argument("--keep", help="a folder for the bundles")
args = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no rival outlives it
rng = random.Random(args.seed)
ENVIRONMENT = dict(os.environ, PATH=os.path.dirname(args.python) + ":" + os.environ["PATH"])
ISA = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
FIRST = str(min(os.sched_getaffinity(0)))
ONE_PROCESSOR = f"taskset -c {FIRST} "
HOG = "import os\nos.nice(0)\nwhile True: pass"

# case: the finding, the plant, how the server is started
CASES = {
    "gil": ("host_python", "gil", {}),
    "tokenizer": ("tokenizing", "tokenizer", {}),
    "sleep": ("sleeping", "sleep", {}),
    "cast": ("conversion", "cast", {}),
    "logging": ("logging", "logging", {}),
    "disk": ("disk", "disk", {"group": "lynxbench-confirm"}),
    "affinity": ("affinity", "none", {"prefix": ONE_PROCESSOR}),
    "isa": ("instruction_set", "none", {"environment": ISA}),
    "hog": ("contention", "none", {"hog": True}),
    "onnx_gil": ("host_python", "gil", {"backend": "onnx"}),
    "onnx_tokenizer": ("tokenizing", "tokenizer", {"backend": "onnx"}),
    "onnx_sleep": ("sleeping", "sleep", {"backend": "onnx"}),
    # vLLM's build for processors, one request in flight and one thread of OpenMP: with more, its processes spin against one
    # another on two processors, and undisturbed blocks differ by half.
    "vllm_gil": ("host_python", "gil", {"vllm": True}),
    "vllm_tokenizer": ("tokenizing", "long_tokenizer", {"vllm": True}),
    "vllm_sleep": ("sleeping", "sleep", {"vllm": True}),
    "vllm_affinity": ("affinity", "none", {"vllm": True, "prefix": ONE_PROCESSOR}),
    # Findings without an experiment of their own, by a remedy in the start command.
    "many_threads": ("too_many_threads", "none", {"words": ["--threads", "8"], "set": "--threads=1"}),
    "one_worker": ("one_at_a_time", "none", {"words": ["--workers", "1"], "set": "--workers=0"}),
    "ref_batch": ("one_at_a_time", "none", {"ref": ["--slow", "4ms", "--max-batch", "1"], "set": "--max-batch=8"}),
}
# What `perturb` must rank first: a target's name holds it.
PLANTED = {
    "gil": "count_characters",
    "tokenizer": "slow_tokenize",
    "sleep": "time.sleep",
    "logging": "logging",
    "disk": "disk",
    "affinity": "affinity",
    "hog": "contention",
    "onnx_gil": "count_characters",
    "onnx_tokenizer": "slow_tokenize",
    "onnx_sleep": "time.sleep",
    "vllm_gil": "count_characters",
    "vllm_tokenizer": "slow_tokenize",
    "vllm_sleep": "time.sleep",
    "vllm_affinity": "affinity",
}
# Of these the cause can be taken out; of a remedy, one that does nothing must not be confirmed.
FALSE = "gil tokenizer sleep logging disk affinity hog onnx_gil onnx_tokenizer onnx_sleep many_threads one_worker ref_batch".split()
FALSE += "vllm_gil vllm_tokenizer vllm_sleep".split()
NO_REMEDY = "LYNXBENCH_NOTHING=1"
BESIDE = {"affinity": "none", "hog": "none"}


class Case:
    """A server whose plant is read from a file when it starts, so that one contract serves with the cause and without."""

    def __init__(self, folder, name):
        self.finding, self.plant, self.how = CASES[name]
        self.size, self.port = 1, free_port()
        self.out = os.path.join(folder, name + ".lynx")
        self.plant_file, self.prefix_file, self.size_file = (f"{folder}/{name}.{of}" for of in ("plant", "prefix", "size"))
        words = (
            f"exec $(cat {self.prefix_file}) {args.python} {HERE}/server.py --port {self.port} --size $(cat {self.size_file}) "
            f"--backend {self.how.get('backend', 'torch')}"
        )
        if "group" in self.how:
            self.group = context.enter_context(disk_group(self.how["group"]))
            words = f"echo $$ > {self.group}/cgroup.procs && {words}"
        self.command = ["sh", "-c", f"{words} --plant $(cat {self.plant_file})"]
        self.environment = dict(ENVIRONMENT, **self.how.get("environment", {}))
        if "vllm" in self.how:
            server = vllm(args.python)
            serve = " ".join(server.command(os.path.join(ROOT, "build"), self.port, "letters"))
            plant = f"LYNXBENCH_PLANT=$(cat {self.plant_file}) LYNXBENCH_PLANT_SIZE=$(cat {self.size_file})"
            self.command = ["sh", "-c", f"{plant} exec $(cat {self.prefix_file}) {serve}"]
            self.environment.update(server.ENVIRONMENT, VLLM_CPU_OMP_THREADS_BIND=FIRST, PYTHONPATH=f"{HERE}/vllm_plants")
        if "set" in self.how:
            server = [args.python, f"{HERE}/server.py", "--port", str(self.port), *self.how.get("words", [])]
            ref = [os.path.join(ROOT, "build", "lynxbench-ref"), "--port", str(self.port), "--shape", "tiny"]
            self.command = [*ref, *self.how["ref"]] if "ref" in self.how else server
        if self.plant != "none":
            self.size = rng.uniform(*map(float, args.sizes.split(","))) / 3 * self.size_of_a_request()
        self.set(self.plant, self.how.get("prefix", ""))

    def set(self, plant, prefix):
        for path, text in ((self.plant_file, plant), (self.prefix_file, prefix), (self.size_file, f"{self.size:.3f}")):
            with open(path, "w") as f:
                f.write(text)

    def size_of_a_request(self):
        """At which size the plant takes as long as everything else in a request that is alone."""
        seconds = []
        for plant in ("none", self.plant):
            self.set(plant, "")
            times = request_times(self.command, self.environment, self.port, 16)
            seconds.append(statistics.median(times[4:]))
        own, planted = seconds[0], seconds[1] - seconds[0]
        print(f"a request alone: {1000 * own:.1f} ms; {self.plant} of size 1: {1000 * planted:.2f} ms more", flush=True)
        return own / max(planted, own / 1000)

    def lynx(self, *words, environment=None):
        return subprocess.run([args.lynxbench, *words], capture_output=True, text=True, env=environment or self.environment)

    def model(self):
        return "tiny" if "ref" in self.how else os.path.join(ROOT, "build", "vllm-model") if "vllm" in self.how else "planted"

    def diagnose(self):
        r = self.lynx(
            *f"diagnose http://127.0.0.1:{self.port} --for 30s --quiet --json".split(),
            *("--py-spy", os.path.join(os.path.dirname(args.python), "py-spy")),
            *["--model", self.model()],
            *["--at-most", "1" if "vllm" in self.how else "8"],
            "--out",
            self.out,
            "--",
            *self.command,
        )
        if r.returncode != 0:
            print(f"diagnose: {r.returncode} {r.stderr[-300:]}", flush=True)
        verdict = json.loads(r.stdout) if r.returncode == 0 else {"findings": [], "knee": 8}
        self.knee = verdict["knee"]
        return verdict["findings"]

    def confirm(self, made, *more):
        began = time.monotonic()
        r = self.lynx(
            *["confirm", self.out, self.finding, "--contract", self.out.replace(".lynx", ".yaml")],
            *["--for", args.length, "--out", made, "--quiet", "--json", *more],
        )
        said = json.loads(r.stdout) if r.stdout.startswith("{") else {"verdict": "failed", "error": r.stderr[-300:]}
        said["took_s"] = time.monotonic() - began
        return said


    def rank(self, name):
        """What costs most for certain of all single causes, by throughput; where none does, by end-to-end latency."""
        began = time.monotonic()
        r = self.lynx(
            *["perturb", self.out, "--contract", self.out.replace(".lynx", ".yaml")],
            *(["--for", args.rank_for] if args.rank_for else []),
            *["--out", self.out + ".rank", "--quiet", "--json"],
        )
        said = json.loads(r.stdout) if r.stdout.startswith("{") else {"sensitivities": [], "error": r.stderr[-300:]}
        own, answers = PLANTED[name], {}
        for by in ("throughput", "e2e_p50"):
            other = lambda s: s["perturber"] == "demand" or s["more_than_all_of_the_time"]
            known = [s for s in said["sensitivities"] if s[by]["low"] is not None and not other(s)]
            known = [s for s in known if by == "throughput" or s["form"] == "elasticity"]  # what is taken away shortens it
            known.sort(key=lambda s: s[by]["low"], reverse=True)
            # Processor time as a whole holds all functions: they are ranked among what can be told apart.
            ranked = [s for s in known if s["perturber"] not in ("processor", "contention") or own == s["perturber"]]
            first = ranked[0] if ranked and ranked[0][by]["low"] > 0 else None
            text = ", ".join(f"{s['target'][:40]} {s[by]['estimate']:.2f} [{s[by]['low']:.2f}, {s[by]['high']:.2f}]" for s in known)
            answers[by] = {"right": own in first["target"] if first else None, "listed": text}
        by = "throughput" if answers["throughput"]["right"] is not None or own == "affinity" else "e2e_p50"
        return {"right": answers[by]["right"] is True, "by": by, "took_s": time.monotonic() - began, **answers}

    def factors(self):
        """The cause as factors, then two that do nothing."""
        if self.how.get("prefix"):
            yield "affinity", {"in_front": "affinity", "b": self.how["prefix"].strip()}
        elif self.how.get("environment"):
            yield from ((k, {"variable": k, "a": "unset", "b": v}) for k, v in self.how["environment"].items())
        elif "set" in self.how:
            yield (name := self.how["set"].partition("=")[0]), {"argument": name, "b": self.how["set"].partition("=")[2]}
        else:
            yield "--plant", {"argument": "--plant", "b": self.plant}
        yield "LYNXBENCH_NOTHING", {"variable": "LYNXBENCH_NOTHING", "b": "1"}
        yield "MALLOC_CHECK_", {"variable": "MALLOC_CHECK_", "b": "0"}

    def swap(self):
        """The cause among settings that do nothing, in every combination; then the finding by that experiment."""
        began, factors = time.monotonic(), dict(self.factors())
        plain = [args.python, f"{HERE}/server.py", "--port", str(self.port), "--size", f"{self.size:.2f}"]
        plain += ["--backend", self.how.get("backend", "torch"), "--plant", "none"]
        contract, plan, made = (self.out + end for end in (".swap.yaml", ".plan.yaml", ".swap.lynx"))
        start = json.dumps(self.command if "set" in self.how else plain)
        with open(contract, "w") as f:
            f.write(
                f"lynxbench: 1\nname: swap\nexecutor: {{endpoint: 'http://127.0.0.1:{self.port}', ready_path: /v1/models, "
                f"start: {{command: {start}}}}}\nworkload: {{model: {'tiny' if 'ref' in self.how else 'planted'}, "
                "output_tokens: 16, prompts: {count: 8, bytes: 64}}\n"
                f"regime: {{load: closed, concurrency: {self.knee}}}\n"
                "method: {warm_up: 1s, counted: 4s, drain: 10s, steady: reported, stolen_at_most: 1}\n"
            )
        with open(plan, "w") as f:
            lines = "".join(f"  - {json.dumps(factor)}\n" for factor in factors.values())
            f.write(f"lynxbench_experiment: 1\ncontract: {contract}\nfactors:\n{lines}")
        runs = "16" if len(factors) > 3 else "8"  # whole: a fraction mixes the cause with two others together
        words = ["experiment", plan, "--runs", runs, "--rounds", "2", "--quiet", "--json", "--out", made]
        r = self.lynx(*words, environment=ENVIRONMENT)
        effects = json.loads(r.stdout)["effects"] if r.stdout.startswith("{") else []
        effects.sort(key=lambda e: -abs(e["ln"]))
        first = effects[0]["of"][0]["fact"] if effects else "nothing"
        side = "A" if "set" in self.how else "B"
        by = ["confirm", self.out, self.finding, "--by", made, "--fact", next(iter(factors)), "--run-is", side, "--json"]
        r = self.lynx(*by)
        said = json.loads(r.stdout) if r.stdout.startswith("{") else {"verdict": "failed", "error": r.stderr[-300:]}
        return dict(said, took_s=time.monotonic() - began, first=first, right=first == next(iter(factors)))


def tell(name, kind, said):
    effect = "" if said.get("estimate") is None else f"{said['estimate']:.2f}"
    if said.get("low") is not None:
        effect += f" [{said['low']:.2f}, {said['high']:.2f}] against {said['threshold']:.2f}"
    print(
        f"{name:12} {kind:6} {said['verdict']:13} {effect:36} {said['took_s']:.0f} s  {said.get('error', '')}",
        flush=True,
    )


def hog():
    return subprocess.Popen([sys.executable, "-c", HOG], start_new_session=True, stdin=subprocess.DEVNULL)


def perturb(folder, plant, prefix, *what):
    """One resource by itself, of a server with that plant, without a run before."""
    case = Case(folder, "gil")
    case.set(plant, prefix)
    contract, out = (os.path.join(folder, f"perturb-{plant}.{end}") for end in ("yaml", "lynx"))
    with open(contract, "w") as f:
        start = json.dumps(case.command)
        f.write(
            f"lynxbench: 1\nname: {plant}\nexecutor: {{endpoint: 'http://127.0.0.1:{case.port}', ready_path: /v1/models, "
            f"start: {{command: {start}}}}}\nworkload: {{model: planted, output_tokens: 16, prompts: {{count: 8, bytes: 64}}}}\n"
            "regime: {load: closed, concurrency: 2}\nmethod: {warm_up: 2s, counted: 10s, drain: 10s, stolen_at_most: 1}\n"
        )
    r = case.lynx("perturb", contract, *what, "--for", args.length, "--out", out, "--quiet", "--json")
    return json.loads(r.stdout) if r.stdout.startswith("{") else {"sensitivities": [], "error": r.stderr[-300:]}


def tell_cost(name, said):
    for s in said["sensitivities"]:
        e = s["throughput"]
        print(f"{name:12} {s['target'][:40]}: {e['estimate']:.3f} [{e['low']:.3f}, {e['high']:.3f}]", flush=True)
    if not said["sensitivities"]:
        print(f"{name:12} {said.get('error') or json.dumps(said)[-600:]}", flush=True)


wanted = [c for c in args.only.split(",") if c] or list(CASES) + ["null", "memory"]
verdicts, ranks = {}, {}
if args.keep:
    os.makedirs(args.keep, exist_ok=True)
with contextlib.nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as context:
    for name in [c for c in wanted if c in CASES]:
        case = Case(folder, name)
        if "group" in case.how and case.group is None:
            print(f"{name:12} no control group whose reading could be limited can be made here", flush=True)
            continue
        rival = hog() if case.how.get("hog") else None
        more = ["--may-stop", str(rival.pid)] if rival else []
        if "set" in case.how:
            more = [f"--set={case.how['set']}"]
        try:
            found = [f["id"] for f in case.diagnose()]
            if case.finding not in found:
                print(f"{name:12} not diagnosed ({', '.join(found) or 'nothing'}): nothing to confirm", flush=True)
                continue
            if not args.no_verdicts:
                said = verdicts[name, "true"] = case.confirm(case.out + ".true", *more)
                tell(name, "true", said)
            if args.rank and name in PLANTED:
                said = ranks[name] = case.rank(name)
                print(f"{name:12} rank   {'first' if said['right'] else 'not first'} by {said['by']}", flush=True)
                for by in ("throughput", "e2e_p50"):
                    print(f"{'':12} {by}: {said[by]['listed']}", flush=True)
            if args.swap and "hog" not in case.how:
                said = verdicts[name, "swap"] = case.swap()
                tell(name, "swap", said)
            if name in FALSE and not args.no_verdicts:
                if rival:
                    os.kill(rival.pid, signal.SIGKILL)
                    rival.wait()
                    rival = subprocess.Popen(["sleep", "600"], start_new_session=True)
                    more = ["--may-stop", str(rival.pid)]
                if "set" in case.how:
                    more = ["--set", NO_REMEDY]
                case.set(BESIDE.get(name, "beside"), "")
                said = verdicts[name, "false"] = case.confirm(case.out + ".false", *more)
                tell(name, "false", said)
        finally:
            if rival:
                rival.kill()
                rival.wait()
    if "null" in wanted:  # a function that no request waits for
        place = f"count_characters ({HERE}/server.py:0)"
        tell_cost("null", perturb(folder, "beside", "", "--only", "function", "--function", place))
    if "memory" in wanted:  # a fourth of the processors are the server's; the traffic runs on the others
        mine = sorted(os.sched_getaffinity(0))
        few = f"taskset -c {','.join(map(str, mine[: max(1, len(mine) // 4)]))} "
        for plant in ("memory", "none"):
            said = perturb(folder, plant, few, "--only", "memory")
            tell_cost(f"memory/{plant}", said)

for kind, right, wrong in (("true", "confirmed", "refuted"), ("false", "refuted", "confirmed"), ("swap", "confirmed", "refuted")):
    of = [v for (_, k), v in verdicts.items() if k == kind]
    as_well = {"confirmed": "remedied", "refuted": "not remedied"}  # by a remedy that was named
    good = sum(v["verdict"] in (right, as_well[right]) for v in of)
    bad = sum(v["verdict"] in (wrong, as_well[wrong]) for v in of)
    print(
        f"{kind + ' findings':16} {len(of)}: {good} {right}, {bad} {wrong}, {len(of) - good - bad} inconclusive or not probed"
    )
swaps = [v for (_, k), v in verdicts.items() if k == "swap"]
if swaps:
    print(f"swapped          {len(swaps)}: {sum(v['right'] for v in swaps)} causes first among the factors")
if ranks:
    print(f"ranked           {len(ranks)}: {sum(v['right'] for v in ranks.values())} causes first of what was slowed")
took = sorted(v["took_s"] for v in verdicts.values())
if took:
    print(f"a verdict took   {took[len(took) // 2]:.0f} s (median), {took[-1]:.0f} s (longest)")
if args.json:
    with open(args.json, "w") as to:
        found = {f"{name} {kind}": v for (name, kind), v in verdicts.items()}
        json.dump(found | {f"{name} rank": v for name, v in ranks.items()}, to, indent=1)
