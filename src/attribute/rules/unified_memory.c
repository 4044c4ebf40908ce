/* Pages of unified memory move while the program runs. */
#include <stdio.h>

#include "attribute/rule.h"

#define LEAST 0.02 /* of the window, in moving; what a kernel waits for its pages is in no trace, and more */

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  if (a->device < 0 || a->n_migrated == 0 || a->wall_ns <= 0) return false;
  ret->share = (double)a->migrated_ns / (double)a->wall_ns;
  if (ret->share < LEAST) return false;
  ret->bound_holds = "none: kernels wait for their pages, too, and no trace says how long";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%lld migrations of unified memory between host and device take %.3f ms, %.1f %% of the window; the kernels and the host "
                 "that ask for these pages wait meanwhile, within their own time",
                 (long long)a->n_migrated, (double)a->migrated_ns / 1e6, 100 * ret->share);
  return true;
}

const struct rule rule_unified_memory;
const struct rule rule_unified_memory = {
    .name = "unified_memory",
    .summary = "pages of unified memory that move while the program runs",
    .threshold = "2 % of the window in moving: our choice",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {.rung = RUNG_ACCOUNTED,
              .title = "moves pages of unified memory as they are touched",
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK),
              .open = "how long kernels wait for their pages: the trace shows the moves alone",
              .next = "prefetch what a kernel reads and what the host reads back (cudaMemPrefetchAsync), or copy it explicitly",
              .confirm = "prefetch before the kernel: a kernel that gets shorter confirms that it waited for pages"}};
