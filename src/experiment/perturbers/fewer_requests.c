/* The demand: fewer requests in flight. It is no resource: what it costs says whether the server had room left. Where throughput hardly
 * falls, the server was full, and who was taken away had only waited. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment/perturber.h"

static size_t fewer_begin(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  perturber_keep(request, ret_state);
  if (most == 0 || request->in_flight_most == NULL || request->concurrency < 2) {
    (void)snprintf(why, size, "demand: %s",
                   request->in_flight_most == NULL
                       ? "the load is no closed loop of one load thread, of which fewer requests can be kept in flight"
                       : "one request is in flight: there cannot be fewer");
    return 0;
  }
  target_name(ret, "demand", "requests in flight");
  return 1;
}

static double fewer_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  const struct perturbing *request = state;
  (void)target;
  double all = (double)request->concurrency, left = fmax(1, fmin(all - 1, round(all / slowness)));
  atomic_store(request->in_flight_most, (unsigned)left);
  (void)perturber_wait(request, until_ns);
  atomic_store(request->in_flight_most, 0);
  return all / left;
}

static bool is_demand(const char *what, enum layer *ret) {
  (void)what;
  *ret = LAYER_DEMAND;
  return true;
}

const struct perturber perturber_fewer_requests;
const struct perturber perturber_fewer_requests = {.name = "demand",
                                                   .summary = "the requests in flight",
                                                   .does = "keeps fewer requests in flight; only of a closed loop",
                                                   .levels = {1.2, 1.6},
                                                   .of_load = true,
                                                   .beside = true,
                                                   .open = fewer_begin,
                                                   .hold = fewer_hold,
                                                   .close = free,
                                                   .whose = is_demand};
