/* The weights are read about as fast as this machine's memory can give them. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

#define FULL 0.6 /* of the triad: what decoders that stream weights reach at best is 0.6 to 0.9 of it */

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_roofline *r = &live->roofline;
  double share = r->read_hz / r->bandwidth, arithmetic = r->operations_hz / r->arithmetic;
  if (!(share >= FULL) || arithmetic > share) return false;
  ret->share = fmin(1, share);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "each step reads %.3g GB of weights, %.3g GB/s at least: %.0f %% of this machine's triad (%.3g GB/s)",
                 r->weight_bytes / 1e9, r->read_hz / 1e9, 100 * share, r->bandwidth / 1e9);
  return true;
}

const struct rule rule_memory_bandwidth;
const struct rule rule_memory_bandwidth = {
    .name = "memory_bandwidth",
    .summary = "the weights are read as fast as memory gives them",
    .threshold = "bytes of the weights over the time of a token, at least 60 % of the triad that `lynxbench calibrate` measured, and more "
                 "than the share of its arithmetic",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Memory bandwidth is full",
              .perturber = "memory",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_APPLICATION),
              .open = "whether the weights are read more often than once a step: no counter of the memory is read",
              .next = "keep the weights in a smaller type; let more requests share a step (a larger batch); memory with more channels",
              .confirm = "serve weights of half the size and measure again: where memory is the bound, a token takes about half as long",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
