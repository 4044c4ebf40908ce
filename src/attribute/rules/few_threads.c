/* One thread computes while processors are idle. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_module.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_lane *l = live_busiest(&live->at);
  double computing = 0;
  for (size_t k = 0; k < l->n_parts; k++) {
    const struct live_part *p = &l->parts[k];
    bool computes = (p->kind == LIVE_LIBRARY && !live_is_c_library(p->what)) || p->kind == LIVE_PROGRAM; /* copies go no faster on two */
    if (computes && !p->spins) computing += p->share;
  }
  bool idle = live->n_processors > 1 && live_idle_processors(live) >= 0.4;
  bool allowed = l->n_processors == 0 || l->n_processors > 1;
  if (live_still_grows(live) || l->busiest < LIVE_FULL || computing < 0.6 * l->running || !idle || !allowed || live->at.running > 1.4)
    return false;
  ret->share = (1 - live->around.busy);
  live_name_threads(live, 1, live->n_processors - 1, ret);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "%.0f %% of the full thread's running time is native code's, which other threads could share, and %.1f processors are idle%s%.80s",
      100 * computing / fmax(l->running, 1e-9), live_idle_processors(live), ret->named[0] != 0 ? "; " : "", ret->named);
  return true;
}

const struct rule rule_few_threads;
const struct rule rule_few_threads = {
    .name = "few_threads",
    .summary = "one thread computes",
    .threshold = "a thread full, 60 % of its running time in native code (not the C library), 0.4 of a processor idle, and a throughput "
                 "that no longer grows",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "One thread computes while processors are idle",
              .perturber = "setting",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SERVING),
              .open = "whether more threads would compute faster: small products do not",
              .next = "divide that work among threads (of a library: its own setting of threads), or start more workers or replicas",
              .confirm = "double its threads and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
