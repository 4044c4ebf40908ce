"""The pages over a ledger made by real runs: what they say is what was planted, served and as files."""

import csv
import gzip
import html.parser
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
import urllib.parse

import pytest

import lynx as l
from story import AFTER, BEFORE, Story
from test_serve import Serving, Teams

@pytest.fixture(scope="module")
def story(tmp_path_factory):
    return Story(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def server(story):
    s = Serving(str(story.ledger), str(story.folder))
    get(s, "")  # until it has read the ledger
    yield s
    s.stop()


def get(server, address, **headers):
    """As a browser does: a page that says that it comes again is asked for again."""
    until = time.monotonic() + 60
    r, body = server.answer("GET", "/" + address, headers=headers)
    while r.getheader("Refresh") and time.monotonic() < until:
        time.sleep(0.05)
        r, body = server.answer("GET", "/" + address, headers=headers)
    return r, body


def data(server, address):
    r, body = get(server, address)
    assert r.status == 200, (address, r.status, body[:200])
    return json.loads(body)


def page(server, address):
    r, body = get(server, address)
    assert r.status == 200 and r.getheader("Content-Type") == "text/html; charset=utf-8", (address, r.status)
    return body.decode()


def test_prometheus_reads_the_ledger_s_metrics(server, story):
    r, body = get(server, "metrics")
    assert r.status == 200 and r.getheader("Content-Type").startswith("text/plain; version=0.0.4"), r.getheaders()
    assert body.decode() == l.lynx("history", story.ledger, "--export", "prometheus").stdout
    assert b"lynxbench_figure_seconds{" in body


class Links(html.parser.HTMLParser):
    """What a page links to or loads, and its text."""

    void = {"meta", "link", "br", "img", "input", "hr", "col", "wbr"}

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.text, self.open, self.attributes = [], [], "", [], []
        self.feed(text)
        assert not [e for e in self.open if e not in ("p", "li", "td", "tr", "th")], self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.attributes += [k for k in attrs]
        if tag == "a":
            self.links.append(attrs["href"])
        self.loads += [attrs[k] for k in ("src",) if k in attrs] + ([attrs["href"]] if tag == "link" else [])
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in ("p", "li", "td", "tr", "th"):
            self.open.pop()
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, text):
        self.text += text


def the_contract(server):
    (found,) = [c for c in data(server, "index.json") if c["contract"] == "chat-7b nightly"]
    return found


def test_the_first_page_says_what_needs_attention(story, server):
    contracts = data(server, "index.json")
    assert [c["contract"] for c in contracts] == ["chat-7b nightly", "single", "other"]
    c = contracts[0]
    assert re.fullmatch(r"Output throughput fell from [4-7][0-9.]+ to [1-3][0-9.]+ tokens/s on 20.*", c["trend"]), c
    assert re.fullmatch(r"Output throughput [1-3][0-9.]+ tokens/s( \[.*\])?, with 4 in flight\.", c["answer"]), c
    assert c["state"] == "contested", c
    wanted = {"worse": "yes", "contested": "yes", "signed": 2, "signatories": 3, "contests_open": 1, "reproduced": 1}
    assert {k: c[k] for k in wanted} == wanted, c
    assert c["runs"] == BEFORE + AFTER + 1 and c["runs_without_bundle"] == 1, c
    text = Links(page(server, "")).text
    shown = [c[key] for key in ("answer", "state", "trend", "question")]
    for words in (*shown, "signed by 2 of 3", "1 contest open", "1 run without a bundle"):
        assert words in text, words
    assert "3 contracts, 1 got worse, 1 contested, 1 without a claim" in text
    rows = list(csv.DictReader(io.StringIO(get(server, "index.csv")[1].decode())))
    assert [r["answer"] for r in rows] == [x["answer"] for x in contracts]
    assert float(rows[0]["value"]) == c["value"]


def test_the_meeting_page_says_what_was_planted(story, server):
    c = the_contract(server)
    m = data(server, f"meeting/{c['digest']}.json")
    kinds = ("agreed", "contested", "not known", "next")
    said = {kind: [s for s in m["statements"] if s["kind"] == kind] for kind in kinds}

    def one(kind, pattern):
        found = [s for s in said[kind] if re.search(pattern, s["text"])]
        assert len(found) == 1, (kind, pattern, m["statements"])
        return found[0]

    newest = l.show(story.runs[-1])["bundle"]["root"]
    measured = one("not known", "^ml measured this on 20.*; not all have signed the terms")
    assert measured["result"] == newest
    assert "entry" in one("agreed", "^platform re-ran it: reproduced")
    one("agreed", "^ml signed the terms")
    one("contested", "^platform signed the terms with a reservation: closed load is not how users come")
    contest = one("contested", r"^procurement contests the run of .* \(figure\): the client shared")
    assert contest["result"] == l.show(story.runs[-2])["bundle"]["root"]
    one("not known", "procurement agrees")
    one("not known", r"^What caused the change of output throughput: 1 fact changed with it: serving \(ML platform\)")
    one("not known", "^platform started a run .*and recorded no result")
    who = {s["who"] for s in said["next"]}
    assert who == {"procurement", "Infrastructure", "ML platform", "platform", "ml"}, who
    assert not [s for s in said["not known"] if "has checked it yet" in s["text"]]
    text = Links(page(server, f"meeting/{c['digest']}.html")).text
    for s in m["statements"]:
        assert s["text"] in text and s.get("command", "") in text, s


def test_a_run_that_supports_no_claim_is_not_agreed(story, server):
    """Nor is it said plainly: the title says why, and the first page counts it."""
    (c,) = [c for c in data(server, "index.json") if c["contract"] == "single"]
    m = data(server, f"meeting/{c['digest']}.json")
    assert c["answer"].startswith("No answer yet: ") and c["trend"].startswith("No claim yet: "), c
    assert not [s for s in m["statements"] if s["kind"] == "agreed" and " measured " in s["text"]], m["statements"]


def test_a_command_of_the_page_can_be_pasted(story, server):
    """The next step of whose layer changed: fetch both bundles, and see how they differ."""
    m = data(server, f"meeting/{the_contract(server)['digest']}.json")
    commands = [s["command"] for s in m["statements"] if s.get("who") == "ML platform"]
    (command,) = [c for c in commands if "iterate" not in c]
    assert command.startswith(f"lynxbench ledger get {server.url.rstrip('/')} ")
    environment = l.environment(HOME=str(story.folder), XDG_STATE_HOME=str(story.folder))
    environment["PATH"] += ":" + os.environ["BUILD"]
    r = subprocess.run(["sh", "-c", command], cwd=story.folder, env=environment, capture_output=True, text=True)
    assert r.returncode == 1 and "--gap" in r.stdout and "15ms" in r.stdout, (r.returncode, r.stdout, r.stderr)


def test_a_contract_lists_every_run(story, server):
    digest = the_contract(server)["digest"]
    rows = data(server, f"contract/{digest}.json")
    roots = {r["root"] for r in rows}
    assert {l.show(b)["bundle"]["root"] for b in story.runs} < roots and len(roots) == BEFORE + AFTER + 1
    newest = l.show(story.runs[-1])
    of_newest = [r for r in rows if r["root"] == newest["bundle"]["root"]]
    by_hand = newest["precisions"][0]["output_rate"]
    (throughput,) = [r for r in of_newest if r["figure"] == "output throughput"]
    assert abs(throughput["value"] / by_hand["estimate"] - 1) < 1e-6, (throughput, by_hand)
    assert throughput["standing"] == "reproduced 1" and throughput["by"] == "ml"
    text = Links(page(server, f"contract/{digest}.html")).text
    shown = ("process.argument.--gap", "5ms", "15ms", "serving (ML platform)", "r00.lynx", "time to first token, p50")
    for words in shown:
        assert words in text, words
    table = list(csv.DictReader(io.StringIO(get(server, f"contract/{digest}.csv")[1].decode())))
    assert len(table) == len(rows) and [t["root"] for t in table] == [r["root"] for r in rows]


def test_a_result_is_its_bundles(story, server):
    bundle = story.runs[-1]
    root = l.show(bundle)["bundle"]["root"]
    assert data(server, f"result/{root}.json") == l.show(bundle)
    links = Links(page(server, f"result/{root}.html"))
    for words in ("What can be claimed", "platform re-ran it: reproduced", "Percentile spectrum", "The executor"):
        assert words in links.text, words
    contested = l.show(story.runs[-2])["bundle"]["root"]
    assert "procurement contests its figure" in Links(page(server, f"result/{contested}.html")).text


def test_two_runs_side_by_side(story, server):
    a, b = (l.show(story.runs[i])["bundle"]["root"] for i in (0, -1))
    both = data(server, f"compare/{a}-{b}.json")
    (throughput,) = [f for f in both["figures"] if f["figure"] == "output throughput"]
    assert 0.2 < throughput["b_ratio"] < 0.6, throughput
    assert [c["run"].split()[0] for c in both["curves"]] == ["A", "B"], both["curves"]
    slower = both["curves"][1]["points"][0]["throughput"] / both["curves"][0]["points"][0]["throughput"]
    assert slower == pytest.approx(throughput["b_ratio"], rel=0.2), "a plain run is one point of its curve"
    assert [(f["layer"], f["fact"], f["a"], f["b"]) for f in both["executor"]] == [
        ("serving", "process.argument.--gap", "5ms", "15ms")
    ]
    text = page(server, f"compare/{a}-{b}.html")
    assert "differ in 1 fact" in Links(text).text and "Latency against throughput" not in text, "one load each"


def test_several_runs_that_were_chosen(story, server):
    """As the form of a contract's page asks: the beginnings of their roots, each as its own q."""
    roots = [l.show(story.runs[i])["bundle"]["root"] for i in (0, 1, -1)]
    picked = "&".join(f"q={root[:12]}" for root in roots)
    three = data(server, f"compare.json?{picked}")
    (throughput,) = [f for f in three["figures"] if f["figure"] == "output throughput"]
    assert 0.5 < throughput["b_ratio"] < 2 and 0.2 < throughput["c_ratio"] < 0.6, throughput
    assert [(f["fact"], f["a"], f["b"], f["c"]) for f in three["executor"]] == [
        ("process.argument.--gap", "5ms", "5ms", "15ms")
    ]
    links = Links(page(server, f"compare.html?{picked}"))
    assert "Three runs whose executors differ in 1 fact" in links.text
    assert any(link.startswith("compare.json?q=") for link in links.links), links.links
    contract = page(server, f"contract/{the_contract(server)['digest']}.html")
    assert f'name="q" value="{roots[0][:12]}"' in contract and 'action="../compare.html"' in contract
    one = f"q={roots[0]}"
    for wrong in ("", one, f"{one}&q=00000000", f"{one}&q={roots[1][:7]}", picked + "&q=%00&q=" + "f" * 64):
        r, body = get(server, f"compare.html?{wrong}")
        assert r.status == 404 and b"two to five bundles" in body, (wrong, r.status)


def test_a_contract_says_what_a_re_run_can_decide(story, server):
    """As verify plans it of the same run, or less surely: a summary's interval holds more than how sessions vary."""
    words = r"sessions of the newest run vary by ([\d.]+) % at most \(output throughput\)\. (.*?)<"
    said = re.search(words, page(server, f"contract/{the_contract(server)['digest']}.html"))
    r = l.lynx("verify", story.folder / "v.lynx", "--plan", "--json")
    (plan,) = [f for f in json.loads(r.stdout)["figures"] if f["figure"] == "throughput"]
    assert plan["sealed_deviation"] <= 1.06 * float(said[1]) / 100, (said[0], plan)
    decides = re.search(r"(\d+) sessions decide the margin", said[2])
    assert decides or "not even 100" in said[2], said[0]
    if decides:
        assert 0 < plan["sessions_needed"] <= int(decides[1]), (said[0], plan)


def test_a_climb_is_a_curve(tmp_path):
    teams = Teams(tmp_path)
    try:
        bundles = [tmp_path / "small.lynx", tmp_path / "experiment.lynx"]
        for bundle in bundles:
            shutil.copy(f"{l.SOURCE}/tests/recorded/bundles/{bundle.name}", bundle)
            teams.must("ledger", "put", teams.url, bundle, home="ml", key="ml")
        climb, run = (l.show(bundle)["bundle"]["root"] for bundle in bundles)
        steps = l.show(bundles[0])["precisions"][0]["climb"]["steps"]
        until = time.monotonic() + 20
        while get(teams.server, f"compare/{climb}-{run}.json")[0].status == 404 and time.monotonic() < until:
            time.sleep(0.1)
        curve = data(teams.server, f"compare/{climb}-{run}.json")["curves"][0]
        wanted = [(s["throughput"], s["time_to_first_token_p50"]) for s in steps]
        assert [(p["throughput"], p["time_to_first_token_p50"]) for p in curve["points"]] == wanted
        text = page(teams.server, f"compare/{climb}-{run}.html")
        assert "Latency against throughput" in text and "not of one contract" in text
    finally:
        teams.server.stop()


def test_findings_are_those_of_the_command(server, story):
    rows = data(server, "work.json")
    assert rows == json.loads(story("iterate", "list", "--all", "--json", "--ledger", story.ledger).stdout)
    states = {r["title"].split("<")[0]: (r["state"], r["change"].split("<")[0], r["ticket"]) for r in rows}
    assert states["batches are small"] == ("started", "a batch of 16", "T-1"), states
    assert states["the gap is long"][0] in ("closed", "open again"), states
    text = Links(page(server, "work.html")).text
    assert "times " in text and "a batch of 16" + story.hostile in text and "What the changes brought" in text, text
    meeting = data(server, f"meeting/{the_contract(server)['digest']}.json")
    said = [s for s in meeting["statements"] if "batches are small" in s["text"]]
    assert len(said) == 1 and "ml works on it: a batch of 16" in said[0]["text"], said
    (step,) = [s for s in meeting["statements"] if "Say when the change is made" in s["text"]]
    assert step["command"].startswith("lynxbench iterate done "), step


def crawl(read):
    """Every address that can be reached from the first page, and its body."""
    seen, queue = {}, ["index.html"]
    while queue:
        address = queue.pop()
        if address in seen:
            continue
        seen[address] = read(address)
        if not address.endswith(".html"):
            continue
        links = Links(seen[address])
        for to in links.links + links.loads:
            assert not urllib.parse.urlsplit(to).scheme and not to.startswith("//"), (address, to)
            if not to.startswith("#"):
                queue.append(os.path.normpath(os.path.join(os.path.dirname(address), to)))
    return seen


def test_every_link_leads_somewhere_and_nothing_is_code(story, server):
    seen = crawl(lambda address: get_text(server, address))
    assert len([a for a in seen if a.startswith("result/")]) >= 2 * (BEFORE + AFTER)
    assert [a for a in seen if a.startswith("compare/")] and [a for a in seen if a.startswith("entry/")]
    for address, body in seen.items():
        if not address.endswith(".html"):
            continue
        assert "<script>" not in body and "<img" not in body, address
        assert not [a for a in Links(body).attributes if a.startswith("on") or a == "style"], address
    meeting = next(body for address, body in seen.items() if address.startswith("meeting/") and "reservation" in body)
    assert "&lt;script&gt;alert(1)" in meeting


def get_text(server, address):
    r, body = get(server, address)
    assert r.status == 200, (address, r.status)
    return body.decode()


def test_what_browsers_are_told(server):
    r, body = get(server, "")
    policy = r.getheader("Content-Security-Policy")
    assert "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert r.getheader("X-Content-Type-Options") == "nosniff" and r.getheader("Referrer-Policy") == "same-origin"
    again, rest = get(server, "", **{"If-None-Match": r.getheader("ETag")})
    assert (again.status, rest) == (304, b"")
    packed, small = get(server, "", **{"Accept-Encoding": "gzip"})
    assert packed.getheader("Content-Encoding") == "gzip" and len(small) < len(body)
    assert gzip.decompress(small) == body
    head, nothing = server.answer("HEAD", "/")
    assert (head.status, nothing, head.getheader("ETag")) == (200, b"", r.getheader("ETag"))


def test_what_is_not_there(story, server):
    digest = the_contract(server)["digest"]
    wrong = ["contract/" + "0" * 64 + ".html", "contract/x.html", "result/" + "0" * 64 + ".json", "entry/99999.json"]
    wrong += [f"meeting/{digest}.csv", f"contract/{digest}", f"compare/{digest}.html", "entry/1.html", "entry/-1.json"]
    for address in wrong + ["index.txt"]:
        assert get(server, address)[0].status == 404, address
    assert get(server, "a" * 5000)[0].status == 414
    assert server.ask("POST", "/index.html", b"x")[0] == 404


def test_any_address_is_answered(story, server):
    """Addresses that nobody linked: never a failure of the server, and it goes on."""
    rng = random.Random(20)
    digest = the_contract(server)["digest"]
    parts = ["contract/", "meeting/", "result/", "compare/", "entry/", digest, "-", ".html", ".json", ".csv", ".."]
    parts += ["/", "%00", "%", "é", "<", "'", "index"]
    for _ in range(300):
        address = "".join(rng.choice(parts) for _ in range(rng.randint(1, 6)))
        r, body = server.answer("GET", "/" + urllib.parse.quote(address, safe="/%<'"))
        assert r.status in (200, 404), (address, r.status)
        assert b"<'" not in body or r.status == 200, address
    assert get(server, "")[0].status == 200


def test_a_bundle_that_is_gone_takes_nothing_else_with_it(story, tmp_path):
    ledger = tmp_path / "copy.ledger"
    shutil.copy(story.ledger, ledger)
    db = sqlite3.connect(ledger)
    tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'blob%'")]
    assert tables
    mine = "SELECT name, sql FROM sqlite_master WHERE type='trigger' AND name LIKE 'blob%'"
    triggers = db.execute(mine).fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for table in tables:
        db.execute(f"DELETE FROM {table}")
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()
    s = Serving(str(ledger), str(tmp_path / "home"), "--read-only")
    try:
        assert s.ask("POST", "/add", b"{}")[0] == 403
        root = l.show(story.runs[-1])["bundle"]["root"]
        shown = Links(page(s, f"result/{root}.html")).text
        assert "The bundle cannot be shown" in shown and "platform re-ran it: reproduced" in shown
        assert get(s, f"result/{root}.json")[0].status == 503
        c = the_contract(s)
        assert c["worse"] == "yes" and "what of it cannot be read here" in page(s, f"meeting/{c['digest']}.html")
    finally:
        s.stop()


def test_the_page_follows_the_ledger(story, tmp_path):
    """A withdrawn contest is contested no more, without a new start."""
    ledger = tmp_path / "copy.ledger"
    for end in ("", ".key"):
        shutil.copy(f"{story.ledger}{end}", f"{ledger}{end}")
    s = Serving(str(ledger), str(tmp_path / "home"))
    try:
        before = the_contract(s)
        (contest,) = [x for x in data(s, f"meeting/{before['digest']}.json")["statements"] if "contests" in x["text"]]
        entry = data(s, f"entry/{contest['entry']}.json")["entry"]
        home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        key = {"LYNXBENCH_KEY": f"{story.folder}/procurement.key"}
        r = l.lynx("contest", story.runs[-2], "--withdraw", entry, "--ledger", s.url, env={**home, **key})
        assert r.returncode == 0, r.stderr
        until = time.monotonic() + 30
        after = the_contract(s)
        while after["contests_open"] > 0 and time.monotonic() < until:
            time.sleep(0.1)
            after = the_contract(s)
        assert (after["contests_open"], after["contested"], after["worse"]) == (0, "no", "yes"), after
    finally:
        s.stop()


def test_an_empty_ledger_says_what_comes_first(tmp_path):
    r = l.lynx("ledger", "key", "ml", "--out", tmp_path)
    assert r.returncode == 0
    key = {"LYNXBENCH_KEY": f"{tmp_path}/ml.key", "HOME": str(tmp_path)}
    r = l.lynx("ledger", "create", tmp_path / "e.ledger", env=key)
    assert r.returncode == 0, r.stderr
    s = Serving(str(tmp_path / "e.ledger"), str(tmp_path))
    try:
        assert "No contract is in this ledger yet" in page(s, "") and data(s, "index.json") == []
    finally:
        s.stop()


def test_a_contract_that_says_little(tmp_path):
    """No question, no signatories, no run: signed, and that is all."""
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "LYNXBENCH_KEY": f"{tmp_path}/ml.key"}
    l.contract(str(tmp_path / "c.yaml"), 9)
    steps = [("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", tmp_path / "t.ledger")]
    for words in steps + [("ledger", "sign", tmp_path / "c.yaml", "--ledger", tmp_path / "t.ledger")]:
        r = l.lynx(*words, env=home if words[1] != "key" else None)
        assert r.returncode == 0, r.stderr
    s = Serving(str(tmp_path / "t.ledger"), str(tmp_path))
    try:
        (c,) = data(s, "index.json")
        wanted = ("No answer yet: nothing is measured.", "Nothing is measured yet", 0, 0, "How fast is it?")
        assert tuple(c[k] for k in ("answer", "trend", "runs", "signatories", "question")) == wanted, c
        for address in ("", f"contract/{c['digest']}.html", f"meeting/{c['digest']}.html"):
            assert wanted[0] in Links(page(s, address)).text
    finally:
        s.stop()


def test_what_was_said_before_the_bundle_came(story, tmp_path):
    """A contest may stand in the log before the entry of the bundle that it is against."""
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "LYNXBENCH_KEY": f"{tmp_path}/ml.key"}
    bundle, ledger = story.runs[0], tmp_path / "t.ledger"
    steps = [("ledger", "key", "ml", "--out", tmp_path), ("ledger", "create", ledger)]
    steps.append(("contest", bundle, "--ground", "method", "--text", "too short", "--ledger", ledger))
    steps.append(("ledger", "put", ledger, bundle))
    for words in steps:
        r = l.lynx(*words, env=home if words[1] != "key" else None)
        assert r.returncode == 0, (words, r.stderr)
    s = Serving(str(ledger), str(tmp_path))
    try:
        (c,) = data(s, "index.json")
        assert (c["contests_open"], c["contested"], c["runs"]) == (1, "yes", 1), c
    finally:
        s.stop()


def test_no_reader_puts_words_into_a_result(story, tmp_path):
    """The names under which bundles' pages are kept are no addresses."""
    s = Serving(str(story.ledger), str(tmp_path))
    try:
        root = l.show(story.runs[1])["bundle"]["root"]
        entry = next(r["entry"] for r in data(s, f"contract/{the_contract(s)['digest']}.json") if r["root"] == root)
        subjects = data(s, f"entry/{entry}.json")["statement"]["subject"]
        (file,) = [x["digest"]["sha256"] for x in subjects if x["name"] == "file"]
        for view in range(3):
            assert get(s, f"view%20{view}%20{file}%20")[0].status == 404
        assert "What can be claimed" in page(s, f"result/{root}.html")
        assert data(s, f"result/{root}.json") == l.show(story.runs[1])
        assert get(s, f"view%200%20{file}%20")[0].status == 404
    finally:
        s.stop()


def test_the_same_pages_as_files(story, server, tmp_path):
    env = {"HOME": str(story.folder), "XDG_STATE_HOME": str(story.folder)}
    r = l.lynx("site", story.ledger, tmp_path / "site", "--url", server.url.rstrip("/"), env=env)
    assert r.returncode == 0, r.stderr
    assert "next: open " in r.stdout
    root = tmp_path / "site"
    seen = crawl(lambda address: (root / address).read_bytes().decode())
    assert (root / "checkpoint").exists() and list((root / "tile").rglob("*"))
    for address, body in seen.items():  # nobody answers a search there
        links = r'<a class="home[^"]*" href="[./]*(?:search|schedule|running|look)\.html">.*?</a>'
        served = re.sub(links, "", get_text(server, address))
        served = re.sub(r'<form action="\.\./compare\.html".*?>|<button type="submit">.*?</form>', "", served)
        assert body == re.sub('<input type="checkbox".*?>', "", served), address
    assert len(list((root / "entry").iterdir())) == int(re.search(r"(\d+) entries", seen["index.html"])[1])


if __name__ == "__main__":
    l.main(__file__)
