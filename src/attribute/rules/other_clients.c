/* Another client of this machine loads the server at the same time. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

#define LEAST_CONNECTIONS 1.5 /* who only looks whether it is there has one */
#define LEAST 0.1             /* of all connections in flight */

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_neighbour *most = NULL;
  double sum = 0;
  if (live->result->observed) return false; /* they are who was watched */
  for (size_t i = 0; i < live->n_neighbours; i++) {
    const struct live_neighbour *n = &live->neighbours[i];
    if (!(n->asks >= LEAST_CONNECTIONS)) continue;
    sum += n->asks;
    if (most == NULL || n->asks > most->asks) most = n;
  }
  if (most == NULL || !(live->in_flight > 0) || sum < LEAST * (sum + live->in_flight)) return false;
  ret->share = sum / (sum + live->in_flight);
  (void)snprintf(ret->named, sizeof ret->named, "%.120s", most->name);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.120s holds %.3g connections to the server, beside the %.3g requests in flight of this run, and works (%.2f of a "
                 "processor): what it asks for is in no figure here, and takes its part of the server",
                 most->name, most->asks, live->in_flight, most->processors);
  return true;
}

const struct rule rule_other_clients;
const struct rule rule_other_clients = {
    .name = "other_clients",
    .summary = "another client of the server",
    .threshold =
        "a process of this machine that runs a hundredth of a processor and holds more than one connection to the server, and a tenth "
        "of all that are in flight",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "Another client loads the server at the same time",
              .perturber = "neighbour",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_DEMAND,
              .contributing = LAYER_BIT(LAYER_DEMAND),
              .open = "whether its requests are part of what is to be measured",
              .next = "stop that client while you measure, or count its requests to the load",
              .confirm = "stop the process named and measure again",
              .bound_holds = "no bound: what the other client would ask for without this one is not known"}};
