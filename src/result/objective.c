#include "result/objective.h"

#include <math.h>
#include <stdlib.h>

void objective_values_release(struct objective_values *values) {
  values_release(&values->values);
  values_release(&values->ages);
}

double *objective_values_sorted(struct objective_values *const *sessions, size_t n_sessions, bool only_whole, size_t *ret_n) {
  size_t n = 0, at = 0;
  for (size_t s = 0; s < n_sessions; s++) n += sessions[s]->whole || !only_whole ? sessions[s]->values.n : 0;
  double *sorted = xalloc(n + 1, sizeof *sorted);
  for (size_t s = 0; s < n_sessions; s++)
    for (size_t i = 0; i < sessions[s]->values.n && (sessions[s]->whole || !only_whole); i++) sorted[at++] = sessions[s]->values.at[i];
  quantile_sort(sorted, n);
  *ret_n = n;
  return sorted;
}

/* Views of the complete sessions; how many values they hold. */
static size_t whole_ones(struct objective_values *const *sessions, size_t n_sessions, struct session_values *ret, size_t *ret_n) {
  size_t n_values = 0;
  *ret_n = 0;
  for (size_t s = 0; s < n_sessions; s++) {
    if (!sessions[s]->whole) continue;
    ret[(*ret_n)++] = (struct session_values){sessions[s]->values.at, sessions[s]->values.n};
    n_values += sessions[s]->values.n;
  }
  return n_values;
}

struct session_quantile objective_quantile(struct objective_values *const *sessions, size_t n_sessions, const double *sorted, size_t n,
                                           double p, double confidence) {
  struct session_values *own = xalloc(n_sessions + 1, sizeof *own);
  size_t n_own, n_values = whole_ones(sessions, n_sessions, own, &n_own);
  struct session_quantile q = {.n = n};
  if (n > 0 && n_values == n) q = sessions_quantile(own, n_own, sorted, p, confidence);
  else if (n > 0) q.quantile = quantile_interval_effective(sorted, n, p, confidence, 0);
  free(own);
  return q;
}

/* Ages at or below the bound become misses. *keep: what they were, to be put back. */
static void spoil(struct objective_values *v, double at_most, double **keep) {
  *keep = xalloc(v->ages.n + 1, sizeof **keep);
  for (size_t i = 0; i < v->ages.n; i++) {
    double *value = &v->values.at[(size_t)v->ages.at[i]];
    (*keep)[i] = *value;
    if (*value <= at_most) *value = INFINITY;
  }
}

static void mend(struct objective_values *v, double *keep) {
  for (size_t i = 0; i < v->ages.n; i++) v->values.at[(size_t)v->ages.at[i]] = keep[i];
  free(keep);
}

void objective_judge(const struct contract_slo *slo, struct objective_values *const *sessions, size_t n_sessions, double confidence,
                     struct result_objective *ret) {
  double at_most = (double)slo->at_most_ns, **keep = xalloc(n_sessions + 1, sizeof *keep);
  struct session_values *own = xalloc(n_sessions + 1, sizeof *own);
  size_t n, n_whole, n_own;
  *ret = (struct result_objective){.metric = (enum metric)slo->metric, .quantile = slo->quantile, .at_most_ns = slo->at_most_ns};
  for (size_t s = 0; s < n_sessions; s++) spoil(sessions[s], at_most, &keep[s]);
  double *sorted = objective_values_sorted(sessions, n_sessions, false, &n),
         *whole = objective_values_sorted(sessions, n_sessions, true, &n_whole);
  (void)whole_ones(sessions, n_sessions, own, &n_own);
  if (n > 0) {
    ret->measured = objective_quantile(sessions, n_sessions, sorted, n, slo->quantile, confidence).quantile;
    ret->misses = sessions_share_above(own, n_own, whole, at_most, slo->quantile, confidence);
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
  for (size_t s = 0; s < n_sessions; s++) mend(sessions[s], keep[s]);
  free(keep);
  free(own);
  free(sorted);
  free(whole);
}
