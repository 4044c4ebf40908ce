/* result/effect.h: did a change help? Computed from the summaries of the run before it and of the run after it, by whoever lists it, shows
 * it or records it: what somebody wrote of it counts for nothing.
 *
 * Ratio    after to before, of each figure that both have with an interval. Its interval on ln combines the two runs' own, lower limit with
 *          upper limit (the method of variance estimates recovery, MOVER: Zou and Donner 2008): theirs allow for the sessions' variation
 *          and for the step in which requests are counted. Figures share the error (Bonferroni, by Student's t)
 * Rule     improved: one figure at least is better for sure, and none is worse by more than the contract's margin for sure. Worse: one is.
 *          None: every figure is the same within the margin for sure. Undecided: anything else; where a side supports no claim, or the
 *          conditions differed; where the run after began before the other
 * Limits   two runs: how days and boots differ is not known. Figures of which it is not known which way is better are left out
 * Source   docs/method.md#effect */
#ifndef RESULT_EFFECT_H
#define RESULT_EFFECT_H

#include "result/summary.h"

enum effect { EFFECT_UNDECIDED, EFFECT_IMPROVED, EFFECT_NONE, EFFECT_WORSE };
const char *effect_text(enum effect effect);

struct effect_measured {
  enum effect effect;
  const char *why;                              /* where it is not improved: in words */
  const char *figure;                           /* that decided it: better, or worse; "" */
  double figure_ratio, figure_low, figure_high; /* of it, by itself */
  const char *name, *precision;                 /* of the figure that is named first: a throughput; "": there is none */
  double ratio, low, high;                      /* of it, by itself */
  size_t n_figures;
};

/* interleaved: their sessions were run in turn, and either may begin first. contract: its margin, confidence and conditions; NULL: the
 * usual ones. What it gives lives as long as the summaries. */
void effect_measure(const struct summary *before, const struct summary *after, bool interleaved, const struct contract *contract,
                    struct effect_measured *ret);

#endif
