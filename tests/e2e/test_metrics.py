"""Figures for monitoring: what Prometheus reads and a collector takes is what `history` and `iterate` say."""

import http.server
import json
import pathlib
import re
import shutil
import threading
import time

import pytest

import lynx as l

SOURCE = pathlib.Path(l.SOURCE)
STEPS = SOURCE / "tests/recorded/history/steps.csv"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


def parse(text):
    """{family: {labels: value}}; everything that the format demands is checked on the way."""
    families, current = {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in families, "a family's samples lie together"
            families[current] = {}
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {current} gauge"
        else:
            name, labels, value = SAMPLE.match(line).groups()
            pairs = LABEL.findall(labels or "")
            assert name == current and LABEL.sub("", labels or "") == "", line
            key = tuple(pairs)
            assert key not in families[name], f"two samples of {line}"
            families[name][key] = float(value)
    return families


def metrics(*args, **kw):
    r = l.lynx("history", "--export", "prometheus", *args, **kw)
    assert r.returncode == 0, r.stderr
    return parse(r.stdout)


@pytest.fixture
def story(tmp_path):
    shutil.copy(SOURCE / "tests/recorded/ledger/story.ledger", tmp_path / "s.ledger")
    return tmp_path / "s.ledger"


def test_a_ledger_s_figures_are_those_of_history(story):
    env = l.environment(LYNXBENCH_LEDGER=story)
    found = metrics(env=env)
    x = json.loads(l.lynx("history", "--json", "--quiet", env=env).stdout)
    base = {"ns": ("seconds", 1e-9), "tokens/s": ("tokens_per_second", 1), "requests/s": ("requests_per_second", 1)}
    n = 0
    for s in x["series"]:
        unit, factor = base[s["unit"]]
        key = tuple((k, s[k]) for k in ("contract", "digest", "precision", "figure"))
        newest = s["values"][-1]
        for part, name in (("", "value"), ("_low", "low"), ("_high", "high")):
            value = found[f"lynxbench_figure{part}_{unit}"].get(key)
            assert (value is None) == (newest[name] is None), key
            assert value is None or abs(value - newest[name] * factor) <= 1e-12 * abs(value), (key, value, newest)
        assert found["lynxbench_figure_runs"][key] == len(s["values"])
        n += 1
    assert n > 4
    work = json.loads(l.lynx("iterate", "list", "--all", "--json", env=env).stdout)
    counted = {}
    for row in work:
        key = (row["contract"], row["digest"], row["owner"] or "", row["state"])
        counted[key] = counted.get(key, 0) + 1
    got = {tuple(v for _, v in k): n for k, n in found["lynxbench_findings"].items()}
    assert got == counted and len(got) > 1, (got, counted)


def test_a_change_can_be_alarmed_on():
    found = metrics(STEPS)
    key = next(k for k in found["lynxbench_last_change_ratio"] if ("figure", "throughput") in k)
    event = json.loads(l.lynx("history", STEPS, "--json", "--quiet").stdout)["events"][0]
    change = next(c for c in event["changes"] if c["figure"] == "throughput")
    assert found["lynxbench_last_change_ratio"][key] == change["size"] and found["lynxbench_changes"][key] == 1
    seen = found["lynxbench_last_change_seen_timestamp_seconds"][key]
    at = found["lynxbench_last_change_timestamp_seconds"][key]
    assert seen - at == 3 * 86400, "with the fourth run of the new level"
    assert time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) == event["after"]["time"], (at, event)


def test_names_are_escaped(tmp_path):
    path = tmp_path / 'a"b\\c,d="e"}.csv'
    path.write_text("run,v\n" + "".join(f"r{i},{100 + i % 3}\n" for i in range(9)))
    (key,) = metrics(path)["lynxbench_figure"]
    assert dict(key)["contract"] == str(path).replace("\\", "\\\\").replace('"', '\\"'), key


def test_schedules_are_counted(tmp_path):
    lines = []
    now = int(time.time()) // 86400 * 86400
    for day, state in ((3, "ended"), (2, "begun"), (1, "ended")):
        line = {"schedule": "nightly", "every_s": 86400, "at_s": 0, "slot_s": now - day * 86400}
        lines.append(dict(line, time_s=now - day * 86400 + 5, state="begun", bundle="x.lynx"))
        if state == "ended":
            lines.append(dict(line, time_s=now - day * 86400 + 9, state="ended", exit=0 if day == 3 else 5))
    (tmp_path / "nightly.schedule.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    counted = {dict(k)["state"]: n for k, n in metrics(tmp_path)["lynxbench_schedule_times"].items()}
    assert (counted["kept"], counted["interrupted"], counted["failed"]) == (1, 1, 1), counted


def test_what_cannot_be_read_leaves_the_old_file(tmp_path):
    out = tmp_path / "lynx.prom"
    assert l.lynx("history", STEPS, "--export", "prometheus", "--out", out).returncode == 0
    before = out.read_text()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.lynx").write_text("no bundle")
    r = l.lynx("history", tmp_path / "runs", "--export", "prometheus", "--out", out)
    assert r.returncode == 2 and out.read_text() == before and "lynxbench_figure{" in before, r.stderr
    no_format, no_url = (STEPS, "--export", "xml"), (STEPS, "--send", "x")
    wrong = (((), "found no source"), (no_format, "prometheus, otlp"), (no_url, "--send"))
    (tmp_path / "empty").mkdir()
    r = l.lynx("history", tmp_path / "empty", "--export", "prometheus", "--out", out)
    assert r.returncode == 3 and out.read_text() == before, r.stderr
    for args, says in wrong:
        r = l.lynx("history", *args, env=l.environment(LYNXBENCH_LEDGER=""))
        assert r.returncode == 2 and says in r.stderr, r.stderr


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, self.headers["Content-Type"], body))
        self.send_response(200 if self.path == "/v1/metrics" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_collector_takes_it(story):
    with http.server.HTTPServer(("127.0.0.1", 0), Collector) as server:
        server.taken = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        r = l.lynx("history", story, "--send", f"{address}/v1/metrics")
        assert (r.returncode, r.stdout) == (0, ""), r.stderr
        wrong = l.lynx("history", story, "--send", f"{address}/elsewhere")
        server.shutdown()
    assert wrong.returncode == 5 and "HTTP status 404" in wrong.stderr, wrong.stderr
    path, kind, body = server.taken[0]
    assert (path, kind) == ("/v1/metrics", "application/json")
    (resource,) = json.loads(body)["resourceMetrics"]
    assert {"key": "service.name", "value": {"stringValue": "lynxbench"}} in resource["resource"]["attributes"]
    sent = {m["name"]: m["gauge"]["dataPoints"] for m in resource["scopeMetrics"][0]["metrics"]}
    said = metrics(story)
    assert set(sent) == set(said)
    for name, points in sent.items():
        got = {tuple((a["key"], a["value"]["stringValue"]) for a in p["attributes"]): p["asDouble"] for p in points}
        assert got == said[name], name
        assert all(isinstance(p["timeUnixNano"], str) and int(p["timeUnixNano"]) > 1e18 for p in points)


def test_the_dashboard_asks_for_what_there_is(story):
    dashboard = json.loads((SOURCE / "integrations/grafana/lynxbench.json").read_text())
    asked = set(re.findall(r"lynxbench_\w+", json.dumps(dashboard)))
    source = (SOURCE / "src/report/history_gauges.c").read_text() + (SOURCE / "src/board/board_gauges.c").read_text()
    assert asked and asked <= set(re.findall(r'"(lynxbench_\w+)"', source)), asked
    ids = [p["id"] for p in dashboard["panels"]]
    assert len(ids) == len(set(ids)) > 8


if __name__ == "__main__":
    l.main(__file__)
