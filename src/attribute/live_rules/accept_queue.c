/* Connections wait to be accepted, or are dropped since too many wait. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_rule.h"

static bool apply(const struct live *live, struct finding *ret) {
  const struct live_around *a = &live->around;
  double in_flight = live->at.concurrency > 0 ? (double)live->at.concurrency : NAN, waiting = a->accept_queue / in_flight;
  bool waits = a->accept_queue >= 1 && waiting >= 0.1, drops = a->dropped_hz >= 0.1;
  if (!waits && !drops) return false;
  ret->share = waits ? fmin(1, waiting) : 0.1;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.3g connections wait to be accepted, of %.0f in flight; the kernel drops %.3g each second for a full queue",
                 isfinite(a->accept_queue) ? a->accept_queue : 0, isfinite(in_flight) ? in_flight : 0,
                 isfinite(a->dropped_hz) ? a->dropped_hz : 0);
  return true;
}

const struct live_rule live_rule_accept_queue;
const struct live_rule live_rule_accept_queue = {
    .name = "accept_queue",
    .summary = "connections wait to be accepted",
    .threshold = "one connection and a tenth of those in flight wait, or one in 10 s is dropped",
    .apply = apply,
    .found = {.title = "Connections wait until the server accepts them",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_APPLICATION),
              .open = "what the accepting thread does meanwhile; drops are of all listening sockets of that network namespace",
              .next = "keep connections open, accept in a thread that computes nothing, or start more workers",
              .confirm = "measure at fewer in flight: the queue is empty and the time to the first token falls by as much",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
