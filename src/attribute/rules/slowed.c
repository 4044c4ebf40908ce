/* The kernel counts that a processor's package was slowed for heat. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_around *a = &live->around;
  if (!(a->slowed >= 1)) return false;
  ret->share = 0.01;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "a processor's package was slowed %.0f times in the counted windows; temperature %.0f C, clock %.4g MHz (0: not told)",
                 a->slowed, isfinite(a->temperature_c) ? a->temperature_c : 0, isfinite(a->clock_mhz) ? a->clock_mhz : 0);
  return true;
}

const struct rule rule_slowed;
const struct rule rule_slowed = {.name = "slowed",
                                 .summary = "the processors are slowed for heat",
                                 .threshold = "once in the counted windows, by the kernel's count (package_throttle_count)",
                                 .needs = NEEDS_THREADS,
                                 .apply = apply,
                                 .found = {.title = "The processors are slowed for heat",
                                           .rung = RUNG_ACCOUNTED,
                                           .symptom = LAYER_ACCELERATOR,
                                           .contributing = LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_FACILITY),
                                           .open = "for how long, and by how much: the kernel counts only how often",
                                           .next = "look at cooling",
                                           .confirm = "cool the machine, or lower the load, and measure again",
                                           .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
