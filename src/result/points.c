#include "result/points.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "result/point.h"
#include "stats/special.h"

static bool counts(const struct bundle_session *s, const char *precision, enum purpose purpose) {
  return strcmp(s->precision, precision) == 0 && s->end == SESSION_COMPLETE && s->purpose == purpose;
}

static bool same_rate(double a, double b) {
  return a >= b && a <= b;
}

/* Was the executor seen idle before every window of that load? The first of a run has none before it. */
static bool all_alone(const struct bundle_session *const *sessions, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (sessions[i]->began == BEGAN_UNSEEN && sessions[i]->executor != EXECUTOR_IN_PROCESS && sessions[i]->id > 0) return false;
  return true;
}

/* The lowest load above `above` that has complete windows; infinite: none. */
static double next_load(const struct session_list *sessions, const char *precision, double above) {
  double least = INFINITY;
  for (size_t i = 0; i < sessions->n_items; i++) {
    const struct bundle_session *s = &sessions->items[i];
    if ((counts(s, precision, PURPOSE_SEARCH) || counts(s, precision, PURPOSE_CERTIFY)) && s->rate_per_s > above)
      least = fmin(least, s->rate_per_s);
  }
  return least;
}

/* Those of the certificate where it has any at that load, else those of the search: never both together. */
static size_t windows_at(const struct session_list *sessions, const char *precision, double rate, const struct bundle_session **ret) {
  size_t n = 0;
  for (int k = 0; k < 2 && n == 0; k++)
    for (size_t i = 0; i < sessions->n_items; i++)
      if (counts(&sessions->items[i], precision, k == 0 ? PURPOSE_CERTIFY : PURPOSE_SEARCH) &&
          same_rate(sessions->items[i].rate_per_s, rate))
        ret[n++] = &sessions->items[i];
  return n;
}

/* Of windows that hold no two answers, or where Little's law is far from holding, nothing of the long run is known. */
static bool is_long_enough(const struct result_point *p, int64_t counted_ns) {
  static const double law_most = 1.0 / 3;
  bool law = !(p->in_system > 1) || !(p->little > 0) || fabs(p->in_system - p->little) <= law_most * fmax(p->in_system, p->little);
  return law && !(WINDOW_ANSWERS_LEAST * p->end_to_end_p50 > (double)counted_ns);
}

/* Is it known whether that load is sustained? */
static bool is_judged(const struct result_point *p) {
  return p->n_arrivals >= GROWTH_ARRIVALS_LEAST;
}

/* The two loads of a certificate, and what speaks for it. */
struct bracket {
  const struct result_point *passing, *failing; /* NULL: there is none */
  bool below_fails, both, alone, long_enough;
  double apart, wanted, reached; /* resolutions; apart, reached: INFINITY: none */
};

static struct bracket find_bracket(const struct result *result, const struct result_precision *p) {
  struct bracket b = {.wanted = result->contract.regime.search.resolution};
  size_t sessions = (size_t)result->contract.method.sessions;
  for (size_t i = 0; i < p->n_points; i++)
    if (p->points[i].sustained) b.passing = &p->points[i];
  for (size_t i = p->n_points; i > 0; i--) { /* the lowest above the passing one */
    const struct result_point *point = &p->points[i - 1];
    if (!is_judged(point) || point->sustained) continue;
    if (b.passing == NULL || point->rate_per_s > b.passing->rate_per_s) b.failing = point;
    else b.below_fails = true;
  }
  b.both = b.passing != NULL && b.failing != NULL && b.passing->certify && b.failing->certify && b.passing->n_sessions >= sessions &&
           b.failing->n_sessions >= sessions;
  b.alone = b.both && b.passing->alone && b.failing->alone;
  b.long_enough = b.passing != NULL && is_long_enough(b.passing, result->contract.method.counted_ns);
  b.apart = b.passing != NULL && b.failing != NULL ? b.failing->rate_per_s / b.passing->rate_per_s - 1 : INFINITY;
  b.reached = b.passing != NULL ? saturation_reached(b.wanted, b.apart, b.passing->growth.high) : INFINITY;
  return b;
}

/* What is to be said of the certificate behind its loads. */
static const char *say_doubt(struct arena *arena, const struct bracket *b, bool certified) {
  if (certified && !(b->reached > b->wanted)) return "";
  if (certified)
    return arena_printf(arena, "; certified to %.3g %%, where the contract asks for %.3g %%: %s", 100 * b->reached, 100 * b->wanted,
                        b->apart > b->wanted * (1 + 1e-9)
                            ? "the time (method.budget) or the windows did not do for more"
                            : "a smaller growth cannot be excluded at the passing load; a longer window, or more sessions");
  if (b->below_fails) return "; not certified: a lower load failed";
  if (!b->both) return "; not certified: the two loads were not both measured again, as often as method.sessions says";
  if (!b->alone)
    return "; not certified: the executor was not seen idle before every window, so that one may have begun in another's backlog";
  if (!b->long_enough)
    return "; not certified: the windows hold less than two answers each, or Little's law is far from holding in them: a longer "
           "method.counted";
  if (b->failing->instrument_limited)
    return arena_printf(arena,
                        "; not certified: at the failing load lynxbench itself was late by %.2g ms at p99 (%.3g %% of the median time in "
                        "the system): the load may have failed because of that",
                        b->failing->lag_p99_ns / 1e6, 100 * b->failing->lag_share);
  if (b->apart > fmax(b->wanted, 0.2) * (1 + 1e-9)) return "; not certified: the two loads are further apart than regime.search.resolution";
  if (!isfinite(b->reached))
    return "; not certified: at the passing load a growth of the resolution's size cannot be excluded: a longer window, or more sessions";
  return "; not certified: at the passing load an objective is met by the estimate, but not by its whole interval";
}

static void certify(struct result *result, struct result_precision *p) {
  struct result_certificate *c = &p->certificate;
  struct arena *arena = &result->arena;
  const struct bracket b = find_bracket(result, p);
  const struct result_point *passing = b.passing, *failing = b.failing;
  for (size_t i = 0; i < p->n_points; i++) c->n_arrivals += p->points[i].n_arrivals;
  c->passing = passing != NULL ? passing->rate_per_s : 0;
  c->failing = failing != NULL ? failing->rate_per_s : 0;
  c->failing_for_sure = failing != NULL &&
                        ((failing->backlog == LOAD_NOT_SUSTAINED && failing->growth.low > 0) || failing->objectives_missed);
  c->range_ended = passing != NULL && failing == NULL && c->passing >= result->contract.regime.to_per_s * (1 - 1e-9);
  c->certified = passing != NULL && failing != NULL && b.alone && b.long_enough && !failing->instrument_limited && isfinite(b.reached) &&
                 passing->objectives_held && !b.below_fails;
  c->resolution = c->certified ? b.reached : 0;
  if (passing == NULL && p->n_points > 0)
    c->text = arena_printf(arena, "no load was sustained: at %.6g requests/s %s", p->points[0].rate_per_s, p->points[0].why);
  else if (passing == NULL) c->text = "no load was sustained: no window was run";
  else if (failing == NULL && !c->range_ended)
    c->text = arena_printf(arena, "not certified: the run ended before a load failed; %.6g requests/s was sustained%s", c->passing,
                           passing->certify ? "" : " in the search");
  else if (failing == NULL)
    c->text = arena_printf(arena, "not saturated within the allowed range: %.6g requests/s, the greatest load that may be tried, %s",
                           c->passing, passing->certify ? "is sustained" : "was sustained in the search");
  else
    c->text = arena_printf(
        arena, "%.6g requests/s sustained (backlog growth at most %.3g %%), %.6g not (%s%s), resolution %.3g %%, %lld arrivals%s",
        c->passing, 100 * passing->growth.high, c->failing, failing->why, c->failing_for_sure ? ", for sure" : ", by the estimate",
        100 * b.apart, (long long)c->n_arrivals, say_doubt(arena, &b, c->certified));
}

enum lynx_status points_judge(struct bundle *bundle, struct result *result, struct result_precision *p, const struct session_list *sessions,
                              struct lynx_error *error) {
  if (result->contract.regime.load != LOAD_SATURATION) return LYNX_OK;
  struct arena *arena = &result->arena;
  /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is meant */
  const struct bundle_session **own = arena_alloc(arena, sessions->n_items + 1, sizeof *own);
  enum lynx_status status = LYNX_OK;
  p->certificate.searched = true;
  p->points = arena_alloc(arena, sessions->n_items + 1, sizeof *p->points);
  double rate = next_load(sessions, p->name, 0);
  while (isfinite(rate) && status == LYNX_OK) {
    size_t n = windows_at(sessions, p->name, rate, own);
    status = point_measure(bundle, &result->contract, own, n, true, &p->points[p->n_points], error);
    p->points[p->n_points++].alone = all_alone(own, n);
    rate = next_load(sessions, p->name, rate);
  }
  if (status == LYNX_OK) certify(result, p);
  return status;
}

double result_search_slack(const struct result *r) {
  double slack = 0;
  if (r == NULL || r->contract.regime.load != LOAD_SATURATION) return 0;
  for (size_t i = 0; i < r->n_precisions; i++) {
    const struct result_certificate *c = &r->precisions[i].certificate;
    if (r->precisions[i].unavailable) continue;
    if (!c->certified || !(c->passing > 0) || !(c->failing > c->passing)) return INFINITY;
    double apart = c->failing / c->passing - 1, own = special_log(1 + (c->resolution > apart ? c->resolution : apart));
    slack = own > slack ? own : slack;
  }
  return slack;
}
