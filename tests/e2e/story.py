"""A ledger with a story, by real runs: three teams, terms that two signed, a server that became slower, a verification,
a contest, a run without a bundle."""

import subprocess
import time

import lynx as l

BEFORE, AFTER = 7, 6
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \"'&"


class Story:
    """Made once, in that folder; steps are taken in order."""

    def __init__(self, folder, hostile=HOSTILE):
        self.folder, self.ledger, self.port, self.hostile = folder, folder / "team.ledger", l.free_port(), hostile
        self.contract = folder / "c.yaml"
        for team in ("ml", "platform", "procurement"):
            self("ledger", "key", team, "--out", folder)
        self("ledger", "create", self.ledger, key="ml")
        for team in ("platform", "procurement"):
            self("ledger", "policy", self.ledger, "--team", folder / f"{team}.pub", key="ml")
        lax = "steady: reported, instrument_error_at_most: 1, stolen_at_most: 1"
        l.contract(
            str(self.contract),
            self.port,
            name="chat-7b nightly",
            question='"How many tokens per second does the chat service give four users at once?"',
            executor=f'{{endpoint: "http://127.0.0.1:{self.port}"}}',
            workload="{model: reference, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
            regime="{load: closed, concurrency: 4}",
            method="{warm_up: 200ms, counted: 800ms, drain: 1s, sessions: 2, " + lax + "}",
            signatories="[ml, platform, procurement]",
        )
        self("ledger", "sign", self.contract, "--ledger", self.ledger, key="ml")
        reservation = ("--reservation", f"closed load is not how users come {hostile}")
        self("ledger", "sign", self.contract, "--ledger", self.ledger, *reservation, key="platform")
        self.runs = []
        for gap, many in (("5ms", BEFORE), ("15ms", AFTER)):
            with l.reference("--mode", "metronome", "--gap", gap, "--first-token", "20ms", port=self.port):
                self.runs += [self.run() for _ in range(many)]
                if gap == "15ms":
                    self.verify()
        self.contest()
        self.finding(self.runs[-1], f"batches are small{self.hostile}", f"a batch of 16{self.hostile}")
        self.unfinished()
        self.another()
        self.single()

    def __call__(self, *args, key=None, codes=(0,), **kw):
        env = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder)}
        if key:
            env["LYNXBENCH_KEY"] = f"{self.folder}/{key}.key"
        r = l.lynx(*args, env=env, **kw)
        assert r.returncode in codes, f"{args}: {r.returncode} {r.stdout} {r.stderr}"
        return r

    def run(self):
        out = self.folder / f"r{len(list(self.folder.glob('r*.lynx'))):02}.lynx"
        self("run", self.contract, "--out", out, "--quiet", "--ledger", self.ledger, key="ml", codes=(0, 4))
        return out

    def verify(self):
        """By another team, of the newest run."""
        digest = l.show(self.runs[-1])["contract"]["digest"]
        out = self.folder / "v.lynx"
        more = ("--run", digest, "--sessions-at-most", 30, "--endpoint", f"http://127.0.0.1:{self.port}")
        more += ("--out", out, "--ledger", self.ledger)
        self("verify", self.runs[-1], *more, key="platform", codes=(0, 1, 3, 4))

    def contest(self):
        why = f"the client shared its processors {self.hostile}"
        words = ("--ground", "figure", "--layer", "system", "--text", why)
        self("contest", self.runs[-2], *words, "--ledger", self.ledger, key="procurement")

    def finding(self, bundle, title, change):
        """Opened by one team, worked on by another; its entry."""
        words = ("--title", title, "--layer", "serving", "--ledger", self.ledger)
        self("iterate", "open", bundle, *words, key="procurement")
        finding = self.n_entries() - 1
        self("iterate", "start", finding, "--change", change, "--ticket", "T-1", "--ledger", self.ledger, key="ml")
        return finding

    def unfinished(self):
        """An intent whose bundle nobody recorded: the run was killed."""
        words = [l.LYNX, "run", self.contract, "--out", self.folder / "none.lynx", "--quiet", "--ledger", self.ledger]
        home = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder)}
        env = l.environment(**home, LYNXBENCH_KEY=f"{self.folder}/platform.key")
        with l.reference("--mode", "metronome", "--gap", "15ms", "--first-token", "20ms", port=self.port):
            n = self.n_entries()
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen([str(w) for w in words], env=env, **quiet)
            while self.n_entries() == n and process.poll() is None:
                time.sleep(0.05)
            process.kill()
            process.wait()
        assert self.n_entries() == n + 1, "the run was killed after its intent"

    def n_entries(self):
        return len(self("ledger", "list", self.ledger, "--json").stdout.splitlines())

    def single(self):
        """A run of one session, which supports no claim."""
        nothing = '{driver: "null", model: none, output_tokens: 2, prompts: {count: 2, bytes: 8}}'
        method = "{warm_up: 100ms, counted: 300ms, drain: 1s, sessions: 1, steady: reported}"
        fields = {"name": "single", "executor": "{}", "workload": nothing, "method": method}
        path = l.contract(f"{self.folder}/single.yaml", 1, **fields)
        more = ("--out", self.folder / "single.lynx", "--quiet", "--ledger", self.ledger)
        self("run", path, *more, key="ml", codes=(0, 1, 3, 4))

    def another(self):
        """A second contract, that nobody signed: a finding, and a run from after its change."""
        path = self.folder / "other.yaml"
        text = self.contract.read_text().replace("chat-7b nightly", "other")
        path.write_text(text.replace("signatories: [ml, platform, procurement]\n", ""))
        for name, gap in (("before", "15ms"), ("after", "5ms")):
            with l.reference("--mode", "metronome", "--gap", gap, "--first-token", "20ms", port=self.port):
                more = ("--out", self.folder / f"{name}.lynx", "--quiet", "--ledger", self.ledger)
                self("run", path, *more, key="ml", codes=(0, 4))
        finding = self.finding(self.folder / "before.lynx", "the gap is long", "a shorter gap")
        self("iterate", "done", finding, "--ledger", self.ledger, key="ml")
        measured = (self.folder / "after.lynx", "--finding", finding, "--ledger", self.ledger)
        self("iterate", "measure", *measured, key="ml", codes=(0, 1, 3))
