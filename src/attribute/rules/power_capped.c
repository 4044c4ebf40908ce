/* A GPU's power limit, which is a setting, lowers its clock. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_gpus *g = &live->around.gpus;
  if (!(g->power_capped >= 0.1)) return false;
  ret->share = fmin(1, g->power_capped);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "a GPU's power limit lowers its clock in %.0f %% of the looks; %lld GPU%s take %.0f W, the mean clock is %.4g MHz (0: not "
                 "reported)",
                 100 * g->power_capped, (long long)g->n, LYNX_S(g->n), isfinite(g->watts) ? g->watts : 0,
                 isfinite(g->clock_mhz) ? g->clock_mhz : 0);
  return true;
}

const struct rule rule_power_capped;
const struct rule rule_power_capped = {
    .name = "power_capped",
    .summary = "a GPU's power limit lowers its clock",
    .threshold = "10 % of the looks, by the reasons that nvidia-smi reports",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "A GPU's power limit lowers its clock",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_FACILITY) | LAYER_BIT(LAYER_PROCUREMENT),
              .open = "whether the limit is that of the card, or was set lower",
              .next = "compare the limit with the card's default (`nvidia-smi -q -d POWER`), and with what was procured",
              .confirm = "change the limit by a known amount and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
