#include "experiment/undo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/state.h"
#include "telemetry/process_tree.h"

enum { FILE_MAX = 4 << 20, LOOK_MS = 50, LEFT_MAX = 100000, CLOSE_LOOKS = 40 };
#define SILENCE_NS INT64_C(500000000)

static const char folder[] = "perturbed", groups[] = "/sys/fs/cgroup/";

/* What the watchdog shares. */
struct shared {
  atomic_size_t n;
  atomic_bool held;
  atomic_llong beat_ns;
  struct undo_step steps[UNDO_MAX];
};

struct undo {
  const struct root *root;
  struct shared *shared;
  pid_t watchdog;
  int alive_fd; /* closed by the kernel when we end, whatever ends us */
  size_t n_added;
  bool too_many;
  char path[4200];
};

/* --- undoing --- */

static bool is_the_process(const struct root *root, const struct undo_step *step) {
  struct process_stat stat;
  return process_read(root, step->process, &stat) && stat.started_ticks == step->started_ticks && stat.state != 'Z' && stat.state != 'X';
}

/* Its number may belong to another process by now: the descriptor is opened first, then it is looked at, then used. */
static bool continue_process(const struct root *root, const struct undo_step *step) {
  int fd = pidfd_open((pid_t)step->process, 0);
  if (fd < 0) return errno == ESRCH;
  bool good = !is_the_process(root, step) || pidfd_send_signal(fd, SIGCONT, NULL, 0) == 0 || errno == ESRCH;
  (void)close(fd);
  return good;
}

bool undo_write_setting(const struct undo_step *step) {
  if (strncmp(step->path, groups, sizeof groups - 1) != 0 || strstr(step->path, "/../") != NULL) return false;
  int fd = open(step->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT; /* the group is gone, and its settings with it */
  size_t n = strnlen(step->text, sizeof step->text);
  bool good = write(fd, step->text, n) == (ssize_t)n;
  (void)close(fd);
  return good;
}

/* Of one process in the tree. */
struct narrowing {
  const struct undo_step *steps;
  size_t n;
  const cpu_set_t *main; /* of a thread that is not among the steps */
  int n_processors;
};

/* Only a thread that may still run everywhere gets its set back: one that has chosen another meanwhile keeps it. One that was started
 * meanwhile gets that of the first thread. */
static void narrow_thread(void *context, const char *name) {
  const struct narrowing *w = context;
  long long thread = strtoll(name, NULL, 10);
  const cpu_set_t *own = w->main;
  cpu_set_t now;
  for (size_t i = 0; i < w->n; i++)
    if (w->steps[i].kind == UNDO_AFFINITY && w->steps[i].thread == thread) own = &w->steps[i].processors;
  bool wide = thread > 0 && sched_getaffinity((pid_t)thread, sizeof now, &now) == 0 && CPU_COUNT(&now) >= w->n_processors;
  if (wide && own != NULL) (void)sched_setaffinity((pid_t)thread, sizeof *own, own);
}

/* The threads of the process and of those that it started, as they are now: children inherit what it was allowed. */
void undo_affinity(const struct root *root, const struct undo_step *steps, size_t n, const struct undo_step *first) {
  struct process_tree tree;
  struct narrowing narrowing = {steps, n, &first->processors, (int)sysconf(_SC_NPROCESSORS_ONLN)};
  if (!is_the_process(root, first)) return;
  process_tree_read(root, first->process, &tree);
  for (size_t i = 0; i < tree.n; i++) process_threads(root, tree.pids[i], narrow_thread, &narrowing);
}

static bool undo_steps(const struct root *root, const struct undo_step *steps, size_t n) {
  bool good = true;
  for (size_t i = 0; i < n; i++) {
    const struct undo_step *step = &steps[i];
    switch (step->kind) {
      case UNDO_CONTINUE: good = continue_process(root, step) && good; break;
      case UNDO_FILE: good = undo_write_setting(step) && good; break;
      case UNDO_AFFINITY:
        if (step->thread == step->process) undo_affinity(root, steps, n, step);
        break;
    }
  }
  return good;
}

/* --- the file --- */

/* Of this machine since it began, and of these process numbers: a home may be shared by machines and containers. */
static void place_of(const struct root *root, char ret[40]) {
  char boot[64] = "unknown", space[64] = "";
  (void)root_read_line(root, "/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  (void)root_read_link(root, "/proc/self/ns/pid", space, sizeof space); /* "pid:[4026531836]" */
  unsigned long long number = strtoull(space + strcspn(space, "0123456789"), NULL, 10);
  (void)snprintf(ret, 40, "%.8s-%llu-", boot, number);
}

static bool own_path(const struct root *root, char *path, size_t size) {
  char name[100], place[40];
  place_of(root, place);
  (void)snprintf(name, sizeof name, "%s/%s%lld.json", folder, place, (long long)getpid());
  return state_path(name, path, size);
}

static unsigned long long own_start(const struct root *root) {
  struct process_stat stat;
  return process_stat_read(root, "/proc/self/stat", &stat) ? stat.started_ticks : 0;
}

static void write_step(struct json_writer *json, const struct undo_step *step) {
  static const char *const kinds[] = {[UNDO_CONTINUE] = "continue", [UNDO_AFFINITY] = "affinity", [UNDO_FILE] = "file"};
  json_open_object(json);
  json_put_text(json, "kind", kinds[step->kind]);
  json_put_int(json, "process", step->process);
  json_put_int(json, "thread", step->thread);
  json_put_int(json, "started", (int64_t)step->started_ticks);
  if (step->kind == UNDO_AFFINITY) {
    json_key(json, "processors");
    json_open_array(json);
    for (int i = 0; i < CPU_SETSIZE; i++)
      if (CPU_ISSET(i, &step->processors)) json_int(json, i);
    json_close(json);
  }
  if (step->kind == UNDO_FILE) {
    json_put_text(json, "path", step->path);
    json_put_text(json, "text", step->text);
  }
  json_close(json);
}

static bool write_file(struct undo *undo) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, FILE_MAX);
  json_begin_object(&json, &text);
  json_put_int(&json, "owner", getpid());
  json_put_int(&json, "started", (int64_t)own_start(undo->root));
  json_key(&json, "steps");
  json_open_array(&json);
  for (size_t i = 0; i < undo->n_added; i++) write_step(&json, &undo->shared->steps[i]);
  json_close(&json);
  json_close(&json);
  file_make_parents(undo->path, 0700);
  bool good = json_finish(&json) && file_replace_private(undo->path, text.data, text.length) == 0;
  buffer_release(&text);
  return good;
}

static bool read_step(const json_t *from, struct undo_step *ret) {
  const char *kind = json_get_text(from, "kind", "");
  const json_t *processors = json_object_get(from, "processors");
  size_t i;
  const json_t *one;
  *ret = (struct undo_step){.kind = strcmp(kind, "continue") == 0   ? UNDO_CONTINUE
                                    : strcmp(kind, "affinity") == 0 ? UNDO_AFFINITY
                                                                    : UNDO_FILE,
                            .process = json_get_int(from, "process", 0),
                            .thread = json_get_int(from, "thread", 0),
                            .started_ticks = (unsigned long long)json_get_int(from, "started", 0)};
  json_array_foreach(processors, i, one) {
    json_int_t number = json_integer_value(one);
    if (number >= 0 && number < CPU_SETSIZE) CPU_SET((size_t)number, &ret->processors);
  }
  (void)snprintf(ret->path, sizeof ret->path, "%s", json_get_text(from, "path", ""));
  (void)snprintf(ret->text, sizeof ret->text, "%s", json_get_text(from, "text", ""));
  return ret->kind == UNDO_FILE ? strcmp(kind, "file") == 0 : ret->process > 1;
}

/* --- what killed runs left --- */

struct leaving {
  const struct root *root;
  struct undo_left left;
  char path[4200];
};

/* In a folder that its owner alone can write, or it is not read: what it says is done to processes. */
static bool read_private(const char *path, struct buffer *ret) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info;
  if (fd < 0) return false;
  bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0 && info.st_size > 0 &&
              info.st_size < FILE_MAX;
  char chunk[4096];
  for (ssize_t n = 1; good && n > 0;) {
    n = read(fd, chunk, sizeof chunk);
    good = n >= 0 && buffer_append(ret, chunk, (size_t)n);
  }
  (void)close(fd);
  return good;
}

static void restore_file(struct leaving *l) {
  struct buffer text;
  buffer_init(&text, FILE_MAX);
  json_t *whole = read_private(l->path, &text) ? json_parse(text.data, text.length, FILE_MAX, NULL) : NULL;
  const struct undo_step owner = {.process = json_get_int(whole, "owner", 0),
                                  .started_ticks = (unsigned long long)json_get_int(whole, "started", 0)};
  bool in_use = whole != NULL && is_the_process(l->root, &owner),
       good = owner.process > 0 && json_is_array(json_object_get(whole, "steps")) && !in_use;
  size_t i;
  const json_t *one;
  struct undo_step *steps = xalloc(UNDO_MAX, sizeof *steps);
  size_t n = 0;
  json_array_foreach(json_object_get(whole, "steps"), i, one) {
    if (n < UNDO_MAX && read_step(one, &steps[n])) n++;
    else good = false;
  }
  if (!in_use) good = undo_steps(l->root, steps, n) && good;
  free(steps);
  if (good) (void)unlink(l->path);
  l->left.n_in_use += in_use;
  l->left.n_restored += good;
  l->left.n_failed += !in_use && !good;
  if (!in_use && !good) (void)snprintf(l->left.failed, sizeof l->left.failed, "%s", l->path);
  json_decref(whole);
  buffer_release(&text);
}

struct undo_left undo_restore_left(const struct root *root) {
  struct leaving l = {.root = root};
  char path[4000], place[40];
  place_of(root, place);
  bool known = state_path(folder, path, sizeof path);
  DIR *files = known ? opendir(path) : NULL;
  l.left.unread = !known || (files == NULL && errno != ENOENT);
  int n = 0;
  for (const struct dirent *entry; files != NULL && n < LEFT_MAX && (entry = readdir(files)) != NULL; n++) {
    size_t length = strlen(entry->d_name);
    if (length < 6 || length > 80 || strncmp(entry->d_name, place, strlen(place)) != 0 || strcmp(entry->d_name + length - 5, ".json") != 0)
      continue;
    (void)snprintf(l.path, sizeof l.path, "%s/%.80s", path, entry->d_name);
    restore_file(&l);
  }
  if (files != NULL) (void)closedir(files);
  return l.left;
}

/* --- the watchdog --- */

static void leave_everything(int keep_fd) {
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && null >= 0; fd++) (void)dup2(null, fd);
  if (keep_fd > 3) (void)syscall(SYS_close_range, 3U, (unsigned)keep_fd - 1, 0);
  (void)syscall(SYS_close_range, (unsigned)keep_fd + 1, ~0U, 0);
  (void)setsid();
  for (int sig = 1; sig < NSIG; sig++)
    if (sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD) (void)signal(sig, SIG_IGN);
  (void)prctl(PR_SET_NAME, "lynx-watchdog", 0, 0, 0);
}

_Noreturn static void watch(const struct root *root, struct shared *shared, int fd, const char *path) {
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  leave_everything(fd);
  for (;;) {
    int n = poll(&wait, 1, LOOK_MS);
    char byte;
    ssize_t got = n > 0 ? read(fd, &byte, 1) : 0;
    if (n > 0 && got == 1) _exit(0); /* all was undone, and we are not needed any more */
    if (n > 0 && got == 0) break;
    if (atomic_load(&shared->held) && clock_now(&clock_system) - atomic_load(&shared->beat_ns) > SILENCE_NS)
      (void)undo_steps(root, shared->steps, atomic_load(&shared->n));
  }
  if (undo_steps(root, shared->steps, atomic_load(&shared->n))) (void)unlink(path);
  _exit(0);
}

enum lynx_status undo_open(const struct root *root, struct undo **ret, struct lynx_error *error) {
  struct undo *undo = xalloc(1, sizeof *undo);
  int ends[2];
  *ret = NULL;
  (void)undo_restore_left(root);
  undo->root = root;
  undo->shared = mmap(NULL, sizeof *undo->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  bool keeps = own_path(root, undo->path, sizeof undo->path) && undo->shared != MAP_FAILED && write_file(undo);
  if (keeps) (void)unlink(undo->path); /* it can be written */
  if (!keeps || pipe2(ends, O_CLOEXEC) != 0) {
    if (undo->shared != MAP_FAILED) (void)munmap(undo->shared, sizeof *undo->shared);
    struct undo gone = *undo;
    free(undo);
    return lynx_fail(error, LYNX_IO,
                     "nothing can be perturbed: what undoes it cannot be kept (%.300s): give a state folder that this user can "
                     "write (HOME, XDG_STATE_HOME)",
                     gone.path);
  }
  undo->alive_fd = ends[1];
  undo->watchdog = fork();
  if (undo->watchdog == 0) watch(root, undo->shared, ends[0], undo->path);
  (void)close(ends[0]);
  if (undo->watchdog > 0) {
    *ret = undo;
    return LYNX_OK;
  }
  (void)close(ends[1]);
  (void)munmap(undo->shared, sizeof *undo->shared);
  free(undo);
  return lynx_fail(error, LYNX_IO, "nothing can be perturbed: no process can be started to undo it");
}

static bool is_watched(struct undo *undo) {
  int how = 0;
  pid_t changed = undo->watchdog > 0 ? waitpid(undo->watchdog, &how, WNOHANG | WUNTRACED) : 0;
  if (changed > 0 && WIFSTOPPED(how)) { /* it watches no more */
    (void)kill(undo->watchdog, SIGKILL);
    (void)waitpid(undo->watchdog, NULL, 0);
  }
  if (changed != 0) undo->watchdog = 0;
  return undo->watchdog > 0;
}

void undo_add(struct undo *undo, const struct undo_step *step) {
  if (undo->n_added == UNDO_MAX) undo->too_many = true;
  else undo->shared->steps[undo->n_added++] = *step;
}

bool undo_keep(struct undo *undo) {
  bool good = !undo->too_many && is_watched(undo) && write_file(undo);
  if (good) atomic_store(&undo->shared->n, undo->n_added);
  return good;
}

bool undo_hold(struct undo *undo) {
  undo_beat(undo);
  bool good = is_watched(undo);
  atomic_store(&undo->shared->held, good);
  return good;
}

void undo_beat(struct undo *undo) {
  atomic_store(&undo->shared->beat_ns, clock_now(&clock_system));
}

void undo_release(struct undo *undo) {
  atomic_store(&undo->shared->held, false);
}

void undo_all(struct undo *undo) {
  undo_release(undo);
  size_t n = atomic_load(&undo->shared->n);
  if (n > 0 && !undo_steps(undo->root, undo->shared->steps, n)) return; /* all of it is tried again, at last by the next command */
  /* It is there without steps, too, once it was kept. */
  (void)unlink(undo->path);
  atomic_store(&undo->shared->n, 0);
  undo->n_added = 0;
  undo->too_many = false;
}

void undo_close(struct undo *undo) {
  if (undo == NULL) return;
  undo_all(undo);
  if (is_watched(undo) && write(undo->alive_fd, "q", 1) == 1) {
    const struct timespec step = {.tv_nsec = LOOK_MS * 1000000L};
    for (int i = 0; i < CLOSE_LOOKS && is_watched(undo); i++) (void)nanosleep(&step, NULL);
    if (undo->watchdog > 0) { /* all is undone already */
      (void)kill(undo->watchdog, SIGKILL);
      (void)waitpid(undo->watchdog, NULL, 0);
    }
  }
  (void)close(undo->alive_fd);
  (void)munmap(undo->shared, sizeof *undo->shared);
  free(undo);
}
