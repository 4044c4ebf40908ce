#include "result/point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/events.h"
#include "result/result_private.h"
#include "stats/compare.h"

enum { PARTS = 20, FIGURES = METRIC_COUNT };

struct measuring {
  const struct contract *contract;
  int64_t from, to;
  double *changes; /* of this session: arrivals minus departures per part */
  struct values values[FIGURES];
  double arrivals, departures, tokens, area_ns, time_ns, n_timed;
  int64_t n_failed, n_good;
  bool broken;
};

static size_t part_of(const struct measuring *m, int64_t at) {
  size_t part = (size_t)((double)(at - m->from) / (double)(m->to - m->from) * PARTS);
  return part < PARTS ? part : PARTS - 1;
}

static void add_tokens(struct measuring *m, const struct bundle_request *r) {
  struct events_reader reader;
  struct answer_event event;
  double scale = result_tokens_per_count(r);
  events_begin(&reader, r->events, r->events_length);
  for (int more; (more = events_next(&reader, &event)) != 0;) {
    if (more < 0) {
      m->broken = true;
      return;
    }
    int64_t at = r->written_ns + event.at_ns;
    if (at >= m->from && at < m->to) m->tokens += event.n_tokens * scale;
  }
}

static enum lynx_status take_request(void *context, const struct bundle_request *r) {
  struct measuring *m = context;
  struct seen_request seen;
  if (!result_see(r, &seen)) return LYNX_INPUT;
  int64_t begin = r->scheduled_ns > m->from ? r->scheduled_ns : m->from, end = r->end_ns < m->to ? r->end_ns : m->to;
  if (end > begin) m->area_ns += (double)(end - begin);
  if (r->scheduled_ns >= m->from && r->scheduled_ns < m->to) {
    m->arrivals++;
    m->changes[part_of(m, r->scheduled_ns)] += 1;
  }
  bool ended = seen.outcome != OUTCOME_UNFINISHED && seen.outcome != OUTCOME_ABANDONED; /* the others were cut off by us */
  if (ended && r->end_ns >= m->from && r->end_ns < m->to) {
    m->departures++;
    m->changes[part_of(m, r->end_ns)] -= 1;
  }
  if (seen.ok || !ended) add_tokens(m, r);
  if (!seen.counted) return m->broken ? LYNX_INPUT : LYNX_OK;
  m->time_ns += (double)(r->end_ns - r->scheduled_ns);
  m->n_timed++;
  m->n_failed += !seen.ok;
  m->n_good += seen.ok && result_meets_objectives(m->contract, r);
  for (int metric = 0; metric < METRIC_COUNT; metric++) {
    double ns;
    if (result_latency_of(m->contract, (enum metric)metric, r, &ns)) values_add(&m->values[metric], ns);
  }
  return m->broken ? LYNX_INPUT : LYNX_OK;
}

static double sorted_quantile(const struct values *v, double p) {
  return v->n > 0 ? quantile_of(v->at, v->n, p) : NAN;
}

/* The objectives over all windows together; interval and refusal as everywhere (stats/sessions.h). */
static void judge_objectives(const struct contract *contract, const struct session_values (*by_session)[METRIC_COUNT], size_t n,
                             const struct values *pooled, struct result_point *p) {
  const struct contract_slo *slo = contract->slo.items;
  struct session_values *own = xalloc(n + 1, sizeof *own);
  p->objectives_met = p->objectives_held = true;
  for (size_t i = 0; i < contract->slo.n_items; i++) {
    if (pooled[slo[i].metric].n == 0) continue;
    for (size_t s = 0; s < n; s++) own[s] = by_session[s][slo[i].metric];
    struct session_share misses = sessions_share_above(own, n, pooled[slo[i].metric].at, (double)slo[i].at_most_ns, slo[i].quantile,
                                                       contract->method.confidence);
    double allowed = 1 - slo[i].quantile + 1e-12;
    p->objectives_met = p->objectives_met && misses.share <= allowed;
    p->objectives_held = p->objectives_held && (misses.high <= allowed || (misses.far_above && misses.share <= allowed));
    p->objectives_missed = p->objectives_missed || misses.low > allowed || (misses.far_below && misses.share > allowed);
  }
  free(own);
}

static struct quantile interval_of(struct session_values (*by_session)[METRIC_COUNT], size_t n, const struct values *pooled,
                                   enum metric metric, const struct contract *contract) {
  struct session_values *own = xalloc(n + 1, sizeof *own);
  struct quantile q = {0};
  for (size_t s = 0; s < n; s++) own[s] = by_session[s][metric];
  if (pooled[metric].n > 0) q = sessions_quantile(own, n, pooled[metric].at, 0.99, contract->method.confidence).quantile;
  free(own);
  return q;
}

enum lynx_status point_measure(struct bundle *bundle, const struct contract *contract, const struct bundle_session *const *sessions,
                               size_t n_sessions, bool final, struct arena *arena, struct result_point *ret, struct lynx_error *error) {
  struct values pooled[METRIC_COUNT] = {{0}};
  struct session_values(*by_session)[METRIC_COUNT] = xalloc(n_sessions + 1, sizeof *by_session);
  size_t(*ends)[METRIC_COUNT] = xalloc(n_sessions + 1, sizeof *ends);
  double *changes = xalloc((n_sessions + 1) * PARTS, sizeof *changes), *rates = xalloc(n_sessions + 1, sizeof *rates),
         *good = xalloc(n_sessions + 1, sizeof *good), area = 0, window = 0, time = 0, timed = 0;
  double arrivals = 0;
  enum lynx_status status = LYNX_OK;
  *ret = (struct result_point){.n_sessions = n_sessions, .rate_per_s = n_sessions > 0 ? sessions[0]->rate_per_s : 0};
  for (size_t s = 0; s < n_sessions && status == LYNX_OK; s++) {
    struct measuring m = {.contract = contract,
                          .from = sessions[s]->warm_up_ns,
                          .to = sessions[s]->warm_up_ns + sessions[s]->counted_ns,
                          .changes = changes + s * PARTS};
    memcpy(m.values, pooled, sizeof pooled); /* goes on where the session before ended */
    status = bundle_each_request(bundle, sessions[s]->id, take_request, &m, error);
    memcpy(pooled, m.values, sizeof pooled);
    double seconds = (double)sessions[s]->counted_ns / 1e9;
    for (int k = 0; k < METRIC_COUNT; k++) ends[s][k] = pooled[k].n;
    rates[s] = m.tokens / seconds;
    good[s] = (double)m.n_good / seconds;
    arrivals += m.arrivals;
    area += m.area_ns / 1e9;
    window += seconds;
    time += m.time_ns / 1e9;
    timed += m.n_timed;
    ret->n_failed += m.n_failed;
    ret->certify = ret->certify || strcmp(sessions[s]->purpose, "certify") == 0;
  }
  for (size_t s = 0; s < n_sessions; s++)
    for (int k = 0; k < METRIC_COUNT; k++) {
      size_t from = s > 0 ? ends[s - 1][k] : 0;
      double *copy = arena_alloc(arena, ends[s][k] - from + 1, sizeof *copy);
      for (size_t i = from; i < ends[s][k]; i++) copy[i - from] = pooled[k].at[i];
      by_session[s][k] = (struct session_values){copy, ends[s][k] - from};
    }
  for (int k = 0; k < METRIC_COUNT; k++) quantile_sort(pooled[k].at, pooled[k].n);
  size_t looks = (size_t)contract->regime.search.looks_at_most;
  ret->n_arrivals = (int64_t)arrivals;
  ret->growth = growth_of(changes, n_sessions * PARTS, arrivals, look_confidence(contract->method.confidence, looks));
  ret->backlog = growth_verdict(&ret->growth, contract->regime.search.resolution, final);
  judge_objectives(contract, (const struct session_values(*)[METRIC_COUNT])by_session, n_sessions, pooled, ret);
  double failed = timed > 0 ? (double)ret->n_failed / timed : 0;
  bool failing = failed > contract->method.failures_at_most;
  ret->sustained = ret->backlog == LOAD_SUSTAINED && ret->objectives_met && !failing && timed > 0;
  ret->why = ret->backlog == LOAD_NOT_SUSTAINED ? "the backlog grows"
             : failing                          ? "more requests fail than method.failures_at_most"
             : !ret->objectives_met             ? "an objective is missed"
             : ret->backlog == LOAD_UNDECIDED   ? "the backlog's growth is not decided yet"
             : timed > 0 && ret->growth.low > 0 ? "the backlog grows by less than the resolution tells, and the objectives are met"
             : timed > 0                        ? "completions keep up, and the objectives are met"
                                                : "no request was counted";
  ret->output_rate = result_interval(rates, n_sessions, contract->method.confidence);
  ret->goodput = result_interval(good, n_sessions, contract->method.confidence);
  ret->time_to_first_token_p99_interval = interval_of(by_session, n_sessions, pooled, METRIC_TIME_TO_FIRST_TOKEN, contract);
  ret->end_to_end_p99_interval = interval_of(by_session, n_sessions, pooled, METRIC_END_TO_END, contract);
  ret->time_to_first_token_p50 = sorted_quantile(&pooled[METRIC_TIME_TO_FIRST_TOKEN], 0.5);
  ret->time_to_first_token_p99 = sorted_quantile(&pooled[METRIC_TIME_TO_FIRST_TOKEN], 0.99);
  ret->end_to_end_p50 = sorted_quantile(&pooled[METRIC_END_TO_END], 0.5);
  ret->end_to_end_p99 = sorted_quantile(&pooled[METRIC_END_TO_END], 0.99);
  ret->tokens_per_s_per_user = 1e9 / sorted_quantile(&pooled[METRIC_TIME_PER_OUTPUT_TOKEN], 0.5);
  ret->in_system = window > 0 ? area / window : NAN;
  ret->little = window > 0 && timed > 0 ? arrivals / window * time / timed : NAN;
  /* At a load that is not sustained the law's long run does not exist: those that came are still waiting. */
  ret->little_holds = ret->backlog == LOAD_NOT_SUSTAINED || fabs(ret->in_system - ret->little) <= fmax(1, 0.1 * ret->in_system);
  for (int k = 0; k < METRIC_COUNT; k++) values_release(&pooled[k]);
  free(by_session);
  free(ends);
  free(changes);
  free(rates);
  free(good);
  if (status == LYNX_INPUT) (void)lynx_fail(error, status, "a request's outcome or event times are not what this format holds");
  return status;
}
