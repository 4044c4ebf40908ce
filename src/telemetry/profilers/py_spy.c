/* Python frames, by the program py-spy where it is installed: it reads the interpreter's memory.
 * Sources  python: threads that seem to run, where they are; python_gil: the thread that holds the interpreter's lock, where it is;
 *          python_all: all threads, those that wait too. Series profile.SOURCE.rate: looks a second. Of python_gil, looks over rate and
 *          time is the share of time in which the lock is held.
 *          For python_gil it stops the process for each look (about a millisecond): where all processors are busy, stacks that change
 *          while they are read are dropped otherwise, and those that change fastest are never seen. The kernel lets a process go on
 *          whose tracer dies
 * Budget   a fourth of a processor for each of the three; one that takes more is ended early, and its rate is of the whole time
 * Frames   "function (/path/of/file.py:line)"
 * Rights   it runs as the target's user where this is root and the target is not; with limits of memory and time. What it prints is taken
 *          from a folder of its own, as the text of somebody else */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/child.h"
#include "base/number.h"
#include "base/program.h"
#include "telemetry/process_tree.h"
#include "telemetry/profiler.h"

enum { OUT_MAX = 64 << 20, KINDS = 3, LATE_S = 20, WATCH_EVERY_MS = 250 };

#define BUDGET 0.25        /* of a processor */
#define BUDGET_FIRST_S 2.0 /* what it takes to begin, beside a large server */

struct spying {
  struct child child[KINDS];
  char folder[64];   /* our own, in which nobody else can make, rename or remove anything */
  int raw_fd[KINDS]; /* what it writes: made by us, and given to the user that it runs as */
  double duration_s;
  double ended_s[KINDS]; /* after how long it had used up its budget; 0: it did not */
  pthread_t watcher;
  atomic_bool over;
};

static const struct {
  const char *source, *flags[3];
  int rate;
} kinds[KINDS] = {{"python", {"--nonblocking"}, 20}, {"python_gil", {"--gil"}, 40}, {"python_all", {"--idle", "--nonblocking"}, 10}};

static bool is_python(const struct root *root, int64_t pid) {
  char path[64], exe[4096];
  (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
  if (!root_read_link(root, path, exe, sizeof exe)) return false;
  const char *slash = strrchr(exe, '/');
  return strncmp(slash != NULL ? slash + 1 : exe, "python", 6) == 0;
}

static bool runs_python(const struct profiler_request *request) {
  struct process_tree tree;
  process_tree_read(request->root, request->pid, &tree);
  for (size_t i = 0; i < tree.n; i++)
    if (is_python(request->root, tree.pids[i])) return true;
  return false;
}

static void path_of(const struct spying *s, int kind, const char *what, char path[128]) {
  (void)snprintf(path, 128, "%s/%s.%s", s->folder, kinds[kind].source, what);
}

/* May a user look into that user's own processes? Else only root can. */
static bool users_may_look(const struct root *root) {
  char line[32];
  return !root_read_line(root, "/proc/sys/kernel/yama/ptrace_scope", line, sizeof line) || strcmp(line, "0") == 0;
}

static bool start_one(struct spying *s, const struct profiler_request *request, const char *program, int kind, struct lynx_error *error) {
  char out[128], log[128], pid[32], seconds[32], rate[16], folder[64];
  struct stat target;
  struct child_bounds bounds = {.memory_bytes = INT64_C(4) << 30, .processor_s = 300, .file_bytes = OUT_MAX};
  const char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
  path_of(s, kind, "raw", out);
  path_of(s, kind, "log", log);
  s->raw_fd[kind] = open(out, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (s->raw_fd[kind] < 0) return false;
  (void)snprintf(pid, sizeof pid, "%lld", (long long)request->pid);
  (void)snprintf(seconds, sizeof seconds, "%.0f", s->duration_s);
  (void)snprintf(rate, sizeof rate, "%d", kinds[kind].rate);
  (void)snprintf(folder, sizeof folder, "/proc/%lld", (long long)request->pid);
  if (geteuid() == 0 && stat(folder, &target) == 0 && target.st_uid != 0 && users_may_look(request->root)) {
    bounds.as_other = true;
    bounds.user = target.st_uid;
    bounds.group = target.st_gid;
    if (fchown(s->raw_fd[kind], target.st_uid, target.st_gid) != 0) return false;
  }
  const char *arguments[20] = {
      program,          "record",           "--pid",    pid, "--duration", seconds, "--rate", rate, "--format", "raw", "--threads",
      "--subprocesses", "--full-filenames", "--output", out};
  for (size_t i = 0, n = 15; kinds[kind].flags[i] != NULL; i++) arguments[n++] = kinds[kind].flags[i];
  const struct child_request child = {.arguments = arguments, .environment = environment, .output_path = log, .bounds = &bounds};
  return child_start(&s->child[kind], &child, error) == LYNX_OK;
}

/* It then writes what it has. */
static void *watch(void *context) {
  struct spying *s = context;
  const struct root here = {""};
  const struct timespec step = {.tv_nsec = WATCH_EVERY_MS * 1000000L};
  double ticks_each_s = (double)sysconf(_SC_CLK_TCK);
  for (int k = 1; !atomic_load(&s->over); k++) {
    double passed_s = (double)k * WATCH_EVERY_MS / 1000;
    (void)nanosleep(&step, NULL);
    for (int i = 0; i < KINDS && ticks_each_s > 0; i++) {
      struct process_stat stat;
      if (s->ended_s[i] > 0 || !process_read(&here, s->child[i].pid, &stat)) continue;
      if ((double)(stat.user_ticks + stat.system_ticks) / ticks_each_s <= BUDGET_FIRST_S + BUDGET * passed_s) continue;
      s->ended_s[i] = passed_s;
      (void)kill(s->child[i].pid, SIGINT);
    }
  }
  return NULL;
}

static void remove_all(struct spying *s) {
  char path[128];
  for (int i = 0; i < KINDS; i++) {
    if (s->raw_fd[i] >= 0) (void)close(s->raw_fd[i]);
    path_of(s, i, "raw", path);
    (void)unlink(path);
    path_of(s, i, "log", path);
    (void)unlink(path);
  }
  (void)rmdir(s->folder);
  free(s);
}

static bool spy_begin(const struct profiler_request *request, void **ret_state, char *why, size_t size) {
  struct lynx_error error = {0};
  why[0] = 0;
  if (!runs_python(request)) return false;
  char program[PATH_MAX], reason[PATH_MAX + 300];
  if (!program_find(PROGRAM_PY_SPY, request->root, request->py_spy, program, reason, sizeof reason)) {
    (void)snprintf(why, size, "Python frames: %.700s. `pip install py-spy` brings it (or start Python 3.12 with -X perf)", reason);
    return false;
  }
  struct spying *s = xalloc(1, sizeof *s);
  (void)snprintf(s->folder, sizeof s->folder, "/tmp/lynxbench-XXXXXX");
  s->duration_s = (double)request->duration_ns / 1e9;
  if (s->duration_s < 1) s->duration_s = 1;
  for (int i = 0; i < KINDS; i++) s->raw_fd[i] = -1;
  bool good = mkdtemp(s->folder) != NULL && chmod(s->folder, 0711) == 0; /* who is given a file in it must get there */
  for (int i = 0; i < KINDS && good; i++) good = start_one(s, request, program, i, &error);
  if (good && pthread_create(&s->watcher, NULL, watch, s) == 0) {
    *ret_state = s;
    return true;
  }
  (void)snprintf(why, size, "Python frames: py-spy could not be started (%s)", error.message[0] != 0 ? error.message : strerror(errno));
  for (int i = 0; i < KINDS; i++)
    if (s->child[i].pid > 0) child_stop(&s->child[i], 0);
  remove_all(s);
  return false;
}

/* --- what it wrote --- */

/* `process 12:"command";process 13:"command";thread (34): NAME;frames COUNT`, the last process being the thread's, those before it its
 * parents. Commands are left out: they may hold anything. */
static bool read_line(char *line, int64_t *ret_process, int64_t *ret_thread, char **ret_frames, int64_t *ret_n) {
  static const char mark[] = ";thread (";
  char *space = strrchr(line, ' '), *end;
  if (space == NULL || !number_int64(space + 1, strlen(space + 1), ret_n) || *ret_n <= 0) return false;
  *space = 0;
  *ret_process = 0;
  char *at = strncmp(line, mark + 1, sizeof mark - 2) == 0 ? line - 1 : strstr(line, mark);
  if (at == NULL) return false;
  for (const char *process = line; process != NULL && process < at; process = strstr(process, ";process ")) {
    process += *process == ';';
    if (strncmp(process, "process ", 8) == 0) *ret_process = strtoll(process + 8, NULL, 10);
    else break;
  }
  *ret_thread = strtoll(at + sizeof mark - 1, &end, 10);
  *ret_frames = strchr(end, ';');
  if (*ret_frames == NULL || *ret_thread <= 0) return false;
  (*ret_frames)++;
  return true;
}

static bool read_all(int fd, struct buffer *ret) {
  char bytes[65536];
  ssize_t n = 0;
  if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0) return false;
  while ((n = read(fd, bytes, sizeof bytes)) > 0)
    if (!buffer_append(ret, bytes, (size_t)n)) return false;
  return n == 0 && ret->length > 0;
}

static void read_log(const struct spying *s, int kind, struct buffer *ret) {
  char path[128];
  path_of(s, kind, "log", path);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  (void)read_all(fd, ret);
  if (fd >= 0) (void)close(fd); /* only read */
}

/* False: it wrote nothing that can be read, so that what it would have seen is not known. */
static bool deliver(const struct spying *s, int kind, int64_t root_pid, const struct profiler_sink *sink) {
  struct buffer text;
  int64_t n_stacks = 0, n_lost = 0;
  char frames[STACK_TEXT_MAX];
  buffer_init(&text, OUT_MAX);
  if (read_all(s->raw_fd[kind], &text)) {
    char *rest = text.data;
    for (char *line = strtok_r(text.data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
      int64_t process, thread, n;
      char *from;
      if (!read_line(line, &process, &thread, &from, &n)) continue;
      if (n_stacks++ >= STACKS_MAX) {
        n_lost += n;
        continue;
      }
      size_t length = strlen(from), skip = length >= sizeof frames ? length - sizeof frames + 1 : 0; /* the innermost matter most */
      (void)text_sanitise(frames, sizeof frames, from + skip, length - skip);
      sink->stack(sink->context, kinds[kind].source, process > 0 ? process : root_pid, thread, frames, n);
    }
  } else {
    struct buffer log;
    char tail[200], note[400];
    buffer_init(&log, 1 << 20);
    read_log(s, kind, &log);
    size_t skip = log.length > 180 ? log.length - 180 : 0;
    (void)snprintf(note, sizeof note, "Python frames: py-spy gave none (%s)",
                   log.length > 0 ? text_sanitise(tail, sizeof tail, log.data + skip, log.length - skip) : "it printed nothing");
    if (kind == 2) sink->note(sink->context, note);
    buffer_release(&log);
  }
  if (n_lost > 0) sink->value(sink->context, "profile.python.lost", (double)n_lost);
  buffer_release(&text);
  return n_stacks > 0;
}

static void spy_end(void *state, const struct profiler_sink *sink) {
  struct spying *s = state;
  const struct timespec step = {.tv_nsec = 100000000};
  char series[64], note[200];
  atomic_store(&s->over, true);
  (void)pthread_join(s->watcher, NULL);
  for (int i = 0; i < KINDS; i++) {
    double share = s->ended_s[i] > 0 && s->ended_s[i] < s->duration_s ? s->ended_s[i] / s->duration_s : 1;
    for (int k = 0; k < LATE_S * 10 && child_running(&s->child[i]); k++) {
      if (k == 0) (void)kill(s->child[i].pid, SIGINT); /* it then writes what it has */
      (void)nanosleep(&step, NULL);
    }
    child_stop(&s->child[i], 1000000000);
    (void)snprintf(series, sizeof series, "profile.%s.rate", kinds[i].source);
    if (deliver(s, i, 0, sink)) sink->value(sink->context, series, kinds[i].rate * share);
    if (s->ended_s[i] == 0) continue;
    (void)snprintf(note, sizeof note, "Python frames: py-spy took more than %.0f %% of a processor and was ended after %.1f s of %.1f",
                   100 * BUDGET, s->ended_s[i], s->duration_s);
    sink->note(sink->context, note);
  }
  remove_all(s);
}

const struct profiler profiler_py_spy;
const struct profiler profiler_py_spy = {
    .name = "py_spy", .summary = "Python frames, by py-spy where it is installed", .begin = spy_begin, .end = spy_end};
