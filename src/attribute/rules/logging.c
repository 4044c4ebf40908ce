/* Writing logs takes much of a busy thread. */
#include <stdio.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double sum = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      if (!live_logs(p)) continue;
      sum += p->share;
      if (ret->named[0] == 0) (void)snprintf(ret->process, sizeof ret->process, "%s", live->at.lanes[i].program);
      if (ret->named[0] == 0) (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", p->what, p->where);
    }
  if (sum < 0.05 || sum < 0.05 * live->at.running) return false;
  ret->share = sum / live->at.running;
  (void)snprintf(ret->evidence, sizeof ret->evidence, "Python's logging runs %.0f %% of the server's running time", 100 * ret->share);
  const struct live_work work = live_work_of(live, live_logs);
  live_bound(live, &work, ret);
  return true;
}

const struct rule rule_logging;
const struct rule rule_logging = {.name = "logging",
                                  .summary = "logging in a busy thread",
                                  .threshold = "5 % of the window and of the running time",
                                  .needs = NEEDS_THREADS,
                                  .apply = apply,
                                  .found = {.title = "Writing logs takes much of the running time",
                                            .perturber = "function",
                                            .otherwise = "processor",
                                            .rung = RUNG_ACCOUNTED,
                                            .symptom = LAYER_APPLICATION,
                                            .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SERVING),
                                            .open = "which messages those are",
                                            .next = "log less under load, or from another thread",
                                            .confirm = "raise the log level and measure again",
                                            .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
