#include "result/objective.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/sessions.h"

void objective_values_add(struct objective_values *v, double ns, bool is_age) {
  if (is_age) {
    v->ages = xroom(v->ages, v->n_ages, &v->room, sizeof *v->ages);
    v->ages[v->n_ages++] = (struct sample_place){v->values.n, ns};
  }
  sample_add(&v->values, ns);
}

void objective_values_release(struct objective_values *values) {
  sample_release(&values->values);
  free(values->ages);
  *values = (struct objective_values){0};
}

const struct sample **objective_samples(struct objective_values *const *sessions, size_t n_sessions, bool only_whole, size_t *ret_n) {
  const struct sample **samples = (const struct sample **)xalloc(n_sessions + 1, sizeof(struct sample *));
  *ret_n = 0;
  for (size_t s = 0; s < n_sessions; s++)
    if (sessions[s]->whole || !only_whole) samples[(*ret_n)++] = &sessions[s]->values;
  return samples;
}

struct session_quantile objective_quantile(struct objective_values *const *sessions, size_t n_sessions, double p, double confidence) {
  size_t n_all, n_whole;
  const struct sample **all = objective_samples(sessions, n_sessions, false, &n_all),
                      **whole = objective_samples(sessions, n_sessions, true, &n_whole);
  struct session_quantile q = {.n = samples_count(all, n_all)};
  if (q.n > 0 && samples_count(whole, n_whole) == q.n) q = sessions_quantile(whole, n_whole, p, confidence);
  else if (q.n > 0) q.quantile = samples_quantile(all, n_all, p, confidence, 0);
  free((void *)all);
  free((void *)whole);
  return q;
}

/* The sessions with the ages at or below the bound as misses. */
static struct objective_values **spoil(struct objective_values *const *sessions, size_t n_sessions, double at_most,
                                       struct objective_values *spoiled) {
  struct objective_values **result = (struct objective_values **)xalloc(n_sessions + 1, sizeof(struct objective_values *));
  for (size_t s = 0; s < n_sessions; s++) {
    const struct objective_values *own = sessions[s];
    result[s] = sessions[s];
    if (own->n_ages == 0) continue;
    spoiled[s] = (struct objective_values){.values = sample_raised(&own->values, own->ages, own->n_ages, at_most), .whole = own->whole};
    result[s] = &spoiled[s];
  }
  return result;
}

void objective_judge(const struct contract_slo *slo, struct objective_values *const *sessions, size_t n_sessions, double confidence,
                     struct result_objective *ret) {
  double at_most = (double)slo->at_most_ns;
  struct objective_values *spoiled = xalloc(n_sessions + 1, sizeof *spoiled), **judged = spoil(sessions, n_sessions, at_most, spoiled);
  size_t n_whole;
  const struct sample **whole = objective_samples(judged, n_sessions, true, &n_whole);
  *ret = (struct result_objective){.metric = (enum metric)slo->metric, .quantile = slo->quantile, .at_most_ns = slo->at_most_ns};
  struct session_quantile measured = objective_quantile(judged, n_sessions, slo->quantile, confidence);
  if (measured.n > 0) {
    ret->measured = measured.quantile;
    ret->misses = sessions_share_above(whole, n_whole, at_most, slo->quantile, confidence);
    ret->n_effective = ret->misses.n_effective;
    double allowed = 1 - slo->quantile + 1e-12; /* 1 - 0.99 is not 0.01 */
    bool by_share = ret->misses.high <= allowed || ret->misses.low > allowed;
    bool held = ret->misses.high <= allowed || (ret->misses.far_above && ret->misses.share <= allowed),
         missed = ret->misses.low > allowed || (ret->misses.far_below && ret->misses.share > allowed);
    bool bounded = ret->n_effective >= (double)quantile_least_sample(slo->quantile, confidence);
    ret->by_distance = (held || missed) && !by_share;
    ret->met = ret->measured.estimate <= at_most;
    ret->verdict = held       ? OBJECTIVE_HOLDS
                   : missed   ? OBJECTIVE_FAILS
                   : !bounded ? OBJECTIVE_UNBOUNDED
                   : ret->met ? OBJECTIVE_MET
                              : OBJECTIVE_NOT_MET;
  }
  for (size_t s = 0; s < n_sessions; s++) objective_values_release(&spoiled[s]);
  free(spoiled);
  free((void *)judged);
  free((void *)whole);
}
