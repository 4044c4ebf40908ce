/* The server's threads may run on every processor of the machine, and not only on those that it was given. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "experiment/perturber.h"
#include "telemetry/process_tree.h"

enum { BOUND_MAX = 2048 };

struct bound {
  const struct tree_process *process;
  int64_t thread;
  cpu_set_t own;
};

struct affinity {
  struct perturbing request;
  struct bound *threads;
  size_t n;
  const struct tree_process *at;
  cpu_set_t all;
};

static void take_thread(void *context, const char *name) {
  struct affinity *a = context;
  long long thread = atoll(name);
  if (thread <= 0 || a->n == BOUND_MAX) return;
  struct bound *b = &a->threads[a->n];
  *b = (struct bound){.process = a->at, .thread = thread};
  if (sched_getaffinity((pid_t)thread, sizeof b->own, &b->own) == 0) a->n++;
}

static void list_threads(struct affinity *a) {
  char path[64];
  a->n = 0;
  for (size_t i = 0; i < a->request.n_processes; i++) {
    a->at = &a->request.processes[i];
    (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)a->at->pid);
    (void)root_list(a->request.root, path, THREADS_MAX, take_thread, a);
  }
}

/* Every one that the kernel knows of: those beyond what is there are ignored by it. */
static bool allow_all(const struct affinity *a) {
  bool any = false;
  for (size_t i = 0; i < a->n; i++) any = sched_setaffinity((pid_t)a->threads[i].thread, sizeof a->all, &a->all) == 0 || any;
  return any;
}

static size_t affinity_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct affinity *a = xalloc(1, sizeof *a);
  long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
  bool narrow = false;
  a->request = *request;
  a->threads = xalloc(BOUND_MAX, sizeof *a->threads);
  *ret_state = a;
  for (size_t i = 0; i < CPU_SETSIZE; i++) CPU_SET(i, &a->all);
  list_threads(a);
  for (size_t i = 0; i < a->n; i++) narrow = narrow || CPU_COUNT(&a->threads[i].own) < n_processors;
  if (most == 0 || !narrow) {
    (void)snprintf(why, size, "affinity: the server may use every processor: there is nothing to take away");
    return 0;
  }
  /* What a user may not do shows now, by setting what is there already. */
  if (sched_setaffinity((pid_t)a->threads[0].thread, sizeof a->all, &a->threads[0].own) != 0) {
    (void)snprintf(why, size, "affinity: only the server's own user or root may change where it runs");
    return 0;
  }
  for (size_t i = 0; i < a->n; i++)
    undo_add(request->undo, &(struct undo_step){.kind = UNDO_AFFINITY,
                                                .process = a->threads[i].process->pid,
                                                .thread = a->threads[i].thread,
                                                .started_ticks = a->threads[i].process->started_ticks,
                                                .processors = a->threads[i].own});
  target_name(ret, "affinity", "every processor");
  return 1;
}

/* A thread that was started meanwhile has the wide set of its parent: it gets that of its process's first thread. */
static void narrow_again(struct affinity *a) {
  struct bound *before = xalloc(BOUND_MAX, sizeof *before);
  size_t n_before = a->n;
  for (size_t i = 0; i < n_before; i++) before[i] = a->threads[i];
  list_threads(a);
  for (size_t i = 0; i < a->n; i++) {
    const cpu_set_t *own = NULL;
    for (size_t k = 0; k < n_before; k++)
      if (before[k].process == a->threads[i].process && (before[k].thread == a->threads[i].thread || own == NULL)) own = &before[k].own;
    if (own != NULL) (void)sched_setaffinity((pid_t)a->threads[i].thread, sizeof *own, own);
  }
  for (size_t i = 0; i < n_before; i++) a->threads[i] = before[i];
  a->n = n_before;
  free(before);
}

static double affinity_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct affinity *a = state;
  (void)target;
  if (!undo_hold(a->request.undo)) return 1;
  bool done = allow_all(a);
  (void)perturber_wait(&a->request, until_ns);
  narrow_again(a);
  undo_release(a->request.undo);
  return done ? slowness : 1;
}

static void affinity_close(void *state) {
  struct affinity *a = state;
  free(a->threads);
  free(a);
}

const struct perturber perturber_affinity_away;
const struct perturber perturber_affinity_away = {
    .name = "affinity",
    .summary = "the limit to some processors, taken away",
    .does = "lets every thread of the server run on every processor, then gives each its own set back",
    .levels = {2},
    .takes_away = true,
    .open = affinity_open,
    .hold = affinity_hold,
    .close = affinity_close};
