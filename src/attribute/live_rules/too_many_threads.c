/* The server's own threads wait for processors that the server itself fills. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_rule.h"

static bool apply(const struct live *live, struct finding *ret) {
  double others = live->precision->conditions.others, ready = live->at.ready / fmax(live->at.running + live->at.ready, 1e-9);
  const struct live_lane *l = live_busiest(&live->at);
  int64_t allowed = l->n_processors > 0 ? l->n_processors : live->n_processors;
  double wanted = (double)(allowed > live->at.concurrency ? allowed : live->at.concurrency); /* a thread per request is no surplus */
  if (ready < 0.25 || others > 0.1 || allowed == 0 || live->at.running + live->at.ready < 1.3 * wanted ||
      (live->n_processors > 0 && allowed < live->n_processors))
    return false;
  const char *threads = live_fact(live, LAYER_RUNTIME, "environment.OMP_NUM_THREADS");
  ret->share = ready;
  if (threads != NULL) (void)snprintf(ret->named, sizeof ret->named, "OMP_NUM_THREADS=%.40s", threads);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.1f threads want to run on %lld processors; they are ready and wait for one %.0f %% of the time that they could run",
                 live->at.running + live->at.ready, (long long)allowed, 100 * ready);
  return true;
}

const struct live_rule live_rule_too_many_threads;
const struct live_rule live_rule_too_many_threads = {
    .name = "too_many_threads",
    .summary = "more runnable threads than processors",
    .threshold = "a quarter of the time waiting, 30 % more runnable threads than processors and than requests in flight, others below 10 %",
    .apply = apply,
    .found = {.title = "More threads want to run than there are processors",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SERVING),
              .open = "which of them are needed",
              .next = "start as many compute threads as there are processors (OMP_NUM_THREADS, intra-op threads), or fewer workers",
              .confirm = "halve the compute threads and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
