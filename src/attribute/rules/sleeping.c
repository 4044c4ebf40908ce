/* Threads that work on requests sleep between them. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_lane *best = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    bool waits = l->of_work[WAIT_TIMER] >= 0.5 && l->running >= 0.03; /* an engine that sleeps runs little beside what runs all the time */
    bool works = waits || (l->running >= 0.01 && l->running >= 0.1 * live->at.running),
         sleeps = l->waits[WAIT_TIMER] >= 0.1 && l->of_work[WAIT_TIMER] >= 0.1;
    if (works && sleeps && (best == NULL || l->waits[WAIT_TIMER] > best->waits[WAIT_TIMER])) best = l;
  }
  if (best == NULL) return false;
  (void)snprintf(ret->process, sizeof ret->process, "%s", best->program);
  ret->share = best->of_work[WAIT_TIMER];
  live_name_wait(best, WAIT_TIMER, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "the busy threads of %.40s wait for a timer %.0f %% of the time that they are not ready to run, weighed by what each "
                 "runs%s%.120s%s%.120s",
                 best->program, 100 * ret->share, ret->named[0] != 0 ? "; they wait most in " : "", ret->named,
                 best->waits_also[0] != 0 ? ", then in " : "", best->waits_also);
  return true;
}

const struct rule rule_sleeping;
const struct rule rule_sleeping = {
    .name = "sleeping",
    .summary = "timers in threads that work",
    .threshold = "a timer 10 % of the time that they are not ready to run, in threads that also run a tenth of the server's running time, "
                 "or half of that time in threads that run 3 %; each weighs as much as it runs",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Threads that work on requests sleep",
              .perturber = "function",
              .slowed = "time.sleep",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SERVING),
              .open = "whether something else would be waited for in its place",
              .next = "take the sleep out, or wait for the event itself",
              .confirm = "halve the sleep and measure again",
              .bound_holds =
                  "no bound: work that follows a sleep finds its caches cold and takes longer, so that more than the sleep may be gained"}};
