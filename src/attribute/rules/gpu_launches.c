/* The GPU has nothing to do while the host is in the calls that hand work over. */
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "attribute/live_traced.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  static const char *const states[] = {"idle.launch", "idle.latency", NULL};
  const struct live_traced *t = live_traced_with(live, states);
  if (t == NULL) return false;
  double calls = live_traced_share(t, states[0]), latency = live_traced_share(t, states[1]);
  ret->share = calls + latency;
  if (ret->share < 0.15 || calls < latency) return false;
  /* Behind each value that is read back nothing is queued, and the next launches find the GPU idle: that is not theirs. */
  if (live_traced_sum(t, live_read_back_states) > calls / 2) return false;
  ret->bounded = true;
  ret->bound = ret->share;
  live_traced_name(live, t, ret->share, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "the GPU is idle while the host is in a launch call %.1f %% of the traced time, and for the latency of taking up what was "
                 "handed over %.1f %%%s%s",
                 100 * calls, 100 * latency, ret->named[0] != 0 ? "; most calls into libraries come from " : "", ret->named);
  return true;
}

const struct rule rule_gpu_launches;
const struct rule rule_gpu_launches = {
    .name = "gpu_launches",
    .summary = "a GPU that waits for launch calls",
    .threshold = "15 % of the traced time, most of it in the calls, which take twice what reading values back takes; by the server's own "
                 "profiler or by CUPTI",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "The GPU waits for launches: its kernels are short and many",
              .perturber = "launches",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_RUNTIME) |
                              LAYER_BIT(LAYER_SYSTEM),
              .open = "whether they are many because operators are not fused, because the batch is small, or because the driver is slow",
              .next = "capture the step as a CUDA graph; compile the model, which fuses operators; let more requests share a step",
              .confirm = "lengthen each launch call by a known share: throughput that falls by as much confirms it",
              .bound_holds = "of the traced time: at best these gaps vanish, and nothing else takes longer"}};
