/* The device is busy, with kernels too small to fill it. */
#include <stdio.h>

#include "attribute/rule.h"

enum { SHORT_NS = 10000 };

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  int64_t median = histogram_quantile(&a->kernels, 0.5), long_ones = histogram_quantile(&a->kernels, 0.9);
  double busy = state_share(a, STATE_COMPUTE, STATE_COMMUNICATION - 1);
  if (busy < 0.5) return false; /* what the device waits for, or communicates, no batch fills */
  if (a->device < 0 || a->kernels.n < 100 || median > SHORT_NS || long_ones > 10 * SHORT_NS) return false;
  ret->share = busy;
  ret->bound_holds = "none: how much faster larger batches run per item depends on the model and the device";
  (void)snprintf(ret->evidence, sizeof ret->evidence, "%lld kernels; half take less than %.1f us, nine in ten less than %.1f us",
                 (long long)a->kernels.n, (double)median / 1e3, (double)long_ones / 1e3);
  return true;
}

const struct rule rule_small_kernels;
const struct rule rule_small_kernels = {
    .name = "small_kernels",
    .summary = "kernels too short to fill the device: small batches",
    .threshold = "the device computes for half of the window; the median kernel is shorter than 10 us and nine in ten are shorter than 100 "
                 "us: 10 us is TraceLens's mark of a short kernel",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {.rung = RUNG_ACCOUNTED,
              .title = "runs small kernels: the batch may be too small",
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_DEMAND),
              .open = "the batch size and the device's occupancy: this account does not read them",
              .next = "raise the batch or the number of concurrent requests, if the latency objective allows it; fuse operators",
              .confirm = "double the batch: time per item that falls by nearly half confirms it"}};
