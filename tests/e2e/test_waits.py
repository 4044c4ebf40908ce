"""Where native code waits, and what it does beside a model's work: a server in C, with and without frame pointers."""

import contextlib
import json
import socket
import sqlite3
import subprocess
import time

import pytest

import lynx as l
import machine

SERVER = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noinline))
static const char *plant;
static int shard[2];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
volatile double sink;
static void nap(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
static void spin(double ms) {
  for (double end = now() + ms / 1e3; now() < end;)
    for (int i = 0; i < 2000; i++) sink = sink * 0.999 + i;
}
OWN void model_step(void) { spin(2); sink++; }
OWN void pause_between_steps(void) { nap(30); sink++; }
OWN void json_write_text(void) { spin(4); sink++; }
OWN void render_transcript(void) { json_write_text(); sink++; }
OWN void ask_shard(void) {
  char byte = 1;
  if (write(shard[0], &byte, 1) != 1 || read(shard[0], &byte, 1) != 1) abort();
  sink++;
}
OWN void hold_gate(void) { pthread_mutex_lock(&gate); nap(20); pthread_mutex_unlock(&gate); sink++; }
OWN void *answer_requests(void *context) {
  static const char body[] = "{\"choices\": [{\"text\": \"ab\", \"finish_reason\": \"length\"}], "
                             "\"usage\": {\"prompt_tokens\": 8, \"completion_tokens\": 2}}";
  int fd = (int)(intptr_t)context;
  char text[65536], head[200];
  for (size_t used = 0;;) {
    ssize_t n = recv(fd, text + used, sizeof text - 1 - used, 0);
    if (n <= 0) break;
    text[used += (size_t)n] = 0;
    char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
    if (end == NULL || (length != NULL && used < (size_t)(end + 4 - text) + strtoul(length + 15, NULL, 10))) continue;
    used = 0;
    model_step();
    if (strcmp(plant, "sleep") == 0) pause_between_steps();
    if (strcmp(plant, "json") == 0) render_transcript();
    if (strcmp(plant, "ask") == 0) ask_shard();
    if (strcmp(plant, "lock") == 0) hold_gate();
    int m = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n", sizeof body - 1);
    if (send(fd, head, (size_t)m, MSG_MORE | MSG_NOSIGNAL) < 0) break;
    if (send(fd, body, sizeof body - 1, MSG_NOSIGNAL) < 0) break;
  }
  close(fd);
  return NULL;
}
int main(int argc, char **argv) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  at.sin_port = htons((uint16_t)atoi(argv[1]));
  int one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
  plant = argv[2];
  if (argc != 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, shard) != 0) return 1;
  if (fork() == 0) {
    char byte;
    close(shard[0]);
    while (read(shard[1], &byte, 1) == 1) { nap(25); if (write(shard[1], &byte, 1) != 1) break; }
    _exit(0);
  }
  close(shard[1]);
  setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(door, (struct sockaddr *)&at, sizeof at) != 0 || listen(door, 64) != 0) return 1;
  for (;;) {
    pthread_t thread;
    int fd = accept(door, NULL, NULL);
    if (fd >= 0 && pthread_create(&thread, NULL, answer_requests, (void *)(intptr_t)fd) == 0) pthread_detach(thread);
  }
}
"""
METHOD = """{warm_up: 200ms, counted: %s, sessions: 2, attribution_sessions: 1, drain: 10s, steady: reported,
  instrument_error_at_most: 1}"""
FLAGS = {"plain": ["-O2", "-fomit-frame-pointer"], "debug": ["-O0", "-fno-omit-frame-pointer"]}

pytestmark = pytest.mark.skipif(l.SANITIZED, reason="the unwinder's limit of memory is below the sanitizer's map")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    machine.need("waits", machine.waits(), "what a thread waits in cannot be read (ptrace rights, yama)")
    folder = tmp_path_factory.mktemp("waits")
    (folder / "native.c").write_text(SERVER)
    for name, flags in FLAGS.items():
        words = ["cc", *flags, "-D_GNU_SOURCE", "-w", "-o", folder / name, folder / "native.c", "-lpthread"]
        subprocess.run(words, check=True)
    return folder


@contextlib.contextmanager
def serving(program, plant):
    port = l.free_port()
    with subprocess.Popen([program, str(port), plant]) as process:
        try:
            for _ in range(400):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield port
        finally:
            process.kill()


def measured(program, plant, folder, concurrency=2, counted="1s"):
    path, out = folder / "c.yaml", folder / "c.lynx"
    workload = "{model: tiny, output_tokens: 2, stream: false, prompts: {count: 8, bytes: 64}}"
    with serving(program, plant) as port:
        regime = f"{{load: closed, concurrency: {concurrency}}}"
        l.contract(path, port, workload=workload, regime=regime, method=METHOD % counted)
        r = l.lynx("run", path, "--out", out, "--quiet")
    assert r.returncode == 0, r.stderr
    return out


def rows(out, source="waits"):
    with contextlib.closing(sqlite3.connect(out)) as db:
        return db.execute("SELECT n, frames FROM stack WHERE source = ? ORDER BY n DESC", (source,)).fetchall()


def findings(out):
    r = l.lynx("attribute", out, "--json")
    assert r.returncode == 0, r.stderr
    return {f["id"]: f for f in json.loads(r.stdout)["findings"]}


def functions(frames):
    return [frame.rpartition(" (")[0] for frame in frames.split(";")]


@pytest.mark.parametrize("build", FLAGS)
def test_a_sleep_is_named_by_its_function(programs, tmp_path, build):
    """Outward to who called it, whether the code keeps a frame pointer or not."""
    out = measured(programs / build, "sleep", tmp_path, counted="2500ms")
    found = findings(out)["sleeping"]
    assert "pause_between_steps" in found["named"] + found["evidence"], found
    slept = [functions(frames) for _, frames in rows(out) if "pause_between_steps" in frames]
    assert slept and all(f[-1] == "timer" for f in slept), slept
    assert all(f[f.index("pause_between_steps") - 1] == "answer_requests" for f in slept), slept


@pytest.mark.parametrize("plant, kind, function", [("ask", "network", "ask_shard"), ("lock", "lock", "hold_gate")])
def test_what_is_waited_for_within_a_request(programs, tmp_path, plant, kind, function):
    """Read by way of the descriptor: another process has the other end. Of a lock, those that do not hold it."""
    out = measured(programs / "plain", plant, tmp_path, concurrency=4, counted="2500ms")
    waited = [functions(frames) for _, frames in rows(out) if function in frames]
    assert any(f[-1] == kind and f[f.index(function) - 1] == "answer_requests" for f in waited), rows(out)


def test_the_next_request_is_nothing_that_a_request_waits_for(programs, tmp_path):
    out = measured(programs / "plain", "none", tmp_path)
    assert not {"other_service", "paced", "sleeping", "native_work"} & set(findings(out)), findings(out)


@pytest.mark.quiet
def test_work_beside_the_model_is_named_with_who_wants_it(programs, tmp_path):
    machine.need("perf", machine.perf() == "stacks", "stacks may not be copied: root or CAP_PERFMON")

    def once(k):
        folder = tmp_path / str(k)
        folder.mkdir()
        return measured(programs / "plain", "json", folder)

    found = findings(machine.beside_nothing(once, others=0.3))["native_work"]
    assert "render_transcript" in found["named"] and "JSON" in found["evidence"], found
    assert {c["layer"] for c in found["contributing"]} == {"application", "serving"}, found
    assert 0.4 < found["share"] < 0.95, found


SCRIPT = "uv_run (/usr/bin/node);Builtins_RunMicrotasks (/usr/bin/node);{}kdf_pbkdf2_derive (/usr/bin/node)"
NAMED = "JS:^complete /srv/app.js:25:4 ([anonymous]);JS:*signToken /srv/app.js:9:9 ([anonymous]);"
NAMED += "JS:*pbkdf2Sync node:internal/crypto/pbkdf2:62:20 ([anonymous]);"


@pytest.mark.parametrize("made, named", [(NAMED, "signToken"), ("? ([anonymous]);", None)])
def test_work_of_a_script_is_named_where_its_engine_names_it(slept, tmp_path, made, named):
    """Node.js with --perf-basic-prof: the function of the file, not the one of Node's own; else nobody."""
    rows = (SCRIPT.format(made), "app_other (/usr/bin/app)")
    put = (
        "INSERT INTO stack SELECT DISTINCT a.session, 'calls', a.process, a.thread, '{}', 40 FROM activity a"
        " JOIN session s ON s.id = a.session WHERE s.purpose = 'attribute' AND a.thread > 0"
    )
    sql = [put.format(frames) for frames in rows]
    attributed = "UPDATE activity SET running_ns = span_ns * 6 / 10, ready_ns = 0, system_ns = 0"
    l.forge(slept, tmp_path / "f.lynx", "DELETE FROM stack", attributed, *sql)
    found = findings(tmp_path / "f.lynx")["native_work"]
    assert "passwords" in found["evidence"], found
    assert found.get("named", "").startswith(named or "") and bool(found.get("named")) == bool(named), found


FORGED = [
    "UPDATE OR IGNORE stack SET frames = replace(frames, char(59), '') WHERE source = 'waits'",
    "UPDATE OR IGNORE stack SET frames = '<script>' || char(27) || ')(:' || char(59) || frames WHERE source = 'waits'",
    "UPDATE OR IGNORE stack SET frames = replace(frames, 'timer', 'poll 99999999999999999999 ms')"
    " WHERE source = 'waits'",
    "UPDATE OR IGNORE stack SET frames = replace(frames, 'timer', 'goroutine') WHERE source = 'waits'",
    "UPDATE stack SET n = 9223372036854775807 WHERE source = 'waits'",
    "INSERT OR REPLACE INTO sample SELECT id, 'profile.go.processors', 0, 1e300 FROM session",
]


@pytest.fixture(scope="module")
def slept(programs, tmp_path_factory):
    return measured(programs / "plain", "sleep", tmp_path_factory.mktemp("slept"))


@pytest.mark.parametrize("sql", FORGED)
def test_forged_waits_are_read_or_refused(slept, tmp_path, sql):
    l.forge(slept, tmp_path / "f.lynx", sql)
    r = l.lynx("attribute", tmp_path / "f.lynx")
    assert r.returncode in (0, 2) and "\x1b" not in r.stdout + r.stderr, r.stderr


if __name__ == "__main__":
    l.main(__file__)
