/* Requests queue at a lock while processors are idle. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { LEAST_LOOKS = 8 };
#define CONTENDED 0.5 /* of the looks at waits for locks */

/* Goroutines that wait for a lock hold no thread that could be seen to. */
static bool by_task(const struct live *live, struct finding *ret) {
  const struct live_place *task = &live->tasks[WAIT_LOCK];
  bool idle = live->n_processors > 1 && live_idle_processors(live) >= 0.4;
  if (task->n < LEAST_LOOKS || !idle || !live_one_at_a_time(live)) return false;
  ret->share = fmin(1, live_idle_processors(live) / (double)live->n_processors);
  live_name_place(task, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "goroutines wait for a lock in %.120s, in %lld looks, 2 in flight give no more than 1, and %.1f processors are idle",
                 ret->named, (long long)task->n, live_idle_processors(live));
  return true;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  if (by_task(live, ret)) return true;
  const struct live_account *loaded = live->at.concurrency >= 2 || live->beyond.n_lanes == 0 ? &live->at : &live->beyond;
  double locks = 0, present = 0;
  const struct live_lane *most = NULL;
  for (size_t i = 0; i < loaded->n_lanes; i++) {
    const struct live_lane *l = &loaded->lanes[i];
    if (l->running < 0.1 * loaded->running) continue;
    locks += l->at_locks;
    present += l->at_work;
    if (most == NULL || l->at_locks > most->at_locks) most = l;
  }
  bool idle = live->n_processors > 1 && live_idle_processors(live) >= 0.4;
  bool interpreter = live->lock_held >= 0.5;
  /* A pool that waits for work is no queue. */
  bool queue = live->precision->n_steps == 0 || live_one_at_a_time(live) || (most != NULL && most->contended >= CONTENDED);
  if (!queue || most == NULL || present < 1.3 || locks < 0.3 * present || locks < 0.4 || !idle || interpreter || loaded->running > 1.3)
    return false;
  ret->share = fmin(1, locks / present);
  live_name_wait(most, WAIT_LOCK, ret);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "at %lld in flight its threads run on %.2f processors and wait for a lock for %.2f, while %.1f processors are idle%s%.200s",
      (long long)loaded->concurrency, loaded->running, locks, live_idle_processors(live), ret->named[0] != 0 ? "; they wait most in " : "",
      ret->named);
  live_bound(live, &(struct live_work){.processors = 0}, ret);
  return true;
}

const struct rule rule_lock;
const struct rule rule_lock = {.name = "lock",
                               .summary = "waits for a lock while processors are idle",
                               .threshold = "locks 30 % of the working threads' time and 0.4 of a thread, 0.4 of a processor "
                                            "idle, at most 1.3 processors in use, throughput that "
                                            "does not grow from 1 to 2 in flight (or half of the looks at "
                                            "such waits in functions that take a lock), the "
                                            "interpreter's lock held less than half of the time",
                               .needs = NEEDS_THREADS,
                               .apply = apply,
                               .found = {.title = "Requests queue at a lock while processors are idle",
                                         .rung = RUNG_ACCOUNTED,
                                         .symptom = LAYER_APPLICATION,
                                         .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SERVING),
                                         .open = "which lock that is, where no function is named",
                                         .next = "hold the lock for less, or give each worker its own state",
                                         .confirm = "halve what is done under the lock and measure again",
                                         .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
