"""A file that somebody brings to the pages: shown to them for what it is, and kept nowhere."""

import http.client
import os
import signal
import socket
import sqlite3
import threading
import time

import pytest
from lynx import *
from test_serve import Serving, Teams

RECORDED = f"{SOURCE}/tests/recorded"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def teams(tmp_path_factory):
    teams = Teams(str(tmp_path_factory.mktemp("teams")))
    yield teams
    teams.server.stop()


def form(content, name="x", field="file"):
    """As a browser sends it."""
    edge = b"----of-the-form"
    head = f'Content-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'.encode()
    return b"--" + edge + b"\r\n" + head + content + b"\r\n--" + edge + b"--\r\n"


def look(server, content, name="x", field="file", **headers):
    headers = {"Content-Type": "multipart/form-data; boundary=----of-the-form", **headers}
    r, body = server.answer("POST", "/look.html", form(content, name, field), headers)
    return r, body.decode()


def ready(server):
    while server.ask("GET", "/look.html")[0] != 200:
        time.sleep(0.05)


def of(path):
    with open(f"{RECORDED}/{path}", "rb") as f:
        return f.read()


def test_what_it_is_is_found_out(teams):
    ready(teams.server)
    n = teams.server.ask("GET", "/checkpoint")[1]
    for path, title, words in (
        ("bundles/small.lynx", "A bundle", "The executor"),
        ("profiles/h100-bert.json.gz", "A trace", "Software-bound"),
        ("traces/otlp.json", "A trace", "requests"),
        ("imports/aiperf/profile_export_aiperf.json", "Another tool&#39;s result", "aiperf"),
    ):
        r, page = look(teams.server, of(path), os.path.basename(path))
        check_equal(r.status, 200, path)
        check(f"<h1>{title}" in page.replace("'", "&#39;") and words in page and os.path.basename(path) in page, path)
        check("--key TEAM.key" in page, "who stands by it signs it")
        check("/tmp/" not in page and "/dropped" not in page, "where the copy lay is nobody's business")
        check_equal(r.getheader("Cache-Control"), "no-store", "for them alone")
        check("unsafe" not in r.getheader("Content-Security-Policy"), "under the pages' policy")
    check_equal(teams.server.ask("GET", "/checkpoint")[1], n, "nothing of it is in the ledger")


def test_what_cannot_be_read_says_why(teams, tmp_path):
    ready(teams.server)
    altered = str(tmp_path / "altered.lynx")
    with open(altered, "wb") as f:
        f.write(of("bundles/small.lynx"))
    with sqlite3.connect(altered) as db:
        db.execute("UPDATE meta SET value = 'x' WHERE key = (SELECT key FROM meta LIMIT 1)")
    with open(altered, "rb") as f:
        content = f.read()
    for content, words in (
        (b"hello", "no trace that is known"),
        (b"", "not a lynxbench bundle"),
        (b"\0" * 5000, "not a lynxbench bundle"),
        (of("bundles/small.lynx")[:3000], "malformed"),
        (content, "altered or damaged"),
        (of("profiles/h100-bert.json.gz")[:2000], "As a trace"),
    ):
        r, page = look(teams.server, content, HOSTILE)
        check_equal(r.status, 422, words)
        check(words in page and "As another tool" in page, (words, page[-1500:]))
        check("<img" not in page and "&lt;img" in page, "its name is text")
        check("/dropped" not in page, "no place of ours")


def test_what_is_no_form_is_refused(teams):
    ready(teams.server)
    for content_type, body in (
        ("multipart/form-data; boundary=----of-the-form", form(b"x", "x", "other")),
        ("multipart/form-data; boundary=----of-the-form", b"abc"),
        ("multipart/form-data", b"abc"),
        ("application/x-www-form-urlencoded", b"file=abc"),
        ("text/plain", b"abc"),
    ):
        r, body = teams.server.answer("POST", "/look.html", body, {"Content-Type": content_type})
        check(r.status == 400 and b"a field called file" in body, (content_type, r.status, body))
    for origin in ("http://10.9.8.7", "null", "http://127.0.0.1", f"https://localhost:{teams.server.port}"):
        r, page = look(teams.server, b"x", Origin=origin)
        check_equal(r.status, 403, f"from {origin}")
    r, page = look(teams.server, b"x", Origin=f"http://127.0.0.1:{teams.server.port}")
    check_equal(r.status, 422, "from its own page")
    with socket.create_connection(("127.0.0.1", teams.server.port)) as c:
        head = f"POST /look.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 40}\r\n"
        c.sendall((head + "Content-Type: multipart/form-data; boundary=xyz\r\n\r\n").encode())
        check(b" 413 " in c.recv(4096).split(b"\r\n")[0], "larger than is looked at")


def test_a_reader_s_token_is_asked_for(teams, tmp_path):
    path = str(tmp_path / "readers")
    token = json.loads(lynx("ledger", "reader", "jo", "--json", "--readers", path).stdout)["token"]
    server = Serving(teams.ledger, str(tmp_path), "--readers", path, "--read-only")
    bearer = {"Authorization": f"Bearer {token}"}
    try:
        while server.ask("GET", "/look.html", headers=bearer)[0] != 200:
            time.sleep(0.05)
        check_equal(look(server, b"hello")[0].status, 401, "without")
        check_equal(look(server, b"hello", **bearer)[0].status, 422, "with, and of a ledger that is only read")
    finally:
        server.stop()


def bring_slowly(server, n):
    """So many who only begin, each with a place: who finds none comes again."""
    held, until = [], time.monotonic() + 20
    head = "POST /look.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n"
    while len(held) < n and time.monotonic() < until:
        c = socket.create_connection(("127.0.0.1", server.port))
        c.sendall((head + "Content-Type: multipart/form-data; boundary=xyz\r\n\r\nx").encode())
        c.settimeout(0.2)
        try:
            c.recv(100)
            c.close()
        except TimeoutError:
            held.append(c)
    return held


def test_who_brings_slowly_keeps_nobody_out(teams):
    """Places are few, and none is taken by who only begins; pages are read meanwhile."""
    ready(teams.server)
    slow = bring_slowly(teams.server, 3)
    check_equal(look(teams.server, b"x")[0].status, 422, "beside them")
    slow += bring_slowly(teams.server, 5)
    r, body = look(teams.server, b"x")
    check(r.status == 503 and "try again" in body, (r.status, body))
    check_equal(teams.server.ask("GET", "/")[0], 200, "pages are read")
    for c in slow:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        c.close()
    until = time.monotonic() + 10
    while look(teams.server, b"x")[0].status == 503 and time.monotonic() < until:
        time.sleep(0.1)
    check_equal(look(teams.server, b"x")[0].status, 422, "when they are gone")


def stopped_child(server):
    """The child that looks at a file, held: it stands for a file that takes long."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as f:
                    words = f.read().split("\0")
                with open(f"/proc/{pid}/stat") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent == server.process.pid and any(w.endswith("/dropped") for w in words):
                os.kill(int(pid), signal.SIGSTOP)
                return int(pid)
    return None


def test_a_file_that_takes_long_stops_nobody(teams, tmp_path):
    """Neither other visitors, on connections of their own or on those that were open, nor the server's end."""
    server = Serving(teams.ledger, str(tmp_path))
    try:
        ready(server)
        idle = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=5) for _ in range(12)]
        for c in idle:
            c.request("GET", "/checkpoint")
            c.getresponse().read()
        big = of("profiles/h100-bert.json.gz")
        pids, answers = [], []
        threads = [threading.Thread(target=lambda: answers.append(look(server, big)[0].status)) for _ in range(2)]
        for t in threads:
            t.start()
        pids.append(stopped_child(server))
        check(pids[0] is not None, "a child was caught")
        for c in idle:
            c.request("GET", "/checkpoint")
            check_equal(c.getresponse().status, 200, "on an open connection")
            c.close()
        for address in ("/style.css", "/running.json", "/running.html", "/schedule.html", "/look.html"):
            check(server.ask("GET", address)[0] in (200, 503), address)
        begun = time.monotonic()
    finally:
        server.stop()
    check(time.monotonic() - begun < 10, "it ends although a file is looked at")
    for t in threads:
        t.join()


def test_several_at_once_are_not_mixed_up(teams):
    ready(teams.server)
    found = {}

    def bring(i, path, title):
        for _ in range(100):
            r, page = look(teams.server, of(path), f"f{i}")
            if r.status != 503:
                break
            time.sleep(0.1)
        found[i] = r.status, f"<h1>{title}" in page and f"f{i}" in page

    kinds = [("bundles/small.lynx", "A bundle"), ("profiles/h100-bert.json.gz", "A trace")] * 3
    threads = [threading.Thread(target=bring, args=(i, *kind)) for i, kind in enumerate(kinds)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check_equal(found, {i: (200, True) for i in range(6)}, "each its own")


def test_nothing_is_left(teams, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    server = Serving(teams.ledger, str(tmp_path), TMPDIR=str(temporary))
    try:
        ready(server)
        check_equal(look(server, of("imports/aiperf/profile_export_aiperf.json"))[0].status, 200, "imported")
        left = [name for _, _, names in os.walk(temporary) for name in names]
        check_equal(left, [], "no file")
    finally:
        server.stop()
    check_equal(os.listdir(temporary), [], "no folder")


if __name__ == "__main__":
    main(__file__)
