/* result/claim.h: the sentence that a result supports, with every assumption in it, or the reasons why there is none.
 * Shapes   one claim per precision
 * Result   refused with at least one reason, or a sentence; what this version does not establish is said in it */
#ifndef RESULT_CLAIM_H
#define RESULT_CLAIM_H

#include "result/result.h"

struct claim {
  const char *precision;
  const char *sentence; /* NULL if refused */
  const char **reasons; /* why it is refused, each with what would help */
  size_t n_reasons;
  const char **caveats; /* what the claim does not establish */
  size_t n_caveats;
};

/* In the result's arena. */
void claim_build(struct result *result, size_t precision, struct claim *ret);

#endif
