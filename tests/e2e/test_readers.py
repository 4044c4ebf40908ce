"""Who may read what is served: tokens are given, expire, are withdrawn; a proxy's word; adding takes a signature."""

import json
import os
import re
import time

import pytest
from lynx import *
from test_serve import Serving, Teams


@pytest.fixture(scope="module")
def teams(tmp_path_factory):
    teams = Teams(str(tmp_path_factory.mktemp("teams")))
    yield teams
    teams.server.stop()


def reader(path, *words, code=0):
    r = lynx("ledger", "reader", *words, "--readers", path)
    check_equal(r.returncode, code, r.stderr)
    return r


def given(path, name, *more):
    return json.loads(reader(path, name, "--json", *more).stdout)["token"]


@pytest.fixture
def guarded(teams, tmp_path):
    """A served ledger, the file of its readers, and a token."""
    path = str(tmp_path / "readers")
    token = given(path, "finance")
    server = Serving(teams.ledger, str(tmp_path), "--readers", path)
    yield server, path, token
    server.stop()


ROUTES = "/ /index.json /index.csv /checkpoint /tile/entries/000.p/1 /metrics /openapi.json /work.html".split()


def test_nothing_of_the_ledger_is_read_without_a_token(guarded):
    server, _, token = guarded
    for route in ROUTES:
        guessed = {"Authorization": f"Bearer lynxr-{'0' * 64}"}
        wrong = [guessed, {"Authorization": f"Basic {token}"}, {"Cookie": "lynxbench_reader=x"}]
        for headers in ({}, *wrong):
            for method in ("GET", "HEAD"):
                r, _ = server.answer(method, route, headers=headers)
                check_equal(r.status, 401, f"{method} {route} {headers}")
                check_equal(r.getheader("WWW-Authenticate"), "Bearer", "what would be taken")
        for headers in ({"Authorization": f"Bearer {token}"}, {"Cookie": f"a=b; lynxbench_reader={token}"}):
            status, _ = server.ask("GET", route, headers=headers)
            check(status in (200, 503), f"{route} with a token: {status}")
    check_equal(server.ask("GET", "/style.css")[0], 200, "the site's own file")
    status, page = server.ask("GET", "/", headers={"Accept": "text/html"})
    check(status == 401 and b"A token is needed" in page, "a page for people")


def test_a_browser_gets_a_cookie_for_it_once(guarded):
    server, _, token = guarded
    places = {"/": "./", "/work.html": "./work.html", "/contract/abc.html": "./abc.html", "/a%0d%0aX-Evil:%201": "./"}
    for path, place in places.items():
        r, _ = server.answer("GET", f"{path}?token={token}")
        check_equal((r.status, r.getheader("Location")), (303, place), path)
        cookie = r.getheader("Set-Cookie")
        check(f"lynxbench_reader={token};" in cookie and "HttpOnly" in cookie and "SameSite=Lax" in cookie, cookie)
        check(r.getheader("X-Evil") is None, "nothing of the address is a header")
    r, body = server.answer("GET", "/?token=lynxr-nothing")
    check(r.status == 401 and r.getheader("Set-Cookie") is None and b"nothing" not in body, "another token")


def test_withdrawn_and_expired_tokens_are_refused(guarded):
    server, path, token = guarded
    other = given(path, "sre")
    with_token = lambda t: {"Authorization": f"Bearer {t}"}
    for t in (token, other):
        added = lambda: server.ask("GET", "/checkpoint", headers=with_token(t))[0] == 200
        check(wait_for(added), "a token that was added meanwhile")
    said = reader(path, "finance", "--withdraw").stdout
    check("1 token withdrawn" in said, said)
    check(wait_for(lambda: server.ask("GET", "/checkpoint", headers=with_token(token))[0] == 401), "a withdrawn token")
    check_equal(server.ask("GET", "/checkpoint", headers=with_token(other))[0], 200, "the others stay")
    text = open(path).read()
    check(token not in text and other not in text, "the file holds no token")
    check_equal(os.stat(path).st_mode & 0o777, 0o600, "its owner's alone")
    lines = text.splitlines()
    past = [line[: line.rindex(" ")] + " 2020-01-01T00:00:00Z" if line.startswith("sre") else line for line in lines]
    replace(path, "\n".join(past) + "\n")
    check(wait_for(lambda: server.ask("GET", "/checkpoint", headers=with_token(other))[0] == 401), "its time is over")
    check("(over)" in reader(path).stdout, "and the list says so")
    replace(path, text)
    check(wait_for(lambda: server.ask("GET", "/checkpoint", headers=with_token(other))[0] == 200), "as before")
    replace(path, text + "what is this\n")
    broken = lambda: server.ask("GET", "/checkpoint", headers=with_token(other))[0] == 401
    check(wait_for(broken), "a broken file lets nobody in")
    os.unlink(path)
    check_equal(server.ask("GET", "/checkpoint", headers=with_token(other))[0], 401, "no file lets nobody in")


def replace(path, text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def wait_for(what, seconds=5):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_commands_read_with_a_token(guarded, tmp_path):
    server, _, token = guarded
    home = {"XDG_STATE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    copy = str(tmp_path / "copy.ledger")
    r = lynx("ledger", "pull", server.url, copy, env=home)
    check(r.returncode == 2 and "LYNXBENCH_READER" in r.stderr, r.stderr)
    r = lynx("ledger", "pull", server.url, copy, env={**home, "LYNXBENCH_READER": token})
    check_equal(r.returncode, 0, r.stderr)


def test_who_adds_is_asked_for_a_signature_and_no_token(guarded):
    server, _, _ = guarded
    status, body = server.ask("POST", "/add", b"{}", {"Content-Type": "application/json"})
    check(status == 400 and b"token" not in body, body)


def test_a_proxy_names_readers(teams, tmp_path):
    path = str(tmp_path / "readers")
    given(path, "finance")
    words = ("--readers", path, "--trusted-proxy", "127.0.0.1", "--identity-header", "X-Who")
    server = Serving(teams.ledger, str(tmp_path), *words)
    try:
        for who in ("jo", "CN=Jo Doe,O=x", "7", "jörg".encode(), "日本".encode()):
            check_equal(server.ask("GET", "/checkpoint", headers={"X-Who": who})[0], 200, f"the proxy's word: {who}")
        nobody = ["", "-", " ", "(null)", "(NULL)", "Null", "none", "anonymous", "\t"]
        nobody += ["\u00a0".encode(), "\u200b".encode(), b"\xff"]
        for headers in ({}, {"X-Forwarded-User": "jo"}, *({"X-Who": who} for who in nobody)):
            check_equal(server.ask("GET", "/checkpoint", headers=headers)[0], 401, f"{headers}")
        status, _ = server.ask("GET", "/checkpoint", headers={"X-Who": "jo"}, source=("127.0.0.2", 0))
        check_equal(status, 401, "from another address it is anybody's word")
    finally:
        server.stop()


def test_the_variable_guards_too(teams, tmp_path):
    """Who sets LYNXBENCH_READERS means it for the server as well; the first lines say who may read."""
    path = str(tmp_path / "readers")
    given(path, "finance")
    server = Serving(teams.ledger, str(tmp_path), LYNXBENCH_READERS=path)
    try:
        check_equal(server.ask("GET", "/checkpoint")[0], 401, "by the variable")
        check("(1 now)" in server.process.stdout.readline(), "said at the start")
    finally:
        server.stop()


def test_changes_at_once_are_all_kept(tmp_path):
    path = str(tmp_path / "readers")
    given(path, "victim")
    words = [[f"r{i}"] for i in range(8)] + [["victim", "--withdraw"]]
    started = [
        subprocess.Popen([LYNX, "ledger", "reader", *w, "--readers", path], stdout=subprocess.DEVNULL) for w in words
    ]
    check_equal([p.wait() for p in started], [0] * 9, "all of them")
    names = sorted(x["name"] for x in json.loads(reader(path, "--json").stdout))
    check_equal(names, [f"r{i}" for i in range(8)], "none is lost, and none comes back")


def test_a_link_is_followed_and_a_mode_is_kept(tmp_path):
    path, link = str(tmp_path / "real"), str(tmp_path / "link")
    given(path, "finance")
    os.symlink("real", link)
    os.chmod(path, 0o640)
    check_equal(json.loads(reader(link, "finance", "--withdraw", "--json").stdout)["withdrawn"], 1, "by the link")
    check(os.path.islink(link) and "finance" not in open(path).read(), "what it leads to")
    check_equal(os.stat(path).st_mode & 0o777, 0o640, "who could read it still can")


def test_a_file_that_is_mended_lets_in_again(teams, tmp_path):
    path = str(tmp_path / "readers")
    token = given(path, "finance")
    server = Serving(teams.ledger, str(tmp_path), "--readers", path)
    status = lambda: server.ask("GET", "/checkpoint", headers={"Authorization": f"Bearer {token}"})[0]
    try:
        check(wait_for(lambda: status() == 200), "as given")
        whole, times = open(path).read(), os.stat(path)
        with open(path, "r+") as f:  # as long as before, and as old
            f.write(whole.replace(whole.split()[-2], "0" * 64))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        check(wait_for(lambda: status() == 401), "changed in place")
        replace(path, whole + "oops\n")
        replace(path, whole.replace("\n", "\r\n"))
        check(wait_for(lambda: status() == 200), "mended, with another system's line ends")
        replace(path, whole + "oops\n")
        check(wait_for(lambda: status() == 401), "broken")
        lines = [server.process.stdout.readline() for _ in range(2)]
        check(any(f"{path}:{whole.count(chr(10)) + 1}: found wrong: the second field" in x for x in lines), lines)
    finally:
        server.stop()


def test_who_may_not_read_learns_nothing_by_other_routes(teams, guarded):
    server, _, token = guarded
    note = server.ask("GET", "/checkpoint", headers={"Authorization": f"Bearer {token}"})[1]
    status, body = server.ask("POST", "/cosign", note)
    check(body == b"" or status == 400, (status, body))
    r, _ = server.answer("GET", "/checkpoint", headers={"Authorization": f"Bearer {token}"})
    check_equal(r.getheader("Cache-Control"), "private", "no cache between gives it to others")
    for i in range(20):
        check_equal(server.ask("GET", f"/style.css?q={i}")[0], 200, "what is asked of a file does not matter")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A ledger with a real run, of a server with an argument of its own, and teams that said something of it."""
    story = Teams(str(tmp_path_factory.mktemp("told")))
    root = json.loads(lynx("show", story.run, "--json").stdout)["bundle"]["root"]
    words = ("--ground", "figure", "--text", "SECRET-WORDS of sre")
    story.must("contest", story.run, *words, "--ledger", story.url, home="sre", key="sre")
    yield story, root
    story.server.stop()


def test_a_link_shows_one_result_and_can_be_withdrawn(told, tmp_path):
    story, root = told
    path = str(tmp_path / "readers")
    token = given(path, "finance")
    made = {
        level: json.loads(reader(path, level, "--result", root, "--level", level, "--json").stdout)
        for level in ("public", "shared", "full")
    }
    server = Serving(story.ledger, str(tmp_path), "--readers", path)
    get = lambda address, **headers: server.answer("GET", "/" + address, headers=headers)
    try:
        check(wait_for(lambda: get(made["public"]["address"])[0].status == 200), "the link")
        pages = {level: get(link["address"])[1].decode() for level, link in made.items()}
        for level, page in pages.items():
            check("What can be claimed" in page and f"at the level {level}" in page, level)
            check("sre contests its figure: open" in page and "SECRET-WORDS" not in page, "that it is contested")
            links = re.findall(r'(?:href|src)="([^"]*)"', page)
            check_equal(sorted(set(links) - {"#main"}), ["../script.js", "../style.css"], "no link leads away")
            check('content="noindex"' in page, "search engines are told")
        host = os.uname().nodename
        source = f"<td class='v'>{host} "
        check(source in pages["full"] and source not in pages["shared"] and source not in pages["public"], "its host")
        folder = os.path.dirname(story.run)
        check(folder not in pages["shared"] and folder not in pages["public"], "its folder")
        check(0 < pages["shared"].count("withheld") < pages["public"].count("withheld"), "more of it")
        address = made["public"]["address"]
        secret = address[len("shared/") : -len(".html")]
        bearer = {"Authorization": f"Bearer {secret}"}
        for other in f" index.json result/{root}.html result/{root}.json checkpoint shared/{root}-full.html".split(" "):
            check_equal(get(other)[0].status, 401, f"{other}: a link is to one page")
            check_equal(get(other, **bearer)[0].status, 401, f"{other}: it is no reader's token")
        for wrong in (".html", f"{secret[:-1]}.html", secret, f"{secret}.json", f"{secret}.html/"):
            check_equal(get("shared/" + wrong)[0].status, 401, wrong)
        check_equal(get(f"shared/{token}.html")[0].status, 401, "nor is a reader's token a link")
        check_equal(server.answer("HEAD", f"/{address}")[0].status, 200, "HEAD")
        listed = reader(path).stdout
        check(f"public{' ' * 26} until" in listed and f"a link to result {root[:16]}, level public" in listed, listed)
        reader(path, "public", "--withdraw")
        check(wait_for(lambda: get(address)[0].status == 401), "withdrawn")
        check_equal(get(made["shared"]["address"])[0].status, 200, "the others stay")
    finally:
        server.stop()


def test_a_link_to_nothing(told, tmp_path):
    story, root = told
    path = str(tmp_path / "readers")
    link = json.loads(reader(path, "jo", "--result", "0" * 64, "--json").stdout)
    server = Serving(story.ledger, str(tmp_path), "--readers", path)
    try:
        status = lambda: server.ask("GET", "/" + link["address"])[0]
        check(wait_for(lambda: status() == 404), f"a result that is not here: {status()}")
        check(b"index.html" not in server.ask("GET", "/" + link["address"])[1], "no link leads away")
    finally:
        server.stop()
    for words, says in (
        (["jo", "--result", "abc"], "--result: found abc"),
        (["jo", "--level", "public"], "--result: missing"),
        (["jo", "--result", root, "--level", "most"], "--level: found 'most'"),
    ):
        check(says in reader(path, *words, code=2).stderr, (words, says))


def test_wrong_input(teams, tmp_path):
    path = str(tmp_path / "readers")
    for words, says in (
        (["a b"], "found 'a b'"),
        (["x" * 64], "at most 63 bytes"),
        (["jo", "--days", "0"], "--days: found '0'"),
        (["jo", "--withdraw"], "readers"),
        (["--withdraw"], "found 'nothing'"),
    ):
        check(says in reader(path, *words, code=2).stderr, (words, says))
    check(not os.path.exists(path), "nothing was written")
    r = lynx("ledger", "reader", "jo", env={"LYNXBENCH_READERS": ""})
    check(r.returncode == 2 and "--readers: missing" in r.stderr, r.stderr)
    replace(path, "jo abc 2027-01-01T00:00:00Z\n")
    check("readers:1:" in reader(path, "jo", code=2).stderr, "a broken file is not written to")
    for words in (["--days", "3"], ["jo", "--withdraw", "--days", "3"]):
        check("--days goes with" in reader(path, *words, code=2).stderr, words)
    with open("/dev/full", "w") as nowhere:
        full = subprocess.run(
            [LYNX, "ledger", "reader", "jo", "--readers", path + "2"], stdout=nowhere, stderr=subprocess.PIPE
        )
    check(full.returncode == 4 and b"jo --withdraw" in full.stderr, str(full))
    for words, says in (
        (["--readers", str(tmp_path / "none")], "lynxbench ledger reader NAME"),
        (["--readers", path], "readers:1:"),
        (["--trusted-proxy", "127.0.0.1"], "goes with --readers"),
        (["--identity-header", "X"], "--identity-header with"),
        (["--readers", ""], "--readers: found nothing"),
        (["--readers", path, "--trusted-proxy", "proxy.local"], "the IPv4 address"),
        (["--readers", path, "--trusted-proxy", "0.0.0.0"], "the IPv4 address"),
        (["--readers", path, "--trusted-proxy", "127.0.0.1", "--identity-header", "Host"], "found 'Host'"),
        (["--readers", path, "--trusted-proxy", "127.0.0.1", "--identity-header", "X User"], "found 'X User'"),
    ):
        r = lynx("serve", teams.ledger, "--port", "0", *words)
        check(r.returncode == 2 and says in r.stderr, (words, r.stderr))


if __name__ == "__main__":
    main(__file__)
