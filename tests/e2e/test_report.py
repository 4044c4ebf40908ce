"""The page: one file, no network, well-formed, nothing unescaped, the sections that must be there."""

import os
import re
from html.parser import HTMLParser

import pytest
from lynx import *


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.outside, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "circle", "line", "path", "rect", "link", "img", "hr"):
            self.open.append(tag)
        for key, value in attrs:
            if key in ("src", "href") or "http" in (value or "") and key not in ("xmlns", "http-equiv"):
                self.outside.append((tag, key, value))
        if tag == "script":
            self.wrong.append("a script")

    def handle_endtag(self, tag):
        if tag in ("circle", "line", "path", "rect"):
            return
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def run():
    """A bundle whose contract's words would be markup, and whose server fails every seventh request."""
    faults = ("--fault", "500", "--fault-every", "7")
    with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms", *faults) as port:
        path = contract(
            f"{d}/c.yaml",
            port,
            name='"<script>alert(1)</script> & co"',
            question='"is \\"5 < 6\\"?"',
            slo="[{metric: time_to_first_token, quantile: 0.5, at_most: 100ms}]",
        )
        assert lynx("run", path, "--out", f"{d}/a.lynx", "--quiet").returncode == 0
        yield f"{d}/a.lynx"


def page_of(bundle):
    r = lynx("show", bundle, "--html", f"{bundle}.html")
    check_equal(r.returncode, 0, f"report: {r.stderr}")
    with open(f"{bundle}.html", encoding="utf-8") as f:
        return f.read()


def test_the_page_is_well_formed_and_needs_nothing_else(run):
    text, page = page_of(run), Page()
    page.feed(text)
    check_equal(page.wrong, [], "tags")
    check_equal(page.open, [], "tags left open")
    check_equal(page.outside, [], "anything from outside")
    check("<script>alert" not in text, "a name from the contract reached the page unescaped")
    check("@media print" in text and "prefers-color-scheme:dark" in text, "prints, and is dark where wanted")


def test_what_is_not_stated_is_marked_as_in_show(d):
    """A figure that lynxbench's own lateness may have raised is plain on no page."""
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        strict = SIX.replace("instrument_error_at_most: 1", "instrument_error_at_most: 0.001")
        path = contract(f"{d}/c.yaml", port, method=strict, regime="{load: constant, rate_per_s: 40}")
        lynx("run", path, "--out", f"{d}/strict.lynx", "--quiet")
    shown = lynx("show", f"{d}/strict.lynx").stdout
    n = len([word for word in shown.split() if re.fullmatch(r"(ns|µs|ms|s)\)?\*", word)])
    page = page_of(f"{d}/strict.lynx")
    table = page.split(">latency</th>")[1].split("</table>")[0]
    assert n > 0 and table.count("*<") == n, (n, table)
    assert "it is not claimed" in page and "within the contract's bound" not in page


SIX = """{warm_up: 100ms, counted: 500ms, sessions: 6, drain: 2s, instrument_error_at_most: 1, steady: reported,
  stolen_at_most: 1}"""


@pytest.mark.parametrize("at_most, holds", [("5s", True), ("1ms", False)])
def test_what_holds_is_green(d, at_most, holds):
    """At a glance, beside each other precision; and only that."""
    with reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as port:
        slo = f"[{{metric: end_to_end, quantile: 0.5, at_most: {at_most}}}]"
        path = contract(f"{d}/c.yaml", port, slo=slo, method=SIX)
        assert lynx("run", path, "--out", f"{d}/a.lynx", "--quiet").returncode in RAN
    glance = page_of(f"{d}/a.lynx").split("At a glance")[1].split("</table>")[0]
    check_equal("<td class='good'>holds</td>" in glance, holds, glance)
    check(holds or "<td class='bad'>" in glance, glance)


SECTIONS = (
    "What can be claimed",
    "Percentile spectrum",
    "latency of every request",
    "output throughput over time",
    "What was excluded, and why",
    "The instrument's own error",
    "The executor, by layer and owner",
    "Formulas",
    "counted",
    "HTTP status",
    "lynx.ttft.1",
)


@pytest.mark.parametrize("words", SECTIONS)
def test_the_page_has_its_sections(run, words):
    page = Page()
    page.feed(page_of(run))
    check_in(words, page.text, "section")


def test_the_same_page_twice(run):
    first = page_of(run)
    check_equal(page_of(run), first, "the same page twice")


CANARY = "canary-9f3"


def disclosed(bundle, level):
    r = lynx("show", bundle, "--disclose", level, "--html", "-")
    check(r.returncode in (0, 1), r.stderr)
    return r.stdout


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Bundles with words that are nobody else's, wherever an operator may leave them."""
    folder = tmp_path_factory.mktemp("planted")
    workload = "{model: metronome, output_tokens: 5, prompts: {count: 8, bytes: 32}}"
    lax = "{warm_up: 100ms, counted: 500ms, sessions: 1, drain: 1s, steady: reported, instrument_error_at_most: 1}"
    expected = f'{{system.machine.host-name: {CANARY}-host, system.os.kernel: "{CANARY}"}}'
    words = f"{{serving.setting.master: 10.66.0.11, serving.cluster: {CANARY}.corp.example, system.site: SITE}}"
    script = folder / "dies.py"
    script.write_text(f"import sys\nprint('token={CANARY} 10.66.0.12 C:/x', file=sys.stderr)\nsys.exit(3)\n")
    start = f"start: {{command: [python3, {script}], ready_within: 5s, environment: [A_B={CANARY}-env]}}"
    bundles = {}
    with reference("--mode", "metronome") as port:
        at = f'endpoint: "http://127.0.0.1:{port}"'
        nowhere = f'endpoint: "http://127.0.0.1:{free_port()}"'
        for name, executor in (
            ("facts", f"{{{at}, expect: {expected}, declare: {words}}}"),
            ("dead", f"{{{nowhere}, {start}}}"),
        ):
            path = str(folder / f"{name}.yaml")
            contract(path, port, executor=executor, workload=workload, method=lax)
            bundles[name] = str(folder / f"{name}.lynx")
            r = lynx("run", path, "--out", bundles[name], "--quiet")
            check(os.path.exists(bundles[name]), r.stderr)
    return bundles


@pytest.mark.parametrize("level", ("shared", "public"))
def test_below_full_nobody_s_own_words_are_shown(planted, level):
    facts, dead = (disclosed(planted[name], level) for name in ("facts", "dead"))
    host = os.uname().nodename
    for page, full in ((facts, disclosed(planted["facts"], "full")), (dead, disclosed(planted["dead"], "full"))):
        check(CANARY in full, "they are there at all")
        own = re.finditer(rf"{CANARY}|10\.66\.0|127\.0\.0\.1", page)
        left = [page[max(0, m.start() - 100) : m.end() + 40] for m in own]
        check_equal(left, [], level)
    check(f"found '{host}'" not in facts, "what was found in place of the expected")
    check("system.machine.host-name" in facts and "(withheld)" in facts, "that it was not as expected is said")
    check("exit code 3" in dead and "it printed: (withheld)" in dead, "so is how the executor ended")
    if level == "public":
        check("SITE" not in facts, "what was declared is an operator's own word, too")


def test_a_folder_that_does_not_exist(run):
    r = lynx("show", run, "--html", "/nowhere/x.html")
    check_equal(r.returncode, 4, "a folder that does not exist")
    check_in("/nowhere/x.html", r.stderr, "and it says which")


if __name__ == "__main__":
    main(__file__)
