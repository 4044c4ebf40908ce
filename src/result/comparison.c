#include "result/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Paired: only sessions that both sides have. */
/* Accuracy is what the contract measures it by: of bits per byte less is better. */
static struct figure accuracy_figure(const struct contract *contract) {
  static const enum formula_index ids[] = {[ACCURACY_LIKELIHOOD] = FORMULA_BITS_PER_BYTE,
                                           [ACCURACY_EXACT_MATCH] = FORMULA_EXACT_MATCH,
                                           [ACCURACY_TOKEN_AGREEMENT] = FORMULA_AGREEMENT,
                                           [ACCURACY_SCORER] = FORMULA_SCORE};
  return (struct figure){"accuracy", ids[contract->accuracy.measure], contract->accuracy.measure != ACCURACY_LIKELIHOOD, ACCURACY, 0};
}

static void add_figure(struct comparison_list *list, const struct figure *f, const struct result_precision *a,
                       const struct result_precision *b) {
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
  if (n_x > 0 && n_y > 0)
    list->items[list->n_items++] = (struct comparison_figure){
        .precision = a->name,
        .name = f->name,
        .formula = formulas[f->formula].id,
        .unit = formulas[f->formula].unit,
        .more_is_better = f->more_is_better,
        .a = quantile_plain_mean(x, n_x),
        .b = quantile_plain_mean(y, n_y),
        .n_a = n_x,
        .n_b = n_y,
        .ratio = compare_sessions(x, n_x, y, n_y, list->paired, list->margin, list->confidence)};
  free(x);
  free(y);
}

static void add_only_one(struct comparison_list *list, const char *text) {
  const char **grown = arena_alloc(&list->arena, list->n_only_one + 1, sizeof *grown);
  if (list->n_only_one > 0) memcpy(grown, list->only_one, list->n_only_one * sizeof *grown);
  grown[list->n_only_one++] = text;
  list->only_one = grown;
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
      if (figures[f].metric != OUTPUT_RATE || x->has_tokens || y->has_tokens) add_figure(ret, &figures[f], x, y);
    struct figure accuracy = accuracy_figure(&a->contract);
    if (a->contract.accuracy.measure == b->contract.accuracy.measure) add_figure(ret, &accuracy, x, y);
  }
  for (size_t i = 0; i < b->n_precisions; i++)
    if (result_precision_named(a, b->precisions[i].name) == NULL && !(a->n_precisions == 1 && b->n_precisions == 1))
      add_only_one(ret, arena_printf(&ret->arena, "%s: only B has it", b->precisions[i].name));
}

void comparison_release(struct comparison_list *list) {
  arena_release(&list->arena);
  *list = (struct comparison_list){0};
}
