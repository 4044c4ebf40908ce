/* The GPU is occupied by copies that no computing hides. */
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "attribute/live_traced.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  static const char *const states[] = {"exposed.copy_to_device", "exposed.copy_to_host", "exposed.copy_other", NULL};
  const struct live_traced *t = live_traced_with(live, states);
  if (t == NULL) return false;
  double in = live_traced_share(t, states[0]), out = live_traced_share(t, states[1]), within = live_traced_share(t, states[2]);
  ret->share = in + out + within;
  if (ret->share < 0.1) return false;
  ret->bounded = true;
  ret->bound = ret->share;
  live_traced_name(live, t, ret->share, ret);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "while nothing computes, the GPU is copied to %.1f %% of the traced time, copied from %.1f %%, and copies within itself or "
      "to another %.1f %%%s%s",
      100 * in, 100 * out, 100 * within, ret->named[0] != 0 ? "; most calls into libraries come from " : "", ret->named);
  return true;
}

const struct rule rule_gpu_copies;
const struct rule rule_gpu_copies = {
    .name = "gpu_copies",
    .summary = "copies to or from a GPU that no computing hides",
    .threshold = "10 % of the traced time, by the server's own profiler or by CUPTI",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "The GPU waits for copies",
              .perturber = "function",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_PROCUREMENT),
              .open = "whether the host's memory is pinned, and what the link could do",
              .next = "keep on the GPU what each step needs; pin the host's memory, and copy without blocking, on a stream of its own",
              .confirm = "copy the same bytes once more in each step: a step that gets longer by as much confirms it",
              .bound_holds = "of the traced time: at best the copies vanish, and nothing else takes longer"}};
