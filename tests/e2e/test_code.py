"""Code is part of the executor: what a server runs is captured, file by file, and what cannot be known is said."""

import json
import signal
import subprocess
import sys
import time

import lynx as l
import pytest

SERVING = """
import helper
from http.server import HTTPServer, BaseHTTPRequestHandler
import sys
HTTPServer(("127.0.0.1", int(sys.argv[1])), BaseHTTPRequestHandler).serve_forever()
"""


def capture_of(folder, name, port):
    process = subprocess.Popen(
        [sys.executable, f"{folder}/server.py", str(port)], cwd=folder, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            if (
                l.lynx("capture", "--pid", process.pid, "--quiet-routes", "--out", f"{folder}/{name}.json").returncode
                == 0
            ):
                facts = json.load(open(f"{folder}/{name}.json"))
                if "code.files" in json.dumps(facts):
                    return f"{folder}/{name}.json"
            time.sleep(0.05)
        pytest.fail("the server was not captured")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@pytest.mark.parametrize("edited", ["server.py", "helper.py"])
def test_a_server_edited_in_place_is_another_executor(tmp_path, edited):
    (tmp_path / "server.py").write_text(SERVING)
    (tmp_path / "helper.py").write_text("WAIT = 0\n")
    a = capture_of(str(tmp_path), "a", l.free_port())
    with open(tmp_path / edited, "a") as f:
        f.write("import time  # slower\n")
    b = capture_of(str(tmp_path), "b", l.free_port())
    r = l.lynx("diff", a, b)
    assert r.returncode == 1, r.stdout + r.stderr
    assert f"code.file.{edited}" in r.stdout, r.stdout
    assert not any(f"code.file.{other}" in r.stdout for other in {"server.py", "helper.py"} - {edited})


@pytest.mark.parametrize(
    "source",
    [
        "import sys; sys.path.insert(0, 'lib')\nimport dep",
        "exec(open('dep.py').read())",
        "import importlib; importlib.import_module('d' + 'ep') if 0 else importlib.import_module(name)",
    ],
)
def test_code_that_is_chosen_at_run_time_is_a_hole(tmp_path, source):
    (tmp_path / "server.py").write_text("name = 'dep'\n" + source + "\n" + SERVING.replace("import helper\n", ""))
    (tmp_path / "dep.py").write_text("X = 1\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "dep.py").write_text("X = 1\n")
    facts = open(capture_of(str(tmp_path), "a", l.free_port())).read()
    assert "hole.code" in facts and "chooses what it runs" in facts


def test_modules_beside_a_linked_script_are_its_code(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s.py").write_text(SERVING)
    (tmp_path / "real" / "helper.py").write_text("WAIT = 0\n")
    (tmp_path / "server.py").symlink_to("real/s.py")
    assert "code.file.helper.py" in open(capture_of(str(tmp_path), "a", l.free_port())).read()


if __name__ == "__main__":
    l.main(__file__)
