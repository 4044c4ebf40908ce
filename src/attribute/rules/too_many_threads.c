/* The server's own threads wait for processors that the server itself fills. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static double ready_share(const struct live_account *account) {
  return account->ready / fmax(account->running + account->ready, 1e-9);
}

static bool is_crowded(const struct live_account *account, int64_t allowed) {
  double wanted = (double)(allowed > account->concurrency ? allowed : account->concurrency); /* a thread per request is no surplus */
  return account->n_lanes > 0 && ready_share(account) >= 0.25 && account->running + account->ready >= 1.3 * wanted;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double others = live->precision->conditions.others;
  const struct live_lane *l = live_busiest(&live->at);
  int64_t allowed = l->n_processors > 0 ? l->n_processors : live->n_processors;
  const struct live_account *crowded = is_crowded(&live->at, allowed) ? &live->at
                                                                      : &live->alone; /* of one request, all beyond one is surplus */
  if (others > 0.1 || allowed == 0 || !is_crowded(crowded, allowed) || (live->n_processors > 0 && allowed < live->n_processors))
    return false;
  ret->share = ready_share(crowded);
  live_name_threads(live, 2, INT32_MAX, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "at %lld in flight %.1f threads want to run on %lld processors; they are ready and wait for one %.0f %% of the time that "
                 "they could run",
                 (long long)crowded->concurrency, crowded->running + crowded->ready, (long long)allowed, 100 * ret->share);
  return true;
}

const struct rule rule_too_many_threads;
const struct rule rule_too_many_threads = {
    .name = "too_many_threads",
    .summary = "more runnable threads than processors",
    .threshold = "a quarter of the time waiting, 30 % more runnable threads than processors and than requests in flight, others below 10 "
                 "%; or the same "
                 "at the climb's step of 1 in flight",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "More threads want to run than there are processors",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SERVING),
              .open = "which of them are needed",
              .next = "start as many compute threads as there are processors (OMP_NUM_THREADS, intra-op threads), or fewer workers",
              .confirm = "halve the compute threads and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
