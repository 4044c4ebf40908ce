"""Bundles of blind rounds (tests/recorded/blind): what was found stays found, and no clean server is accused."""

import json
import pathlib
import tarfile

import pytest
from lynx import *

FOLDER = pathlib.Path(SOURCE) / "tests/recorded/blind"
ROUNDS = sorted(path.stem for path in FOLDER.glob("round*.json"))


@pytest.fixture(scope="module", params=ROUNDS)
def round_of(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    with tarfile.open(FOLDER / f"{request.param}.tar.xz") as archive:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in Debian 12's Python: it is our own
        archive.extractall(folder, **safe)
    cases = json.loads((FOLDER / f"{request.param}.json").read_text())["cases"]
    found = {}
    for case in cases:
        r = lynx("attribute", folder / f"{case['case']}.lynx", "--json")
        assert r.returncode == 0, (case["case"], r.stderr)
        found[case["case"]] = json.loads(r.stdout)
    return cases, found


def test_what_was_named_stays_named(round_of):
    cases, found = round_of
    held = [case for case in cases if "holds" in case]
    assert len(held) >= 10
    for case in held:
        first = found[case["case"]]["findings"][0]
        what, name = case["holds"]
        assert first["id"] == what, (case, first)
        assert name.lower() in f"{first.get('named', '')} {first['evidence']}".lower(), (case, first)


def test_no_clean_server_is_accused(round_of):
    cases, found = round_of
    for case in (case for case in cases if case["planted"] is None):
        findings = found[case["case"]]["findings"]
        first = findings[0] if findings else {"id": "", "contributing": []}
        neighbours = "contention" in {f["id"] for f in findings[:2]}  # there were some
        known = first["id"] in case.get("true_findings", [])
        assert not first["contributing"] or neighbours or known, (case, first)


def test_the_verdict_names_no_cause_that_the_table_has_not(round_of):
    """Its first sentence is of one judgement with the findings: where it names one, that is the first."""
    for said in round_of[1].values():
        verdict = said["bottleneck"]["title"]
        _, marked, cause = verdict.partition("First suspect: ")
        assert not marked or cause.rstrip(".") == said["findings"][0]["title"], verdict


if __name__ == "__main__":
    main(__file__)
