"""Prometheus itself scrapes `lynxbench serve` and answers from it; promtool and OTLP's own schema accept what is written."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
import lynx as l  # noqa: E402
from test_serve import Serving  # noqa: E402

TOOLS = pathlib.Path(l.BUILD) / "peers/prometheus/usr/bin"
STORY = pathlib.Path(l.SOURCE) / "tests/recorded/ledger/story.ledger"


@pytest.fixture
def story(tmp_path):
    """A copy: who reads a ledger leaves files beside it."""
    return shutil.copy(STORY, tmp_path / "s.ledger")


def test_promtool_finds_nothing(story):
    for source in (story, pathlib.Path(l.SOURCE) / "tests/recorded/history/steps.csv"):
        text = l.lynx("history", source, "--export", "prometheus").stdout
        r = subprocess.run([TOOLS / "promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        assert (r.returncode, r.stdout, r.stderr) == (0, "", ""), r


def test_otlp_is_of_its_schema(story):
    """protobuf's own reader refuses a field that the public schema does not have."""
    code = """
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
request = json_format.Parse(sys.stdin.read(), ExportMetricsServiceRequest())
print(sum(len(m.gauge.data_points) for s in request.resource_metrics[0].scope_metrics for m in s.metrics))
"""
    text = l.lynx("history", story, "--export", "otlp").stdout
    r = subprocess.run([os.environ["PEERS_PYTHON"], "-c", code], input=text, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    samples = [x for x in l.lynx("history", story, "--export", "prometheus").stdout.splitlines() if not x.startswith("#")]
    assert int(r.stdout) == len(samples) > 50, r.stdout


def ask(port, query):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}") as answer:
        return json.loads(answer.read())["data"]["result"]


@pytest.fixture
def prometheus(story, tmp_path):
    server = Serving(str(story), str(tmp_path), "--read-only")
    (tmp_path / "p.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: lynxbench, static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]}}]\n"
    )
    port = l.free_port()
    arguments = [f"--config.file={tmp_path}/p.yml", f"--storage.tsdb.path={tmp_path}/data"]
    listen = f"--web.listen-address=127.0.0.1:{port}"
    p = subprocess.Popen([TOOLS / "prometheus", *arguments, listen], stderr=subprocess.DEVNULL)
    yield port
    p.terminate()
    p.wait()
    server.stop()


def test_prometheus_answers_the_dashboard_s_questions(prometheus, story):
    until = time.monotonic() + 60
    result = []
    while not result and time.monotonic() < until:
        time.sleep(0.5)
        try:
            result = ask(prometheus, "lynxbench_figure_tokens_per_second")
        except OSError:
            pass
    said = [x for x in l.lynx("history", story, "--export", "prometheus").stdout.splitlines() if x.startswith("lynxbench_figure_tokens_per_second{")]
    assert sorted(float(x["value"][1]) for x in result) == sorted(float(x.split()[-1]) for x in said), (result, said)
    dashboard = json.loads((pathlib.Path(l.SOURCE) / "integrations/grafana/lynxbench.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            found = ask(prometheus, target["expr"].replace("$contract", ".*"))
            assert found or "schedule" in target["expr"], f"{panel['title']}: {target['expr']} finds nothing"


if __name__ == "__main__":
    l.main(__file__)
