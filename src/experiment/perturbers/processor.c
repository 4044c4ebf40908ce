/* A process of the serving tree, or all of it, is stopped for a part of every period. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/perturber.h"
#include "telemetry/process_tree.h"

enum { TOLD_AT_MOST = 5, CALIBRATIONS = 20 };
#define LEAST_USE 0.02 /* of a processor: a process below it is not worth a turn */

struct stopped {
  const struct tree_process *process;
  int fd; /* of the process: a number may come to belong to another one */
};

struct processor {
  struct perturbing request;
  struct stopped all[PROCESSES_MAX];
  size_t n;
  size_t chosen[TARGETS_MAX]; /* per target: its place in all; n: every one */
  double late_ns;             /* from when a stop was sent until it was one, less the same of letting go on */
};

/* --- how long a stop really is --- */

_Noreturn static void compute(void) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct sched_param none = {.sched_priority = 0};
  (void)sched_setscheduler(0, SCHED_OTHER, &none);
  for (volatile unsigned long n = 0;; n++) {}
}

/* Time that it ran or could have: while it is stopped, neither. */
static bool read_able(const struct root *root, pid_t pid, double *ret_ns) {
  char path[64], line[128];
  long long running, ready;
  (void)snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
  if (!root_read_line(root, path, line, sizeof line) || sscanf(line, "%lld %lld", &running, &ready) != 2) return false;
  *ret_ns = (double)running + (double)ready;
  return true;
}

/* A process of our own that only computes is stopped as the server will be, while the server is under load: the kernel's count of its time
 * says how much of each stop it felt. */
static void calibrate(struct processor *p) {
  double before, after;
  int64_t asked_ns = 0, length = p->request.period_ns / 4;
  pid_t pid = fork();
  if (pid == 0) compute();
  if (pid < 0) return;
  perturber_sleep(clock_now(&clock_system) + 5 * length);
  int64_t begun = clock_now(&clock_system);
  bool read = read_able(p->request.root, pid, &before);
  for (int i = 0; i < CALIBRATIONS && read && !atomic_load(p->request.stop); i++) {
    perturber_sleep(clock_now(&clock_system) + length);
    (void)kill(pid, SIGSTOP);
    int64_t from = clock_now(&clock_system);
    perturber_sleep(from + length);
    (void)kill(pid, SIGCONT);
    asked_ns += clock_now(&clock_system) - from;
  }
  perturber_sleep(clock_now(&clock_system) + length);
  int64_t span = clock_now(&clock_system) - begun;
  read = read && read_able(p->request.root, pid, &after);
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);
  if (read) p->late_ns = ((double)asked_ns - ((double)span - (after - before))) / CALIBRATIONS;
  /* A machine that was taken away meanwhile says nothing. */
  if (p->late_ns > (double)length / 4 || p->late_ns < -(double)length / 4) p->late_ns = 0;
}

/* --- whom --- */

static void add_target(struct processor *p, struct target *ret, size_t at, size_t place, const char *name) {
  p->chosen[at] = place;
  target_name(&ret[at], "processor", name);
}

/* The busiest first, then all of them together. */
static size_t choose(struct processor *p, struct target *ret, size_t most) {
  size_t n = 0, limit = most > TOLD_AT_MOST ? TOLD_AT_MOST : most;
  bool taken[PROCESSES_MAX] = {false};
  while (n + 1 < limit) {
    size_t best = p->n;
    for (size_t i = 0; i < p->n; i++)
      if (!taken[i] && p->all[i].process->processors >= LEAST_USE &&
          (best == p->n || p->all[i].process->processors > p->all[best].process->processors))
        best = i;
    if (best == p->n) break;
    taken[best] = true;
    add_target(p, ret, n++, best, p->all[best].process->name);
  }
  if (n > 1) add_target(p, ret, n++, p->n, "all");
  return n;
}

/* Everything that keeps a process from being stopped without harm. */
static const char *refusal(const struct tree_process *process) {
  if (process->terminal)
    return "it has a terminal, whose shell would take a stop for Ctrl-Z; start the server with setsid, nohup or as a service";
  return process->stopped ? "somebody else has stopped it" : NULL;
}

static size_t processor_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct processor *p = xalloc(1, sizeof *p);
  p->request = *request;
  *ret_state = p;
  for (size_t i = 0; i < request->n_processes; i++) {
    const struct tree_process *process = &request->processes[i];
    const char *refused = refusal(process);
    int fd = refused == NULL ? pidfd_open((pid_t)process->pid, 0) : -1;
    if (refused != NULL || (fd >= 0 && pidfd_send_signal(fd, 0, NULL, 0) != 0)) {
      (void)snprintf(why, size, "processor: %s (pid %lld) cannot be stopped: %s", process->name, (long long)process->pid,
                     refused != NULL ? refused : "only its own user or root may");
      if (fd >= 0) (void)close(fd);
      return 0;
    }
    if (fd < 0) continue; /* it has ended */
    p->all[p->n++] = (struct stopped){process, fd};
    undo_add(request->undo, &(struct undo_step){.kind = UNDO_CONTINUE, .process = process->pid, .started_ticks = process->started_ticks});
  }
  size_t n = choose(p, ret, most);
  if (n > 0) calibrate(p);
  if (n == 0) (void)snprintf(why, size, "processor: no process of the server used %g of a processor", LEAST_USE);
  return n;
}

static void send_to(const struct processor *p, size_t target, int sig) {
  size_t place = p->chosen[target];
  for (size_t i = 0; i < p->n; i++)
    if (place == p->n || place == i) (void)pidfd_send_signal(p->all[i].fd, sig, NULL, 0); /* one that has ended is none */
}

static double processor_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct processor *p = state;
  int64_t begun = clock_now(&clock_system), stopped_ns = 0, n = 0, period = p->request.period_ns;
  int64_t length = (int64_t)((double)period * (1 - 1 / slowness));
  if (!undo_hold(p->request.undo)) return 1;
  for (int64_t at = begun; at + period <= until_ns && !atomic_load(p->request.stop); at += period) {
    /* At a random moment of the period, so that it does not fall in step with the server's own. */
    perturber_sleep(at + (int64_t)random_below(p->request.random, (uint64_t)(period - length)));
    send_to(p, target, SIGSTOP);
    int64_t from = clock_now(&clock_system);
    perturber_sleep(from + length);
    send_to(p, target, SIGCONT);
    stopped_ns += clock_now(&clock_system) - from;
    n++;
    undo_beat(p->request.undo);
  }
  undo_release(p->request.undo);
  perturber_sleep(until_ns);
  double span = (double)(clock_now(&clock_system) - begun), lost = (double)stopped_ns - (double)n * p->late_ns;
  return span > 0 && lost > 0 && lost < span ? span / (span - lost) : 1;
}

static void processor_close(void *state) {
  struct processor *p = state;
  for (size_t i = 0; i < p->n; i++) (void)close(p->all[i].fd);
  free(p);
}

const struct perturber perturber_processor;
const struct perturber perturber_processor = {
    .name = "processor",
    .summary = "the processor time of one process, or of all of them",
    .does = "stops it by SIGSTOP for a part of every period, then lets it go on by SIGCONT; nothing of it changes but the time",
    .levels = {1.11, 1.4},
    .open = processor_open,
    .hold = processor_hold,
    .close = processor_close};
