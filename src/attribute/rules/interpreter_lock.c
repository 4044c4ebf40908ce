/* Threads queue for Python's interpreter lock. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double together = live_python_turns(live);
  const struct live_part *most = NULL;
  bool held = live->lock_held >= 0.6;
  if (!held && together == 0) return false;
  ret->share = fmin(1, held ? live->lock_held : together);
  ret->contributing = 0; /* where no function is known, whose they are is not either */
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      if (p->kind != LIVE_PYTHON || !p->attributed || (most != NULL && p->share <= most->share)) continue;
      most = p;
      (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", p->what, p->where);
      (void)snprintf(ret->process, sizeof ret->process, "%s", live->at.lanes[i].program);
      ret->contributing = LAYER_BIT(p->layer);
    }
  const char *in = ret->named[0] != 0 ? ", most in " : "";
  if (held)
    (void)snprintf(ret->evidence, sizeof ret->evidence, "a thread holds the interpreter's lock %.0f %% of the time%s%.200s",
                   100 * live->lock_held, in, ret->named);
  else
    (void)snprintf(ret->evidence, sizeof ret->evidence,
                   "the threads of one interpreter together run on %.2f processors, and on no more under more load%s%.200s", together, in,
                   ret->named);
  const struct live_work none = {.processors = 0}, work = most != NULL ? live_work_of_function(live, most->what, most->where) : none;
  live_bound(live, &work, ret);
  return true;
}

const struct rule rule_interpreter_lock;
const struct rule rule_interpreter_lock = {
    .name = "interpreter_lock",
    .summary = "the interpreter's lock is held",
    .threshold = "60 % of the time, by looks at who holds it; or threads of one interpreter together run on 0.85 to 1.1 processors, half "
                 "of that in Python, while half of a processor is idle",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Threads queue for Python's interpreter lock",
              .perturber = "function",
              .otherwise = "processor",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION),
              .open = "how much of it libraries that keep the lock do",
              .next = "do that work in another process or in compiled code that gives the lock up",
              .confirm = "slow that function by a known share and see whether throughput falls by as much",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
