/* The wire between client and server is a noticeable part of a request. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct result_precision *p = live->precision;
  double trip_ns = live->around.round_trip_s * 1e9, first = p->latency[METRIC_TIME_TO_FIRST_TOKEN].at[0].quantile.estimate,
         again = live->around.sent_again_hz;
  bool of_life = trip_ns >= 0.05 * live->life_ns, of_first = first > 0 && trip_ns >= 0.2 * first;
  if (!(trip_ns >= 1e6) || !(live->life_ns > 0) || !(of_life || of_first)) return false;
  ret->share = fmin(1, trip_ns / live->life_ns);
  ret->bounded = true;
  ret->bound = ret->share;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "a round trip takes %.4g ms at least, by the kernel's own clock; a request takes %.4g ms, its first token %.4g; %.3g "
                 "segments a second are sent again",
                 trip_ns / 1e6, live->life_ns / 1e6, first > 0 ? first / 1e6 : 0, isfinite(again) ? again : 0);
  return true;
}

const struct rule rule_slow_wire;
const struct rule rule_slow_wire = {
    .name = "slow_wire",
    .summary = "the wire takes a noticeable part of a request",
    .threshold = "the least round trip of all connections 1 ms, and 5 % of a request's mean time or 20 % of the median time to the first "
                 "token",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "The wire between client and server takes much of a request",
              .perturber = "wire",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_FACILITY),
              .open = "where on the way the delay is made",
              .next = "measure from a machine nearer to the server; look at the route, at proxies and at shaping of traffic (tc qdisc)",
              .confirm = "run the load on the server's own machine: what goes away was the wire's",
              .bound_holds = "of a request's time: one round trip for each, connections being kept"}};
