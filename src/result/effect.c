#include "result/effect.h"

#include <math.h>
#include <string.h>

#include "stats/compare.h"

const char *effect_text(enum effect effect) {
  static const char *const texts[] = {
      [EFFECT_UNDECIDED] = "undecided", [EFFECT_IMPROVED] = "improved", [EFFECT_NONE] = "no improvement", [EFFECT_WORSE] = "worse"};
  return texts[effect];
}

void effect_add(struct effect_figures *figures, const char *verdict, double after_to_before, enum better better) {
  bool beyond = strcmp(verdict, verdict_text(VERDICT_DIFFERENT_BEYOND)) == 0,
       within = strcmp(verdict, verdict_text(VERDICT_DIFFERENT_WITHIN)) == 0,
       good = better != BETTER_UNKNOWN && (after_to_before > 1) == (better == BETTER_MORE);
  figures->n++;
  if (!isfinite(after_to_before)) return;
  if ((beyond || within) && good) figures->n_better++;
  else if (beyond && better != BETTER_UNKNOWN) figures->n_worse++;
  else if (within || strcmp(verdict, verdict_text(VERDICT_SAME)) == 0) figures->n_same++;
}

enum effect effect_decide(const struct effect_figures *figures) {
  if (figures->refused) return EFFECT_UNDECIDED;
  if (figures->n_worse > 0) return EFFECT_WORSE;
  if (figures->n_better > 0) return EFFECT_IMPROVED;
  return figures->n > 0 && figures->n_same == figures->n ? EFFECT_NONE : EFFECT_UNDECIDED;
}
