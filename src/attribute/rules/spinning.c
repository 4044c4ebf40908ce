/* A busy thread waits for another by spinning: it looks busy, and takes a processor that others could use. */
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double sum = 0, most = 0, ready = live->at.ready;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      if (!p->spins) continue;
      sum += p->share;
      if (p->share <= most) continue;
      most = p->share;
      (void)snprintf(ret->named, sizeof ret->named, p->where[0] != 0 ? "%.80s (%.140s)" : "%.80s%.0s", p->what, p->where);
      if (p->attributed && p->kind != LIVE_KERNEL) ret->contributing = LAYER_BIT(p->layer);
    }
  /* Where processors are idle and nobody waits for one, spinning costs nothing, unless it fills the thread that all wait for. */
  bool costs = live_ready_share(live) >= 0.1 || live_idle_processors(live) < 0.4 || live_busiest(&live->at)->busiest >= LIVE_FULL;
  if (sum < 0.05 || sum < 0.1 * live->at.running || !costs) return false;
  ret->share = sum / live->at.running;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "what spins by its name runs %.0f %% of the server's running time, most of it %.160s; its other threads are "
                 "ready and without a processor for %.2f of a thread",
                 100 * ret->share, ret->named, ready);
  return true;
}

const struct rule rule_spinning;
const struct rule rule_spinning = {
    .name = "spinning",
    .summary = "threads that wait without giving up the processor",
    .threshold = "5 % of the window and 10 % of the running time, in functions whose names say that they spin (spin_wait, spinlock, "
                 "sched_yield, busy_wait), in the "
                 "kernel's sched_yield, or in barriers of OpenMP; and a tenth of the time waiting for a processor, fewer than 0.4 idle, or "
                 "a thread full",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Threads wait by spinning",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING),
              .open = "what it waits for: the thread that it waits for is another one",
              .next = "give it a processor of its own, or let it sleep while it waits",
              .confirm = "give the server one processor more and measure again",
              .bound_holds = "no bound: time spent spinning is a wait, and ends when what it waits for comes"}};
