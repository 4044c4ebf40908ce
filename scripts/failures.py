#!/usr/bin/env python3
"""The tests that failed, from meson's testlog.json, each with its last lines: failures.py TESTLOG"""
import json
import sys

LAST_LINES = 30
PASSED = ("OK", "SKIP", "EXPECTEDFAIL")

for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    test = json.loads(line)
    if test["result"] in PASSED:
        continue
    said = (test.get("stdout", "") + test.get("stderr", "")).rstrip().splitlines()
    for words in said[-LAST_LINES:]:
        print("| " + words[:300])
    print("FAILED TEST: %s" % test["name"].split(" / ")[-1])
