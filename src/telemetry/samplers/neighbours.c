/* Who else used this machine's processors: the processes that are neither lynxbench nor the serving process or one that it started.
 * Series   neighbour.NAME.PID: processors in use, of the five busiest since the sample before; none below a hundredth of one
 *          asked.NAME.PID, asks.NAME.PID: of these, connections that the server made to them, as to a backend, and they to it, as clients
 * Cost     one file per process of the machine, every second sample */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/connected.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { PROCESSES_MAX = 8192, TOLD = 5, LEAST_PERCENT = 1 };
#define EVERY_NS INT64_C(900000000)

struct process {
  int64_t pid;
  unsigned long long ticks, used; /* in all; since the sample before */
  char name[32];
};

struct neighbours {
  const struct root *root;
  int64_t pid, last_ns;
  double ticks_per_s;
  struct process *now, *before; /* by number, as the folder is sorted by text: found by searching */
  size_t n_now, n_before;
  struct connected *connected;
  struct process_tree tree, own; /* of the serving process; of lynxbench, whose children profilers are */
};

static bool neighbours_open(const struct root *root, void **ret_state) {
  struct neighbours *n = xalloc(1, sizeof *n);
  long per_second = sysconf(_SC_CLK_TCK);
  n->root = root;
  n->ticks_per_s = per_second > 0 ? (double)per_second : 100;
  n->now = xalloc(PROCESSES_MAX, sizeof *n->now);
  n->before = xalloc(PROCESSES_MAX, sizeof *n->before);
  n->connected = connected_new();
  *ret_state = n;
  return true;
}

static void neighbours_watch(void *state, int64_t pid) {
  struct neighbours *n = state;
  n->pid = pid;
  n->last_ns = 0;
  n->n_before = 0;
}

static int by_pid(const void *a, const void *b) {
  const struct process *x = a, *y = b;
  return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_use(const void *a, const void *b) {
  const struct process *x = a, *y = b;
  if (x->used != y->used) return x->used > y->used ? -1 : 1;
  return by_pid(a, b);
}

static void take_process(void *context, const char *name) {
  struct neighbours *n = context;
  int64_t pid;
  struct process_stat stat;
  if (n->n_now == PROCESSES_MAX || !number_int64(name, strlen(name), &pid) || pid <= 0) return;
  if (process_tree_holds(&n->tree, pid) || process_tree_holds(&n->own, pid)) return;
  if (!process_read(n->root, pid, &stat)) return;
  struct process *p = &n->now[n->n_now++];
  *p = (struct process){.pid = pid, .ticks = stat.user_ticks + stat.system_ticks};
  (void)snprintf(p->name, sizeof p->name, "%.31s", stat.name);
}

static void tell(struct neighbours *n, const struct process *p, double share, const struct sampler_sink *sink) {
  char series[80];
  size_t asked, asks;
  (void)snprintf(series, sizeof series, "neighbour.%s.%lld", p->name, (long long)p->pid);
  sink->value(sink->context, series, share);
  connected_with(n->connected, n->root, p->pid, &asked, &asks);
  (void)snprintf(series, sizeof series, "asked.%s.%lld", p->name, (long long)p->pid);
  if (asked > 0) sink->value(sink->context, series, (double)asked);
  (void)snprintf(series, sizeof series, "asks.%s.%lld", p->name, (long long)p->pid);
  if (asks > 0) sink->value(sink->context, series, (double)asks);
}

static void neighbours_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct neighbours *n = state;
  if (n->pid <= 0 || (n->last_ns != 0 && now_ns - n->last_ns < EVERY_NS)) return;
  process_tree_read(n->root, n->pid, &n->tree);
  process_tree_read(n->root, (int64_t)getpid(), &n->own);
  n->n_now = 0;
  (void)root_list(n->root, "/proc", 4 * PROCESSES_MAX, take_process, n);
  if (n->n_now > 0) qsort(n->now, n->n_now, sizeof *n->now, by_pid);
  for (size_t i = 0; i < n->n_now; i++) {
    const struct process *old = n->n_before > 0 ? bsearch(&n->now[i], n->before, n->n_before, sizeof *n->before, by_pid) : NULL;
    if (old != NULL && n->now[i].ticks > old->ticks) n->now[i].used = n->now[i].ticks - old->ticks;
  }
  (void)memcpy(n->before, n->now, n->n_now * sizeof *n->now);
  n->n_before = n->n_now;
  double span_s = (double)(now_ns - n->last_ns) / 1e9;
  bool first = n->last_ns == 0;
  n->last_ns = now_ns;
  if (first || n->n_now == 0) return;
  qsort(n->now, n->n_now, sizeof *n->now, by_use);
  for (size_t i = 0; i < TOLD && i < n->n_now; i++) {
    double share = (double)n->now[i].used / n->ticks_per_s / span_s;
    if (share * 100 < LEAST_PERCENT) break;
    if (i == 0) connected_read(n->connected, n->root, &n->tree);
    tell(n, &n->now[i], share, sink);
  }
}

static void neighbours_close(void *state) {
  struct neighbours *n = state;
  free(n->now);
  free(n->before);
  connected_free(n->connected);
  free(n);
}

const struct sampler sampler_neighbours;
const struct sampler sampler_neighbours = {.name = "neighbours",
                                           .summary = "the five other processes that used the processors most",
                                           .open = neighbours_open,
                                           .watch = neighbours_watch,
                                           .sample = neighbours_sample,
                                           .close = neighbours_close};
