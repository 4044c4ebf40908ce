/* Requests at the beginning of what is counted are slower than all that come after: something was still being made ready. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "attribute/live_start.h"

#define OTHERS_MOST 0.1 /* of the processors */

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_start *s = &live->start;
  /* Whom others take processors from is slow whenever they do: that says nothing of its start. */
  if (!live_start_is_cold(s) || live_other_processors(live) >= OTHERS_MOST * (double)live->n_processors) return false;
  ret->share = s->excess;
  ret->bounded = true;
  ret->bound = s->excess;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%sthe first %lld of %lld counted requests took %.4g ms on average, those behind the first parts %.4g ms, the slowest "
                 "part of these %.4g",
                 s->n_sessions > 1 ? "in every session: " : "", (long long)s->n_first, (long long)s->n, s->first_ns / 1e6,
                 s->later_ns / 1e6, s->most_later_ns / 1e6);
  return true;
}

const struct rule rule_cold_start;
const struct rule rule_cold_start = {
    .name = "cold_start",
    .summary = "the first counted requests are slower than all later ones",
    .threshold =
        "the mean of the first tenth of the counted requests (fifth, where they are fewer than 50) 1.5 times that of every later "
        "part, and what the first three parts took beyond the others 3 % of all requests' time; of all sessions as one, or of each; not "
        "where other processes use a tenth of the processors",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "The counted window holds a cold start",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_DEMAND),
              .open = "whether it compiles, loads, fills caches, or was busy with something else",
              .next = "warm up longer (method.warm_up), or compile and load before the server says that it is ready",
              .confirm = "measure again on the same server without restarting it: a cold start does not come back",
              .bound_holds = "of the time of these requests, if later ones stay as they are"}};
