/* Small writes of the server wait until the client acknowledges those before them. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

/* Of requests in flight, those of which a look finds bytes held back. */
static bool holds(const struct live *live, double held, double n_looks, struct finding *ret) {
  double share = fmin(1, held / live->in_flight), looks = n_looks * live->in_flight;
  if (!(held >= 0.1) || !(share >= 0.05)) return false;
  ret->share = share;
  double most = share + 2 * sqrt(share * (1 - share) / fmax(1, looks));
  live_bound(live, &(struct live_work){.processors = 0}, ret);
  if (most < (ret->bounded ? ret->bound : 1) && load_is_closed((enum load_kind)live->result->contract.regime.load)) {
    ret->bounded = true;
    ret->bound = most;
    ret->bound_holds = "of a request's time: the share of it in which a look found bytes that wait so";
  }
  return true;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_around *a = &live->around;
  if (a->held_within > (isfinite(a->held) ? a->held : 0) && holds(live, a->held_within, a->held_within_looks, ret)) {
    ret->title = "Small writes between its own processes wait for acknowledgements (Nagle's algorithm)";
    (void)snprintf(ret->named, sizeof ret->named, "connections to port %.0f", isfinite(a->held_port) ? a->held_port : 0);
    (void)snprintf(ret->evidence, sizeof ret->evidence,
                   "of %.0f %% of the requests in flight, a connection within the server or to whom it asks holds back less than a "
                   "segment, though the network has room: for the acknowledgement of what was sent before, which the other end may "
                   "delay by 40 ms; %.60s",
                   100 * ret->share, ret->named);
    (void)snprintf(ret->next, sizeof ret->next,
                   "set TCP_NODELAY on these connections, or write the head and the body of a message at once");
    (void)snprintf(ret->confirm, sizeof ret->confirm, "set TCP_NODELAY on these connections and measure again");
    return true;
  }
  if (!holds(live, a->held, a->held_looks, ret)) return false;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "at %.0f %% of the connections in flight less than a segment waits at the server's end, though the network has room: for "
                 "the acknowledgement of what was sent before, which a client may delay by 40 ms; a request takes %.4g ms",
                 100 * ret->share, live->life_ns / 1e6);
  return true;
}

const struct rule rule_nagle;
const struct rule rule_nagle = {
    .name = "nagle",
    .summary = "small writes wait for acknowledgements",
    .threshold = "5 % of the connections in flight, and a tenth of one, by looks at the server's end of them, or at its own connections to "
                 "one another "
                 "and to whom it asks",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "Small writes wait for the client's acknowledgement (Nagle's algorithm)",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_APPLICATION),
              .open = "whether all of that is waited for: a server that computes on meanwhile only makes its tokens come in bursts",
              .next = "set TCP_NODELAY on accepted connections, or write the head and the first part of an answer at once",
              .confirm = "set TCP_NODELAY in the server (in Python's http.server: disable_nagle_algorithm = True) and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
