#include "result/points.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "result/point.h"

static bool counts(const struct bundle_session *s, const char *precision) {
  return strcmp(s->precision, precision) == 0 && s->end == SESSION_COMPLETE &&
         (s->purpose == PURPOSE_SEARCH || s->purpose == PURPOSE_CERTIFY);
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
  bool both = passing != NULL && failing != NULL && passing->certify && failing->certify;
  struct arena *arena = &result->arena;
  c->certified = both && resolution <= regime->search.resolution * (1 + 1e-9) && passing->objectives_held && !below_fails &&
                 passing->growth.high < regime->search.resolution;
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
        : !both       ? "; not certified: the two loads were not both measured again"
        : passing->growth.high >= regime->search.resolution
            ? "; not certified: at the passing load a growth of the resolution's size cannot be excluded: a longer window, or more sessions"
        : !passing->objectives_held
            ? "; not certified: at the passing load an objective is met by the estimate, but not by its whole interval"
            : "; not certified: the two loads are further apart than regime.search.resolution");
}

enum lynx_status points_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                              const struct session_list *sessions, struct lynx_error *error) {
  if (result->contract.regime.load != LOAD_SATURATION) return LYNX_OK;
  struct arena *arena = &result->arena;
  /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is meant */
  const struct bundle_session **own = arena_alloc(arena, sessions->n_items + 1, sizeof *own);
  bool *taken = arena_alloc(arena, sessions->n_items + 1, sizeof *taken);
  enum lynx_status status = LYNX_OK;
  p->certificate.searched = true;
  p->points = arena_alloc(arena, sessions->n_items + 1, sizeof *p->points);
  while (status == LYNX_OK) {
    double least = INFINITY;
    size_t n = 0;
    for (size_t i = 0; i < sessions->n_items; i++)
      if (!taken[i] && counts(&sessions->items[i], p->name)) least = fmin(least, sessions->items[i].rate_per_s);
    if (isinf(least)) break;
    for (size_t i = 0; i < sessions->n_items; i++) {
      if (taken[i] || !counts(&sessions->items[i], p->name) || sessions->items[i].rate_per_s > least) continue;
      taken[i] = true;
      own[n++] = &sessions->items[i];
    }
    status = point_measure(bundle, &result->contract, own, n, true, &p->points[p->n_points], error);
    p->n_points++;
  }
  if (status == LYNX_OK) certify(result, p);
  return status;
}
