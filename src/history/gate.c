#include "history/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/formula.h"
#include "stats/special.h"

const char *gate_verdict_text(enum gate_verdict verdict) {
  static const char *const texts[] = {[GATE_PASSES] = "passes", [GATE_FAILS] = "fails", [GATE_INCONCLUSIVE] = "inconclusive"};
  return texts[verdict];
}

/* --- one figure --- */

static double mean_ln(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += special_log(x[i]);
  return sum / (double)n;
}

static double deviation_ln(const double *x, size_t n, double mean) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double d = special_log(x[i]) - mean;
    sum += d * d;
  }
  return sqrt(sum / (double)(n - 1));
}

static double error_of(double deviation, size_t k, size_t m) {
  return deviation * sqrt(1 / (double)m + 1 / (double)k);
}

static enum gate_verdict judge(double worse, double error, double t_fails, double t_passes, double limit) {
  return worse - t_fails * error > limit ? GATE_FAILS : worse + t_passes * error < limit ? GATE_PASSES : GATE_INCONCLUSIVE;
}

struct gate_decision gate_decide(const double *base, size_t k, const double *fresh, size_t m, bool more_is_better, double own,
                                 size_t n_figures, const struct gate_plan *plan) {
  lynx_assert(k >= GATE_BASE_LEAST && m >= 1 && n_figures >= 1);
  double level = mean_ln(base, k), difference = mean_ln(fresh, m) - level, between = deviation_ln(base, k, level),
         limit = special_log(1 + plan->margin), freedom = (double)k - 1;
  double t_fails = special_t_quantile(1 - plan->false_alarms / (double)n_figures, freedom),
         t_passes = special_t_quantile(1 - plan->false_alarms, freedom);
  struct gate_decision d = {.worse = more_is_better ? -difference : difference, .deviation = between > own ? between : own};
  double error = error_of(d.deviation, k, m);
  d.low = d.worse - t_fails * error;
  d.high = d.worse + t_passes * error;
  d.verdict = judge(d.worse, error, t_fails, t_passes, limit);
  for (size_t n = m + 1; n <= GATE_RUNS_MAX && d.verdict == GATE_INCONCLUSIVE && d.needed == 0; n++)
    if (judge(d.worse, error_of(d.deviation, k, n), t_fails, t_passes, limit) != GATE_INCONCLUSIVE) d.needed = n;
  return d;
}

/* --- the baseline --- */

static bool is_worse(double level, double than, enum better better, double margin) {
  return better == BETTER_MORE ? level * (1 + margin) < than : level > than * (1 + margin);
}

/* The newest level that is not worse than the best one before it by more than the margin. */
static void choose_level(const struct history_series *s, double margin, size_t *ret_begin, size_t *ret_end) {
  const struct changes *c = &s->found;
  size_t n = s->changed ? c->n_items : 0;
  double level = n > 0 ? c->items[0].before : 0;
  *ret_begin = 0;
  *ret_end = n > 0 ? c->items[0].at : s->n_values;
  for (size_t i = 0; i < n; i++) {
    if (is_worse(c->items[i].after, level, s->better, margin)) continue;
    if (is_worse(level, c->items[i].after, s->better, 0)) level = c->items[i].after; /* steps of less than the margin do not add up */
    *ret_begin = c->items[i].at;
    *ret_end = i + 1 < n ? c->items[i + 1].at : s->n_values;
  }
}

static const struct history_series *series_named(const struct history *h, const char *precision, const char *figure) {
  for (size_t i = 0; i < h->n_series; i++)
    if (strcmp(h->series[i].precision, precision) == 0 && strcmp(h->series[i].figure, figure) == 0) return &h->series[i];
  return NULL;
}

static const struct summary_figure *figure_named(const struct summary_precision *p, const char *name) {
  for (size_t i = 0; i < p->n_figures; i++)
    if (strcmp(p->figures[i].name, name) == 0) return &p->figures[i];
  return NULL;
}

/* The standard error that a run's own sessions show: the greatest one among the fresh runs. Intervals are by the t distribution. */
static double own_error(const struct gate_question *q, const char *figure) {
  double greatest = 0;
  for (size_t i = 0; i < q->m; i++) {
    const struct summary_figure *f = figure_named(q->fresh[i], figure);
    if (f == NULL || f->n < 2 || !isfinite(f->high) || !isfinite(f->low) || !(f->value > 0)) continue;
    double error = (f->high - f->low) / 2 / special_t_quantile(0.975, (double)(f->n - 1)) / f->value;
    greatest = error > greatest ? error : greatest;
  }
  return greatest;
}

static bool all_positive(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(x[i] > 0)) return false;
  return true;
}

/* Its values in ret; returns how many. */
static size_t take_baseline(const struct gate_question *q, const struct gate_plan *plan, size_t n_figures, struct gate_figure *f,
                            double own, double *ret) {
  size_t begin, end, k = 0;
  bool more = f->better == BETTER_MORE;
  struct gate_plan strict = *plan; /* or those that are worse by chance would be taken out, and what is left vary less than runs do */
  strict.false_alarms /= 10;
  choose_level(f->series, plan->margin, &begin, &end);
  for (size_t i = begin; i < end; i++) {
    const struct history_value *v = &f->series->values[i];
    const char *no_claim = q->history->runs[v->run].precision->no_claim;
    if (no_claim != NULL) {
      f->n_unclaimed++;
      f->why_unclaimed = no_claim;
      continue;
    }
    bool can_judge = k >= GATE_BASE_LEAST && v->value > 0 && all_positive(ret, k);
    if (can_judge && gate_decide(ret, k, &v->value, 1, more, own, n_figures, &strict).verdict == GATE_FAILS) continue;
    ret[k++] = v->value;
    f->newest = v;
  }
  size_t left = k > plan->last ? k - plan->last : 0;
  memmove(ret, ret + left, (k - left) * sizeof *ret);
  return k - left;
}

static const char *too_few(struct gate *gate, const struct gate_figure *f) {
  const char *few = arena_printf(&gate->arena, "the baseline has %zu run%s of it; %d are needed", f->n_base, LYNX_S(f->n_base),
                                 GATE_BASE_LEAST);
  if (f->n_unclaimed == 0) return few;
  return arena_printf(&gate->arena, "%s. %zu more %s not count, since no claim can be made of %s: %s", few, f->n_unclaimed,
                      f->n_unclaimed == 1 ? "does" : "do", f->n_unclaimed == 1 ? "it" : "them", f->why_unclaimed);
}

static void judge_figure(const struct gate_question *q, const struct gate_plan *plan, struct gate *gate, struct gate_figure *f) {
  size_t m = 0;
  double own = own_error(q, f->figure);
  double *base = xalloc(f->series != NULL ? f->series->n_values + 1 : 1, sizeof *base), *fresh = xalloc(q->m, sizeof *fresh);
  if (f->series != NULL) f->n_base = take_baseline(q, plan, gate->n_figures, f, own, base);
  for (size_t i = 0; i < q->m; i++) {
    const struct summary_figure *value = figure_named(q->fresh[i], f->figure);
    if (value != NULL) fresh[m++] = value->value;
  }
  if (f->why != NULL) {
    /* it cannot be compared at all */
  } else if (m < q->m) f->why = "not every fresh run has it";
  else if (f->n_base < GATE_BASE_LEAST) f->why = too_few(gate, f);
  else if (!all_positive(base, f->n_base) || !all_positive(fresh, m)) f->why = "a value is not positive";
  else {
    f->base = special_exp(mean_ln(base, f->n_base));
    f->fresh = special_exp(mean_ln(fresh, m));
    f->decision = gate_decide(base, f->n_base, fresh, m, f->better == BETTER_MORE, own, gate->n_figures, plan);
  }
  if (f->why != NULL) f->decision.verdict = GATE_INCONCLUSIVE;
  free(base);
  free(fresh);
}

/* --- the machine itself --- */

/* What a slower machine makes worse: not what answers say. */
static bool is_speed(const struct gate_figure *f) {
  return strcmp(f->unit, "ns") == 0 || text_ends_with(f->unit, "/s");
}

/* The one of its rates that may be the most worse, of those that are worse for sure; NULL: none is. A wake-up's share of a request is not
 * known, so that it explains nothing. */
static const struct gate_figure *slower_machine(const struct gate_question *q, const struct gate_plan *plan, struct gate *gate) {
  struct gate_figure *found = NULL;
  for (size_t i = 0; i < q->history->n_series; i++) {
    const struct history_series *s = &q->history->series[i];
    struct gate_figure f = {.series = s, .figure = s->figure, .unit = s->unit, .better = s->better};
    if (strcmp(s->formula, formulas[FORMULA_MACHINE_SPEED].id) != 0 || strcmp(s->precision, q->fresh[0]->name) != 0 ||
        s->better != BETTER_MORE)
      continue;
    judge_figure(q, plan, gate, &f);
    if (f.decision.verdict != GATE_FAILS || (found != NULL && found->decision.high >= f.decision.high)) continue;
    found = arena_alloc(&gate->arena, 1, sizeof *found);
    *found = f;
  }
  return found;
}

static void excuse(const struct gate_question *q, const struct gate_plan *plan, struct gate *gate) {
  const struct gate_figure *machine = gate->verdict == GATE_FAILS ? slower_machine(q, plan, gate) : NULL;
  bool fails = false;
  for (size_t i = 0; i < gate->n_figures && machine != NULL; i++) {
    struct gate_figure *f = &gate->figures[i];
    if (f->decision.verdict == GATE_FAILS && is_speed(f) && f->decision.low <= machine->decision.high) {
      f->machine = machine;
      f->decision.verdict = GATE_INCONCLUSIVE;
    }
    fails = fails || f->decision.verdict == GATE_FAILS;
  }
  if (machine != NULL && !fails) gate->verdict = GATE_INCONCLUSIVE;
}

static void choose_leading(const struct gate_question *q, struct gate *gate) {
  for (size_t i = 0; i < gate->n_figures && gate->leading == NULL; i++)
    if (gate->figures[i].decision.verdict == gate->verdict) gate->leading = &gate->figures[i];
  const struct history_value *newest = gate->leading != NULL ? gate->leading->newest : NULL;
  if (newest != NULL) gate->last = &q->history->runs[newest->run];
}

/* --- A/A --- */

/* Marks the runs of one executor that are judged by those before them, and those that fail. */
static void judge_again(const struct gate_question *q, const struct gate_plan *plan, const struct gate *gate, const struct gate_figure *f,
                        bool *judged, bool *fails) {
  double *x = xalloc(f->series->n_values + 1, sizeof *x);
  size_t n = 0;
  for (size_t i = 0; i < f->series->n_values; i++) {
    const struct history_value *v = &f->series->values[i];
    const struct summary_precision *p = q->history->runs[v->run].precision;
    if (p->no_claim != NULL || !(v->value > 0) || strcmp(p->fingerprint, gate->last->precision->fingerprint) != 0) continue;
    size_t k = n < plan->last ? n : plan->last;
    if (k >= GATE_BASE_LEAST) {
      judged[v->run] = true;
      struct gate_decision d = gate_decide(x + n - k, k, &v->value, 1, f->better == BETTER_MORE, 0, gate->n_figures, plan);
      fails[v->run] = fails[v->run] || d.verdict == GATE_FAILS;
    }
    x[n++] = v->value;
  }
  free(x);
}

static void count_again(const struct gate_question *q, const struct gate_plan *plan, struct gate *gate) {
  size_t n = q->history->n_runs;
  bool *judged = xalloc(n + 1, sizeof *judged), *fails = xalloc(n + 1, sizeof *fails);
  for (size_t i = 0; i < gate->n_figures && gate->last != NULL && gate->last->precision->fingerprint[0] != 0; i++)
    if (gate->figures[i].series != NULL) judge_again(q, plan, gate, &gate->figures[i], judged, fails);
  for (size_t i = 0; i < n; i++) gate->n_again += judged[i], gate->n_again_fail += fails[i];
  free(judged);
  free(fails);
}

void gate_judge(const struct gate_question *q, const struct gate_plan *plan, struct gate *ret) {
  const char *precision = q->fresh[0]->name;
  *ret = (struct gate){.verdict = GATE_PASSES};
  ret->figures = arena_alloc(&ret->arena, q->n_wanted + 1, sizeof *ret->figures);
  for (size_t i = 0; i < q->n_wanted; i++) {
    const struct gate_wanted *w = &q->wanted[i];
    const struct history_series *series = series_named(q->history, precision, w->figure);
    bool fresh = false;
    for (size_t k = 0; k < q->m; k++) fresh = fresh || figure_named(q->fresh[k], w->figure) != NULL;
    if (!fresh && series == NULL && !w->required) continue;
    ret->figures[ret->n_figures++] = (struct gate_figure){
        .series = series, .figure = w->figure, .unit = w->unit, .better = w->better, .why = w->why};
  }
  for (size_t i = 0; i < ret->n_figures; i++) {
    struct gate_figure *f = &ret->figures[i];
    judge_figure(q, plan, ret, f);
    if (f->decision.verdict == GATE_FAILS) ret->verdict = GATE_FAILS;
    else if (f->decision.verdict == GATE_INCONCLUSIVE && ret->verdict == GATE_PASSES) ret->verdict = GATE_INCONCLUSIVE;
  }
  if (ret->n_figures == 0) ret->verdict = GATE_INCONCLUSIVE;
  excuse(q, plan, ret);
  choose_leading(q, ret);
  count_again(q, plan, ret);
}

void gate_release(struct gate *gate) {
  arena_release(&gate->arena);
}
