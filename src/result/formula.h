/* result/formula.h: every figure that is printed has an identity: one formula, named by id.
 *
 * result computes figures from a bundle's raw rows, and builds claims from them. It opens nothing and prints nothing.
 *
 * Source   docs/method.md#formulas describes each id */
#ifndef RESULT_FORMULA_H
#define RESULT_FORMULA_H

#include <stddef.h>

enum { ANALYSIS_VERSION = 3 };

struct formula {
  const char *id, *name, *unit, *definition;
};

enum formula_index {
  FORMULA_TTFT,
  FORMULA_TTFAT,
  FORMULA_TTFTC,
  FORMULA_TPOT,
  FORMULA_ITL,
  FORMULA_E2E,
  FORMULA_OUTPUT_RATE,
  FORMULA_PHASE,
  FORMULA_REQUEST_RATE,
  FORMULA_FAILURE_SHARE,
  FORMULA_GOODPUT,
  FORMULA_BACKLOG_GROWTH,
  FORMULA_PER_USER,
  FORMULA_PER_ACCELERATOR,
  FORMULA_IN_SYSTEM,
  FORMULA_EXACT_MATCH,
  FORMULA_AGREEMENT,
  FORMULA_SCORE,
  FORMULA_SEND_LAG,
  FORMULA_READ_LAG,
  FORMULA_BITS_PER_BYTE,
  FORMULA_COST,
  FORMULA_ENERGY,
  FORMULA_MACHINE_SPEED,
  FORMULA_ACCEPTANCE_LENGTH,
  FORMULA_ACCEPTANCE_RATE,
  FORMULA_CACHE_HIT_RATE,
  FORMULA_PREEMPTIONS,
  FORMULA_SERVER_TTFT,
  FORMULA_SERVER_E2E,
  FORMULA_SERVER_ITL,
  FORMULA_COUNT
};

extern const struct formula formulas[FORMULA_COUNT];

#endif
