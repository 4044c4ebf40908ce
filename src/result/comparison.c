#include "result/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/conditions.h"

struct figure {
  const char *name;
  enum formula_index formula;
  bool more_is_better;
  int metric, quantile; /* metric -1: output rate; -2: request rate; -3: accuracy */
};

enum { OUTPUT_RATE = -1, REQUEST_RATE = -2, ACCURACY = -3, P50 = 0, P99 = 3 };

static const struct figure figures[] = {
    {"output throughput", FORMULA_OUTPUT_RATE, true, OUTPUT_RATE, 0},
    {"request throughput", FORMULA_REQUEST_RATE, true, REQUEST_RATE, 0},
    {"time to first token, p50", FORMULA_TTFT, false, METRIC_TIME_TO_FIRST_TOKEN, P50},
    {"time to first token, p99", FORMULA_TTFT, false, METRIC_TIME_TO_FIRST_TOKEN, P99},
    {"time per output token, p50", FORMULA_TPOT, false, METRIC_TIME_PER_OUTPUT_TOKEN, P50},
    {"end to end, p50", FORMULA_E2E, false, METRIC_END_TO_END, P50},
    {"end to end, p99", FORMULA_E2E, false, METRIC_END_TO_END, P99},
};

static double figure_of(const struct result_session *s, const struct figure *f) {
  if (!s->complete) return NAN;
  return f->metric == OUTPUT_RATE    ? s->output_rate
         : f->metric == REQUEST_RATE ? s->request_rate
         : f->metric == ACCURACY     ? s->accuracy
                                     : s->at[f->metric][f->quantile];
}

static const struct result_session *with_number(const struct result_precision *p, int64_t number) {
  for (size_t i = 0; i < p->n_sessions; i++)
    if (p->sessions[i].number == number && p->sessions[i].complete) return &p->sessions[i];
  return NULL;
}

/* Accuracy is what the contract measures it by: of bits per byte less is better. */
static struct figure accuracy_figure(const struct contract *contract) {
  static const enum formula_index ids[] = {[ACCURACY_LIKELIHOOD] = FORMULA_BITS_PER_BYTE,
                                           [ACCURACY_EXACT_MATCH] = FORMULA_EXACT_MATCH,
                                           [ACCURACY_TOKEN_AGREEMENT] = FORMULA_AGREEMENT,
                                           [ACCURACY_SCORER] = FORMULA_SCORE};
  return (struct figure){"accuracy", ids[contract->accuracy.measure], contract->accuracy.measure != ACCURACY_LIKELIHOOD, ACCURACY, 0};
}

/* What of a latency cannot be judged; NULL: it can. */
static const char *why_not(struct comparison_list *list, const struct contract *contract, const struct figure *f,
                           const struct result_precision *a, const struct result_precision *b) {
  const struct result_precision *const sides[] = {a, b};
  if (f->metric < 0) return NULL;
  for (int i = 0; i < 2; i++) {
    const struct result_latency *latency = &sides[i]->latency[f->metric];
    if (!latency->at[f->quantile].quantile.bounded) return arena_printf(&list->arena, "%s's sample cannot bound it", i == 0 ? "A" : "B");
    if (!result_states(contract, latency, f->quantile))
      return arena_printf(&list->arena, "the instrument's own lateness can have raised %s's by %.2g %%", i == 0 ? "A" : "B",
                          100 * latency->instrument_share[f->quantile]);
  }
  return NULL;
}

/* Paired: only sessions that both sides have. */
static void add_figure(struct comparison_list *list, const struct contract *contract, const struct figure *f,
                       const struct result_precision *a, const struct result_precision *b) {
  double *x = xalloc(a->n_sessions + 1, sizeof *x), *y = xalloc(a->n_sessions + b->n_sessions + 1, sizeof *y);
  size_t n_x = 0, n_y = 0;
  for (size_t i = 0; i < a->n_sessions; i++) {
    double value = figure_of(&a->sessions[i], f);
    const struct result_session *other = list->paired ? with_number(b, a->sessions[i].number) : NULL;
    if (isnan(value) || (list->paired && (other == NULL || isnan(figure_of(other, f))))) continue;
    x[n_x++] = value;
    if (other != NULL) y[n_y++] = figure_of(other, f);
  }
  for (size_t i = 0; i < b->n_sessions && !list->paired; i++)
    if (!isnan(figure_of(&b->sessions[i], f))) y[n_y++] = figure_of(&b->sessions[i], f);
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
  ret->items = arena_alloc(&ret->arena, a->n_precisions * (LYNX_COUNT(figures) + 1) + 1, sizeof *ret->items);
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
    for (size_t f = 0; f < LYNX_COUNT(figures); f++)
      if (figures[f].metric != OUTPUT_RATE || x->has_tokens || y->has_tokens) add_figure(ret, &a->contract, &figures[f], x, y);
    struct figure accuracy = accuracy_figure(&a->contract);
    if (a->contract.accuracy.measure == b->contract.accuracy.measure) add_figure(ret, &a->contract, &accuracy, x, y);
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
