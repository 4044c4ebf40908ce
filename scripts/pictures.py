#!/usr/bin/env python3
"""The pictures of the pages in docs/, of a ledger made by real runs: pictures.py (after make build and scripts/packages.sh web)."""
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("BUILD", os.path.abspath("build"))
os.environ.setdefault("SOURCE", os.getcwd())
sys.path.insert(0, "tests/e2e")

import lynx as l
from browser import Browser
from story import Story
from test_serve import Serving

with tempfile.TemporaryDirectory() as folder:
    story = Story(pathlib.Path(folder), "")
    server = Serving(str(story.ledger), folder)
    browser = Browser()
    digest = l.show(story.runs[0])["contract"]["digest"]
    for name, address, height in (("contracts", "", 640), ("meeting", f"meeting/{digest}.html", 1240)):
        browser.size(1120, height)
        browser.go(server.url + address)
        browser.picture(f"docs/{name}.png")
    browser.close()
    server.stop()
