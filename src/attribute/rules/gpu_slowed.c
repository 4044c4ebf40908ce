/* The GPUs' own reasons say that heat, the hardware or the power supply slows them. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_gpus *g = &live->around.gpus;
  if (!(g->slowed >= 0.01)) return false;
  ret->share = fmin(1, g->slowed);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "a GPU was slowed in %.0f %% of the looks (nvidia-smi's reasons: heat, hardware or power brake); the hottest has %.0f C, "
                 "the mean clock is %.4g MHz (0: not reported)",
                 100 * g->slowed, isfinite(g->temperature_c) ? g->temperature_c : 0, isfinite(g->clock_mhz) ? g->clock_mhz : 0);
  return true;
}

const struct rule rule_gpu_slowed;
const struct rule rule_gpu_slowed = {.name = "gpu_slowed",
                                     .summary = "a GPU is slowed for heat, or by its hardware",
                                     .threshold = "1 % of the looks, by the reasons that nvidia-smi reports",
                                     .needs = NEEDS_THREADS,
                                     .apply = apply,
                                     .found = {.title = "A GPU is slowed for heat, or by its hardware",
                                               .rung = RUNG_ACCOUNTED,
                                               .symptom = LAYER_ACCELERATOR,
                                               .contributing = LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_FACILITY),
                                               .open = "by how much it computes slower",
                                               .next = "look at cooling and at the power supply of that machine",
                                               .confirm = "cool the machine, or lower the load, and measure again",
                                               .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
