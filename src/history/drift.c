#include "history/drift.h"

#include <math.h>
#include <string.h>

#include "result/formula.h"

const char *drift_text(enum drift_kind kind) {
  static const char *const texts[] = {[DRIFT_UNKNOWN] = "not known",      [DRIFT_MACHINE] = "machine", [DRIFT_STACK] = "stack",
                                      [DRIFT_BOTH] = "machine and stack", [DRIFT_MODEL] = "model",     [DRIFT_NEITHER] = "neither"};
  return texts[kind];
}

static bool is_of(const struct history_series *s, enum formula_index formula) {
  return strcmp(s->formula, formulas[formula].id) == 0;
}

static bool is_accuracy(const struct history_series *s) {
  return is_of(s, FORMULA_EXACT_MATCH) || is_of(s, FORMULA_AGREEMENT) || is_of(s, FORMULA_SCORE) || is_of(s, FORMULA_BITS_PER_BYTE);
}

/* The ends of a change's interval, as factors from 1 on: the nearer to no change (1 where the interval holds 1) and the farther. */
static void ends_of(const struct change *c, double *ret_near, double *ret_far) {
  *ret_near = 1;
  *ret_far = INFINITY;
  if (!c->ratio || !(c->low > 0) || !(c->high > 0) || !isfinite(c->high)) return;
  double low = fmax(c->low, 1 / c->low), high = fmax(c->high, 1 / c->high);
  *ret_near = (c->low < 1) != (c->high < 1) ? 1 : fmin(low, high);
  *ret_far = fmax(low, high);
}

static bool is_followed(const struct history *h, const struct history_series *like, const struct change_plan *plan) {
  for (size_t i = 0; i < h->n_series; i++) {
    const struct history_series *s = &h->series[i];
    if (history_same_stack(s, like) && is_of(s, FORMULA_MACHINE_SPEED) && history_is_tested(s, plan)) return true;
  }
  return false;
}

static enum drift_kind kind_of(const struct drift *d, enum coincidence_kind with, bool accuracy, bool speed) {
  bool stack = with == COINCIDENCE_FACTS || with == COINCIDENCE_UNREAD;
  if (!d->machine_followed || with == COINCIDENCE_UNKNOWN) return DRIFT_UNKNOWN;
  if (d->machine != NULL) return stack ? DRIFT_BOTH : DRIFT_MACHINE;
  if (stack) return DRIFT_STACK;
  return accuracy && !speed ? DRIFT_MODEL : DRIFT_NEITHER;
}

static bool is_gain(const struct history *h, const struct history_change *change) {
  const struct history_series *s = &h->series[change->series];
  return (s->found.items[change->change].size > 1) == (s->better == BETTER_MORE);
}

/* The change whose near end lies farthest from none; NULL: there is none. */
static const struct history_change *leading(const struct history *h, const struct history_event *e, double *ret_near) {
  const struct history_change *found = NULL;
  *ret_near = 1;
  for (size_t i = 0; i < e->n_changes; i++) {
    const struct history_series *s = &h->series[e->changes[i].series];
    double near, far;
    if (is_of(s, FORMULA_MACHINE_SPEED) || is_accuracy(s)) continue;
    ends_of(&s->found.items[e->changes[i].change], &near, &far);
    if (found == NULL || near > *ret_near) found = &e->changes[i], *ret_near = near;
  }
  return found;
}

void drift_judge(const struct history *h, const struct history_event *e, const struct coincidence *c, const struct change_plan *plan,
                 struct drift *ret) {
  double machine_far = 1, speed_near, near, far;
  bool accuracy = false;
  const struct history_change *speed = leading(h, e, &speed_near);
  *ret = (struct drift){.machine_followed = is_followed(h, &h->series[e->changes[0].series], plan)};
  for (size_t i = 0; i < e->n_changes; i++) {
    const struct history_series *s = &h->series[e->changes[i].series];
    accuracy = accuracy || is_accuracy(s);
    /* A machine that became faster slows nothing down. */
    if (!is_of(s, FORMULA_MACHINE_SPEED) || (speed != NULL && is_gain(h, speed) != is_gain(h, &e->changes[i]))) continue;
    ends_of(&s->found.items[e->changes[i].change], &near, &far);
    if (ret->machine == NULL || far > machine_far) ret->machine = &e->changes[i], machine_far = far;
  }
  ret->executor_changed = accuracy || speed != NULL;
  ret->in_part = ret->machine != NULL && speed != NULL && machine_far < speed_near;
  ret->kind = kind_of(ret, c->kind, accuracy, speed != NULL);
}
