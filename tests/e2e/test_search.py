"""Results are found by what they ran on, and by whose they are; facts that no fingerprint proves are not believed."""

import base64
import csv
import io
import urllib.parse
import zlib

import pytest
from lynx import *
from test_serve import Teams


@pytest.fixture(scope="module")
def teams():
    with folder() as d:
        teams = Teams(d)
        assert teams.run
        yield teams
        teams.server.stop()


def facts(bundle):
    """Of its executor: what has a value and is part of what it is."""
    query = "SELECT DISTINCT key, value FROM fact WHERE kind = 'identity' AND status = 'read' AND moment LIKE 'start%'"
    return dict(rows(bundle, query))


def search(teams, question, form="json"):
    query = urllib.parse.urlencode({"q": question})
    for _ in range(100):  # until the entry is on the pages
        status, body = teams.server.ask("GET", f"/search.{form}?{query}")
        if status != 503:
            break
        time.sleep(0.1)
    check_equal(status, 200, f"search for {question}")
    return json.loads(body) if form == "json" else body.decode()


def wait_for_the_run(teams):
    for _ in range(100):
        if search(teams, "null"):
            return
        time.sleep(0.1)
    raise AssertionError("the run is on no page")


def root_of(bundle):
    return json.loads(lynx("show", bundle, "--json").stdout)["seal"]["root"]


def test_a_result_is_found_by_a_fact(teams):
    wait_for_the_run(teams)
    known = facts(teams.run)
    key = next(k for k in ("kernel.release", "os.kernel", "cpu.model") if k in known)
    words = known[key].split()[0]
    for question in (f"{key} {words}", f"{words.upper()} {key}", f'"{words}" {key}', f"system {key}", f"{key} ml"):
        found = search(teams, question)
        check_equal(len(found), 1, f"{question}: {found}")
    [row] = search(teams, f"{key} {words}")
    check(row["fact"] == key and words in row["says"] and row["layer"], row)
    check_equal(row["by"], "ml", "whose it is")
    status, _ = teams.server.ask("GET", f"/result/{row['root']}.json")
    check_equal(status, 200, "its page")


def test_words_of_two_facts_are_no_fact(teams):
    wait_for_the_run(teams)
    known = {k: v for k, v in facts(teams.run).items() if v and " " not in v and len(v) > 3}
    names = list(known)
    pairs = ((x, y) for x in names for y in names if x != y)
    a, b = next((x, y) for x, y in pairs if x not in f"{y} {known[y]}" and known[y] not in f"{x} {known[x]}")
    check_equal(search(teams, f"{a} {known[b]}"), [], f"{a} does not say {known[b]}")
    check_equal(search(teams, "surely-nothing-like-this"), [], "nothing")
    check_equal(search(teams, ""), [], "no question, no answer")


def test_names_and_forms(teams):
    wait_for_the_run(teams)
    for question in ("null", "ML", "c.lynx"):
        check_equal(len(search(teams, question)), 1, question)
    [row] = csv.DictReader(io.StringIO(search(teams, "null", "csv")))
    check_equal(row["by"], "ml", "the table as CSV")
    page = search(teams, '<script>alert(1)</script> "', "html")
    check("<script>alert" not in page and "&lt;script&gt;" in page, "a question is shown as text")
    check('href="search.json?q=%3Cscript%3E' in page, "the same question as data")
    page = search(teams, "null", "html")
    check('role="search"' in page and "1 result" in page, page[:2000])
    home = teams.server.ask("GET", "/")[1].decode()
    check('href="search.html"' in home, "every page leads to it")
    for n in (390, 5000):
        check_equal(teams.server.ask("GET", "/search.html?q=" + "x" * n)[0], 414, "a question without end")
    for question, says in (("a+b+c+d+e+f+g+h+i+j", b"More than 8 words"), ("x" * 100, b"longer than 99")):
        for form in ("html", "json", "csv"):  # none answers a part of what was asked
            status, body = teams.server.ask("GET", f"/search.{form}?q={question}")
            check(status == 400 and says in body, (form, status, body[-600:]))


def test_files_have_no_search(teams, d):
    teams.must("ledger", "pull", teams.url, f"{d}/copy.ledger", home="fourth")
    teams.must("site", f"{d}/copy.ledger", f"{d}/public", home="fourth")
    check(not os.path.exists(f"{d}/public/search.html"), "nobody would answer")
    check('search.html' not in open(f"{d}/public/index.html").read(), "and nothing leads to it")


def test_the_entry_holds_facts_once(teams, d):
    """A second run of the same executor brings none; what an entry holds has the fingerprint that it stands under."""
    again = f"{d}/again.lynx"
    words = ("run", f"{teams.d}/c.yaml", "--out", again, "--ledger", teams.url, "--quiet")
    r = teams(*words, home="ml", key="ml")
    check(r.returncode in RAN, r.stderr)
    for _ in range(100):
        entries = [json.loads(teams.server.ask("GET", f"/entry/{i}.json")[1]) for i in range(20)]
        said = [e.get("statement", {}).get("predicate", {}) for e in entries]
        bundles = [s for s in said if "summary" in s]
        if len(bundles) == 2:
            break
        time.sleep(0.1)
    holders = [b for b in bundles if "executors" in b]
    check_equal(len(bundles), 2, "bundles")
    same = len({p["fingerprint"] for b in bundles for p in b["summary"]["precisions"]}) == 1
    check_equal(len(holders), 1 if same else len(holders), "once for each executor")
    one = holders[0]["executors"][0]
    told = json.loads(zlib.decompress(base64.b64decode(one["facts"])))
    check(all(len(f) == 5 for f in told) and len(told) > 10, told[:3])
    check_equal(one["fingerprint"], holders[0]["summary"]["precisions"][0]["fingerprint"], "whose they are")


if __name__ == "__main__":
    main(__file__)
