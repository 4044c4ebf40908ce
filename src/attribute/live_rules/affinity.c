/* The server's threads may run on few of the machine's processors, and wait for them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_rule.h"

static bool apply(const struct live *live, struct finding *ret) {
  const struct live_lane *l = live_busiest(&live->at);
  double ready = live->at.ready / fmax(live->at.running + live->at.ready, 1e-9);
  if (l->n_processors == 0 || live->n_processors == 0 || l->n_processors >= live->n_processors) return false;
  bool full = live->at.running >= 0.85 * (double)l->n_processors;
  if (!full && ready < 0.1) return false;
  ret->share = fmax(ready, 0.01);
  (void)snprintf(ret->named, sizeof ret->named, "affinity: %lld of %lld processors", (long long)l->n_processors,
                 (long long)live->n_processors);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "its threads may run on %lld of the machine's %lld processors, use %.2f of them, and wait for one %.0f %% of the time "
                 "that they could run",
                 (long long)l->n_processors, (long long)live->n_processors, live->at.running, 100 * ready);
  return true;
}

const struct live_rule live_rule_affinity;
const struct live_rule live_rule_affinity = {
    .name = "affinity",
    .summary = "few processors allowed",
    .threshold = "fewer than the machine has, and 85 % of them in use or a tenth of the time waiting for them",
    .apply = apply,
    .found = {.title = "Its threads may run on few of the processors",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_SERVING),
              .open = "who set that: taskset, a cpuset, or the server itself",
              .next = "let it run on more processors (taskset -p, cpuset.cpus)",
              .confirm = "let it run on all processors and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
