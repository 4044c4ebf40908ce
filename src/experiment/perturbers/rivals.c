/* Threads of equal priority on the processors that the server may use. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/perturber.h"

enum { RIVALS_MAX = 256 };
#define PERIOD_NS INT64_C(20000000)

struct rival {
  pthread_t thread;
  struct contention *of;
  int processor;
};

struct contention {
  struct perturbing request;
  struct rival rivals[RIVALS_MAX];
  size_t n;
  double share; /* of the time that each asks for */
  atomic_bool over;
};

static size_t contention_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct contention *c = xalloc(1, sizeof *c);
  cpu_set_t allowed;
  c->request = *request;
  *ret_state = c;
  if (most == 0 || request->n_processes == 0 || sched_getaffinity((pid_t)request->processes[0].pid, sizeof allowed, &allowed) != 0) {
    (void)snprintf(why, size, "contention: which processors the server may use cannot be read");
    return 0;
  }
  for (int i = 0; i < CPU_SETSIZE && c->n < RIVALS_MAX; i++)
    if (CPU_ISSET(i, &allowed)) c->rivals[c->n++] = (struct rival){.of = c, .processor = i};
  target_name(ret, "contention", "its processors");
  return 1;
}

static void *compete(void *context) {
  const struct rival *rival = context;
  struct contention *c = rival->of;
  (void)perturber_bind(rival->processor, SCHED_OTHER);
  while (!atomic_load(&c->over)) {
    int64_t from = clock_now(&clock_system), busy = (int64_t)((double)PERIOD_NS * c->share);
    while (clock_now(&clock_system) - from < busy && !atomic_load(&c->over)) {}
    const struct timespec rest = {.tv_nsec = (long)(PERIOD_NS - busy)};
    if (PERIOD_NS > busy) (void)nanosleep(&rest, NULL);
  }
  return NULL;
}

/* Rivals are our own threads: they end with us, whatever ends us. What it cost the server is read from its threads' own waits. */
static double contention_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct contention *c = state;
  size_t n = 0;
  (void)target;
  c->share = slowness - 1 < 1 ? slowness - 1 : 1;
  atomic_store(&c->over, false);
  while (n < c->n && pthread_create(&c->rivals[n].thread, NULL, compete, &c->rivals[n]) == 0) n++;
  (void)perturber_wait(&c->request, until_ns);
  atomic_store(&c->over, true);
  for (size_t i = 0; i < n; i++) (void)pthread_join(c->rivals[i].thread, NULL);
  return n == c->n ? slowness : 1;
}

const struct perturber perturber_rivals;
const struct perturber perturber_rivals = {
    .name = "contention",
    .summary = "rivals for the processors",
    .does = "threads of lynxbench compute on every processor that the server may use for a part of the time; they end with it",
    .levels = {1.25, 1.6},
    .by_waiting = true,
    .open = contention_open,
    .hold = contention_hold,
    .close = free,
    .whose = perturber_of_system};
