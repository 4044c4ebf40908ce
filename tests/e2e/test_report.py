"""The page: one file, no network, well-formed enough for Python's parser, nothing unescaped, the sections that must be there."""
from html.parser import HTMLParser
from lynx import *


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.outside, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "circle", "line", "path", "rect", "link", "img", "hr") :
            self.open.append(tag)
        for key, value in attrs:
            if key in ("src", "href") or "http" in (value or "") and key != "xmlns":
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


with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms", "--fault", "500", "--fault-every", "7") as port:
    path = contract(f"{d}/c.yaml", port, name='"<script>alert(1)</script> & co"', question='"is \\"5 < 6\\"?"', slo="[{metric: time_to_first_token, quantile: 0.5, at_most: 100ms}]")
    check_equal(lynx("run", path, "--out", f"{d}/a.lynx", "--quiet").returncode, 0, "run")
    r = lynx("report", f"{d}/a.lynx", "--out", f"{d}/a.html")
    check_equal(r.returncode, 0, f"report: {r.stderr}")
    text = open(f"{d}/a.html", encoding="utf-8").read()
    page = Page()
    page.feed(text)
    check_equal(page.wrong, [], "tags")
    check_equal(page.open, [], "tags left open")
    check_equal(page.outside, [], "anything from outside")
    check("<script>alert" not in text, "a name from the contract reached the page unescaped")
    for words in ("What can be claimed", "Percentile spectrum", "latency of every request", "output throughput over time", "What was excluded, and why", "The instrument's own error", "The executor, by layer and owner", "Formulas", "counted", "HTTP status", "lynx.ttft.1"):
        check_in(words, page.text, "section")
    check("@media print" in text and "prefers-color-scheme:dark" in text, "prints, and is dark where wanted")
    lynx("report", f"{d}/a.lynx", "--out", f"{d}/b.html")
    check_equal(open(f"{d}/b.html").read(), text, "the same page twice")
    r = lynx("report", f"{d}/a.lynx", "--out", "/nowhere/x.html")
    check_equal(r.returncode, 4, "a folder that does not exist")
    check_in("/nowhere/x.html", r.stderr, "and it says which")
finish()
