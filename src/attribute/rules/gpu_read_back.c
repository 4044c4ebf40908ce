/* The host reads values back from the GPU, and the GPU has nothing to do meanwhile. */
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "attribute/live_traced.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const char *const *states = live_read_back_states;
  const struct live_traced *t = live_traced_with(live, states);
  if (t == NULL) return false;
  double waits = live_traced_share(t, states[0]), calls = live_traced_share(t, states[1]), copies = live_traced_share(t, states[2]);
  ret->share = waits + calls + copies;
  if (ret->share < 0.05 || waits + copies < 0.02) return false;
  live_traced_name(live, t, ret->share, ret);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "the GPU is idle while the host waits for it %.1f %% of the traced time, and while it is in a copy call %.1f %%; copies to "
      "the host that nothing hides take %.1f %%%s%s",
      100 * waits, 100 * calls, 100 * copies, ret->named[0] != 0 ? "; most calls into libraries come from " : "", ret->named);
  return true;
}

const struct rule rule_gpu_read_back;
const struct rule rule_gpu_read_back = {
    .name = "gpu_read_back",
    .summary = "values that are read back from a GPU, which idles meanwhile",
    .threshold = "5 % of the traced time, 2 % without the copy calls, by the server's own profiler or by CUPTI",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Values are read back from the GPU, which idles meanwhile",
              .perturber = "function",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK),
              .open = "which value is asked for, and what the host could do meanwhile",
              .next = "find what reads values in each step (.item(), .cpu(), printing, branches on a tensor), and leave it on the GPU",
              .confirm = "take one such read out of each step, and measure again",
              .bound_holds = "no bound: after each read the host begins again with nothing queued, which costs more than the read itself"}};
