#include "result/point.h"

#include <math.h>
#include <stdlib.h>

#include "result/objective.h"
#include "result/rows.h"
#include "result/values.h"
#include "stats/compare.h"

enum { PARTS = 20 };

struct measuring {
  struct row_terms terms;
  int64_t from, to;
  double *changes, *completions;                 /* of this session, by part: arrivals less departures, and departures */
  struct objective_values *values[METRIC_COUNT]; /* of this session */
  struct values *lag;
  double arrivals, tokens, good_tokens, area_ns, time_ns, n_timed;
  int64_t n_failed, n_good, n_ended;
};

static size_t part_of(const struct measuring *m, int64_t at) {
  size_t part = (size_t)((double)(at - m->from) / (double)(m->to - m->from) * PARTS);
  return part < PARTS ? part : PARTS - 1;
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct measuring *m = context;
  const struct bundle_request *r = row->request;
  int64_t begin = r->scheduled_ns > m->from ? r->scheduled_ns : m->from, end = r->end_ns < m->to ? r->end_ns : m->to;
  if (end > begin) m->area_ns += (double)(end - begin);
  if (r->scheduled_ns >= m->from && r->scheduled_ns < m->to) {
    m->arrivals++;
    m->changes[part_of(m, r->scheduled_ns)] += 1;
  }
  if (!row->cut_off && r->end_ns >= m->from && r->end_ns < m->to) {
    m->changes[part_of(m, r->end_ns)] -= 1;
    m->completions[part_of(m, r->end_ns)] += 1;
    m->n_ended++;
  }
  m->tokens += row_tokens_within(row, m->from, m->to);
  bool good = row_done_within(row, m->from, m->to) && row_meets_objectives(&m->terms, row);
  m->n_good += good;
  if (good) m->good_tokens += row_tokens_within(row, 0, INT64_MAX);
  if (!row->counted) return LYNX_OK;
  values_add(m->lag, row_lag(&m->terms, row));
  m->time_ns += (double)(r->end_ns - r->scheduled_ns);
  m->n_timed++;
  m->n_failed += !row->ok;
  for (int metric = 0; metric < METRIC_COUNT; metric++) {
    double ns;
    if (!row_latency(&m->terms, (enum metric)metric, row, &ns)) continue;
    objective_values_add(m->values[metric], ns, r->outcome == OUTCOME_UNFINISHED && isfinite(ns));
  }
  return LYNX_OK;
}

/* The objectives over all windows together. */
static void judge_objectives(const struct contract *contract, struct objective_values *const *const own[METRIC_COUNT], size_t n,
                             struct result_point *p) {
  const struct contract_slo *slo = contract->slo.items;
  p->objectives_met = p->objectives_held = true;
  for (size_t i = 0; i < contract->slo.n_items; i++) {
    struct result_objective o;
    objective_judge(&slo[i], own[slo[i].metric], n, contract->method.confidence, &o);
    if (o.verdict == OBJECTIVE_NO_VALUES) continue;
    p->objectives_met = p->objectives_met && o.met;
    p->objectives_held = p->objectives_held && o.verdict == OBJECTIVE_HOLDS;
    p->objectives_missed = p->objectives_missed || o.verdict == OBJECTIVE_FAILS;
  }
}

/* What a point shows of one latency: two quantiles, and the interval of the upper one. */
struct tail {
  double p50, p99;
  struct quantile interval;
};

static struct tail tail_of(struct objective_values *const *own, size_t n, double confidence) {
  struct session_quantile p99 = objective_quantile(own, n, 0.99, confidence);
  if (p99.n == 0) return (struct tail){.p50 = NAN, .p99 = NAN};
  size_t n_samples;
  const struct sample **samples = objective_samples(own, n, false, &n_samples);
  double p50 = samples_ranked(samples, n_samples, quantile_rank(p99.n, 0.5));
  free((void *)samples);
  return (struct tail){p50, p99.quantile.estimate, p99.quantile};
}

/* Rows of all windows, and what they add up to. */
struct windows {
  struct objective_values *values[METRIC_COUNT], **own[METRIC_COUNT]; /* by window */
  struct values lag;                                                  /* of counted requests */
  double *changes, *completions, *rates, *good, *good_tokens, arrivals, area_s, window_s, time_s, timed;
};

static void windows_init(struct windows *w, size_t n) {
  *w = (struct windows){.changes = xalloc((n + 1) * PARTS, sizeof(double)),
                        .completions = xalloc((n + 1) * PARTS, sizeof(double)),
                        .rates = xalloc(n + 1, sizeof(double)),
                        .good = xalloc(n + 1, sizeof(double)),
                        .good_tokens = xalloc(n + 1, sizeof(double))};
  for (int k = 0; k < METRIC_COUNT; k++) {
    w->values[k] = xalloc(n + 1, sizeof *w->values[k]);
    w->own[k] = xalloc(n + 1, sizeof(struct objective_values *));
    for (size_t s = 0; s < n; s++) w->own[k][s] = &w->values[k][s];
  }
}

static void windows_release(struct windows *w, size_t n) {
  for (int k = 0; k < METRIC_COUNT; k++) {
    for (size_t s = 0; s < n; s++) objective_values_release(&w->values[k][s]);
    free(w->values[k]);
    free((void *)w->own[k]);
  }
  values_release(&w->lag);
  free(w->changes);
  free(w->completions);
  free(w->rates);
  free(w->good);
  free(w->good_tokens);
}

static enum lynx_status read_window(struct bundle *bundle, const struct row_terms *terms, const struct bundle_session *session, size_t s,
                                    struct windows *w, struct result_point *point, struct lynx_error *error) {
  struct measuring m = {.terms = *terms,
                        .from = session->warm_up_ns,
                        .to = session->warm_up_ns + session->counted_ns,
                        .changes = w->changes + s * PARTS,
                        .completions = w->completions + s * PARTS,
                        .lag = &w->lag};
  for (int k = 0; k < METRIC_COUNT; k++) {
    m.values[k] = w->own[k][s];
    m.values[k]->whole = true;
  }
  enum lynx_status status = rows_each(bundle, session->id, take_row, &m, error);
  for (int k = 0; k < METRIC_COUNT; k++) sample_close(&m.values[k]->values);
  double seconds = (double)session->counted_ns / 1e9;
  w->rates[s] = m.tokens / seconds;
  w->good[s] = (double)m.n_good / seconds;
  w->good_tokens[s] = m.good_tokens / seconds;
  w->arrivals += m.arrivals;
  w->area_s += m.area_ns / 1e9;
  w->window_s += seconds;
  w->time_s += m.time_ns / 1e9;
  w->timed += m.n_timed;
  point->n_failed += m.n_failed;
  point->n_ended += m.n_ended;
  point->certify = point->certify || session->purpose == PURPOSE_CERTIFY;
  return status;
}

static const char *why_of(const struct result_point *p, bool failing, double timed) {
  if (p->backlog == LOAD_NOT_SUSTAINED) return "the backlog grows";
  if (failing) return "more requests fail than method.failures_at_most";
  if (!p->objectives_met) return "an objective is missed";
  if (p->n_arrivals < GROWTH_ARRIVALS_LEAST) return "its windows hold too few arrivals to tell whether the backlog grows";
  if (p->backlog == LOAD_UNDECIDED) return "the backlog's growth is not decided yet";
  if (!(timed > 0)) return "no request was counted";
  return p->growth.low > 0 ? "the backlog grows by less than the resolution separates, and the objectives are met"
                           : "completions keep up, and the objectives are met";
}

enum lynx_status point_measure(struct bundle *bundle, const struct contract *contract, const struct bundle_session *const *sessions,
                               size_t n_sessions, bool final, struct result_point *ret, struct lynx_error *error) {
  const struct row_terms terms = row_terms_of(bundle, contract);
  double confidence = contract->method.confidence;
  struct windows w;
  enum lynx_status status = LYNX_OK;
  *ret = (struct result_point){.n_sessions = n_sessions, .rate_per_s = n_sessions > 0 ? sessions[0]->rate_per_s : 0};
  windows_init(&w, n_sessions);
  for (size_t s = 0; s < n_sessions && status == LYNX_OK; s++) status = read_window(bundle, &terms, sessions[s], s, &w, ret, error);
  size_t looks = (size_t)contract->regime.search.looks_at_most;
  ret->n_arrivals = (int64_t)w.arrivals;
  const struct load_parts parts = {.changes = w.changes,
                                   .completions = w.completions,
                                   .n_windows = n_sessions,
                                   .n_parts = PARTS,
                                   .n_arrivals = w.arrivals,
                                   .expected = n_sessions > 0 ? ret->rate_per_s * w.window_s / (double)(n_sessions * PARTS) : 0};
  ret->growth = growth_of(&parts, look_confidence(confidence, looks > SEARCH_LOOKS_AGAIN ? looks : SEARCH_LOOKS_AGAIN));
  ret->backlog = growth_verdict(&ret->growth, contract->regime.search.resolution, final);
  judge_objectives(contract, (struct objective_values *const *const *)w.own, n_sessions, ret);
  bool failing = w.timed > 0 && (double)ret->n_failed / w.timed > contract->method.failures_at_most;
  ret->sustained = ret->backlog == LOAD_SUSTAINED && ret->objectives_met && !failing && w.timed > 0;
  ret->why = why_of(ret, failing, w.timed);
  ret->output_rate = result_not_negative(result_interval(w.rates, n_sessions, confidence));
  ret->goodput = result_not_negative(result_interval(w.good, n_sessions, confidence));
  ret->good_output_rate = result_not_negative(result_interval(w.good_tokens, n_sessions, confidence));
  struct tail first = tail_of(w.own[METRIC_TIME_TO_FIRST_TOKEN], n_sessions, confidence),
              whole = tail_of(w.own[METRIC_END_TO_END], n_sessions, confidence),
              each = tail_of(w.own[METRIC_TIME_PER_OUTPUT_TOKEN], n_sessions, confidence);
  ret->time_to_first_token_p99_interval = first.interval;
  ret->end_to_end_p99_interval = whole.interval;
  ret->time_to_first_token_p50 = first.p50;
  ret->time_to_first_token_p99 = first.p99;
  ret->end_to_end_p50 = whole.p50;
  ret->end_to_end_p99 = whole.p99;
  ret->tokens_per_s_per_user = 1e9 / each.p50;
  ret->in_system = w.window_s > 0 ? w.area_s / w.window_s : NAN;
  ret->little = w.window_s > 0 && w.timed > 0 ? w.arrivals / w.window_s * w.time_s / w.timed : NAN;
  /* At a load that is not sustained the law's long run does not exist: those that came are still waiting. */
  ret->little_holds = ret->backlog == LOAD_NOT_SUSTAINED || fabs(ret->in_system - ret->little) <= fmax(1, 0.1 * ret->in_system);
  quantile_sort(w.lag.at, w.lag.n);
  ret->lag_p99_ns = w.lag.n > 0 ? quantile_of(w.lag.at, w.lag.n, 0.99) : 0;
  ret->lag_share = whole.p50 > 0 ? fmin(1, ret->lag_p99_ns / whole.p50) : 0;
  ret->instrument_limited = !ret->sustained && ret->lag_share > contract->method.instrument_error_at_most;
  windows_release(&w, n_sessions);
  return status;
}
