/* verify/verification.h: what a re-run says of a sealed result: is it a re-run at all, may it say anything, what does it decide?
 *
 * Errors   INPUT: no complete run of the same contract, or the sealed result itself; LIMIT: its conditions make it invalid, in `conditions`
 * Memory   verification_release, whatever verification_make gave */
#ifndef VERIFY_VERIFICATION_H
#define VERIFY_VERIFICATION_H

#include "verify/configuration.h"
#include "verify/decision.h"

struct verification {
  struct arena arena;
  const char **conditions; /* of the re-run, in words */
  size_t n_conditions;
  struct decision_report report;
  struct configuration configuration;
};

struct verification_side {
  struct bundle *bundle;
  const struct result *result;
};

enum lynx_status verification_make(const struct verification_side *sealed, const struct verification_side *again, struct verification *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
void verification_release(struct verification *verification);

#endif
