#!/usr/bin/env python3
"""The pictures in docs/, of real runs: pictures.py (after make build and scripts/packages.sh web; py-spy by scripts/py_spy.sh build)."""
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("BUILD", os.path.abspath("build"))
os.environ.setdefault("SOURCE", os.getcwd())
sys.path.insert(0, "tests/e2e")

import lynx as l
from browser import Browser
from story import Story
from test_serve import Serving



def verdict(browser, folder):
    """The first page that README shows: examples/slow_server.py, diagnosed."""
    server = subprocess.Popen([sys.executable, "examples/slow_server.py", "8000"], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    r = l.lynx("diagnose", "http://127.0.0.1:8000", "--html", f"{folder}/why.html", "--out", f"{folder}/why.lynx", timeout=300)
    server.kill()
    server.wait()
    print(r.stdout)
    browser.size(1000, 880)
    browser.go(f"file://{folder}/why.html")
    browser.picture("docs/verdict.png")


with tempfile.TemporaryDirectory() as folder:
    story = Story(pathlib.Path(folder), "")
    server = Serving(str(story.ledger), folder)
    browser = Browser()
    digest = l.show(story.runs[0])["contract"]["digest"]
    for name, address, height in (("contracts", "", 640), ("meeting", f"meeting/{digest}.html", 1240)):
        browser.size(1120, height)
        browser.go(server.url + address)
        browser.picture(f"docs/{name}.png")
    verdict(browser, folder)
    browser.close()
    server.stop()
