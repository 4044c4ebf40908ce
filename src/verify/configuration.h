/* verify/configuration.h: was a re-run made on the same configuration, with the same workload?
 * Result   differences of identity facts by layer and owner, each allowed by the contract's bounded optimisations or not; what neither
 *          side could see (holes); whether the prompts are the same. Same: no difference that is not allowed, and the same prompts
 * Errors   INPUT: a bundle's rows cannot be read
 * Limits   it compares what was captured: what no probe sees may differ. Where a side withheld its facts or prompts, it says so */
#ifndef VERIFY_CONFIGURATION_H
#define VERIFY_CONFIGURATION_H

#include "executor/difference.h"
#include "result/result.h"

struct configuration_difference {
  const char *precision, *layer, *owner, *key, *a, *b, *reason;
  bool allowed; /* by optimisation.may_change */
};

struct configuration {
  struct arena arena;
  struct configuration_difference *differences;
  size_t n_differences, n_not_allowed;
  const char **holes;
  size_t n_holes;
  const char *workload; /* how the prompts differ; NULL: they do not */
  bool same;
};

enum lynx_status configuration_compare(struct bundle *sealed, struct bundle *again, const struct result *sealed_result,
                                       struct configuration *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void configuration_release(struct configuration *configuration);

#endif
