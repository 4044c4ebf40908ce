#!/usr/bin/env python3
"""The pictures in docs/, of real runs: pictures.py (after make demo, whose ledger it shows, and scripts/packages.sh web)."""
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("BUILD", os.path.abspath("build"))
os.environ.setdefault("SOURCE", os.getcwd())
sys.path.insert(0, "tests/e2e")

import lynx as l
from browser import Browser
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
    server = Serving("build/demo/team.ledger", folder)
    browser = Browser()
    digest = l.show("build/demo/before.lynx")["contract"]["digest"]
    for name, address, height in (("contracts", "", 760), ("meeting", f"meeting/{digest}.html", 1060)):
        browser.size(1120, height)
        browser.go(server.url + address)
        browser.picture(f"docs/{name}.png")
    if sys.argv[1:] != ["--pages"]:
        verdict(browser, folder)
    browser.close()
    server.stop()
