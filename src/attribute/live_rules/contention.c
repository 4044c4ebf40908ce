/* Other processes take the processors while the server's threads are ready to run. */
#include <stdio.h>

#include "attribute/live_rule.h"

static bool apply(const struct live *live, struct finding *ret) {
  double others = live->precision->conditions.others, ready = live_ready_share(live);
  if (!(others >= 0.1) || ready < 0.1) return false;
  ret->share = ready;
  bool one = live->n_neighbours > 0 && live->neighbours[0].processors >= 0.5 * others * (double)live->n_processors;
  if (one) (void)snprintf(ret->named, sizeof ret->named, "%.120s", live->neighbours[0].name);
  else (void)snprintf(ret->next, sizeof ret->next, "see what else runs there (top) and move it, or give the server processors of its own");
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "other processes use %.0f %% of the processors%s%.120s; the server's threads are ready and wait for a processor %.0f %% "
                 "of their time",
                 100 * others, one ? ", most of it " : ", no one of them most of it", ret->named, 100 * ready);
  return true;
}

const struct live_rule live_rule_contention;
const struct live_rule live_rule_contention = {
    .name = "contention",
    .summary = "other processes on the processors",
    .threshold = "10 % of the processors, and a tenth of the time of the server's working threads",
    .apply = apply,
    .found = {.title = "Other processes take its processors",
              .perturber = "neighbour",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM),
              .open = "whose processes those are",
              .next = "move the process named elsewhere, or give the server processors of its own",
              .confirm = "stop the process named and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
