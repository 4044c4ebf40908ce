/* The device is busy, and most of it has nothing to do: kernels with fewer thread blocks than it has multiprocessors. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  if (a->device < 0) return false;
  ret->share = account_few_blocks_share(a);
  if (ret->share < 0.25) return false;
  ret->bound_holds = "none: how far this work can be split over more blocks depends on what it computes";
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "for %.1f %% of the window the kernels have fewer thread blocks than the device has multiprocessors: by time %.2g for each, "
      "so that about %.0f %% of it has no work",
      100 * ret->share, a->few_blocks_each, 100 * (1 - a->few_blocks_each));
  return true;
}

const struct rule rule_few_blocks;
const struct rule rule_few_blocks = {
    .name = "few_blocks",
    .summary = "kernels with fewer thread blocks than the device has multiprocessors",
    .threshold =
        "such kernels compute for a quarter of the window: our choice; a block runs on one multiprocessor (CUDA's programming model)",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {
        .rung = RUNG_ACCOUNTED,
        .title = "leaves most of the device without work: too few thread blocks",
        .symptom = LAYER_ACCELERATOR,
        .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_DEMAND),
        .open = "whether the launch is written so, the problem or the batch is small, or a library chose a kernel that does not split it",
        .next = "a kernel of your own: launch enough blocks; a library's: a larger batch, or a variant that splits the work (split-K, "
                "several blocks to a sequence)",
        .confirm = "double the blocks or the batch: a time that stays for twice the work confirms it"}};
