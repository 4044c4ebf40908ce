/* The way between the load and a server on another machine, lengthened by a proxy that the load goes through in every block. */
#include "experiment/delaying_proxy.h"

#include <stdio.h>
#include <stdlib.h>

#include "experiment/perturber.h"

static size_t wire_begin(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  perturber_keep(request, ret_state);
  if (most == 0 || request->wire == NULL) {
    (void)snprintf(why, size, "%s", request->no_wire != NULL ? request->no_wire : "wire: it was not asked for before the run");
    return 0;
  }
  target_name(ret, "wire", "a round trip");
  return 1;
}

static double wire_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  const struct perturbing *request = state;
  (void)target;
  wire_delay(request->wire, (int64_t)((slowness - 1) * (double)wire_round_trip_ns(request->wire) / 2));
  (void)perturber_wait(request, until_ns);
  wire_delay(request->wire, 0);
  return slowness;
}

const struct perturber perturber_round_trip;
const struct perturber perturber_round_trip = {.name = "wire",
                                               .summary = "the way to a server on another machine",
                                               .does = "delays what the load sends and receives, in a proxy on this machine",
                                               .levels = {1.5, 2.5},
                                               .of_share = true,
                                               .most = 10,
                                               .beside = true,
                                               .open = wire_begin,
                                               .hold = wire_hold,
                                               .close = free,
                                               .whose = perturber_of_system};
