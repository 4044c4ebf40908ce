#include "board/planned.h"

#include <math.h>
#include <string.h>

#include "stats/special.h"

bool planned_of(const struct board_contract *c, const struct history_series *s, struct planned *ret) {
  const struct history_value *f = s->n_values > 0 ? &s->values[s->n_values - 1] : NULL;
  if (c->contract == NULL || f == NULL || s->better != BETTER_MORE || strstr(s->figure, "throughput") == NULL) return false;
  if (f->n < 2 || !isfinite(f->low) || !isfinite(f->high) || !(f->value > 0)) return false;
  const double confidence = c->contract->method.confidence;
  double error = (f->high - f->low) / 2 / special_t_quantile((1 + confidence) / 2, (double)(f->n - 1));
  *ret = (struct planned){.have = (size_t)f->n, .deviation = error * sqrt((double)f->n) / f->value, .margin = c->contract->decision.margin};
  const struct plan_aim aim = {ret->margin, confidence, confidence, PLAN_POWER};
  ret->needed = compare_plan(compare_deviation_bound(ret->deviation, ret->have, PLAN_DEVIATION), ret->have, PLAN_SESSIONS_MAX, &aim);
  return true;
}
