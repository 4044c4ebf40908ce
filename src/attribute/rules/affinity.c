/* The server's threads may run on few of the machine's processors, and wait for them. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double running = 0, ready = 0, idle = live_idle_processors(live);
  int64_t allowed = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if (l->n_processors == 0 || l->n_processors >= live->n_processors || l->running + l->ready < 0.1) continue;
    if (l->n_processors > allowed) allowed = l->n_processors;
    running += l->running;
    ready += l->ready;
  }
  /* Where no processor is idle, threads that may run on all would wait as well. */
  if (allowed == 0 || !(idle >= 0.3) || (running < 0.85 * (double)allowed && ready < 0.1 * (running + ready))) return false;
  ret->share = fmax(ready / fmax(running + ready, 1e-9), 0.01);
  (void)snprintf(ret->named, sizeof ret->named, "affinity: %lld of %lld processors", (long long)allowed, (long long)live->n_processors);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "threads that may run on %lld of the machine's %lld processors use %.2f of them, and wait for one %.0f %% of the time that "
      "they could run, while %.1f are idle",
      (long long)allowed, (long long)live->n_processors, running, 100 * ready / fmax(running + ready, 1e-9), idle);
  return true;
}

const struct rule rule_affinity;
const struct rule rule_affinity = {
    .name = "affinity",
    .summary = "few processors allowed",
    .threshold = "fewer than the machine has, 85 % of them in use or a tenth of the time waiting for them, and 0.3 of a processor idle",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Its threads may run on few of the processors",
              .perturber = "affinity",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_SERVING),
              .open = "who set that: taskset, a cpuset, or the server itself",
              .next = "let it run on more processors: taskset -p, or cpuset.cpus; or its own setting, where it binds its threads itself",
              .confirm = "let it run on all processors and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
