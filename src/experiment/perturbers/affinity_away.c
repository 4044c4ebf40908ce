/* The server's threads may run on every processor of the machine, and not only on those that it was given. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "experiment/perturber.h"
#include "telemetry/process_tree.h"

enum { BOUND_MAX = 2048 };

struct affinity {
  struct perturbing request;
  struct undo_step *steps;
  size_t n;
  const struct tree_process *at;
  cpu_set_t all;
};

static void take_thread(void *context, const char *name) {
  struct affinity *a = context;
  long long thread = atoll(name);
  if (thread <= 0 || a->n == BOUND_MAX) return;
  struct undo_step *b = &a->steps[a->n];
  *b = (struct undo_step){.kind = UNDO_AFFINITY, .process = a->at->pid, .thread = thread, .started_ticks = a->at->started_ticks};
  if (sched_getaffinity((pid_t)thread, sizeof b->processors, &b->processors) == 0) a->n++;
}

static void list_threads(struct affinity *a) {
  a->n = 0;
  for (size_t i = 0; i < a->request.n_processes; i++) {
    a->at = &a->request.processes[i];
    process_threads(a->request.root, a->at->pid, take_thread, a);
  }
}

/* Every one that the kernel knows of: those beyond what is there are ignored by it. */
static bool allow_all(const struct affinity *a) {
  bool any = false;
  for (size_t i = 0; i < a->n; i++) any = sched_setaffinity((pid_t)a->steps[i].thread, sizeof a->all, &a->all) == 0 || any;
  return any;
}

static size_t affinity_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct affinity *a = xalloc(1, sizeof *a);
  long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
  bool narrow = false;
  a->request = *request;
  a->steps = xalloc(BOUND_MAX, sizeof *a->steps);
  *ret_state = a;
  for (size_t i = 0; i < CPU_SETSIZE; i++) CPU_SET(i, &a->all);
  list_threads(a);
  for (size_t i = 0; i < a->n; i++) narrow = narrow || CPU_COUNT(&a->steps[i].processors) < n_processors;
  if (most == 0 || !narrow) {
    (void)snprintf(why, size, "affinity: the server may use every processor: there is nothing to take away");
    return 0;
  }
  /* What a user may not do shows now, by setting what is there already. */
  if (sched_setaffinity((pid_t)a->steps[0].thread, sizeof a->all, &a->steps[0].processors) != 0) {
    (void)snprintf(why, size, "affinity: only the server's own user or root may change where it runs");
    return 0;
  }
  for (size_t i = 0; i < a->n; i++) undo_add(request->undo, &a->steps[i]);
  target_name(ret, "affinity", "every processor");
  return 1;
}

static double affinity_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct affinity *a = state;
  (void)target;
  if (!undo_hold(a->request.undo)) return 1;
  bool done = allow_all(a);
  (void)perturber_wait(&a->request, until_ns);
  for (size_t i = 0; i < a->n; i++)
    if (a->steps[i].thread == a->steps[i].process) undo_affinity(a->request.root, a->steps, a->n, &a->steps[i]);
  undo_release(a->request.undo);
  return done ? slowness : 1;
}

static void affinity_close(void *state) {
  struct affinity *a = state;
  free(a->steps);
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
    .close = affinity_close,
    .whose = perturber_of_system};
