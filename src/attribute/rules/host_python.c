/* Interpreted Python takes a large part of the busy thread, in one function more than in others. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { SHOWN = 3, LEAST_LOOKS = 8 };
#define LEAST 0.1 /* of the lane's running time, in one function; and of the server's, where that thread is not full */

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_lane *best_lane = NULL;
  const struct live_part *best = NULL;
  double python = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      bool named = p->kind == LIVE_PYTHON && p->attributed && !p->spins && !live_tokenizes(p) && !live_logs(p);
      bool busy = live->at.lanes[i].busiest >= LIVE_FULL || p->share >= LEAST * live->at.running;
      if (!named || !busy || p->n < LEAST_LOOKS || p->share < 0.05 || p->share < LEAST * live->at.lanes[i].running ||
          (best != NULL && p->share <= best->share))
        continue;
      best = p;
      best_lane = &live->at.lanes[i];
    }
  if (best == NULL) return false;
  ret->contributing = LAYER_BIT(best->layer);
  (void)snprintf(ret->process, sizeof ret->process, "%s", best_lane->program);
  ret->share = best->share / fmax(best_lane->running, 1e-9);
  (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", best->what, best->where);
  int n = snprintf(ret->evidence, sizeof ret->evidence, "Python functions by their share of %s's running time:", best_lane->program);
  for (size_t k = 0, shown = 0; k < best_lane->n_parts; k++) {
    const struct live_part *p = &best_lane->parts[k];
    if (p->kind != LIVE_PYTHON) continue;
    python += p->share;
    if (shown++ < SHOWN && n > 0 && (size_t)n < sizeof ret->evidence)
      n += snprintf(ret->evidence + n, sizeof ret->evidence - (size_t)n, "%s %.60s %.0f %%", shown > 1 ? "," : "", p->what,
                    100 * p->share / best_lane->running);
  }
  if (n > 0 && (size_t)n < sizeof ret->evidence)
    (void)snprintf(ret->evidence + n, sizeof ret->evidence - (size_t)n, "; all of its Python %.0f %%", 100 * python / best_lane->running);
  const struct live_work work = live_work_of_function(live, best->what, best->where);
  live_bound(live, &work, ret);
  return true;
}

const struct rule rule_host_python;
const struct rule rule_host_python = {
    .name = "host_python",
    .summary = "Python of one function in the busy thread",
    .threshold = "5 % of the window and 10 % of the thread's running time in one function (of the server's, where that thread is not "
                 "full), and 8 looks that found it there: below it, "
                 "40 looks a second for some ten seconds do not tell functions apart",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Python in one function takes much of the busy thread",
              .perturber = "function",
              .otherwise = "processor",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SERVING),
              .open = "whether that work is needed for every token, or could be done once, elsewhere or in a compiled library",
              .next = "read that function; do its work once per batch, in another process, or in compiled code",
              .confirm = "slow that function by a known share and see whether throughput falls by as much",
              .bound_holds = "no bound: what that function calls, in libraries and the kernel, is not counted with it"}};
