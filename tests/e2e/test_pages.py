"""Every page in a real browser: no complaint, nothing from elsewhere, by keyboard, for screen readers, narrow, dark,
on paper."""

import json
import re
import time

import pytest

import lynx as l
from browser import ENTER, TAB, Browser, axe_path, missing
from test_site import server, story  # fixtures

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
NAMES = "home work contract meeting result contested compare three search look running schedule nowhere".split()


@pytest.fixture(scope="module")
def browser():
    b = Browser()
    yield b
    b.close()


@pytest.fixture(scope="module")
def addresses(story, server):
    digest = l.show(story.runs[0])["contract"]["digest"]
    roots = [l.show(b)["bundle"]["root"] for b in story.runs]
    at = {
        "home": "",
        "work": "work.html",
        "contract": f"contract/{digest}.html",
        "meeting": f"meeting/{digest}.html",
        "result": f"result/{roots[-1]}.html",
        "contested": f"result/{roots[-2]}.html",
        "compare": f"compare/{roots[0]}-{roots[-1]}.html",
        "three": "compare.html?" + "&".join(f"q={roots[i][:12]}" for i in (0, 1, -1)),
        "search": "search.html?q=gap+15ms",
        "look": "look.html",
        "running": "running.html",
        "schedule": "schedule.html",
        "nowhere": "contract/" + "0" * 64 + ".html",
    }
    return {name: server.url + address for name, address in at.items()}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_and_nothing_is_from_elsewhere(browser, server, addresses, name):
    browser.complaints(), browser.asked_for()
    browser.size(1200, 900)
    browser.go(addresses[name])
    wrong = [c for c in browser.complaints() if not (name == "nowhere" and "404" in c["message"])]
    assert not [c for c in wrong if "favicon" not in c["message"]], wrong
    asked = [u for u in browser.asked_for() if not u.startswith("data:")]
    assert asked and all(u.startswith(server.url) for u in asked), asked
    assert browser.run("return document.images.length + document.querySelectorAll('iframe,object,embed').length") == 0
    assert browser.run("return [...document.scripts].every((s) => s.src !== '')")


def axe(browser):
    with open(axe_path()) as f:
        browser.run(f.read() + "; window.axe = axe;")
    run = "const done = arguments[0]; axe.run().then((r) => done(r.violations), (e) => done([String(e)]));"
    found = browser.run_async(run)
    return [(v["id"], v["impact"], [n["html"][:160] for n in v["nodes"][:3]]) for v in found]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_serious(browser, addresses, name, dark):
    browser.size(1200, 900)
    browser.dark(dark)
    browser.go(addresses[name])
    serious = [v for v in axe(browser) if v[1] in ("serious", "critical")]
    browser.dark(False)
    assert not serious, json.dumps(serious, indent=1)


@pytest.mark.parametrize("name", NAMES)
def test_at_360_pixels_nothing_is_wider(browser, addresses, name):
    browser.size(360, 740)
    browser.go(addresses[name])
    wide = """return [...document.querySelectorAll('body *')].filter((e) => e.scrollWidth > 361)
        .map((e) => e.outerHTML.slice(0, 120))"""
    assert browser.run("return document.documentElement.scrollWidth") <= 360, browser.run(wide)


def test_from_the_first_page_to_a_result_by_keyboard(browser, addresses):
    browser.size(1200, 900)
    browser.go(addresses["home"])
    here = """const e = document.activeElement;
        return [e.tagName, e.textContent, getComputedStyle(e).outlineStyle]"""

    def walk_to(words):
        for _ in range(80):
            browser.keys(TAB)
            tag, text, outline = browser.run(here)
            if tag == "A" and words in text:
                assert outline != "none", text
                browser.keys(ENTER)
                return
        raise AssertionError(f"no link {words} by keyboard")

    browser.keys(TAB)
    assert browser.run(here)[1] == "Skip to the page"
    walk_to("chat-7b nightly")
    assert "with 4 in flight" in browser.run("return document.querySelector('h1').textContent")
    walk_to("r12.lynx")
    assert browser.run("return location.pathname").startswith("/result/")


def test_tables_filter_and_sort(browser, addresses):
    browser.size(1200, 900)
    browser.go(addresses["contract"])
    last = "[...document.querySelectorAll('.wide')].at(-1)"
    rows = f"return {last}.querySelectorAll('tbody tr:not([hidden])').length"
    n = browser.run(rows)
    typed = """const f = [...document.querySelectorAll('input.filter')].at(-1);
        f.value = arguments[0];
        f.dispatchEvent(new Event('input'));"""
    browser.run(typed, "reproduced")
    assert browser.run(rows) == 1
    browser.run(typed, "")
    assert browser.run(rows) == n
    cells = f"[...{last}.querySelectorAll('tbody td[data-label=value][data-value]')]"
    values = f"return {cells}.map((c) => Number(c.dataset.value))"
    click = f"[...{last}.querySelectorAll('th button')].find((b) => b.textContent === 'value').click()"
    browser.run(click)
    up = browser.run(values)
    browser.run(click)
    assert len(up) > 5 and up == sorted(up) and browser.run(values) == sorted(up, reverse=True)


def test_a_file_that_is_dropped_is_shown(browser, addresses):
    """On any page: it comes to the form's page, and is shown there."""
    browser.size(1200, 900)
    browser.go(addresses["contract"])
    drop = """const data = new DataTransfer();
        data.items.add(new File(["hello"], "dropped-here.txt"));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));"""
    browser.run(drop)
    title = "return document.querySelector('h1')?.textContent"
    until = time.monotonic() + 20
    while browser.run(title) != "This file cannot be read" and time.monotonic() < until:
        time.sleep(0.1)
    assert browser.run(title) == "This file cannot be read" and browser.run("return location.pathname") == "/look.html"
    assert "dropped-here.txt" in browser.run("return document.body.textContent")
    assert not [v for v in axe(browser) if v[1] in ("serious", "critical")]
    browser.complaints()


def test_the_meeting_page_prints_on_one_sheet(browser, addresses):
    browser.size(1200, 900)
    browser.go(addresses["meeting"])
    assert len(re.findall(rb"/Type\s*/Page\b", browser.printed())) == 1


def test_without_its_script_a_page_says_the_same(browser, addresses):
    browser.size(1200, 900)
    browser.go(addresses["meeting"])
    with_script = browser.run("return document.querySelector('main').textContent")
    off = {"cmd": "Emulation.setScriptExecutionDisabled", "params": {"value": True}}
    browser("POST", "/goog/cdp/execute", off)
    browser.go(addresses["meeting"])
    browser("POST", "/goog/cdp/execute", {**off, "params": {"value": False}})
    assert browser.run("return document.querySelector('main').textContent") == with_script


if __name__ == "__main__":
    l.main(__file__)
