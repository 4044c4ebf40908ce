/* Connections wait to be accepted, or are dropped since too many wait. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_around *a = &live->around;
  double waiting = a->accept_queue / live->in_flight;
  /* Drops are of all sockets of the namespace: they are this server's where its own queue was seen full. */
  bool waits = a->accept_queue >= 1 && waiting >= 0.1, drops = a->dropped_hz >= 0.1 && a->accept_full > 0;
  if (!waits && !drops) return false;
  ret->share = waits ? fmin(1, waiting) : 0.1;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.3g connections wait to be accepted, of %.3g requests in flight; its queue was full in %.3g %% of the looks, and the "
                 "kernel drops %.3g connections each second",
                 isfinite(a->accept_queue) ? a->accept_queue : 0, isfinite(live->in_flight) ? live->in_flight : 0,
                 a->accept_full > 0 ? 100 * a->accept_full : 0, isfinite(a->dropped_hz) ? a->dropped_hz : 0);
  return true;
}

const struct rule rule_accept_queue;
const struct rule rule_accept_queue = {
    .name = "accept_queue",
    .summary = "connections wait to be accepted",
    .threshold = "one connection and a tenth of those in flight wait; or one in 10 s is dropped, and the queue was full once",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Connections wait until the server accepts them",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_APPLICATION),
              .open = "what the accepting thread does meanwhile; drops are of all listening sockets of that network namespace",
              .next = "keep connections open, accept in a thread that computes nothing, or start more workers",
              .confirm = "measure at fewer in flight: the queue is empty and the time to the first token falls by as much",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
