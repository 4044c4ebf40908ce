/* Running requests lose their key-value cache to others, or wait since it is full. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_around *a = &live->around;
  double counted = (double)live->precision->n_counted, taken = counted > 0 && a->preemptions > 0 ? a->preemptions / counted : 0;
  bool full = a->cache_use >= 0.95 && a->waiting >= 1;
  if (taken < 0.01 && !full) return false;
  ret->share = fmin(1, fmax(taken, full ? a->cache_use : 0));
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "by the server's own metrics %.4g requests lost their cache in the counted windows (%.3g for each counted request), the "
                 "cache is %.0f %% full, %.3g requests wait",
                 a->preemptions > 0 ? a->preemptions : 0, taken, isfinite(a->cache_use) ? 100 * a->cache_use : 0,
                 isfinite(a->waiting) ? a->waiting : 0);
  return true;
}

const struct rule rule_cache_pressure;
const struct rule rule_cache_pressure = {
    .name = "cache_pressure",
    .summary = "requests lose their key-value cache to others",
    .threshold = "preempted or retracted requests 1 % of the counted ones, or the cache 95 % full while a request or more waits",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "The key-value cache is too small for this load",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_DEMAND),
              .open = "whether the cache could have more memory, or the load asks for more than fits",
              .next = "give the cache more memory, a narrower type or shorter contexts; or admit fewer requests at once",
              .confirm = "measure at half of the requests in flight: without preemptions the pace of tokens rises",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
