#include "verify/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/points.h"
#include "result/felt.h"
#include "stats/special.h"

const char *decision_text(enum decision decision) {
  static const char *const texts[] = {[DECISION_REPRODUCED] = "reproduced",
                                      [DECISION_NOT_REPRODUCED] = "not reproduced",
                                      [DECISION_INCONCLUSIVE] = "inconclusive",
                                      [DECISION_OTHER_CONFIGURATION] = "not the same configuration"};
  return texts[decision];
}

/* --- which figures --- */

enum { THROUGHPUT = -1 };

struct wanted {
  int metric, quantile; /* metric THROUGHPUT: no quantile */
  const char *name;
};

/* The quantile of a session that stands nearest to the objective's. */
static int nearest_quantile(double q) {
  int best = 0;
  for (int i = 1; i < RESULT_QUANTILES; i++)
    if (fabs(result_quantiles[i] - q) < fabs(result_quantiles[best] - q)) best = i;
  return best;
}

static size_t list_wanted(struct arena *arena, const struct contract *c, struct wanted **ret) {
  size_t n = 0;
  *ret = arena_alloc(arena, c->slo.n_items + 1, sizeof **ret);
  if (load_is_closed((enum load_kind)c->regime.load) || c->regime.load == LOAD_OFFLINE || c->regime.load == LOAD_SATURATION) {
    (*ret)[n++] = (struct wanted){THROUGHPUT, 0, "throughput"};
    return n;
  }
  const struct contract_slo *slo = c->slo.items;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    int q = nearest_quantile(slo[i].quantile);
    bool twice = false;
    for (size_t k = 0; k < n; k++) twice = twice || ((*ret)[k].metric == slo[i].metric && (*ret)[k].quantile == q);
    if (!twice)
      (*ret)[n++] = (struct wanted){slo[i].metric, q,
                                    arena_printf(arena, "%s p%g", metric_text((enum metric)slo[i].metric), 100 * result_quantiles[q])};
  }
  if (n == 0) (*ret)[n++] = (struct wanted){METRIC_END_TO_END, 0, arena_printf(arena, "%s p50", metric_text(METRIC_END_TO_END))};
  return n;
}

static double value_of(const struct result_precision *p, const struct result_session *s, const struct wanted *w) {
  return w->metric == THROUGHPUT ? result_throughput_of(p, s) : s->at[w->metric][w->quantile];
}

/* One value per complete session; a session that has none has no place in it. */
static struct felt_values list_values(struct arena *arena, const struct result_precision *p, const struct wanted *w) {
  size_t n = 0, room = p->n_sessions + 1;
  double *x = arena_alloc(arena, room, sizeof *x), *lost = arena_alloc(arena, room, sizeof *lost),
         *beside = arena_alloc(arena, room, sizeof *beside);
  for (size_t i = 0; i < p->n_sessions; i++) {
    double value = p->sessions[i].complete ? value_of(p, &p->sessions[i], w) : NAN;
    if (isnan(value)) continue;
    x[n] = value; /* of 0, where all failed, no ratio can be made: that is then inconclusive */
    lost[n] = p->sessions[i].felt.lost;
    beside[n++] = p->sessions[i].felt.beside;
  }
  return (struct felt_values){x, lost, beside, n};
}

static double log_deviation(const double *x, size_t n) {
  double mean = 0, sum = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(x[i] > 0) || isinf(x[i])) return NAN;
    mean += special_log(x[i]) / (double)n;
  }
  for (size_t i = 0; i < n; i++) sum += (special_log(x[i]) - mean) * (special_log(x[i]) - mean);
  return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

/* --- the plan --- */

/* n_known: sessions that the deviation was seen in. All figures must come out the same: each gets its share of the error. */
static void plan_figure(const struct decision_report *r, struct decision_figure *f, size_t n_known) {
  const struct plan_aim aim = {r->margin, r->confidence, r->beyond_confidence, 1 - (1 - PLAN_POWER) / (double)r->n_figures};
  double sd = compare_deviation_bound(f->sd, n_known, PLAN_DEVIATION);
  if (isnan(f->sd) || isinf(sd)) return;
  f->needed = compare_plan(sd, f->n_a, PLAN_SESSIONS_MAX, &aim);
  /* Equal sides are the best use of sessions: what the sealed result should have had. */
  for (size_t n = 3; f->needed == 0 && f->needed_sealed == 0 && n <= PLAN_SESSIONS_MAX; n++)
    if (compare_decides(compare_deviation_bound(f->sd, n, PLAN_DEVIATION), n, n, &aim)) f->needed_sealed = n;
}

static const char *say_slack(struct decision_report *r, double slack) {
  if (isinf(slack))
    return "one of the two searches certified no saturation point with a failing load above it: such points cannot be compared";
  return arena_printf(&r->arena, "the searches know their points to %.3g %% (search.resolution), against a margin of %.3g %%",
                      100 * (special_exp(slack) - 1), 100 * r->margin);
}

static void say_plan(struct decision_report *r, const struct contract *c) {
  const struct decision_figure *worst = NULL;
  r->planned = (size_t)c->method.sessions;
  r->none = true;
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct decision_figure *f = &r->figures[i];
    if (!isnan(f->sd)) r->none = false;
    if (f->needed == 0) r->too_few = true, worst = f;
    else if (f->needed > r->planned) r->planned = f->needed, worst = r->too_few ? worst : f;
  }
  if (r->too_few) { /* it may still come out clear: with many sessions, if at all */
    for (size_t i = 0; i < r->n_figures; i++)
      if (2 * r->figures[i].n_a > r->planned) r->planned = 2 * r->figures[i].n_a;
  }
  if (r->n_figures == 0) r->why = "the sealed result holds no figure that could be reproduced";
  else if (r->too_few && worst != NULL && worst->n_a >= 2 && isnan(worst->sd))
    r->why = arena_printf(&r->arena, "in a sealed session %s is infinite (requests failed): it cannot be compared with another",
                          worst->name);
  else if (r->too_few && worst != NULL && isnan(worst->sd))
    r->why = arena_printf(
        &r->arena,
        "the sealed result has %zu complete session%s of %s: fewer than 2 tell nothing of how sessions vary, so nothing can be decided",
        worst->n_a, LYNX_S(worst->n_a), worst->name);
  else if (r->too_few && worst != NULL && worst->needed_sealed > 0)
    r->why = arena_printf(&r->arena,
                          "the sealed result has too few sessions: %zu, whose %s vary by %.2g %%; however long the re-run, a margin of "
                          "%.3g %% is not decided "
                          "with %.0f %% certainty. %zu sessions on both sides would do",
                          worst->n_a, worst->name, 100 * worst->sd, 100 * r->margin, 100 * PLAN_POWER, worst->needed_sealed);
  else if (r->too_few && worst != NULL)
    r->why = arena_printf(&r->arena, "sessions' %s vary by %.2g %%: not even %d sessions on both sides decide a margin of %.3g %%",
                          worst->name, 100 * worst->sd, PLAN_SESSIONS_MAX, 100 * r->margin);
  else
    r->why = arena_printf(
        &r->arena, "%zu sessions decide a margin of %.3g %% with at least %.0f %% certainty, if they vary as the sealed ones did%s%s",
        r->planned, 100 * r->margin, 100 * PLAN_POWER, worst != NULL ? "; most are needed for " : "", worst != NULL ? worst->name : "");
}

/* Nothing was decided: by the figure that keeps it open, and what would decide it. */
static const char *say_open(struct decision_report *r) {
  const struct decision_figure *worst = NULL;
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct decision_figure *f = &r->figures[i];
    bool same = f->ratio.bounded && verdict_is_same(f->ratio.verdict);
    if (same) continue;
    if (f->felt_text != NULL)
      return arena_printf(&r->arena, "conditions differ (A: sealed, B: again): %s. %s: %s. Measure again beside the same neighbours",
                          r->felt, f->name, f->felt_text);
    if (!f->ratio.bounded) return arena_printf(&r->arena, "%s cannot be compared: too few sessions have it on either side", f->name);
    if (worst == NULL || f->ratio.needed_per_side > worst->ratio.needed_per_side) worst = f;
  }
  if (worst == NULL) return r->why;
  bool many = !(worst->ratio.needed_per_side <= PLAN_SESSIONS_MAX);
  return arena_printf(
      &r->arena, "sessions' %s vary by %.2g %% in the sealed run and by %.2g %% in this one: %s", worst->name, 100 * worst->sd,
      100 * worst->sd_again,
      many ? "so near the margin no number of sessions decides"
           : arena_printf(&r->arena, "about %.0f sessions on each side would decide",
                          fmax(worst->ratio.needed_per_side, (double)(worst->n_a > worst->n_b ? worst->n_a : worst->n_b) + 1)));
}

/* The re-run against the sealed sessions. felt: conditions were unlike; NULL */
static void decide_figure(struct decision_report *r, struct decision_figure *f, const struct felt_values *a, const struct felt_values *b,
                          const struct felt_sides *felt, bool rate) {
  f->ratio = compare_sessions(b->x, b->n, a->x, f->n_a, false, r->margin, r->confidence);
  struct comparison paid = compare_sessions(b->x, b->n, a->x, f->n_a, false, r->margin, r->beyond_confidence);
  if (felt != NULL) {
    struct covariance_comparison c = felt_compare(felt, rate, b, a, r->margin, r->confidence),
                                 c_paid = felt_compare(felt, rate, b, a, r->margin, r->beyond_confidence);
    f->felt_text = felt_figure_text(&c_paid, &r->arena);
    if (c.adjusted.bounded) f->ratio = c.adjusted;
    else f->ratio.verdict = VERDICT_INCONCLUSIVE;
    if (c_paid.adjusted.bounded) paid = c_paid.adjusted;
    else paid.verdict = VERDICT_INCONCLUSIVE;
  }
  f->low = paid.low;
  f->high = paid.high;
  f->beyond = paid.bounded && paid.verdict == VERDICT_DIFFERENT_BEYOND;
}

/* Both sides' figures; again NULL: only the sealed ones; n_sealed: as if there were so many sealed sessions; 0: as many as there are. */
static void gather(const struct contract *c, const struct result *sealed, const struct result *again, size_t n_sealed,
                   const char **ret_unlike, struct decision_report *ret) {
  struct wanted *wanted;
  *ret = (struct decision_report){.margin = c->decision.margin, .confidence = c->method.confidence, .decision = DECISION_INCONCLUSIVE};
  size_t n_wanted = list_wanted(&ret->arena, c, &wanted), n_able = 0;
  for (size_t i = 0; i < sealed->n_precisions; i++) {
    const struct result_precision *other = result_precision_named(again, sealed->precisions[i].name);
    n_able += !sealed->precisions[i].unavailable && (other == NULL || !other->unavailable);
  }
  ret->n_figures = n_able * n_wanted;
  ret->beyond_confidence = 1 - (1 - ret->confidence) / (double)(ret->n_figures > 0 ? ret->n_figures : 1);
  ret->figures = arena_alloc(&ret->arena, ret->n_figures + 1, sizeof *ret->figures);
  struct decision_figure *f = ret->figures;
  for (size_t i = 0; i < sealed->n_precisions; i++) {
    const struct result_precision *p = &sealed->precisions[i], *other = result_precision_named(again, p->name);
    bool able = !p->unavailable && (other == NULL || !other->unavailable);
    const struct felt_sides *felt = able && other != NULL ? felt_judge(c, p, other, false, &ret->arena, &ret->felt, ret_unlike) : NULL;
    for (size_t w = 0; w < n_wanted && able; w++, f++) {
      bool rate = wanted[w].metric == THROUGHPUT;
      *f = (struct decision_figure){
          .precision = p->name, .name = wanted[w].name, .unit = rate ? result_throughput_unit(p) : "ms", .unit_divisor = rate ? 1 : 1e6};
      const struct felt_values a = list_values(&ret->arena, p, &wanted[w]),
                               b = other != NULL ? list_values(&ret->arena, other, &wanted[w]) : (struct felt_values){.n = 0};
      f->n_a = a.n;
      size_t n_known = f->n_a;
      f->n_b = b.n;
      f->a = quantile_plain_mean(a.x, f->n_a);
      f->b = quantile_plain_mean(b.x, f->n_b);
      f->sd_again = log_deviation(b.x, f->n_b);
      f->sd = log_deviation(a.x, f->n_a);
      if (n_sealed > 0) f->n_a = n_sealed;
      plan_figure(ret, f, n_known);
      if (again == NULL) continue;
      decide_figure(ret, f, &a, &b, felt, rate);
    }
  }
  say_plan(ret, c);
}

void decision_forecast(const struct contract *contract, const struct result *like, struct decision_report *ret) {
  const char *unlike = NULL; /* nothing is compared */
  gather(contract, like, NULL, (size_t)contract->method.sessions, &unlike, ret);
}

void decision_plan(const struct result *sealed, struct decision_report *ret) {
  const char *unlike = NULL; /* nothing is compared */
  gather(&sealed->contract, sealed, NULL, 0, &unlike, ret);
  double slack = result_search_slack(sealed);
  if (slack >= special_log(1 + ret->margin))
    ret->too_few = true, ret->why = arena_printf(&ret->arena, "%s: no number of sessions decides that", say_slack(ret, slack));
}

void decision_make(const struct result *sealed, const struct result *again, struct decision_report *ret) {
  const char *unlike = NULL;
  gather(&sealed->contract, sealed, again, 0, &unlike, ret);
  double slack = result_search_slack(sealed) > result_search_slack(again) ? result_search_slack(sealed) : result_search_slack(again),
         limit = special_log(1 + ret->margin);
  bool all_same = ret->n_figures > 0, beyond = false;
  for (size_t i = 0; i < ret->n_figures; i++) {
    const struct decision_figure *f = &ret->figures[i];
    all_same = all_same && f->ratio.bounded && verdict_is_same(f->ratio.verdict);
    if (slack > 0) { /* as if the true points lay as far apart, or as near, as the searches leave open */
      all_same = all_same && slack < limit && special_log(f->ratio.inner_high) + slack < limit &&
                 special_log(f->ratio.inner_low) - slack > -limit;
      ret->figures[i].beyond = f->beyond && (special_log(f->low) - slack > limit || special_log(f->high) + slack < -limit);
    }
    beyond = beyond || ret->figures[i].beyond;
  }
  if (slack > 0 && !beyond && !all_same) ret->why = say_slack(ret, slack);
  if (slack <= 0 && !beyond && !all_same) ret->why = say_open(ret);
  ret->decision = beyond ? DECISION_NOT_REPRODUCED : all_same ? DECISION_REPRODUCED : DECISION_INCONCLUSIVE;
  if (unlike == NULL) return;
  ret->decision = DECISION_INCONCLUSIVE;
  ret->why = arena_printf(&ret->arena, "conditions differ (A: sealed, B: again): %s", unlike);
}

void decision_release(struct decision_report *report) {
  arena_release(&report->arena);
  *report = (struct decision_report){.n_figures = 0};
}
