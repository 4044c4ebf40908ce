#include "result/points.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "result/point.h"

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

static void certify(struct result *result, struct result_precision *p) {
  struct result_certificate *c = &p->certificate;
  const struct contract_regime *regime = &result->contract.regime;
  const struct result_point *passing = NULL, *failing = NULL;
  for (size_t i = 0; i < p->n_points; i++) {
    const struct result_point *point = &p->points[i];
    c->n_arrivals += point->n_arrivals;
    if (point->sustained) passing = point;
  }
  for (size_t i = 0; i < p->n_points; i++) /* the lowest above the passing one */
    if (!p->points[i].sustained && (passing == NULL || p->points[i].rate_per_s > passing->rate_per_s)) {
      failing = &p->points[i];
      break;
    }
  bool below_fails = false;
  for (size_t i = 0; i < p->n_points && passing != NULL; i++)
    below_fails = below_fails || (!p->points[i].sustained && p->points[i].rate_per_s < passing->rate_per_s);
  c->passing = passing != NULL ? passing->rate_per_s : 0;
  c->failing = failing != NULL ? failing->rate_per_s : 0;
  c->failing_for_sure = failing != NULL &&
                        ((failing->backlog == LOAD_NOT_SUSTAINED && failing->growth.low > 0) || failing->objectives_missed);
  double resolution = c->passing > 0 && c->failing > 0 ? c->failing / c->passing - 1 : INFINITY;
  size_t sessions = (size_t)result->contract.method.sessions;
  bool both = passing != NULL && failing != NULL && passing->certify && failing->certify && passing->n_sessions >= sessions &&
              failing->n_sessions >= sessions,
       alone = both && passing->alone && failing->alone;
  struct arena *arena = &result->arena;
  c->certified = alone && !failing->instrument_limited && resolution <= regime->search.resolution * (1 + 1e-9) &&
                 passing->objectives_held && !below_fails && passing->growth.high < regime->search.resolution;
  if (passing == NULL) c->text = "no load was sustained";
  else if (failing == NULL)
    c->text = arena_printf(arena, "not saturated within the allowed range: %.6g requests/s, the greatest load that may be tried, %s",
                           c->passing, passing->certify ? "is sustained" : "was sustained in the search");
  else
    c->text = arena_printf(
        arena, "%.6g requests/s sustained (backlog growth at most %.2g %%), %.6g not (%s%s), resolution %.2g %%, %lld arrivals%s",
        c->passing, 100 * passing->growth.high, c->failing, failing->why, c->failing_for_sure ? ", for sure" : ", by the estimate",
        100 * resolution, (long long)c->n_arrivals,
        c->certified  ? ""
        : below_fails ? "; not certified: a lower load failed"
        : !both       ? "; not certified: the two loads were not both measured again, as often as method.sessions says"
        : !alone ? "; not certified: the executor was not seen idle before every window, so that one may have begun in another's backlog"
        : failing->instrument_limited
            ? arena_printf(arena,
                           "; not certified: at the failing load lynxbench itself was late by %.2g ms at p99 (%.2g %% of the median time "
                           "in the system): the load may have failed for its sake",
                           failing->lag_p99_ns / 1e6, 100 * failing->lag_share)
        : passing->growth.high >= regime->search.resolution
            ? "; not certified: at the passing load a growth of the resolution's size cannot be excluded: a longer window, or more sessions"
        : !passing->objectives_held
            ? "; not certified: at the passing load an objective is met by the estimate, but not by its whole interval"
            : "; not certified: the two loads are further apart than regime.search.resolution");
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
