#include "decide/cost.h"

#include <math.h>
#include <string.h>

#include "result/claim.h"
#include "result/conditions.h"
#include "result/figures.h"

/* --- intervals of logarithms --- */

/* How far the ends lie from the estimate, as logarithms. */
struct reach {
  double down, up;
};

static struct reach reach_of(const struct interval *i) {
  bool known = i->bounded && i->low > 0 && i->estimate > 0;
  return known ? (struct reach){log(i->estimate / i->low), log(i->high / i->estimate)} : (struct reach){INFINITY, INFINITY};
}

static struct interval with_reach(double estimate, double down, double up) {
  bool bounded = isfinite(down) && isfinite(up);
  return (struct interval){.estimate = estimate,
                           .low = bounded ? estimate * exp(-down) : 0,
                           .high = bounded ? estimate * exp(up) : INFINITY,
                           .bounded = bounded};
}

/* --- one run --- */

/* NULL: no certificate. */
static const struct result_point *passing_point(const struct result_precision *p) {
  if (!p->certificate.certified || !(p->certificate.passing > 0)) return NULL;
  for (size_t i = 0; i < p->n_points; i++)
    if (p->points[i].certify && p->points[i].rate_per_s == p->certificate.passing) return &p->points[i];
  return NULL;
}

/* What keeps a run from a claim keeps it from a price. */
static const char *why_no_claim(struct result *r, struct arena *arena) {
  struct claim claim;
  claim_build(r, 0, &claim);
  return claim.n_reasons > 0 ? arena_printf(arena, "the run supports no claim: %s", claim.reasons[0]) : NULL;
}

static const struct interval *useful_of(const struct result_precision *p, const struct result_point *point) {
  if (point != NULL) return p->has_tokens ? &point->good_output_rate : &point->goodput;
  return p->has_tokens ? &p->good_output_rate : &p->goodput;
}

/* Of prompts found in a cache less is computed: another share of them is another work. */
static double cache_hits(const struct result_precision *p) {
  for (size_t i = 0; i < p->n_server; i++)
    if (p->server[i].formula == FORMULA_CACHE_HIT_RATE) return p->server[i].value;
  return NAN;
}

static void describe(const struct result *r, const struct result_precision *p, const struct result_point *point, struct arena *arena,
                     struct cost_side *ret) {
  enum load_kind load = (enum load_kind)r->contract.regime.load;
  ret->certified = point != NULL;
  ret->can_be_certified = load == LOAD_CONSTANT || load == LOAD_POISSON || load == LOAD_BURSTY || load == LOAD_CLOSED;
  ret->has_objectives = p->n_objectives > 0;
  ret->unit = p->has_tokens ? "output tokens" : "requests";
  ret->cache_hits = cache_hits(p);
  ret->point = point != NULL ? arena_printf(arena, "at %.4g requests/s, which its certificate knows to %.3g %%", point->rate_per_s,
                                            100 * p->certificate.resolution)
                             : arena_printf(arena, "at the load of the contract (%s), %.4g requests/s answered", load_text(load),
                                            p->request_rate.estimate);
  if (p->has_tokens && p->mean_prompt_tokens > 0 && p->mean_output_tokens > 0)
    ret->read_per_written = p->mean_prompt_tokens / p->mean_output_tokens;
}

/* The capacity lies between the two loads, and the passing one may be above it by the resolution. */
static struct reach reach_of_useful(const struct result *r, const struct result_precision *p, const struct interval *useful) {
  struct reach reach = reach_of(useful);
  if (r->contract.regime.load != LOAD_SATURATION) return reach;
  const struct result_certificate *c = &p->certificate;
  double above = c->failing > c->passing ? log(c->failing / c->passing) : INFINITY;
  return (struct reach){hypot(reach.down, log1p(c->resolution)), hypot(reach.up, above)};
}

struct cost_doubt cost_of_run(struct result *r, const struct cost_price *price, struct arena *arena, struct cost_side *ret) {
  lynx_assert(price->per_hour > 0 && price->sold > 0);
  *ret = (struct cost_side){.price = *price, .joules = {.estimate = NAN}, .read_per_written = NAN, .cache_hits = NAN};
  if (r->n_precisions != 1)
    return (struct cost_doubt){arena_printf(arena, "the run has %zu precisions, each with a cost of its own", r->n_precisions),
                               "run each by itself (precisions: [ONE])"};
  const struct result_precision *p = &r->precisions[0];
  const char *why = why_no_claim(r, arena);
  if (why != NULL) return (struct cost_doubt){why, "`lynxbench show --claim` says all that keeps it from one"};
  const struct result_point *point = passing_point(p);
  if (p->certificate.searched && point == NULL)
    return (struct cost_doubt){"the search ended without a certificate: which load it can sell is not known", "a longer search"};
  describe(r, p, point, arena, ret);
  ret->useful = *useful_of(p, point);
  if (!(ret->useful.estimate > 0))
    return (struct cost_doubt){ret->has_objectives ? "no answer met the objectives: nothing was sold"
                                                   : "no request succeeded: nothing was sold",
                               "`lynxbench show` says how the answers were"};
  struct reach reach = reach_of_useful(r, p, &ret->useful);
  double error = log1p(price->error);
  ret->useful = with_reach(ret->useful.estimate, reach.down, reach.up);
  ret->million = with_reach(price->per_hour / (3600 * ret->useful.estimate * price->sold) * 1e6, hypot(reach.up, error),
                            hypot(reach.down, error));
  double watts = r->contract.cost.power_watts;
  if (watts > 0) ret->joules = with_reach(watts / ret->useful.estimate, reach.up, reach.down);
  return (struct cost_doubt){NULL, NULL};
}

/* --- two runs --- */

#define HITS_APART 0.05
#define LENGTH_APART 0.1

static bool are_apart(double a, double b, double most) {
  return isfinite(a) && isfinite(b) && fabs(a - b) > most;
}

static struct cost_doubt unlike(const struct result *a, const struct result *b, const struct cost_side *side_a,
                                const struct cost_side *side_b, struct arena *arena) {
  static const char one_contract[] = "two runs of one contract, of which only the executor differs";
  const struct result_precision *p = &a->precisions[0], *q = &b->precisions[0];
  /* At the load of a contract a throughput may be what was offered: then the loads must be alike, too. */
  enum contract_likeness what = side_a->certified ? CONTRACT_LIKE_GOODS : CONTRACT_LIKE_LOAD;
  const char *goods = contract_difference(&a->contract, &b->contract, CONTRACT_LIKE_GOODS, arena);
  const char *field = goods != NULL ? goods : contract_difference(&a->contract, &b->contract, what, arena);
  const char *conditions = conditions_differ(&a->contract, &p->conditions, &q->conditions, arena);
  const char *x = side_a->price.currency, *y = side_b->price.currency;
  const struct {
    bool holds;
    struct cost_doubt doubt;
  } reasons[] = {
      {side_a->certified != side_b->certified,
       {"one is at the load of a certificate, the other at the load of its contract", "two searches (regime.load: saturation), or none"}},
      {field != NULL, {arena_printf(arena, "what is bought is not alike: %s", field != NULL ? field : ""), one_contract}},
      {p->has_tokens != q->has_tokens || strcmp(p->token_source, q->token_source) != 0,
       {arena_printf(arena, "tokens are not counted alike: A by %s; B by %s", p->token_source, q->token_source),
        "servers that tell their usage alike"}},
      {p->has_tokens && are_apart(log(p->mean_output_tokens), log(q->mean_output_tokens), LENGTH_APART),
       {arena_printf(arena, "answers are not of one length: %.4g tokens on average in A, %.4g in B", p->mean_output_tokens,
                     q->mean_output_tokens),
        "answers of a given length (workload.ignore_eos)"}},
      {are_apart(side_a->cache_hits, side_b->cache_hits, HITS_APART),
       {arena_printf(arena, "the prefix cache found %.3g %% of the prompts in A and %.3g %% in B", 100 * side_a->cache_hits,
                     100 * side_b->cache_hits),
        "prompts that both find alike (workload.prompts)"}},
      {x[0] != 0 && y[0] != 0 && strcmp(x, y) != 0,
       {arena_printf(arena, "two currencies: A's price is in %s, B's in %s", x, y), "contracts that state one currency (cost.currency)"}},
      {conditions != NULL, {conditions, "the same beside the same neighbours: `lynxbench compare A.yaml B.yaml` runs both in turn"}}};
  for (size_t i = 0; i < LYNX_COUNT(reasons); i++)
    if (reasons[i].holds) return reasons[i].doubt;
  return (struct cost_doubt){NULL, NULL};
}

struct cost_doubt cost_compare(const struct result *a, const struct result *b, const struct cost_side *side_a,
                               const struct cost_side *side_b, struct arena *arena, struct cost_comparison *ret) {
  *ret = (struct cost_comparison){.decision = COST_NOT_DECIDED};
  struct cost_doubt doubt = unlike(a, b, side_a, side_b, arena);
  if (doubt.why != NULL) return doubt;
  const struct cost_price *pa = &side_a->price, *pb = &side_b->price;
  ret->same_source = pb->of_other || (pa->source[0] != 0 && strcmp(pa->source, pb->source) == 0);
  struct reach of_a = reach_of(&side_a->useful), of_b = reach_of(&side_b->useful);
  double down = hypot(of_b.down, of_a.up), up = hypot(of_b.up, of_a.down);
  double error_a = ret->same_source ? 0 : log1p(pa->error), error = ret->same_source ? 0 : hypot(error_a, log1p(pb->error));
  double gain = side_b->useful.estimate / side_a->useful.estimate, sold = pb->sold / pa->sold;
  ret->useful_ratio = with_reach(gain, down, up);
  ret->cost_ratio = with_reach(pb->per_hour / pa->per_hour / (gain * sold), hypot(up, error), hypot(down, error));
  ret->break_even = with_reach(pa->per_hour * gain * sold, hypot(down, error_a), hypot(up, error_a));
  if (ret->cost_ratio.bounded && ret->cost_ratio.high < 1) ret->decision = COST_B_LESS;
  if (ret->cost_ratio.bounded && ret->cost_ratio.low > 1) ret->decision = COST_B_MORE;
  return doubt;
}
