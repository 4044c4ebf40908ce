/* verify/decision.h: was a result reproduced by a re-run of its contract?
 *
 * verify holds results against one another and against the ledger: the decision, the configuration, audit, evidence packs. It measures
 * nothing itself and prints nothing.
 *
 * Figures  what the contract's regime is about: throughput where load adapts to the executor (closed, offline, saturation); in open
 *          loops, where throughput is what was offered, each objective's latency at its quantile, or the median end-to-end latency
 *          where none is stated. One figure per session; a precision that cannot run here on either side is left out
 * Result   *reproduced*: every figure is the same within decision.margin (two one-sided tests, each at method.confidence);
 *          *not reproduced*: the interval of one lies wholly beyond it, at the confidence that pays for all of them (Bonferroni);
 *          else *inconclusive*
 * Errors   none: what has too few sessions is inconclusive
 * Memory   everything lives in its arena */
#ifndef VERIFY_DECISION_H
#define VERIFY_DECISION_H

#include "result/result.h"
#include "stats/compare.h"

enum decision { DECISION_REPRODUCED, DECISION_NOT_REPRODUCED, DECISION_INCONCLUSIVE, DECISION_OTHER_CONFIGURATION };
const char *decision_text(enum decision decision);

struct decision_figure {
  const char *precision, *name, *unit;
  double unit_divisor; /* of a and b, for printing */
  double a, b;         /* means over sessions: sealed, re-run */
  size_t n_a, n_b;
  struct comparison ratio; /* of the re-run to the sealed result */
  double low, high;        /* of the ratio, at the confidence of «not reproduced» */
  double sd, sd_again;     /* of the sessions' logarithms; NaN with fewer than 2 */
  size_t needed;           /* sessions of a re-run that decide at sd, with the sealed ones as they are; 0: no number would */
  size_t needed_sealed;    /* sessions that the sealed result should have had, where none would; 0: cannot be said */
  bool beyond;
  const char *felt_text; /* of unlike conditions, by which the ratio is as at equal ones; NULL */
};

struct decision_report {
  struct arena arena;
  struct decision_figure *figures;
  size_t n_figures;
  double margin, confidence, beyond_confidence;
  size_t planned;   /* sessions of the re-run: enough for every figure, at least the contract's; see too_few */
  bool too_few;     /* the sealed result has too few sessions for a decision, however long the re-run */
  bool none;        /* there is no figure that any re-run could be compared with */
  const char *felt; /* conditions that differ, and what the server felt of them: judged by that; NULL */
  const char *why;  /* in words, what the plan can decide; after a re-run that decides nothing, why */
  enum decision decision;
};

/* Before anything was run: what a re-run of a result under this contract could decide, if sessions vary as they did in `like`. */
void decision_forecast(const struct contract *contract, const struct result *like, struct decision_report *ret);
/* Before a re-run: figures of the sealed result and the plan. */
void decision_plan(const struct result *sealed, struct decision_report *ret);
/* After it. */
void decision_make(const struct result *sealed, const struct result *again, struct decision_report *ret);
void decision_release(struct decision_report *report);

#endif
