#include "result/comparison_answer.h"

#include <math.h>
#include <string.h>

#include "result/claim.h"

/* One precision's figures, and what is said of them. */
struct side_by_side {
  const struct result *a, *b;
  const char *precision;
  const struct comparison_list *list;
  struct arena *arena;
};

static const struct comparison_figure *figure_named(const struct side_by_side *x, const char *name) {
  for (size_t i = 0; i < x->list->n_items; i++)
    if (strcmp(x->list->items[i].precision, x->precision) == 0 && strcmp(x->list->items[i].name, name) == 0) return &x->list->items[i];
  return NULL;
}

/* "time to first token" */
static const char *metric_words(const struct side_by_side *x, enum metric metric) {
  char *text = arena_copy(x->arena, metric == METRIC_INTER_TOKEN_LATENCY ? "inter-token latency" : metric_text(metric));
  for (char *at = text; *at != 0; at++)
    if (*at == '_') *at = ' ';
  return text;
}

/* The one that the operating target names, judged or not: another one would answer another question. */
static const struct comparison_figure *deciding(const struct side_by_side *x) {
  const struct contract *c = &x->a->contract;
  const struct comparison_figure *f = NULL;
  if (contract_target(c) == TARGET_LATENCY && c->slo.n_items > 0) {
    const struct contract_slo *slo = c->slo.items;
    f = figure_named(x, arena_printf(x->arena, "%s, p%g", metric_words(x, (enum metric)slo->metric), 100 * slo->quantile));
  }
  if (contract_target(c) == TARGET_LATENCY && f == NULL) f = figure_named(x, "time to first token, p50");
  if (contract_target(c) == TARGET_LATENCY && f == NULL) f = figure_named(x, "end to end, p50");
  if (f == NULL) f = figure_named(x, "output throughput");
  return f != NULL ? f : figure_named(x, "request throughput");
}

/* Its first objective that is missed; NULL: none. */
static const struct result_objective *missed_objective(const struct side_by_side *x, const struct result *side) {
  const struct result_precision *p = result_precision_named(side, x->precision);
  if (p == NULL && side->n_precisions == 1) p = &side->precisions[0];
  for (size_t i = 0; p != NULL && i < p->n_objectives; i++)
    if (p->objectives[i].verdict == OBJECTIVE_FAILS || p->objectives[i].verdict == OBJECTIVE_NOT_MET) return &p->objectives[i];
  return NULL;
}

static bool is_worse(const struct comparison_figure *f, bool b_wins) {
  bool more_of_b = f->ratio.ratio < 1;
  return f->not_judged == NULL && f->ratio.verdict == VERDICT_DIFFERENT_BEYOND && (more_of_b == f->more_is_better) != b_wins;
}

/* NULL: it is not about cost. A text that begins with "Not": nothing is decided. */
static const char *costs_text(const struct side_by_side *x, const struct comparison_figure *f, bool *ret_b_wins) {
  const struct contract_cost *a = &x->a->contract.cost, *b = &x->b->contract.cost;
  if (contract_target(&x->a->contract) != TARGET_COST) return NULL;
  if (!contract_states(&x->a->contract, "cost") || !contract_states(&x->b->contract, "cost") || !(a->price_per_hour > 0) ||
      !(b->price_per_hour > 0))
    return "Not decided: one of them has no price (cost.price_per_hour)";
  if (strcmp(a->currency, b->currency) != 0)
    return arena_printf(x->arena, "Not decided: the prices are in %s and %s", a->currency, b->currency);
  if (f->ratio.verdict == VERDICT_INCONCLUSIVE || !f->more_is_better)
    return "Not decided: the throughputs cannot be told apart, or be compared";
  double price = a->price_per_hour / b->price_per_hour; /* the cost of A's work to B's */
  double centre = price / f->ratio.ratio, low = price / f->ratio.high, high = price / f->ratio.low;
  if (!(low > 1) && !(high < 1))
    return arena_printf(x->arena, "Not decided: A's work costs %.2f [%.2f, %.2f] times B's", centre, low, high);
  *ret_b_wins = low > 1;
  return low > 1 ? arena_printf(x->arena, "B is cheaper: A's work costs %.2f times [%.2f, %.2f] B's", centre, low, high)
                 : arena_printf(x->arena, "A is cheaper: B's work costs %.2f times [%.2f, %.2f] A's", 1 / centre, 1 / high, 1 / low);
}

static const char *factor_text(const struct comparison_figure *f, bool b_wins, struct arena *arena) {
  const struct comparison *r = &f->ratio;
  bool turned = r->ratio < 1; /* told as a factor above 1 */
  double centre = turned ? 1 / r->ratio : r->ratio, low = turned ? 1 / r->high : r->low, high = turned ? 1 / r->low : r->high;
  int decimals = centre < 10 ? 2 : centre < 100 ? 1 : 0;
  const char *more = turned ? "B" : "A", *less = turned ? "A" : "B";
  return arena_printf(arena, "%s is better: %s's %s is %.*f times [%.*f, %.*f] %s's", b_wins ? "B" : "A", more, f->name, decimals, centre,
                      decimals, low, decimals, high, less);
}

static const char *losses_text(const struct side_by_side *x, const struct comparison_figure *f, bool b_wins) {
  size_t n = 0;
  const char *first = "", *winner = b_wins ? "B" : "A";
  for (size_t i = 0; i < x->list->n_items; i++) {
    const struct comparison_figure *other = &x->list->items[i];
    if (other == f || strcmp(other->precision, x->precision) != 0 || !is_worse(other, b_wins)) continue;
    if (n++ == 0) first = other->name;
  }
  if (n == 0) return "";
  return n == 1 ? arena_printf(x->arena, "; %s's %s is worse", winner, first)
                : arena_printf(x->arena, "; %s's %s and %zu figure%s more are worse", winner, first, n - 1, LYNX_S(n - 1));
}

/* What keeps a side from a claim keeps the comparison from a verdict. NULL: nothing does. */
static const char *refusal(struct result *side) {
  for (size_t i = 0; i < side->n_precisions; i++) {
    struct claim claim;
    if (side->precisions[i].unavailable) continue;
    claim_build(side, i, &claim);
    if (claim.n_reasons > 0) return claim.reasons[0];
  }
  return NULL;
}

/* Without the full stop. */
static const char *precision_text(const struct side_by_side *x, const char **ret_winner, const struct comparison_figure **ret_figure) {
  const struct comparison_figure *f = deciding(x);
  const struct result_objective *missed_a = missed_objective(x, x->a), *missed_b = missed_objective(x, x->b);
  *ret_winner = "";
  *ret_figure = f;
  if (f == NULL) return "Not decided: they share no throughput and no latency";
  if ((missed_a != NULL) != (missed_b != NULL)) {
    const struct result_objective *o = missed_a != NULL ? missed_a : missed_b;
    *ret_winner = missed_a != NULL ? "B" : "A";
    return arena_printf(x->arena, "%s is better: %s misses the objective on %s p%g, which %s holds", *ret_winner,
                        missed_a != NULL ? "A" : "B", metric_words(x, o->metric), 100 * o->quantile, *ret_winner);
  }
  if (f->not_judged != NULL) return arena_printf(x->arena, "Not decided: %s is not judged, since %s", f->name, f->not_judged);
  const struct comparison *r = &f->ratio;
  bool b_wins = (r->ratio < 1) == f->more_is_better;
  const char *cost = costs_text(x, f, &b_wins), *both = missed_a != NULL ? "; both miss an objective" : "";
  if (cost != NULL && strncmp(cost, "Not", 3) == 0) return cost;
  if (cost == NULL && verdict_is_same(r->verdict))
    return arena_printf(x->arena, "The same within %.3g %%: A's %s is %.4f times [%.4f, %.4f] B's%s", 100 * x->list->margin, f->name,
                        r->ratio, r->low, r->high, both);
  if (cost == NULL && r->verdict == VERDICT_INCONCLUSIVE)
    return arena_printf(x->arena, "Not decided: A's %s is %.3f times [%.3f, %.3f] B's, against a margin of %.3g %%", f->name, r->ratio,
                        r->low, r->high, 100 * x->list->margin);
  *ret_winner = b_wins ? "B" : "A";
  return arena_printf(x->arena, "%s%s%s", cost != NULL ? cost : factor_text(f, b_wins, x->arena), losses_text(x, f, b_wins), both);
}

/* Each precision by itself; a winner is named where it is the same at all. */
static void answer_each(struct side_by_side *x, struct comparison_answer *ret) {
  const char *all = "", *winner = NULL;
  bool one = true, many = false;
  for (size_t i = 0; i < x->list->n_items; i++) {
    const char *own;
    if (i > 0 && strcmp(x->list->items[i].precision, x->list->items[i - 1].precision) == 0) continue;
    x->precision = x->list->items[i].precision;
    const struct comparison_figure *figure;
    const char *text = precision_text(x, &own, &figure);
    if (i == 0) ret->figure = figure;
    many = many || i > 0;
    all = i == 0 ? text : arena_printf(x->arena, "%s. %s: %s", all, x->precision, text);
    one = one && (winner == NULL || strcmp(winner, own) == 0);
    winner = own;
  }
  const char *first = x->list->items[0].precision;
  ret->sentence = many ? arena_printf(x->arena, "%s: %s.", first, all) : arena_printf(x->arena, "%s.", all);
  ret->winner = one && winner != NULL ? winner : "";
}

void comparison_answer(struct result *a, struct result *b, struct comparison_list *list, struct comparison_answer *ret) {
  struct arena *arena = &list->arena;
  struct side_by_side x = {.a = a, .b = b, .precision = "", .list = list, .arena = arena};
  const char *no_a = refusal(a), *no_b = refusal(b), *no = no_a != NULL ? no_a : no_b;
  *ret = (struct comparison_answer){.sentence = "", .winner = "", .figure = NULL};
  if (no != NULL) ret->sentence = arena_printf(arena, "Not decided: no claim can be made of %s (%s).", no_a != NULL ? "A" : "B", no);
  else if (list->load != NULL) ret->sentence = arena_printf(arena, "Not decided: the loads differ (%s).", list->load);
  else if (list->unlike != NULL) ret->sentence = arena_printf(arena, "Not decided: the conditions differ (%s).", list->unlike);
  else if (list->n_items == 0) ret->sentence = "Not decided: they share no figure.";
  else answer_each(&x, ret);
}
