/* The device waits for input. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  ret->share = state_share(a, STATE_DATA, STATE_DATA);
  if (ret->share < 0.05) return false;
  ret->bounded = a->device >= 0;
  ret->bound = ret->share;
  ret->bound_holds = ret->bounded
                         ? "of this window, if the rest stays as it is: often it does not, since workers take processor time of their own"
                         : "none: on the host alone, what loads and what computes share the processor";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 a->device < 0
                     ? "the thread is inside its data loader: %.1f %% of the window"
                     : "the launching thread is inside its data loader while the device has nothing queued: %.1f %% of the window; beneath "
                       "device work it loads for another %.1f %%",
                 100 * ret->share, a->wall_ns > 0 ? 100.0 * (double)a->hidden_data_ns / (double)a->wall_ns : 0);
  state_named(e, STATE_DATA, STATE_DATA, ret);
  if (a->device < 0) ret->symptom = LAYER_APPLICATION;
  return true;
}

const struct rule rule_data_loader;
const struct rule rule_data_loader = {
    .name = "data_loader",
    .summary = "the device waits for input",
    .threshold = "5 % of the window: what tb_plugin's advice uses for the data loader",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {.rung = RUNG_ACCOUNTED,
              .title = "waits for its data loader",
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_PROCUREMENT),
              .open = "whether decoding, the disk or the number of workers limits it",
              .next = "more workers, prefetching, pinned memory, a faster format; look at the disk and at the processors' load",
              .confirm = "feed batches that are already in memory: the step that gets shorter by this share confirms it"}};
