#include "result/effect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/conditions.h"
#include "stats/special.h"

static const int64_t in_turn_ns = 3600000000000; /* sessions that are run in turn begin within an hour */

const char *effect_text(enum effect effect) {
  static const char *const texts[] = {
      [EFFECT_UNDECIDED] = "undecided", [EFFECT_IMPROVED] = "improved", [EFFECT_NONE] = "no improvement", [EFFECT_WORSE] = "worse"};
  return texts[effect];
}

struct pair {
  const struct summary_figure *before, *after;
  const char *precision;
};

struct measuring {
  struct pair pairs[SUMMARY_PRECISIONS_MAX * SUMMARY_FIGURES_MAX];
  size_t n, n_better, n_worse, n_same;
  double margin, confidence;
};

/* --- which figures --- */

static const struct summary_figure *figure_of(const struct summary_precision *p, const struct summary_figure *like) {
  for (size_t i = 0; i < p->n_figures; i++) {
    const struct summary_figure *f = &p->figures[i];
    if (strcmp(f->name, like->name) == 0 && strcmp(f->formula, like->formula) == 0 && strcmp(f->unit, like->unit) == 0 &&
        f->better == like->better)
      return f;
  }
  return NULL;
}

static bool is_bounded(const struct summary_figure *f) {
  return f->better != BETTER_UNKNOWN && f->n >= 2 && f->low > 0 && f->low <= f->value && f->value <= f->high && isfinite(f->high);
}

static void take_pairs(struct measuring *m, const struct summary_precision *before, const struct summary_precision *after) {
  for (size_t i = 0; i < before->n_figures && m->n < LYNX_COUNT(m->pairs); i++) {
    const struct summary_figure *other = figure_of(after, &before->figures[i]);
    if (other != NULL && is_bounded(&before->figures[i]) && is_bounded(other))
      m->pairs[m->n++] = (struct pair){&before->figures[i], other, before->name};
  }
}

/* Which of the conditions differs most, in words. */
static const char *unlike_words(const struct result_conditions *before, const struct result_conditions *after) {
  static const char *const words[][2] = {{"the conditions differed: other processes used more of the processors in the run before",
                                          "the conditions differed: other processes used more of the processors in the run after"},
                                         {"the conditions differed: the hypervisor took more time in the run before",
                                          "the conditions differed: the hypervisor took more time in the run after"},
                                         {"the conditions differed: a quota stopped the server for longer in the run before",
                                          "the conditions differed: a quota stopped the server for longer in the run after"}};
  const double apart[] = {after->others - before->others, after->steal - before->steal, after->throttled - before->throttled};
  size_t most = 0;
  for (size_t i = 0; i < LYNX_COUNT(apart); i++) {
    if (isnan(apart[i])) return "the conditions differed: what ran beside is known of one run only";
    if (fabs(apart[i]) > fabs(apart[most])) most = i;
  }
  return words[most][apart[most] > 0];
}

/* NULL: nothing keeps the two from being compared. */
static const char *refusal(const struct summary *before, const struct summary *after, const struct contract *contract,
                           struct measuring *m) {
  if (before->n_precisions != after->n_precisions) return "the two runs measured different precisions";
  for (size_t i = 0; i < before->n_precisions; i++) {
    const struct summary_precision *a = &before->precisions[i], *b = summary_precision_named(after, a->name);
    struct arena arena = {0};
    if (b == NULL) return "the two runs measured different precisions";
    if (a->left_out != NULL || b->left_out != NULL) return "a run's figures cannot be trusted";
    if (a->no_claim != NULL || b->no_claim != NULL) return "no claim can be made of one of the runs";
    bool unlike = contract != NULL && conditions_differ(contract, &a->conditions, &b->conditions, &arena) != NULL;
    arena_release(&arena);
    if (unlike) return unlike_words(&a->conditions, &b->conditions);
    take_pairs(m, a, b);
  }
  return m->n > 0 ? NULL : "the two runs share no figure with an interval";
}

/* --- one figure --- */

struct ln_ratio {
  double centre, low, high;
};

/* Of ln(after / before); n_figures share the error. */
static struct ln_ratio ratio_of(const struct pair *p, double confidence, size_t n_figures) {
  double b = special_log(p->before->value), a = special_log(p->after->value), wider = 1;
  double below_a = a - special_log(p->after->low), above_a = special_log(p->after->high) - a;
  double below_b = b - special_log(p->before->low), above_b = special_log(p->before->high) - b;
  int64_t n = p->before->n < p->after->n ? p->before->n : p->after->n;
  if (n_figures > 1)
    wider = special_t_quantile(1 - (1 - confidence) / 2 / (double)n_figures, (double)n - 1) /
            special_t_quantile(1 - (1 - confidence) / 2, (double)n - 1);
  return (struct ln_ratio){a - b, a - b - wider * sqrt(below_a * below_a + above_b * above_b),
                           a - b + wider * sqrt(above_a * above_a + below_b * below_b)};
}

static void judge(struct measuring *m, const struct pair *p, struct effect_measured *ret) {
  struct ln_ratio r = ratio_of(p, m->confidence, m->n);
  double bound = special_log(1 + m->margin);
  bool more = p->before->better == BETTER_MORE, better = more ? r.low > 0 : r.high < 0, worse = more ? r.high < -bound : r.low > bound;
  bool decides = (worse && m->n_worse == 0) || (better && m->n_better == 0 && m->n_worse == 0);
  m->n_worse += worse;
  m->n_better += better;
  if (decides) {
    struct ln_ratio own = ratio_of(p, m->confidence, 1);
    ret->figure = p->before->name;
    ret->figure_ratio = special_exp(own.centre);
    ret->figure_low = special_exp(own.low);
    ret->figure_high = special_exp(own.high);
  }
  m->n_same += r.low >= -bound && r.high <= bound;
}

static void name_first(const struct measuring *m, struct effect_measured *ret) {
  const struct pair *first = &m->pairs[0];
  for (size_t i = m->n; i > 0; i--)
    if (strstr(m->pairs[i - 1].before->name, "throughput") != NULL) first = &m->pairs[i - 1];
  struct ln_ratio r = ratio_of(first, m->confidence, 1);
  ret->name = first->before->name;
  ret->precision = first->precision;
  ret->ratio = special_exp(r.centre);
  ret->low = special_exp(r.low);
  ret->high = special_exp(r.high);
}

static void decide(const struct measuring *m, struct effect_measured *ret) {
  if (m->n_worse > 0) {
    ret->effect = EFFECT_WORSE;
    ret->why = "a figure got worse";
  } else if (m->n_better > 0) {
    ret->effect = EFFECT_IMPROVED;
    ret->why = "";
  } else if (m->n_same == m->n) {
    ret->effect = EFFECT_NONE;
    ret->why = "no figure improved";
  } else ret->why = "whether it helped could not be decided";
}

void effect_measure(const struct summary *before, const struct summary *after, bool interleaved, const struct contract *contract,
                    struct effect_measured *ret) {
  struct measuring *m = xalloc(1, sizeof *m);
  int64_t later_ns = after->started_ns - before->started_ns;
  *ret = (struct effect_measured){.why = "", .figure = "", .name = "", .precision = "", .ratio = NAN, .low = NAN, .high = NAN};
  m->margin = contract != NULL ? contract->decision.margin : 0.05;
  m->confidence = contract != NULL ? contract->method.confidence : 0.95;
  const char *why = later_ns < (interleaved ? -in_turn_ns : 0) ? "the run after the change began before the other"
                                                               : refusal(before, after, contract, m);
  ret->n_figures = m->n;
  if (m->n > 0) name_first(m, ret);
  if (why != NULL) ret->why = why;
  else {
    for (size_t i = 0; i < m->n; i++) judge(m, &m->pairs[i], ret);
    decide(m, ret);
  }
  free(m);
}
