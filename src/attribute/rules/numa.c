/* The threads run on one NUMA node, and most of their memory lies on another. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_around *a = &live->around;
  if (!(a->node_run >= 0.8) || !(a->memory_elsewhere >= 0.5)) return false;
  ret->share = fmin(1, a->node_run * a->memory_elsewhere);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "of the looks at running threads %.0f %% found them on one node, and %.0f %% of the server's pages lie on others",
                 100 * a->node_run, 100 * a->memory_elsewhere);
  return true;
}

const struct rule rule_numa;
const struct rule rule_numa = {
    .name = "numa",
    .summary = "memory on another NUMA node than the threads",
    .threshold = "80 % of the looks at running threads on one node, and half of the pages on others",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Its memory lies on another NUMA node than its threads",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM),
              .open = "which of those pages it reads often; `lynxbench calibrate` shows how much slower the other node's memory is",
              .next = "start it with numactl --cpunodebind=N --membind=N",
              .confirm = "bind both to one node and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
