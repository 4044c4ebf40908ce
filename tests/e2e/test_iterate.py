"""A finding from its opening to its end: started, done, measured; closed by a better figure, else open again."""

import http.server
import json
import threading

import pytest

import lynx as l


class Team:
    """A ledger of one team, and runs of one contract at gaps of the server's."""

    def __init__(self, folder):
        self.folder, self.ledger, self.port = folder, folder / "team.ledger", l.free_port()
        self.contract = folder / "c.yaml"
        self("ledger", "key", "ml", "--out", folder)
        self("ledger", "create", self.ledger)
        lax = "steady: reported, instrument_error_at_most: 1, stolen_at_most: 1"
        l.contract(
            str(self.contract),
            self.port,
            name="chat",
            executor=f'{{endpoint: "http://127.0.0.1:{self.port}"}}',
            workload="{model: reference, output_tokens: 16, prompts: {count: 8, bytes: 64}}",
            regime="{load: closed, concurrency: 2}",
            method="{warm_up: 100ms, counted: 600ms, drain: 1s, sessions: 4, " + lax + "}",
            owners="{serving: SRE}",
            decision="{conditions_differ_at_most: 1}",
        )
        self.slow, self.slow_again = self.run("slow", "15ms"), self.run("again", "15ms")
        self.fast = self.run("fast", "5ms")

    def __call__(self, *args, codes=(0,), **kw):
        home = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder), "LYNXBENCH_LEDGER": str(self.ledger)}
        r = l.lynx(*args, env={**home, "LYNXBENCH_KEY": f"{self.folder}/ml.key"}, **kw)
        assert r.returncode in codes, f"{args}: {r.returncode} {r.stdout} {r.stderr}"
        return r

    def run(self, name, gap, contract=None):
        out = self.folder / f"{name}.lynx"
        with l.reference("--mode", "metronome", "--gap", gap, "--first-token", "20ms", port=self.port):
            self("run", contract or self.contract, "--out", out, "--quiet", "--ledger", self.ledger, codes=(0, 4))
        return out

    def open(self, title, bundle=None, *more):
        r = self("iterate", "open", bundle or self.slow, "--layer", "serving", "--title", title, *more)
        assert "SRE (serving)" in r.stdout, r.stdout
        return self.entries()[-1]["index"]

    def entries(self):
        return [json.loads(line) for line in self("ledger", "list", self.ledger, "--json").stdout.splitlines()]

    def item(self, finding):
        return [x for x in json.loads(self("iterate", "--all", "--json").stdout) if x["finding"] == finding][0]


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    return Team(tmp_path_factory.mktemp("iterate"))


def test_without_findings_it_says_where_they_come_from(team):
    r = team("iterate")
    assert "0 findings" in r.stdout and "iterate open BUNDLE" in r.stdout, r.stdout


def test_from_open_to_closed(team):
    finding = team.open("tokens come slowly", None, "--text", "15 ms between two")
    assert team.item(finding)["state"] == "open"
    r = team("iterate", "start", finding, "--change", "a shorter gap", "--ticket", "T-1")
    assert f"finding {finding} is started" in r.stdout, r.stdout
    step = r.stdout.splitlines()[-1].removeprefix("next: lynxbench ").split()
    assert step[:3] == ["iterate", "done", str(finding)] and " ".join(step) in team("iterate").stdout, r.stdout
    r = team("iterate", "measure", team.fast, "--finding", finding)
    assert f"finding {finding} is open again: the run that measured it was recorded before" in r.stdout, r.stdout
    fast = team.run("fixed", "5ms")
    r = team(*step, "--commit", "1a2b3c4")
    x = team.item(finding)
    said = (x["state"], x["change"], x["commit"], x["owner"])
    assert said == ("done, not measured", "a shorter gap", "1a2b3c4", "SRE")
    step = r.stdout.splitlines()[-1].removeprefix("next: lynxbench ").replace("AFTER.lynx", str(fast)).split()
    r = team(*step)
    assert "a shorter gap: improved: output throughput" in r.stdout, r.stdout
    assert r.stdout.splitlines()[-1].endswith(f"finding {finding} is closed"), r.stdout
    x = team.item(finding)
    assert x["state"] == "closed" and 2 < x["after_to_before"] < 3 and x["low"] < x["after_to_before"] < x["high"], x
    assert (x["measured_by"], x["after"]) == ("ml", l.show(str(fast))["bundle"]["root"]), x
    assert f"  {finding}  " not in team("iterate").stdout, "closed findings are not listed"
    total = [line for line in team("iterate").stdout.splitlines() if line.startswith("chat: ")]
    assert len(total) == 1 and "2 measured changes, 2 of which improved it" in total[0], total
    audit = team("audit", team.ledger)
    assert "holds" in audit.stdout, audit.stdout


def test_what_did_not_help_opens_it_again(team):
    finding = team.open("still slow")
    r = team("iterate", "measure", team.slow_again, "--finding", finding, "--change", "a prayer", codes=(1, 3))
    x = team.item(finding)
    why = ("no figure improved", "whether it helped could not be decided")
    assert x["state"] == "open again" and x["why"] in why, x
    r = team("iterate", "measure", team.fast, team.slow, "--finding", finding, "--change", "undone", codes=(2,))
    assert "began before" in r.stderr, r.stderr
    undone = team.run("undone", "15ms")
    r = team("iterate", "measure", team.fast, undone, "--finding", finding, "--change", "undone", codes=(1,))
    assert "undone: worse, a figure got worse: output throughput" in r.stdout, r.stdout
    assert team.item(finding)["why"] == "a figure got worse"
    team("iterate", "start", finding, "--change", "another way")
    x = team.item(finding)
    assert (x["state"], x["why"]) == ("started", "a figure got worse"), "a word does not hide what was measured"


def test_found_again_after_it_was_closed(team):
    finding = team.open("it comes back")
    team("iterate", "measure", team.fast, "--finding", finding, "--change", "once")
    assert team.item(finding)["state"] == "closed"
    later = team.run("later", "15ms")
    again = team.open("it comes back", later)
    (x,) = [x for x in json.loads(team("iterate", "--json").stdout) if x["title"] == "it comes back"]
    assert (x["finding"], x["state"], x["why"], x["runs"]) == (again, "open again", "it was found again", 2), x
    still = team.run("still", "15ms")
    team("iterate", "start", finding, "--change", "twice")
    r = team("iterate", "measure", still, "--finding", finding, codes=(1, 2, 3))
    assert team.item(again)["state"] == "open again", "the run from before is the one that it was found in last"


def test_what_was_measured_elsewhere_closes_nothing(team):
    """Of another contract; of a run that is not in the ledger; entries that say more than their runs do."""
    finding = team.open("somebody else's")
    other = team.folder / "other.yaml"
    other.write_text(team.contract.read_text().replace("output_tokens: 16", "output_tokens: 12"))
    mail = [team.run(f"mail-{gap}", gap, other) for gap in ("15ms", "5ms")]
    r = team("iterate", "measure", *mail, "--finding", finding, "--change", "x", codes=(2,))
    assert "found a run of another contract; accepted: one of the finding's contract" in r.stderr, r.stderr
    r = team("iterate", "measure", team.slow, mail[1], "--change", "x", codes=(2,))
    assert "found runs of different contracts (workload.output_tokens: A 16, B 12)" in r.stderr, r.stderr


def test_a_change_without_a_finding(team):
    r = team("iterate", "measure", team.slow, team.fast, "--change", "a shorter gap", "--json")
    assert json.loads(r.stdout) == {"effect": "improved", "change": "a shorter gap"}
    r = team("iterate", "measure", team.fast, "--change", "x", codes=(2,))
    assert "BEFORE AFTER" in r.stderr
    r = team("iterate", "measure", team.fast, team.fast, "--change", "x", codes=(2,))
    assert "the same bundle" in r.stderr


def test_whose_finding_it_is_answers(team):
    """Accepted, disputed with a reason, handed on to a layer: the pages say who has it, and since when."""
    finding = team.open("the driver is slow")
    assert "iterate start" in team("iterate", "accept", finding).stdout
    assert team.item(finding)["response"].startswith("accepted by ml on 20")
    r = team("iterate", "hand-on", finding, "--layer", "system", "--text", "the driver is from 2019")
    assert f"finding {finding} is open" in r.stdout, r.stdout
    item = team.item(finding)
    assert (item["layer"], item["owner"]) == ("system", "Infrastructure"), item
    assert item["response"].startswith("handed on by ml to system on 20"), item
    assert item["response"].endswith(": the driver is from 2019"), item
    team("iterate", "dispute", finding, team.fast, "--text", "the same driver is fast here")
    assert team.item(finding)["response"].startswith("disputed by ml on 20")
    entry = [e for e in team.entries() if e["kind"] == "response"][-1]
    assert "evidence" in json.dumps(entry), entry
    team("site", team.ledger, team.folder / "answered")
    digest = l.show(team.slow)["contract"]["digest"]
    meeting = json.loads((team.folder / "answered" / "meeting" / f"{digest}.json").read_text())
    said = [s["text"] for s in meeting["statements"] if s["kind"] == "contested"]
    assert "ml disputes «the driver is slow»: the same driver is fast here" in said, said
    for words, wanted in (
        (("dispute", finding), "--text: found nothing, accepted: why it is wrong"),
        (("hand-on", finding, "--text", "x"), "--layer: found 'nothing', accepted: application"),
        (("hand-on", finding, "--layer", "serving"), "--text: found nothing, accepted: why it is that layer's"),
        (("accept",), "found 0 arguments, accepted: FINDING"),
    ):
        assert wanted in team("iterate", *words, codes=(2,)).stderr, words


def test_who_signs_the_decision_has_not_measured_again(team):
    """Another team compares two runs of one team: that verifies nothing, and the page says whose runs they were."""
    again = team.run("again-fast", "5ms")
    team("ledger", "key", "sre", "--out", team.folder)
    team("ledger", "policy", team.ledger, "--team", team.folder / "sre.pub")
    sre = team.folder / "sre.key"
    team("verify", again, "--against", team.fast, "--ledger", team.ledger, "--key", sre, codes=(0, 1, 3, 4))
    team("site", team.ledger, team.folder / "compared")
    digest = l.show(again)["contract"]["digest"]
    meeting = json.loads((team.folder / "compared" / "meeting" / f"{digest}.json").read_text())
    assert meeting["answer"]["state"] != "verified", meeting["answer"]
    said = [s["text"] for s in meeting["statements"]]
    assert [t for t in said if t.startswith("sre compared it with a run of ml: ")], said
    assert [t for t in said if t.startswith("Whether another team measures the same")], said


def test_the_margin_is_that_of_before(team):
    """A contract that calls more the same closes nothing."""
    lax = team.folder / "lax.yaml"
    terms = "{conditions_differ_at_most: 1"
    lax.write_text(team.contract.read_text().replace(terms, terms + ", margin: 0.9"))
    run = team.run("lax", "5ms", lax)
    r = team("iterate", "measure", team.slow, run, "--change", "x", codes=(2,))
    assert "found runs of different contracts (decision: A" in r.stderr or "decision.margin" in r.stderr, r.stderr


def test_filters(team):
    finding = team.open("for a filter")
    listed = lambda *flags: {x["finding"] for x in json.loads(team("iterate", "list", "--json", *flags).stdout)}
    for flag, value in (("--owner", "SRE"), ("--contract", "chat"), ("--layer", "serving")):
        assert finding in listed(flag, value), flag
    assert not listed("--owner", "ML") and not listed("--contract", "other") and not listed("--layer", "runtime")
    assert "lynxbench iterate start" in team("iterate", "list", "--owner", "SRE").stdout


def test_misuse(team, tmp_path):
    finding = team.open("misused")
    first = team.entries()[1]
    for words, said in (
        (("open", team.slow, "--layer", "serving"), "--title: found nothing"),
        (("open", team.slow, "--title", "x", "--layer", "mine"), "found 'mine', accepted: application"),
        (("open", team.contract, "--title", "x", "--layer", "serving"), "c.yaml"),
        (("start", finding), "--change: found nothing"),
        (("start", first["index"], "--change", "x"), f"is of kind {first['kind']}, accepted: a finding"),
        (("start", 99999, "--change", "x"), "99999"),
        (("start", "zz", "--change", "x"), "found 'zz', accepted: an entry's number"),
        (("done",), "found 0 arguments, accepted: FINDING"),
        (("measure", team.fast, "--finding", finding), "--change: found nothing"),
        (("list", "more"), "found 'list' and more words"),
        (("list", "--layer", "mine"), "--layer: found 'mine'"),
        (("open", team.slow, "--title", "\t\n", "--layer", "serving"), "--title: found nothing"),
        (("mend",), "found 'mend', accepted: list, open BUNDLE, accept FINDING"),
    ):
        n = len(team.entries())
        r = team("iterate", *words, codes=(2,))
        assert said in r.stderr, f"{words}: {r.stderr}"
        assert len(team.entries()) == n, f"{words} left an entry"


class Told(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *words):
        pass


def test_hooks_are_told_what_was_signed(team, tmp_path):
    server = http.server.HTTPServer(("127.0.0.1", 0), Told)
    server.told, server.answer = [], 200
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hook = f"http://127.0.0.1:{server.server_port}/"
    finding = team.open("somebody should know", None, "--hook", hook)
    said = server.told[0]
    known = [said[k] for k in ("kind", "owner", "layer", "title", "index", "by")]
    assert known == ["finding", "SRE", "serving", "somebody should know", finding, "ml"], said
    raw = json.loads(team("ledger", "entry", team.ledger, finding, "--raw").stdout)
    assert said["envelope"] == raw, "the entry as it was signed"
    program, out = tmp_path / "hook.sh", tmp_path / "out"
    program.write_text(f"#!/bin/sh\ncat > {out}; env >> {out}\n")
    program.chmod(0o755)
    team("iterate", "start", finding, "--change", "x", "--hook", program)
    told = out.read_text()
    assert json.loads(told.splitlines()[0])["kind"] == "change" and "LYNXBENCH_KEY" not in told, told
    server.answer = 500
    r = team("iterate", "done", finding, "--hook", hook, codes=(5,))
    assert "HTTP status 500" in r.stderr and team.item(finding)["state"] == "done, not measured", "the entry stands"
    program.write_text("#!/bin/sh\nexit 3\n")
    assert "exited with 3" in team("iterate", "done", finding, "--hook", program, codes=(5,)).stderr
    assert "cannot be started" in team("iterate", "done", finding, "--hook", "/no/such", codes=(5,)).stderr
    server.shutdown()


if __name__ == "__main__":
    l.main(__file__)
