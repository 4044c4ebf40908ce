"""A contract that is run again and again: units that systemd takes, one run for each time, a log of each time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

import lynx as l
from test_serve import Serving

DAY = 86400
# Due twenty minutes ago: midnight does not come in the middle, and it is not late.
DUE = ("--every", "1d", "--at", time.strftime("%H:%M", time.gmtime(time.time() - 1200)))
FAST = (*DUE, "--busy-at-most", "1")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schedule")
    port = l.free_port()
    lax = "steady: reported, instrument_error_at_most: 1, stolen_at_most: 1"
    l.contract(
        str(folder / "nightly.yaml"),
        port,
        executor=f'{{endpoint: "http://127.0.0.1:{port}"}}',
        workload="{model: reference, output_tokens: 4, prompts: {count: 4, bytes: 64}}",
        regime="{load: closed, concurrency: 2}",
        method="{warm_up: 100ms, counted: 400ms, drain: 1s, sessions: 2, " + lax + "}",
    )
    with l.reference("--mode", "metronome", "--gap", "2ms", "--first-token", "5ms", port=port):
        yield folder


def schedule(place, *words, code=0, **kw):
    env = {"HOME": str(place), "XDG_STATE_HOME": str(place)}
    r = l.lynx("schedule", *words, env=env, cwd=str(place), **kw)
    assert r.returncode == code, f"{words}: {r.returncode} {r.stdout} {r.stderr}"
    return r


def log(folder, name="nightly"):
    return [json.loads(line) for line in (folder / f"{name}.schedule.jsonl").read_text().splitlines()]


def happened(state, slot, at=None, every=DAY, **more):
    when = {"every_s": every, "at_s": 0, "slot_s": slot, "time_s": at or slot}
    return json.dumps({"schedule": "nightly", **when, "state": state, **more})


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not here")


PERIODS = [("1d", "02:30"), ("7d", "23:59"), ("6h", "14:05"), ("1h", None), ("12h", "00:00")]


@pytest.mark.parametrize("every,at", PERIODS)
def test_systemd_takes_the_units(place, tmp_path, every, at):
    needs("systemd-analyze")
    odd = tmp_path / "100 % of $HOME's \"work\""
    odd.mkdir()
    shutil.copy(place / "nightly.yaml", odd / "nightly.yaml")
    units = tmp_path / "units"
    more = ("--at", at) if at else ()
    words = ("--every", every, *more, "--folder", odd / "runs", "--units", units)
    r = schedule(place, "add", odd / "nightly.yaml", *words)
    assert "next at " in r.stdout and f"into {odd}" in schedule(place, "list", "--units", units).stdout
    service, timer = units / "lynxbench-nightly.service", units / "lynxbench-nightly.timer"
    verify = subprocess.run(["systemd-analyze", "verify", service, timer], capture_output=True, text=True)
    wrong = [line for line in verify.stderr.splitlines() if "lynxbench-nightly" in line and "man lynxbench" not in line]
    assert not wrong, wrong
    calendar = [x.split("=", 1)[1] for x in timer.read_text().splitlines() if x.startswith("OnCalendar=")][0]
    said = subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    lines = [x.strip().split(": ") for x in said.stdout.splitlines()]
    (elapse,) = [x[1] for x in lines if x[0] in ("Next elapse", "(in UTC)")][-1:]
    ours = json.loads(schedule(place, "list", "--units", units, "--json").stdout)[0]["next"]
    assert elapse.split()[1] == ours[:10] and elapse.split()[2][:5] == ours[11:16], (elapse, ours)


def test_cron_and_kubernetes_read_the_same(place, tmp_path):
    odd = tmp_path / "it's 5 %"
    odd.mkdir()
    shutil.copy(place / "nightly.yaml", odd / "nightly.yaml")
    words = ("add", odd / "nightly.yaml", "--every", "6h", "--at", "14:05", "--folder", odd / "runs", "--print")
    line = schedule(place, *words, "cron").stdout.splitlines()[-1]
    assert line.startswith("5 * * * * cd ") and line.endswith(" >/dev/null"), line
    command = line.removesuffix(" >/dev/null").split(" ", 5)[5].replace("\\%", "%")
    command = command.replace(" schedule' '", " ").replace("'run'", "'list'", 1)
    script = f"set -- {command.split('&& ', 1)[1]}; printf '%s\\n' \"$@\""
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    for path in (odd / "runs", odd / "nightly.yaml"):
        assert str(path) in said.stdout.splitlines(), said.stdout
    job = yaml.safe_load(schedule(place, *words, "kubernetes").stdout)
    when = (job["kind"], job["spec"]["schedule"], job["spec"]["timeZone"])
    assert when == ("CronJob", "5 2-23/6 * * *", "Etc/UTC"), when
    args = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[:3] == ["schedule", "run", "/contract/contract.yaml"] and args[args.index("--at") + 1] == "02:05", args


def test_a_time_is_run_once(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    words = ("run", "nightly.yaml", "--folder", folder, *FAST)
    schedule(place, *words)
    again = schedule(place, *words)
    assert "is done: nothing to do" in again.stdout, again.stdout
    assert [x["state"] for x in log(folder)] == ["begun", "ended"] and len(list(folder.glob("*.lynx"))) == 1
    assert l.show(str(next(folder.glob("*.lynx"))))["bundle"]["ended"] == "complete"
    r = l.lynx("history", folder, "--quiet")
    assert f"schedule nightly, daily at {DUE[-1]} UTC: 1 time, 1 kept\n" in r.stdout, r.stdout


def test_a_line_of_cron_runs_what_is_due_in_any_zone(place, tmp_path):
    """As cron does, every hour, wherever its daemon believes to be: one run for the day, and one mail of it."""
    folder = tmp_path / "a folder's runs"
    words = ("add", place / "nightly.yaml", *FAST, "--offset", "0", "--folder", folder, "--print", "cron")
    line = schedule(place, *words).stdout.splitlines()[-1]
    shutil.rmtree(folder)  # a folder that is gone is made again
    for zone in ("UTC", "Pacific/Kiritimati", "America/Los_Angeles"):
        env = {"HOME": str(place), "XDG_STATE_HOME": str(place), "TZ": zone, "PATH": "/usr/bin:/bin"}
        command = line.split(" ", 5)[5].replace("\\%", "%")
        r = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True)
        assert (r.returncode, r.stdout, "complete (all" in r.stderr) == (0, "", zone == "UTC"), r
        assert zone == "UTC" or r.stderr == "", r
    assert [x["state"] for x in log(folder)] == ["begun", "ended"], log(folder)


def test_two_schedulers_run_it_once(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    words = [l.LYNX, "schedule", "run", "nightly.yaml", "--folder", folder, *FAST]
    env = l.environment(HOME=str(place), XDG_STATE_HOME=str(place))
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": str(place), "env": env}
    two = [subprocess.Popen([str(w) for w in words], **quiet) for _ in range(2)]
    for p in two:
        out, err = p.communicate(timeout=120)
        assert p.returncode == 0, (out, err)
    assert [x["state"] for x in log(folder)] == ["begun", "ended"] and len(list(folder.glob("*.lynx"))) == 1


def test_a_busy_machine_is_waited_for_and_said(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        words = ("run", "nightly.yaml", "--folder", folder, *DUE, "--busy-at-most", "0.01", "--wait", "0s")
        r = schedule(place, *words, code=4)
    finally:
        burner.kill()
        burner.wait()
    assert "skipped: the machine was busy" in r.stderr and not list(folder.glob("*.lynx"))
    (x,) = log(folder)
    assert x["state"] == "skipped" and "at most 1 % is wanted" in x["why"], x
    schedule(place, "run", "nightly.yaml", "--folder", folder, *FAST)
    assert [x["state"] for x in log(folder)] == ["skipped", "begun", "ended"], "the same time can still be kept"


def test_killed_in_the_middle_it_is_run_again(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    words = [l.LYNX, "schedule", "run", "nightly.yaml", "--folder", folder, *FAST]
    env = l.environment(HOME=str(place), XDG_STATE_HOME=str(place))
    p = subprocess.Popen([str(w) for w in words], cwd=str(place), env=env, stderr=subprocess.DEVNULL)
    path = folder / "nightly.schedule.jsonl"
    until = time.monotonic() + 60
    while not (path.exists() and "begun" in path.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    p.send_signal(signal.SIGKILL)
    p.wait()
    with open(path, "a") as f:
        f.write('{"schedule":"nightly","every')  # as a full disk leaves it
    schedule(place, *[str(w) for w in words[2:]])
    lines = [json.loads(x) for x in path.read_text().splitlines() if x.endswith("}")]
    assert [x["state"] for x in lines] == ["begun", "begun", "ended"], lines
    said = l.lynx("history", folder, "--quiet", "--json")
    (x,) = json.loads(said.stdout)["schedules"]
    assert (x["kept"], x["unread_lines"], x["interrupted"]) == (1, 1, 0), x


def test_a_service_that_is_stopped_seals_what_it_has(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    words = [l.LYNX, "schedule", "run", "nightly.yaml", "--folder", folder, *FAST]
    env = l.environment(HOME=str(place), XDG_STATE_HOME=str(place))
    p = subprocess.Popen([str(w) for w in words], cwd=str(place), env=env, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list(folder.glob("*.lynx")) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.2)
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 130
    (bundle,) = folder.glob("*.lynx")
    assert l.show(str(bundle))["bundle"]["ended"] != "complete"
    assert [x["state"] for x in log(folder)] == ["begun", "ended"]
    said = json.loads(l.lynx("history", folder, "--quiet", "--json").stdout)["schedules"][0]
    assert (said["interrupted"], said["kept"]) == (1, 0), said
    time.sleep(1)
    schedule(place, *[str(w) for w in words[2:]])
    assert log(folder)[-1]["exit"] == 0, "its time can still be kept"


def test_history_says_which_times_were_missed(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    today = int(time.time()) // DAY * DAY
    lines = [happened("installed", today - 6 * DAY)]
    lines += [happened("begun", today - 5 * DAY, bundle="r"), happened("ended", today - 5 * DAY, exit=0)]
    lines += [happened("skipped", today - 4 * DAY, why="the machine was <busy>\x1b[2J")]
    lines += [happened("begun", today - 2 * DAY, at=today - 2 * DAY + 7200, bundle="r")]
    lines += [happened("ended", today - 2 * DAY, exit=5), happened("begun", today - DAY, bundle="r")]
    lines += [happened("begun", today, bundle="r"), happened("ended", today, exit=0), "no JSON"]
    (folder / "nightly.schedule.jsonl").write_text("\n".join(lines) + "\n")
    page = tmp_path / "h.html"
    r = l.lynx("history", folder, "--quiet", "--html", page)
    counts = "6 times, 2 kept, 1 failed, 1 interrupted, 1 skipped, 1 missed, 1 late; 1 line"
    assert f"schedule nightly, daily at 00:00 UTC: {counts}" in r.stdout, r.stdout
    assert "failed (exit code 5), late" in r.stdout and "\x1b[2J" not in r.stdout, r.stdout
    assert "the machine was &lt;busy&gt;" in page.read_text() and "missed" in page.read_text()


def home_of(server):
    """Until it has read the ledger it says that it comes again."""
    until = time.monotonic() + 20
    status, body = server.ask("GET", "/")[:2]
    while status == 503 and time.monotonic() < until:
        time.sleep(0.1)
        status, body = server.ask("GET", "/")[:2]
    return body.decode()


def test_a_served_ledger_shows_what_became_of_them(place, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    today = int(time.time()) // DAY * DAY
    lines = [happened("installed", today - 3 * DAY), happened("skipped", today - 2 * DAY, why="<b>busy</b>")]
    lines += [happened("begun", today, bundle="r"), happened("ended", today, exit=0)]
    (folder / "nightly.schedule.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "other.schedule.jsonl").write_text("no JSON\n")
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    l.lynx("ledger", "key", "ml", "--out", tmp_path, env=home)
    ledger = str(tmp_path / "t.ledger")
    l.lynx("ledger", "create", ledger, env={**home, "LYNXBENCH_KEY": str(tmp_path / "ml.key")})
    server = Serving(ledger, str(tmp_path), "--schedules", str(folder))
    try:
        [row] = json.loads(server.ask("GET", "/schedule.json")[1])
        wanted = {"schedule": "nightly", "when": "daily at 00:00 UTC", "last_state": "kept"}
        wanted.update(kept=1, skipped=1, missed=1)  # what was due while it was being installed is not
        assert {key: row[key] for key in wanted} == wanted, row
        assert server.ask("GET", "/schedule.csv")[1].decode().splitlines()[1].startswith("nightly,")
        page = server.ask("GET", "/schedule.html")[1].decode()
        assert "1 schedule, 1 time missed" in page and "1 log there cannot be read" in page
        assert "&lt;b&gt;busy" in page and "<b>busy" not in page and page.count('class="missed"') == 1
        first = home_of(server)
        assert "1 log of schedules in" in first and "whether they were kept is not known" in first, first
        for i in range(300):  # runs, which are no logs
            (folder / f"a{i:03}.lynx").touch()
        (folder / "other.schedule.jsonl").unlink()
        os.mkfifo(folder / "pipe.schedule.jsonl")  # and nobody writes into it
        until = time.monotonic() + 20
        while json.loads(server.ask("GET", "/schedule.json")[1])[0]["kept"] != 1 or "not known" not in home_of(server):
            assert time.monotonic() < until
            time.sleep(0.2)
        (folder / "pipe.schedule.jsonl").unlink()
        while "The newest time of the schedule was kept" not in home_of(server):
            assert time.monotonic() < until, home_of(server)
            time.sleep(0.2)
        lines[-1] = happened("ended", today, exit=5)
        (folder / "nightly.schedule.jsonl").write_text("\n".join(lines) + "\n")
        until = time.monotonic() + 20
        while json.loads(server.ask("GET", "/schedule.json")[1])[0]["failed"] == 0 and time.monotonic() < until:
            time.sleep(0.2)
        assert json.loads(server.ask("GET", "/schedule.json")[1])[0]["failed"] == 1, "it is read again"
        until = time.monotonic() + 20
        while "1 schedule not kept" not in home_of(server) and time.monotonic() < until:
            time.sleep(0.2)  # it is kept, and made again
        assert "Due, and not measured" in home_of(server) and "failed (exit code 5)" in home_of(server)
        l.lynx("site", ledger, tmp_path / "files", "--schedules", folder, "--quiet", env=home)
        assert "failed (exit code 5)" in (tmp_path / "files" / "index.html").read_text()
        assert "&lt;b&gt;busy" in (tmp_path / "files" / "schedule.html").read_text()
        l.lynx("site", ledger, tmp_path / "more", "--quiet", env=home)
        assert "schedule" not in (tmp_path / "more" / "index.html").read_text()
        r = l.lynx("site", ledger, tmp_path / "more", "--schedules", tmp_path / "none", "--quiet", env=home)
        assert r.returncode == 2 and "accepted: a folder that `schedule add --folder` names" in r.stderr
    finally:
        server.stop()


def test_list_and_remove(place, tmp_path):
    units = tmp_path / "units"
    assert "accepted: a folder of units" in schedule(place, "--units", units, code=2).stderr
    units.mkdir()
    assert "no schedule is installed" in schedule(place, "--units", units).stdout
    schedule(place, "add", "nightly.yaml", "--units", units, "--name", "a", "--folder", tmp_path / "a")
    schedule(place, "add", "nightly.yaml", "--units", units, "--name", "b", "--every", "7d", "--folder", tmp_path / "b")
    (units / "lynxbench-other.service").write_text("[Service]\nExecStart=/bin/true\n")
    (units / "lynxbench-bad.service").write_text('# lynxbench schedule: {"schedule":"../../x","every_s":86400}\n')
    listed = json.loads(schedule(place, "list", "--units", units, "--json").stdout)
    assert {x["schedule"] for x in listed} == {"a", "b"}, listed
    schedule(place, "remove", "a", "--units", units)
    left = sorted(name.removeprefix("lynxbench-") for name in os.listdir(units))
    assert left == ["b.service", "b.timer", "bad.service", "other.service"]
    assert [x["state"] for x in log(tmp_path / "a", "a")] == ["installed", "removed"], "what was recorded stays"
    assert "no such unit" in schedule(place, "remove", "a", "--units", units, code=2).stderr
    words = ("add", "nightly.yaml", "--units", units, "--name", "b", "--folder")
    r = schedule(place, *words, tmp_path / "a", code=2)
    assert "that of another schedule" in r.stderr and "schedule remove b" in r.stderr, r.stderr
    schedule(place, *words, tmp_path / "b", "--every", "6h")
    (units / "lynxbench-c.timer").symlink_to(tmp_path / "victim")
    r = schedule(place, "add", "nightly.yaml", "--units", units, "--name", "c", "--folder", tmp_path / "c", code=2)
    assert "is there, and is no file" in r.stderr and not (tmp_path / "victim").exists(), r.stderr


def test_what_is_left_of_a_run_keeps_others_out(place, tmp_path):
    """The run itself holds the machine's lock, so that it counts where its scheduler was killed."""
    text = (place / "nightly.yaml").read_text().replace("counted: 400ms", "counted: 3s")
    (tmp_path / "n.yaml").write_text(text)
    words = [l.LYNX, "schedule", "run", tmp_path / "n.yaml", "--folder", tmp_path / "r", *FAST]
    env = l.environment(HOME=place, XDG_STATE_HOME=place)
    p = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    held, until = [], time.monotonic() + 60
    while not held and time.monotonic() < until:
        time.sleep(0.1)
        for child in open(f"/proc/{p.pid}/task/{p.pid}/children").read().split():
            held += [to for to in l.open_files(child) if to.endswith(".lock")]
    p.send_signal(signal.SIGKILL)
    p.wait()
    assert held, "the run does not hold the lock"


def test_what_a_scheduled_run_will_lack_is_said(place, tmp_path):
    text = (place / "nightly.yaml").read_text()
    (tmp_path / "k.yaml").write_text(text.replace("{model: reference,", "{model: reference, api_key_env: MY_API_KEY,"))
    words = ("add", tmp_path / "k.yaml", "--folder", tmp_path / "r", "--print")
    assert "give MY_API_KEY to the unit" in schedule(place, *words, "systemd").stderr
    file = place / "nightly.yaml"
    r = schedule(place, *words, "kubernetes", "--ledger", file, "--key", file, code=2)
    assert "which no pod has; accepted: an address" in r.stderr, r.stderr
    names = set()
    for name in ("a-b", "a_b", "A-b", "x" * 40, "x" * 41):
        job = yaml.safe_load(schedule(place, *words, "kubernetes", "--name", name).stdout)
        volumes = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
        assert {"name": "contract", "configMap": {"name": job["metadata"]["name"]}} in volumes, volumes
        assert len(job["metadata"]["name"]) <= 52
        names.add(job["metadata"]["name"])
    assert len(names) == 5, names


def test_a_log_that_says_nothing_is_told(place, tmp_path):
    for make in (lambda p: p.write_text("{}\n"), lambda p: p.mkdir(), os.mkfifo):
        path = tmp_path / "n.schedule.jsonl"
        make(path)
        r = l.lynx("history", tmp_path, "--quiet")
        assert r.returncode == 2 and "n.schedule.jsonl" in r.stderr, (make, r.stderr)
        path.rmdir() if path.is_dir() else path.unlink()


def test_misuse(place, tmp_path):
    for words, said in (
        (("add",), "an argument is missing: CONTRACT"),
        (("mend", "x"), "found 'mend', accepted: list, add, run, remove"),
        (("add", "none.yaml"), "none.yaml"),
        (("add", "nightly.yaml", "--every", "5h"), "--every: found '5h', accepted: 1h, 2h"),
        (("add", "nightly.yaml", "--at", "25:00"), "--at: found '25:00', accepted: HH:MM in UTC"),
        (("add", "nightly.yaml", "--name", "../x"), "--name: found '../x'"),
        (("add", "nightly.yaml", "--busy-at-most", "2"), "--busy-at-most: found '2'"),
        (("add", "nightly.yaml", "--offset", "5h"), "--offset: found '5h', accepted: at most a tenth"),
        (("add", "nightly.yaml", "--print", "cron"), "without --print, which installs nothing"),
        (("add", "nightly.yaml", "--folder", "nightly.yaml"), "--folder: found 'nightly.yaml', accepted: a folder"),
        (("add", "nightly.yaml", "--key", "k"), "--key: found 'k', accepted: with --ledger"),
        (("list", "x"), "found 'x', accepted: nothing more"),
        (("add", "nightly.yaml", "--ledger", "http://127.0.0.1:1"), "--key FILE, or LYNXBENCH_KEY, is needed"),
        (("run", "nightly.yaml", "--folder", "/no/such/folder"), "/no/such"),
        (("remove", "../x"), "found '../x', accepted: a name"),
    ):
        r = schedule(place, *words, "--units", tmp_path / "units", code=2)
        assert said in r.stderr, f"{words}: {r.stderr}"
    assert not (tmp_path / "units").exists(), "nothing was installed"
    bad = place / "bad.yaml"
    bad.write_text("lynxbench: 1\nregime: {load: nothing}\n")
    assert "nothing was scheduled" in schedule(place, "add", "bad.yaml", "--units", tmp_path / "u", code=2).stderr


if __name__ == "__main__":
    l.main(__file__)
