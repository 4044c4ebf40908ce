/* result/effect.h: did a change help? One rule for whoever measures it, lists it and shows it.
 *
 * Rule     improved: one figure at least is better beyond doubt, and none is worse beyond the margin. Worse: one is, beyond the margin.
 *          None: every figure is the same within the margin, or worse within it. Undecided: anything else, and where a side supports no
 *          claim or the conditions differed
 * Order    effect_add for every figure; effect_decide */
#ifndef RESULT_EFFECT_H
#define RESULT_EFFECT_H

#include "result/summary.h"

enum effect { EFFECT_UNDECIDED, EFFECT_IMPROVED, EFFECT_NONE, EFFECT_WORSE };
const char *effect_text(enum effect effect);

struct effect_figures {
  size_t n, n_better, n_worse, n_same;
  bool refused; /* a side supports no claim, or their conditions differ */
};

/* verdict: as verdict_text gives it; of others nothing follows. after_to_before: its ratio. */
void effect_add(struct effect_figures *figures, const char *verdict, double after_to_before, enum better better);
enum effect effect_decide(const struct effect_figures *figures);

#endif
