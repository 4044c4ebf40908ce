#include "result/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/conditions.h"
#include "result/session_figures.h"

static const struct result_session *with_number(const struct result_precision *p, int64_t number) {
  for (size_t i = 0; i < p->n_sessions; i++)
    if (p->sessions[i].number == number && p->sessions[i].complete) return &p->sessions[i];
  return NULL;
}

/* Of either side; NULL: it can be judged. */
static const char *why_not(struct comparison_list *list, const struct contract *contract, const struct session_figure *f,
                           const struct result_precision *a, const struct result_precision *b) {
  const char *why = session_figure_why_not(contract, f, a, "A", &list->arena);
  return why != NULL ? why : session_figure_why_not(contract, f, b, "B", &list->arena);
}

/* Paired: only sessions that both sides have. */
static void add_figure(struct comparison_list *list, const struct contract *contract, const struct session_figure *f,
                       const struct result_precision *a, const struct result_precision *b) {
  double *x = xalloc(a->n_sessions + 1, sizeof *x), *y = xalloc(a->n_sessions + b->n_sessions + 1, sizeof *y);
  size_t n_x = 0, n_y = 0;
  for (size_t i = 0; i < a->n_sessions; i++) {
    double value = session_figure_of(&a->sessions[i], f);
    const struct result_session *other = list->paired ? with_number(b, a->sessions[i].number) : NULL;
    if (isnan(value) || (list->paired && (other == NULL || isnan(session_figure_of(other, f))))) continue;
    x[n_x++] = value;
    if (other != NULL) y[n_y++] = session_figure_of(other, f);
  }
  for (size_t i = 0; i < b->n_sessions && !list->paired; i++)
    if (!isnan(session_figure_of(&b->sessions[i], f))) y[n_y++] = session_figure_of(&b->sessions[i], f);
  if (n_x > 0 && n_y > 0) {
    struct comparison_figure *to = &list->items[list->n_items++];
    *to = (struct comparison_figure){.precision = a->name,
                                     .name = f->name,
                                     .formula = formulas[f->formula].id,
                                     .unit = formulas[f->formula].unit,
                                     .more_is_better = f->more_is_better,
                                     .a = quantile_plain_mean(x, n_x),
                                     .b = quantile_plain_mean(y, n_y),
                                     .n_a = n_x,
                                     .n_b = n_y,
                                     .ratio = compare_sessions(x, n_x, y, n_y, list->paired, list->margin, list->confidence),
                                     .not_judged = why_not(list, contract, f, a, b)};
    to->x = arena_alloc(&list->arena, n_x, sizeof *x);
    to->y = arena_alloc(&list->arena, n_y, sizeof *y);
    memcpy(to->x, x, n_x * sizeof *x);
    memcpy(to->y, y, n_y * sizeof *y);
    list->n_judged += to->not_judged == NULL;
  }
  free(x);
  free(y);
}

/* Two one-sided tests need no share of the error: all of them must reject for all to be the same. A difference does. */
static void share_error(struct comparison_list *list) {
  list->shared_confidence = 1 - (1 - list->confidence) / (double)(list->n_judged > 0 ? list->n_judged : 1);
  for (size_t i = 0; i < list->n_items; i++) {
    struct comparison_figure *f = &list->items[i];
    bool same = verdict_is_same(f->ratio.verdict);
    struct comparison shared = compare_sessions(f->x, f->n_a, f->y, f->n_b, list->paired, list->margin, list->shared_confidence);
    shared.inner_low = f->ratio.inner_low;
    shared.inner_high = f->ratio.inner_high;
    bool differs = shared.low > 1 || shared.high < 1;
    shared.verdict = list->unlike != NULL || f->not_judged != NULL ? VERDICT_INCONCLUSIVE
                     : same                                        ? (differs ? VERDICT_DIFFERENT_WITHIN : VERDICT_SAME)
                     : shared.verdict == VERDICT_DIFFERENT_BEYOND  ? VERDICT_DIFFERENT_BEYOND
                                                                   : VERDICT_INCONCLUSIVE;
    f->ratio = shared;
  }
}

static void add_only_one(struct comparison_list *list, const char *text) {
  result_add_text(&list->arena, &list->only_one, &list->n_only_one, text);
}

void comparison_make(const struct result *a, const struct result *b, bool interleaved, struct comparison_list *ret) {
  lynx_assert((a->n_precisions == 0 || a->precisions != NULL) && (b->n_precisions == 0 || b->precisions != NULL));
  *ret = (struct comparison_list){
      .paired = interleaved, .margin = a->contract.decision.margin, .confidence = a->contract.method.confidence};
  ret->items = arena_alloc(&ret->arena, a->n_precisions * SESSION_FIGURES_MAX + 1, sizeof *ret->items);
  for (size_t i = 0; i < a->n_precisions; i++) {
    const struct result_precision *x = &a->precisions[i], *y = result_precision_named(b, x->name);
    if (y == NULL && a->n_precisions == 1 && b->n_precisions == 1) y = &b->precisions[0]; /* one against one: that is the question */
    if (y == NULL || x->unavailable || y->unavailable) {
      add_only_one(ret, arena_printf(&ret->arena, "%s: %s", x->name,
                                     y == NULL        ? "only A has it"
                                     : x->unavailable ? "unavailable on A"
                                                      : "unavailable on B"));
      continue;
    }
    struct session_figure figures[SESSION_FIGURES_MAX];
    size_t n_figures = session_figures(&a->contract, x->has_tokens || y->has_tokens,
                                       a->contract.accuracy.measure == b->contract.accuracy.measure, figures);
    for (size_t f = 0; f < n_figures; f++) add_figure(ret, &a->contract, &figures[f], x, y);
    if (ret->unlike == NULL) ret->unlike = conditions_differ(&a->contract, &x->conditions, &y->conditions, &ret->arena);
  }
  for (size_t i = 0; i < b->n_precisions; i++)
    if (result_precision_named(a, b->precisions[i].name) == NULL && !(a->n_precisions == 1 && b->n_precisions == 1))
      add_only_one(ret, arena_printf(&ret->arena, "%s: only B has it", b->precisions[i].name));
  share_error(ret);
}

void comparison_release(struct comparison_list *list) {
  arena_release(&list->arena);
  *list = (struct comparison_list){0};
}
