#include "result/comparison.h"

#include <math.h>
#include <string.h>

#include "result/points.h"
#include "result/session_figures.h"
#include "stats/special.h"

static const struct result_session *with_number(const struct result_precision *p, int64_t number) {
  for (size_t i = 0; i < p->n_sessions; i++)
    if (p->sessions[i].number == number && p->sessions[i].complete) return &p->sessions[i];
  return NULL;
}

/* Of either side; NULL: it can be judged. */
static const char *why_not(struct comparison_list *list, const struct contract *contract, const struct session_figure *f,
                           const struct result_precision *a, const struct result_precision *b) {
  if (list->load != NULL) return "the loads differ";
  const char *why = session_figure_why_not(contract, f, a, "A", &list->arena);
  return why != NULL ? why : session_figure_why_not(contract, f, b, "B", &list->arena);
}

/* One side's sessions of a figure. */
struct side {
  double *values, *lost, *beside;
  size_t n;
};

static struct side new_side(struct arena *arena, size_t most) {
  return (struct side){arena_alloc(arena, most + 1, sizeof(double)), arena_alloc(arena, most + 1, sizeof(double)),
                       arena_alloc(arena, most + 1, sizeof(double)), 0};
}

static void add_session(struct side *side, const struct result_session *s, double value) {
  side->values[side->n] = value;
  side->lost[side->n] = s->felt.lost;
  side->beside[side->n++] = s->felt.beside;
}

/* Paired: only sessions that both sides have. */
static void add_figure(struct comparison_list *list, const struct contract *contract, const struct session_figure *f,
                       const struct result_precision *a, const struct result_precision *b, const struct felt_sides *felt) {
  struct side x = new_side(&list->arena, a->n_sessions), y = new_side(&list->arena, a->n_sessions + b->n_sessions);
  for (size_t i = 0; i < a->n_sessions; i++) {
    double value = session_figure_of(&a->sessions[i], f);
    const struct result_session *other = list->paired ? with_number(b, a->sessions[i].number) : NULL;
    if (isnan(value) || (list->paired && (other == NULL || isnan(session_figure_of(other, f))))) continue;
    add_session(&x, &a->sessions[i], value);
    if (other != NULL) add_session(&y, other, session_figure_of(other, f));
  }
  for (size_t i = 0; i < b->n_sessions && !list->paired; i++) {
    double value = session_figure_of(&b->sessions[i], f);
    if (!isnan(value)) add_session(&y, &b->sessions[i], value);
  }
  if (x.n > 0 && y.n > 0) {
    struct comparison_figure *to = &list->items[list->n_items++];
    *to = (struct comparison_figure){.precision = a->name,
                                     .name = f->name,
                                     .formula = formulas[f->formula].id,
                                     .unit = formulas[f->formula].unit,
                                     .more_is_better = f->more_is_better,
                                     .a = quantile_plain_mean(x.values, x.n),
                                     .b = quantile_plain_mean(y.values, y.n),
                                     .n_a = x.n,
                                     .n_b = y.n,
                                     .x = x.values,
                                     .y = y.values,
                                     .lost_x = x.lost,
                                     .lost_y = y.lost,
                                     .beside_x = x.beside,
                                     .beside_y = y.beside,
                                     .felt = felt,
                                     .not_judged = why_not(list, contract, f, a, b)};
    list->n_judged += to->not_judged == NULL;
  }
}

static bool is_throughput(const struct comparison_figure *f) {
  return strstr(f->name, "throughput") != NULL;
}

/* To what a throughput is known, however little its sessions vary, as a logarithm: what a window that begins a moment later may hold more;
 * of a search, its resolution. */
static double known_to(const struct result *r, const struct result_precision *p) {
  double slack = result_search_slack(r), rate = result_throughput(p)->estimate, step = p->has_tokens ? p->token_step : p->request_step;
  double quantum = rate > 0 && step > 0 ? special_log(1 + step / rate) : 0;
  return slack > quantum ? slack : quantum;
}

/* At a confidence. Unlike conditions: as at equal ones, where that is bounded. */
static struct comparison judge(struct comparison_list *list, struct comparison_figure *f, double confidence) {
  if (f->felt == NULL) {
    struct comparison c = compare_sessions(f->x, f->n_a, f->y, f->n_b, list->paired, list->margin, confidence);
    compare_not_finer(&c, f->known_to, list->margin, confidence);
    return c;
  }
  const struct felt_values a = {f->x, f->lost_x, f->beside_x, f->n_a}, b = {f->y, f->lost_y, f->beside_y, f->n_b};
  struct covariance_comparison c = felt_compare(f->felt, is_throughput(f), &a, &b, list->margin, confidence);
  f->felt_text = felt_figure_text(&c, &list->arena);
  compare_not_finer(&c.adjusted, f->known_to, list->margin, confidence);
  if (c.adjusted.bounded) return c.adjusted;
  struct comparison plain = compare_sessions(f->x, f->n_a, f->y, f->n_b, list->paired, list->margin, confidence);
  plain.verdict = VERDICT_INCONCLUSIVE;
  plain.needed_per_side = INFINITY;
  return plain;
}

/* Two one-sided tests need no share of the error: all of them must reject for all to be the same. A difference does. */
static void share_error(struct comparison_list *list) {
  list->shared_confidence = 1 - (1 - list->confidence) / (double)(list->n_judged > 0 ? list->n_judged : 1);
  for (size_t i = 0; i < list->n_items; i++) {
    struct comparison_figure *f = &list->items[i];
    const struct comparison own = judge(list, f, list->confidence);
    struct comparison shared = judge(list, f, list->shared_confidence);
    bool same = verdict_is_same(own.verdict);
    shared.inner_low = own.inner_low;
    shared.inner_high = own.inner_high;
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
  ret->load = contract_difference(&a->contract, &b->contract, CONTRACT_LIKE_LOAD, &ret->arena);
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
    const struct felt_sides *felt = felt_judge(&a->contract, x, y, ret->paired, &ret->arena, &ret->felt, &ret->unlike);
    size_t from = ret->n_items;
    for (size_t f = 0; f < n_figures; f++) add_figure(ret, &a->contract, &figures[f], x, y, felt);
    double known = hypot(known_to(a, x), known_to(b, y));
    for (size_t f = from; f < ret->n_items; f++) ret->items[f].known_to = is_throughput(&ret->items[f]) ? known : 0;
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
