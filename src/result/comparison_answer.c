#include "result/comparison_answer.h"

#include <math.h>
#include <string.h>

#include "result/claim.h"

static const struct comparison_figure *figure_named(const struct comparison_list *list, const char *begin) {
  for (size_t i = 0; i < list->n_items; i++)
    if (list->items[i].not_judged == NULL && strncmp(list->items[i].name, begin, strlen(begin)) == 0) return &list->items[i];
  return NULL;
}

/* By the target; else by the first that is judged. */
static const struct comparison_figure *deciding(const struct contract *c, const struct comparison_list *list) {
  const struct comparison_figure *f = NULL;
  if (contract_target(c) == TARGET_LATENCY) {
    const struct contract_slo *slo = c->slo.items;
    if (c->slo.n_items > 0) {
      char *metric = arena_copy((struct arena *)&list->arena, metric_text((enum metric)slo->metric));
      for (char *at = metric; *at != 0; at++)
        if (*at == '_') *at = slo->metric == METRIC_INTER_TOKEN_LATENCY && at == strchr(metric, '_') ? '-' : ' ';
      f = figure_named(list, arena_printf((struct arena *)&list->arena, "%s, p%g", metric, 100 * slo->quantile));
    }
    if (f == NULL) f = figure_named(list, "time to first token");
    if (f == NULL) f = figure_named(list, "end to end");
  }
  if (f == NULL) f = figure_named(list, "output throughput");
  if (f == NULL) f = figure_named(list, "request throughput");
  return f != NULL ? f : figure_named(list, "");
}

static bool is_worse(const struct comparison_figure *f, bool b_wins) {
  bool more_of_b = f->ratio.ratio < 1;
  return f->not_judged == NULL && f->ratio.verdict == VERDICT_DIFFERENT_BEYOND && (more_of_b == f->more_is_better) != b_wins;
}

static const char *costs_text(const struct result *a, const struct result *b, const struct comparison_figure *f, struct arena *arena,
                              bool *ret_b_wins) {
  const struct contract_cost *x = &a->contract.cost, *y = &b->contract.cost;
  bool priced = contract_states(&a->contract, "cost") && contract_states(&b->contract, "cost") && x->price_per_hour > 0 &&
                y->price_per_hour > 0 && strcmp(x->currency, y->currency) == 0;
  if (!priced || !f->more_is_better) return NULL;
  double price = x->price_per_hour / y->price_per_hour; /* the cost of A's work to B's */
  double centre = price / f->ratio.ratio, low = price / f->ratio.high, high = price / f->ratio.low;
  if (!(low > 1) && !(high < 1)) return arena_printf(arena, "Not decided: A's work costs %.2f [%.2f, %.2f] times B's.", centre, low, high);
  *ret_b_wins = low > 1;
  return low > 1 ? arena_printf(arena, "B is cheaper: A's work costs %.2f times [%.2f, %.2f] B's", centre, low, high)
                 : arena_printf(arena, "A is cheaper: B's work costs %.2f times [%.2f, %.2f] A's", 1 / centre, 1 / high, 1 / low);
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

static const char *losses_text(const struct comparison_list *list, const struct comparison_figure *f, bool b_wins, struct arena *arena) {
  size_t n = 0;
  const char *first = "";
  for (size_t i = 0; i < list->n_items; i++) {
    if (&list->items[i] == f || !is_worse(&list->items[i], b_wins)) continue;
    if (n++ == 0) first = list->items[i].name;
  }
  if (n == 0) return ".";
  return n == 1 ? arena_printf(arena, "; its %s is worse.", first)
                : arena_printf(arena, "; its %s and %zu figure%s more are worse.", first, n - 1, LYNX_S(n - 1));
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

void comparison_answer(struct result *a, struct result *b, struct comparison_list *list, struct comparison_answer *ret) {
  struct arena *arena = &list->arena;
  const struct comparison_figure *f = deciding(&a->contract, list);
  const char *no_a = refusal(a), *no_b = refusal(b);
  *ret = (struct comparison_answer){.sentence = "", .winner = "", .figure = f};
  if (no_a != NULL || no_b != NULL)
    ret->sentence = arena_printf(arena, "Not decided: no claim can be made of %s (%s).", no_a != NULL ? "A" : "B",
                                 no_a != NULL ? no_a : no_b);
  else if (list->load != NULL) ret->sentence = arena_printf(arena, "Not decided: the loads differ (%s).", list->load);
  else if (list->unlike != NULL) ret->sentence = arena_printf(arena, "Not decided: the conditions differ (%s).", list->unlike);
  else if (f == NULL) {
    const char *why = list->n_items > 0 && list->items[0].not_judged != NULL ? list->items[0].not_judged : "they share no figure";
    ret->sentence = arena_printf(arena, "Not decided: %s.", why);
  }
  if (ret->sentence[0] != 0) return;
  bool b_wins = (f->ratio.ratio < 1) == f->more_is_better;
  const char *cost = contract_target(&a->contract) == TARGET_COST ? costs_text(a, b, f, arena, &b_wins) : NULL;
  const struct comparison *r = &f->ratio;
  if (cost != NULL && strncmp(cost, "Not", 3) == 0) ret->sentence = cost;
  else if (cost == NULL && verdict_is_same(r->verdict))
    ret->sentence = arena_printf(arena, "The same within %.3g %%: A's %s is %.4f times [%.4f, %.4f] B's.", 100 * list->margin, f->name,
                                 r->ratio, r->low, r->high);
  else if (cost == NULL && r->verdict == VERDICT_INCONCLUSIVE)
    ret->sentence = arena_printf(arena, "Not decided: A's %s is %.3f times [%.3f, %.3f] B's, against a margin of %.3g %%.", f->name,
                                 r->ratio, r->low, r->high, 100 * list->margin);
  else {
    ret->winner = b_wins ? "B" : "A";
    ret->sentence = arena_printf(arena, "%s%s", cost != NULL ? cost : factor_text(f, b_wins, arena), losses_text(list, f, b_wins, arena));
  }
}
