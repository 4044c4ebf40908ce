/* The threads of the serving process and of those that it started: on a processor, waiting for one, or waiting, and for what.
 *
 * Source   /proc/PID/task/TID/schedstat (time on a processor, time runnable), stat (time in the kernel, processor), syscall (what it
 *          waits in; needs the rights of a debugger), else wchan, else only that it sleeps
 * Timers   a wait for a lock with a deadline at which it ends again and again is a sleep (telemetry/timed_wait.h)
 * Pools    a wait for a lock within OpenMP's own code is for work: another wait, of no lock that somebody holds
 * Series   server.processors_used, server.processors_waited: of all threads together, seconds on a processor, and seconds in which they
 *          could have run and had none, for each second; server.disk_waited: seconds blocked by a disk, of those with a name here;
 *          server.processors_ended: used by threads that ended, whose waits nobody knows
 * Ended    threads that end between two samples are in no list: what their process used beyond its listed threads is reported as a
 *          thread of its own, number 0, that only runs
 * Cost     every thread's schedstat at each sample; further files of busy threads alone */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/pool_code.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"
#include "telemetry/timed_wait.h"
#include "telemetry/wait_call.h"

enum { KNOWN_MAX = 4096, BUSY_MAX = 48, GONE_AFTER = 2, POOLS_EVERY = 20 /* samples */ };

struct known_thread {
  int64_t process, thread;
  long long running_ns, ready_ns;
  unsigned long long system_ticks;
  bool busy; /* since the watch began, it once ran for a hundredth of a sample's time */
  int64_t looks[WAIT_COUNT];
  struct timed_wait timed; /* of all its looks */
  unsigned generation;     /* of the sample that last saw it */
};

/* A process as a whole, ended threads included. */
struct whole {
  int64_t process, listed_ns; /* of its listed threads, since the sample before */
  unsigned long long ticks;
  bool told, seen;
};

struct threads {
  const struct root *root;
  int64_t pid, last_ns, ns_per_tick;
  struct known_thread *known; /* by process, then by the kernel's order; few come and go */
  size_t n, n_busy;
  unsigned generation, pools_at; /* of the sample that read where the pools' code lies */
  struct pool_code pools;
  struct process_tree tree;
  struct whole wholes[PROCESS_TREE_MAX];
  size_t n_wholes;
  double used_ns, waited_ns, disk_ns, ended_ns; /* since the sample before, of all */
};

static bool threads_open(const struct root *root, void **ret_state) {
  struct threads *t = xalloc(1, sizeof *t);
  long per_second = sysconf(_SC_CLK_TCK);
  t->root = root;
  t->known = xalloc(KNOWN_MAX, sizeof *t->known);
  t->ns_per_tick = 1000000000 / (per_second > 0 ? per_second : 100);
  *ret_state = t;
  return true;
}

static void threads_watch(void *state, int64_t pid) {
  struct threads *t = state;
  t->pid = pid;
  t->n = t->n_busy = t->n_wholes = t->pools.n = 0;
  t->pools_at = 0;
  t->last_ns = 0;
}

static void path_of(char path[128], const struct known_thread *k, const char *file) {
  (void)snprintf(path, 128, "/proc/%lld/task/%lld/%s", (long long)k->process, (long long)k->thread, file);
}

/* --- what it waits for --- */

static enum wait_kind kind_by_place(const struct threads *t, const struct known_thread *k) {
  char path[128], line[256];
  path_of(path, k, "wchan");
  return root_read_line(t->root, path, line, sizeof line) ? wait_kind_of_place(line) : WAIT_UNKNOWN;
}

/* "202 0x7f1c 0x80 ... SP PC": the last number is where in the program it waits. */
static bool waits_in_pool(const struct threads *t, const struct known_thread *k, const char *line) {
  const char *last = strrchr(line, ' ');
  unsigned long long at = 0;
  return t->pools.n > 0 && last != NULL && sscanf(last, " 0x%llx", &at) == 1 && pool_code_holds(&t->pools, k->process, at);
}

static bool sleeps_in_lock(const struct threads *t, struct known_thread *k, const char *line) {
  double left_ns = t->root->path[0] == 0 ? timed_wait_left_ns(k->process, line) : NAN;
  if (isnan(left_ns)) return false;
  timed_wait_add(&k->timed, left_ns);
  return timed_wait_is_sleep(&k->timed);
}

static void look_at(const struct threads *t, struct known_thread *k) {
  char path[128], line[256];
  struct process_stat stat;
  path_of(path, k, "syscall");
  if (root_read_line(t->root, path, line, sizeof line)) {
    long number;
    unsigned long long first = 0;
    if (sscanf(line, "%ld 0x%llx", &number, &first) < 1) return; /* "running" */
    if (number < 0) { /* in no call: where it is blocked all the same, it touched a page that is read from a disk */
      path_of(path, k, "stat");
      if (process_stat_read(t->root, path, &stat) && stat.state == 'D') k->looks[WAIT_DISK]++;
      return;
    }
    enum wait_kind kind = wait_kind_of_call(number);
    if (kind == WAIT_OTHER) kind = wait_kind_of_file(t->root, k->process, number, first);
    enum wait_kind place = kind == WAIT_OTHER ? kind_by_place(t, k) : kind;
    if (kind == WAIT_LOCK && waits_in_pool(t, k, line)) place = WAIT_OTHER;
    else if (kind == WAIT_LOCK && sleeps_in_lock(t, k, line)) place = WAIT_TIMER;
    k->looks[place == WAIT_UNKNOWN ? kind : place]++;
    return;
  }
  path_of(path, k, "stat");
  if (!process_stat_read(t->root, path, &stat) || (stat.state != 'S' && stat.state != 'D')) return;
  k->looks[kind_by_place(t, k)]++;
}

static void threads_look(void *state) {
  struct threads *t = state;
  for (size_t i = 0; i < t->n; i++)
    if (t->known[i].busy) look_at(t, &t->known[i]);
}

/* --- samples --- */

static bool read_times(const struct threads *t, const struct known_thread *k, long long *ret_running_ns, long long *ret_ready_ns) {
  char path[128], line[128];
  path_of(path, k, "schedstat");
  return root_read_line(t->root, path, line, sizeof line) && sscanf(line, "%lld %lld", ret_running_ns, ret_ready_ns) == 2;
}

/* "0-1,4" in the status's Cpus_allowed_list. */
static int64_t count_processors(const struct threads *t, const struct known_thread *k) {
  char path[128];
  struct buffer text;
  int64_t n = 0;
  path_of(path, k, "status");
  buffer_init(&text, 65536);
  const char *at = root_read(t->root, path, &text, NULL) == LYNX_OK ? strstr(text.data, "Cpus_allowed_list:") : NULL;
  for (at = at != NULL ? at + 18 : NULL; at != NULL && *at != 0 && *at != '\n';) {
    char *end;
    long from = strtol(at, &end, 10), to = from;
    if (end == at) break;
    if (*end == '-') to = strtol(end + 1, &end, 10);
    if (to >= from && to - from < 65536) n += to - from + 1;
    at = *end == ',' ? end + 1 : NULL;
  }
  buffer_release(&text);
  return n;
}

static void tell_name(const struct threads *t, const struct known_thread *k, const struct sampler_sink *sink) {
  char path[128];
  struct process_stat program, thread;
  (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)k->process);
  if (!process_stat_read(t->root, path, &program)) return;
  path_of(path, k, "stat");
  if (!process_stat_read(t->root, path, &thread)) return;
  const struct thread_name name = {
      .process = k->process, .thread = k->thread, .program = program.name, .name = thread.name, .n_processors = count_processors(t, k)};
  sink->name(sink->context, &name);
}

static struct whole *whole_of(struct threads *t, int64_t process) {
  for (size_t i = 0; i < t->n_wholes; i++)
    if (t->wholes[i].process == process) return &t->wholes[i];
  if (t->n_wholes == PROCESS_TREE_MAX) return NULL;
  t->wholes[t->n_wholes] = (struct whole){.process = process};
  return &t->wholes[t->n_wholes++];
}

/* What the process used and none of its listed threads did. Ticks are coarse: less than a twentieth is nothing. */
static void sample_ended(struct threads *t, int64_t process, int64_t span_ns, int64_t now_ns, const struct sampler_sink *sink) {
  char path[96];
  struct process_stat stat;
  struct whole *w = whole_of(t, process);
  (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
  if (w == NULL || !process_stat_read(t->root, path, &stat)) return;
  unsigned long long ticks = stat.user_ticks + stat.system_ticks, before = w->ticks;
  int64_t listed_ns = w->listed_ns;
  bool known = w->seen && ticks >= before && span_ns > 0;
  w->ticks = ticks;
  w->listed_ns = 0;
  w->seen = true;
  if (!known || ticks - before > 1000000000) return;
  int64_t rest_ns = (int64_t)(ticks - before) * t->ns_per_tick - listed_ns;
  if (rest_ns < span_ns / 20) return;
  t->ended_ns += (double)rest_ns;
  const struct thread_name name = {.process = process, .thread = 0, .program = stat.name, .name = "(short-lived threads)"};
  if (!w->told) sink->name(sink->context, &name);
  w->told = true;
  const struct thread_activity activity = {
      .process = process, .thread = 0, .at_ns = now_ns, .span_ns = rest_ns, .running_ns = rest_ns, .processor = -1};
  sink->activity(sink->context, &activity);
}

static void sample_thread(struct threads *t, struct known_thread *k, int64_t now_ns, const struct sampler_sink *sink) {
  long long running_ns, ready_ns;
  if (!read_times(t, k, &running_ns, &ready_ns)) return;
  int64_t span_ns = now_ns - t->last_ns, ran_ns = running_ns - k->running_ns, was_ready_ns = ready_ns - k->ready_ns;
  k->running_ns = running_ns;
  k->ready_ns = ready_ns;
  if (t->last_ns == 0 || span_ns <= 0 || ran_ns < 0 || was_ready_ns < 0) return;
  struct whole *whole = whole_of(t, k->process);
  if (whole != NULL) whole->listed_ns += ran_ns; /* of one that began since, all that it ran: it began at 0 */
  t->used_ns += (double)ran_ns;
  t->waited_ns += (double)was_ready_ns;
  bool begins = !k->busy && ran_ns + was_ready_ns >= span_ns / 100 && t->n_busy < BUSY_MAX;
  if (begins) {
    k->busy = true;
    t->n_busy++;
    tell_name(t, k, sink);
  }
  if (!k->busy) return;
  char path[128];
  struct process_stat stat = {.processor = -1};
  path_of(path, k, "stat");
  bool known = process_stat_read(t->root, path, &stat);
  unsigned long long ticks = begins || !known || stat.system_ticks < k->system_ticks ? 0 : stat.system_ticks - k->system_ticks;
  struct thread_activity activity = {.process = k->process,
                                     .thread = k->thread,
                                     .at_ns = now_ns,
                                     .span_ns = span_ns,
                                     .running_ns = ran_ns,
                                     .system_ns = (int64_t)ticks * t->ns_per_tick,
                                     .ready_ns = was_ready_ns,
                                     .processor = stat.processor};
  if (activity.system_ns > ran_ns) activity.system_ns = ran_ns; /* ticks are coarse */
  int64_t n_looks = 0;
  for (int i = 0; i < WAIT_COUNT; i++) {
    n_looks += activity.looks[i] = k->looks[i];
    k->looks[i] = 0;
  }
  if (n_looks > 0 && span_ns > ran_ns + was_ready_ns)
    t->disk_ns += (double)(span_ns - ran_ns - was_ready_ns) * (double)activity.looks[WAIT_DISK] / (double)n_looks;
  if (known) k->system_ticks = stat.system_ticks;
  sink->activity(sink->context, &activity);
}

struct listing {
  struct threads *threads;
  int64_t process;
};

static void take_thread(void *context, const char *name) {
  struct listing *l = context;
  struct threads *t = l->threads;
  int64_t id;
  if (!number_int64(name, strlen(name), &id) || id <= 0) return;
  for (size_t i = 0; i < t->n; i++) {
    if (t->known[i].thread != id || t->known[i].process != l->process) continue;
    t->known[i].generation = t->generation;
    return;
  }
  if (t->n == KNOWN_MAX) return;
  t->known[t->n++] = (struct known_thread){.process = l->process, .thread = id, .generation = t->generation};
}

/* Those that ended make room. */
static void forget_gone(struct threads *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++) {
    bool gone = t->generation - t->known[i].generation >= GONE_AFTER;
    if (gone) t->n_busy -= t->known[i].busy;
    else t->known[n++] = t->known[i];
  }
  t->n = n;
}

static void tell_sums(struct threads *t, double span_ns, const struct sampler_sink *sink) {
  if (span_ns > 0) {
    sink->value(sink->context, "server.processors_used", t->used_ns / span_ns);
    sink->value(sink->context, "server.processors_waited", t->waited_ns / span_ns);
    sink->value(sink->context, "server.processors_ended", t->ended_ns / span_ns);
    sink->value(sink->context, "server.disk_waited", t->disk_ns / span_ns);
  }
  t->used_ns = t->waited_ns = t->disk_ns = t->ended_ns = 0;
}

static void threads_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct threads *t = state;
  if (t->pid <= 0) return;
  t->generation++;
  process_tree_read(t->root, t->pid, &t->tree);
  for (size_t i = 0; i < t->tree.n; i++) {
    struct listing listing = {t, t->tree.pids[i]};
    process_threads(t->root, listing.process, take_thread, &listing);
  }
  forget_gone(t);
  if (t->pools_at == 0 || t->generation - t->pools_at >= POOLS_EVERY) {
    for (size_t i = 0; i < t->tree.n; i++) pool_code_read(t->root, t->tree.pids[i], &t->pools);
    t->pools_at = t->generation;
  }
  for (size_t i = 0; i < t->n; i++)
    if (t->known[i].generation == t->generation) sample_thread(t, &t->known[i], now_ns, sink);
  int64_t span_ns = t->last_ns > 0 ? now_ns - t->last_ns : 0;
  for (size_t i = 0; i < t->tree.n; i++) sample_ended(t, t->tree.pids[i], span_ns, now_ns, sink);
  tell_sums(t, (double)span_ns, sink);
  t->last_ns = now_ns;
}

static void threads_close(void *state) {
  struct threads *t = state;
  free(t->known);
  free(t);
}

const struct sampler sampler_threads;
const struct sampler sampler_threads = {.name = "threads",
                                        .summary = "the serving process's threads: running, waiting for a processor, waiting for what",
                                        .open = threads_open,
                                        .watch = threads_watch,
                                        .look = threads_look,
                                        .sample = threads_sample,
                                        .close = threads_close};
