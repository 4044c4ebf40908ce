"""Watching sends nothing: what packets tell is held against the client's own record of the same requests; what is no
clear HTTP/1.1 is counted; no text goes anywhere."""

import http.server
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

import lynx as l

CANARY = "Zanzibar-4711"


def can_tap():
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0).close()
        return True
    except (PermissionError, OSError):
        return False


needs_tap = pytest.mark.skipif(not can_tap(), reason="packets may not be read here (CAP_NET_RAW)")


class Watch:
    """`lynxbench watch` in the background, from when it says that it watches."""

    def __init__(self, port, out, *more, seconds=8, url=None):
        words = ["watch", url or f"http://127.0.0.1:{port}", "--for", f"{seconds}s", "--out", out, *more]
        self.out = str(out)
        self.process = subprocess.Popen(
            [l.LYNX, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=l.environment()
        )
        self.said = self.process.stderr.readline()

    def end(self):
        out, err = self.process.communicate(timeout=120)
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, out, self.said + err)


def ask(port, body, path="/v1/completions"):
    head = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", l.json.dumps(body).encode(), head)
    return urllib.request.urlopen(request, timeout=20).read()


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    log = tmp_path_factory.mktemp("server") / "log"
    with l.reference("--mode", "metronome", "--first-token", "20ms", "--gap", "2ms", "--log", log) as port:
        yield port


def realtime_rows(bundle, columns):
    """Of all counted requests, with times of the wall clock, in the order in which they were asked."""
    starts = dict(l.rows(bundle, "SELECT id, start_realtime_ns FROM session"))
    rows = l.rows(bundle, f"SELECT session, {', '.join(columns)} FROM request WHERE outcome = 'ok'")
    found = [[starts[r[0]] + v if c.endswith("_ns") and v >= 0 else v for c, v in zip(columns, r[1:])] for r in rows]
    return sorted(found)


@needs_tap
def test_the_same_requests_as_the_client_saw(tmp_path, port):
    """The order of events is the proof: a client writes before its packet passes, and reads after the answer's does."""
    watch = Watch(port, tmp_path / "w.lynx", "--fine", seconds=10)
    assert "nothing is sent" in watch.said, watch.said
    method = "{warm_up: 0s, counted: 4s, sessions: 1, drain: 5s, steady: reported}"
    path = l.contract(tmp_path / "c.yaml", port, method=method)
    assert l.lynx("run", path, "--out", tmp_path / "c.lynx", "--quiet").returncode in l.RAN
    r = watch.end()
    assert r.returncode == 0, r.stderr
    columns = ["written_ns", "first_token_ns", "end_ns", "output_tokens", "n_text_events"]
    client, seen = realtime_rows(tmp_path / "c.lynx", columns), realtime_rows(tmp_path / "w.lynx", columns)
    assert len(client) >= 20 and len(seen) >= len(client), (len(client), len(seen))
    offset = 2e6  # ns: the two clocks of the client are read one after the other
    unmatched = 0
    for c in client:
        # The wire's request is the one whose last byte passed last after the client wrote it.
        near = [s for s in seen if -offset <= s[0] - c[0] and s[2] <= c[2] + offset]
        unmatched += not near
        if near:
            s = min(near, key=lambda s: s[0] - c[0])
            assert s[3:] == c[3:], "tokens and events, one by one"
            assert c[0] - offset <= s[0] <= s[1] <= c[1] + offset and s[2] <= c[2] + offset, (s, c)
    assert unmatched == 0, f"{unmatched} of {len(client)}"


@needs_tap
def test_nothing_is_sent_and_no_text_is_kept(tmp_path, port):
    watch = Watch(port, tmp_path / "w.lynx")
    usage = {"include_usage": True}
    for i in range(6):
        more = {"stream": True, "stream_options": usage} if i % 2 == 0 else {}
        assert ask(port, {"model": "m", "prompt": f"{CANARY} {i}", "max_tokens": 6, **more})
    r = watch.end()
    assert r.returncode == 0, r.stderr
    assert l.rows(tmp_path / "w.lynx", "SELECT count(*), sum(output_tokens) FROM request") == [(6, 36)], r.stderr
    for name in os.listdir(tmp_path):
        kept = (tmp_path / name).read_bytes()
        assert CANARY.encode() not in kept, f"{name} holds what was asked"
    assert CANARY not in r.stdout + r.stderr
    blobs = l.rows(tmp_path / "w.lynx", "SELECT events, written_ns, first_token_ns, end_ns FROM request")
    for blob, *times in blobs:
        numbers, value, shift = [], 0, 0
        for byte in blob:
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                numbers.append(value)
                value, shift = 0, 0
        assert set(numbers[2::3]) <= {0}, "bytes of each event: words can be guessed from them"
        assert all(n % 1000000 == 0 for n in numbers[0::3]), "times are whole milliseconds"
    assert l.rows(tmp_path / "w.lynx", "SELECT count(*) FROM input") == [(0,)]


@needs_tap
def test_what_others_can_do_with_it(tmp_path, port):
    watch = Watch(port, tmp_path / "w.lynx", "--json")
    for i in range(8):
        usage = {"include_usage": True}
        ask(port, {"model": "m", "prompt": "x" * 40, "max_tokens": 5, "stream": True, "stream_options": usage})
    r = watch.end()
    assert r.returncode == 0, r.stderr
    assert l.json.loads(r.stdout)["precisions"][0]["requests"]["counted"] == 8, r.stdout[:2000]
    shown = l.lynx("show", tmp_path / "w.lynx")
    assert shown.returncode == 0 and "an observation" in shown.stdout and "nothing was sent" in shown.stdout
    claim = l.lynx("show", tmp_path / "w.lynx", "--claim")
    assert claim.returncode == 1 and "an observation" in claim.stdout
    found = l.lynx("attribute", tmp_path / "w.lynx")
    assert found.returncode == 0 and "other client" not in found.stdout.lower(), found.stdout
    refused = l.lynx("perturb", tmp_path / "w.lynx")
    assert refused.returncode == 2 and "served others" in refused.stderr, refused.stderr
    again = l.lynx("verify", tmp_path / "w.lynx")
    assert again.returncode == 2 and "do not come again" in again.stderr, again.stderr
    made = l.lynx("profile", tmp_path / "w.lynx")
    assert made.returncode == 0 and l.json.loads(made.stdout)["output_tokens"] == [5] * 8, made.stdout + made.stderr
    # The contract that lies beside it watches again.
    again = l.lynx("lint", tmp_path / "w.yaml")
    assert again.returncode in (0, 3), again.stdout + again.stderr


@needs_tap
def test_what_cannot_be_read_is_counted(tmp_path, port):
    watch = Watch(port, tmp_path / "w.lynx")
    for first in (b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(first)
            time.sleep(0.2)
    with socket.create_connection(("127.0.0.1", port)) as s:
        body = b"POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        s.sendall(body)
        time.sleep(0.2)
    r = watch.end()
    assert r.returncode == 3, r.stderr
    for words in ("encrypted (TLS)", "HTTP/2", "in two ways", "no request of a model came"):
        assert words in r.stderr, (words, r.stderr)


@needs_tap
def test_clients_that_go_away(tmp_path, port):
    watch = Watch(port, tmp_path / "w.lynx")
    body = l.json.dumps({"model": "m", "prompt": "x", "max_tokens": 2000, "stream": True}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(head + body)
        assert s.recv(100)
        while b"data:" not in s.recv(4096):
            pass
    r = watch.end()
    assert r.returncode == 0, r.stderr
    rows = l.rows(tmp_path / "w.lynx", "SELECT outcome, first_token_ns > 0 FROM request")
    assert rows == [("ok", 1)], rows
    assert "its client went away before the end" in l.lynx("show", tmp_path / "w.lynx").stdout


@needs_tap
def test_a_signal_ends_it_and_what_there_is_stays(tmp_path, port):
    watch = Watch(port, tmp_path / "w.lynx", seconds=60)
    ask(port, {"model": "m", "prompt": "x", "max_tokens": 5, "stream": True})
    time.sleep(1.5)
    watch.process.send_signal(2)
    r = watch.end()
    assert r.returncode == 130, r.stderr
    assert l.rows(tmp_path / "w.lynx", "SELECT count(*) FROM request") == [(1,)], r.stderr
    assert l.lynx("show", tmp_path / "w.lynx").returncode == 0


@pytest.mark.parametrize(
    "words, said",
    [
        (["http://192.0.2.1:8000"], "no address of this machine"),
        (["https://127.0.0.1:8000"], "TLS"),
        (["http://unix:/tmp/x.sock"], "Unix socket"),
        (["http://127.0.0.1:8000", "--interface", "nosuch0"], "a network interface that is up"),
        (["http://127.0.0.1:8000", "--for", "1s"], "a duration from 6s to 24h"),
        ([], "neither a URL nor --pid"),
        (["a.yaml"], "the server's own address"),
    ],
)
def test_what_is_refused(tmp_path, words, said):
    if "--interface" in words and not can_tap():
        pytest.skip("packets may not be read here (CAP_NET_RAW)")
    r = l.lynx("watch", *words, "--out", tmp_path / "w.lynx")
    assert r.returncode in (2, 5) and said in r.stderr, r.stderr
    assert not [n for n in os.listdir(tmp_path) if n.endswith(".yaml")], "no contract of nothing"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_without_the_right(tmp_path, port):
    os.chmod(tmp_path, 0o777)
    for folder in tmp_path.parents:
        if str(folder).startswith("/tmp/"):
            os.chmod(folder, 0o755)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    env = l.environment(HOME="/nonexistent", XDG_STATE_HOME=tmp_path / "s")
    r = l.lynx("watch", f"http://127.0.0.1:{port}", "--out", tmp_path / "w.lynx", env=env, **nobody)
    assert r.returncode == 2 and "CAP_NET_RAW" in r.stderr, r.stderr


@needs_tap
def test_the_parser_is_alone(tmp_path, port):
    """Who reads strangers' bytes has no rights, no files, and a filter of system calls."""
    watch = Watch(port, tmp_path / "w.lynx")
    children = subprocess.check_output(["ps", "--ppid", str(watch.process.pid), "-o", "pid="], text=True).split()
    assert len(children) == 1, children
    status = open(f"/proc/{children[0]}/status").read()
    if os.geteuid() == 0:
        assert "Uid:\t65534\t65534" in status and "CapEff:\t0000000000000000" in status, status
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status, status
    if not l.SANITIZED:
        assert "Seccomp_filters:\t2" in status, status  # the one of all cages, and one that lets little through
    os.kill(int(children[0]), 9)
    r = watch.end()
    assert r.returncode == 4 and "ended by itself" in r.stderr, r.stderr


@needs_tap
def test_a_parser_that_stands_still(tmp_path, port):
    """It is waited for, but not for ever; what was seen before stays."""
    watch = Watch(port, tmp_path / "w.lynx", seconds=40)
    child = subprocess.check_output(["ps", "--ppid", str(watch.process.pid), "-o", "pid="], text=True).split()[0]
    with pytest.raises(urllib.error.HTTPError):  # more than this server gives; the watch does not mind
        ask(port, {"prompt": "x", "max_tokens": 2147483647, "stream": True})
    time.sleep(2)
    os.kill(int(child), signal.SIGSTOP)
    r = watch.end()
    assert r.returncode == 4 and "says nothing any more" in r.stderr, r.stderr
    assert l.rows(watch.out, "SELECT count(*) FROM request") == [(1,)]
    assert not os.path.exists(f"/proc/{child}")


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"choices":[{"index":0,"text":"a","finish_reason":"stop"}]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@needs_tap
def test_whose_port_it_is(tmp_path):
    """Two servers at one port, each at an address of its own: the URL says which. Other paths are counted."""
    first = http.server.HTTPServer(("127.0.0.3", 0), Answers)
    port = first.server_address[1]
    second = http.server.HTTPServer(("127.0.0.1", port), Answers)
    for server in (first, second):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    watch = Watch(port, tmp_path / "w.lynx", url=f"http://127.0.0.3:{port}")
    body = b'{"prompt": "x"}'
    asked = {("127.0.0.3", "/v1/completions"): 3, ("127.0.0.1", "/v1/completions"): 5, ("127.0.0.3", "/else"): 2}
    for (host, path), n in asked.items():
        for _ in range(n):
            urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}{path}", body), timeout=20).read()
    r = watch.end()
    for server in (first, second):
        server.shutdown()
    assert r.returncode == 0, r.stderr
    assert l.rows(watch.out, "SELECT count(*) FROM request") == [(3,)]
    assert "2 requests to other paths" in r.stderr, r.stderr


@needs_tap
def test_nobody_came(tmp_path, port):
    watch = Watch(port, tmp_path / "w.lynx", seconds=6)
    r = watch.end()
    assert r.returncode == 3 and "no request of a model came" in r.stderr, r.stderr
    r = l.lynx("attribute", watch.out)
    said = r.stdout + r.stderr
    assert "load generator" not in said, said
    assert "No request was counted" in said or "without a counted request" in said, said


@needs_tap
def test_more_demand_is_no_merit(tmp_path, port):
    """That others asked for more is no merit of the server's."""
    for name, gap_s in (("a", 0.3), ("b", 0.05)):
        watch = Watch(port, tmp_path / f"{name}.lynx", seconds=6)
        end = time.monotonic() + 6.2
        while time.monotonic() < end:
            ask(port, {"prompt": "x", "max_tokens": 2, "stream": True})
            time.sleep(gap_s)
        assert watch.end().returncode == 0
    r = l.lynx("compare", tmp_path / "a.lynx", tmp_path / "b.lynx")
    assert "the better one" not in r.stdout and "it is demand" in r.stdout, r.stdout


if __name__ == "__main__":
    l.main(__file__)
