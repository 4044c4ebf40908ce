#include "result/steady_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/rows.h"
#include "result/values.h"

/* FINE: tokens are kept in so many bins of time, and put together into as many as there are requests for. */
enum { FINE = 600, REQUESTS_PER_BIN = 8, SERIES_MAX = 3, SAMPLES_LEAST = 20, SAMPLED_SERIES = 3 };

static const char *const series_names[SERIES_MAX] = {"time to first token", "time per output token or end to end", "output throughput"};
/* Of the samples taken meanwhile: a machine that changes under the run is a change of regime too. */
static const char *const sampled_names[SAMPLED_SERIES] = {"machine.clock_mhz", "machine.temperature_c", "server.cache_hit_ratio"};

struct series {
  struct values at, value; /* at: ns */
};

struct session_series {
  struct row_terms terms;
  int64_t length_ns; /* warm-up and counted window */
  struct series latency[2];
  double tokens[FINE];
  size_t n_requests;
  struct series sampled[SAMPLED_SERIES];
  int64_t session;
};

static size_t fine_bin(const struct session_series *s, int64_t at) {
  size_t bin = (size_t)((double)at / (double)s->length_ns * FINE);
  return bin < FINE ? bin : FINE - 1; /* of huge times the quotient rounds to 1 */
}

static void add_point(struct series *series, int64_t at_ns, double value) {
  values_add(&series->at, (double)at_ns);
  values_add(&series->value, value);
}

/* Tokens come in the order of time: where the last of a stretch falls into the bin of its first, all of it does. */
static void add_tokens(struct session_series *s, const struct row *row) {
  enum { STRETCH = 8 };
  const struct row_token *t = row->tokens;
  for (size_t i = 0, end; i < row->n_tokens; i = end) {
    end = i + 1;
    if (t[i].at_ns < 0 || t[i].at_ns >= s->length_ns) continue;
    size_t bin = fine_bin(s, t[i].at_ns);
    while (end + STRETCH <= row->n_tokens && t[end + STRETCH - 1].at_ns < s->length_ns && fine_bin(s, t[end + STRETCH - 1].at_ns) == bin)
      end += STRETCH;
    for (size_t k = i; k < end; k++) s->tokens[bin] += t[k].n;
  }
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct session_series *s = context;
  const struct bundle_request *r = row->request;
  static const enum metric second[] = {METRIC_TIME_PER_OUTPUT_TOKEN, METRIC_END_TO_END};
  double ns, beyond = (double)s->terms.contract->method.request_timeout_ns; /* a failure is as slow as can be */
  if (r->scheduled_ns < s->length_ns && r->outcome != OUTCOME_ABANDONED) {
    s->n_requests++;
    if (row_latency(&s->terms, METRIC_TIME_TO_FIRST_TOKEN, row, &ns)) add_point(&s->latency[0], r->scheduled_ns, isinf(ns) ? beyond : ns);
    for (int k = 0; k < 2; k++) {
      if (!row_latency(&s->terms, second[k], row, &ns)) continue;
      add_point(&s->latency[1], r->scheduled_ns, isinf(ns) ? beyond : ns);
      break;
    }
  }
  if (row->tokens_count) add_tokens(s, row);
  return LYNX_OK;
}

static enum lynx_status take_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct session_series *s = context;
  (void)session;
  for (int i = 0; i < SAMPLED_SERIES && at_ns < s->length_ns; i++)
    if (strcmp(series, sampled_names[i]) == 0 && isfinite(value)) add_point(&s->sampled[i], at_ns, value);
  return LYNX_OK;
}

static void session_series_release(struct session_series *s) {
  for (int i = 0; i < 2; i++) values_release(&s->latency[i].at), values_release(&s->latency[i].value);
  for (int i = 0; i < SAMPLED_SERIES; i++) values_release(&s->sampled[i].at), values_release(&s->sampled[i].value);
}

/* As many bins as there are REQUESTS_PER_BIN requests for: divisors of FINE. */
static size_t bins_for(size_t n_requests) {
  static const size_t choices[] = {120, 100, 60, 50, 40, 30, 24, 20};
  for (size_t i = 0; i < LYNX_COUNT(choices); i++)
    if (n_requests >= choices[i] * REQUESTS_PER_BIN) return choices[i];
  return 0;
}

/* The median of each bin of time; an empty bin goes on as the one before. */
static bool medians_of(const struct series *series, int64_t length_ns, size_t n_bins, double *ret) {
  double *own = xalloc(series->at.n + 1, sizeof *own), before = NAN;
  size_t n_empty = 0;
  for (size_t b = 0; b < n_bins; b++) {
    double from = (double)length_ns * (double)b / (double)n_bins, to = (double)length_ns * (double)(b + 1) / (double)n_bins;
    size_t n = 0;
    for (size_t i = 0; i < series->at.n; i++)
      if (series->at.at[i] >= from && series->at.at[i] < to) own[n++] = series->value.at[i];
    quantile_sort(own, n);
    n_empty += n == 0;
    before = ret[b] = n > 0 ? quantile_of(own, n, 0.5) : before;
  }
  for (size_t b = n_bins; b-- > 0;) {
    if (isnan(ret[b])) ret[b] = before;
    else before = ret[b];
  }
  free(own);
  return n_empty < n_bins / 4;
}

static void tokens_of(const struct session_series *s, size_t n_bins, double *ret) {
  for (size_t b = 0; b < n_bins; b++) {
    ret[b] = 0;
    for (size_t i = b * FINE / n_bins; i < (b + 1) * FINE / n_bins; i++) ret[b] += s->tokens[i];
  }
}

/* Worse first: what moves decides before what is short, and that before what is steady; later is worse among the steady. */
static bool is_worse(const struct steady *a, size_t n_a, const struct steady *b, size_t n_b) {
  int rank_a = a->class == STEADY_YES     ? 0
               : a->class == STEADY_SHORT ? 1
                                          : 2,
      rank_b = b->class == STEADY_YES     ? 0
               : b->class == STEADY_SHORT ? 1
                                          : 2;
  if (rank_a != rank_b) return rank_a > rank_b;
  return (double)a->from / (double)n_a > (double)b->from / (double)n_b;
}

struct judging {
  struct result *result;
  struct result_precision *precision;
  bool closed;
  double *pooled[SERIES_MAX]; /* of the sessions with as many bins as the first */
  size_t n_pooled, n_bins;
};

static void judge_one(struct judging *j, const struct session_series *s, const struct bundle_session *row, struct result_steady *ret) {
  const struct contract_method *m = &j->result->contract.method;
  size_t n_bins = bins_for(s->n_requests);
  double bins[FINE];
  struct steady worst = {.class = STEADY_YES};
  size_t worst_n = 1, n_judged = 0;
  *ret = (struct result_steady){.class = STEADY_SHORT, .series = "too few requests for a series", .changed_at_ns = -1, .n_bins = n_bins};
  ret->from_ns = row->warm_up_ns;
  ret->to_ns = row->warm_up_ns + row->counted_ns;
  if (n_bins == 0) return;
  struct steady_rule rule = {.tolerance = m->steady_tolerance, .confidence = m->confidence};
  rule.least = (size_t)ceil(m->steady_share * (double)row->counted_ns / (double)s->length_ns * (double)n_bins);
  if (j->n_bins == 0) j->n_bins = n_bins;
  const char *name = series_names[0];
  for (int k = 0; k < SERIES_MAX; k++) {
    bool given = k < 2 ? s->latency[k].at.n >= n_bins && medians_of(&s->latency[k], s->length_ns, n_bins, bins) : j->closed;
    if (k == 2 && given) tokens_of(s, n_bins, bins);
    if (!given) continue;
    double sum = 0;
    for (size_t b = 0; b < n_bins; b++) sum += bins[b] / (double)n_bins;
    if (!(sum > 0)) continue;
    if (n_bins == j->n_bins && j->pooled[k] == NULL) j->pooled[k] = arena_alloc(&j->result->arena, n_bins, sizeof(double));
    for (size_t b = 0; b < n_bins && n_bins == j->n_bins; b++) j->pooled[k][b] += bins[b] / sum;
    struct steady found = steady_classify(bins, n_bins, &rule);
    n_judged++;
    if (!is_worse(&found, n_bins, &worst, worst_n)) continue;
    worst = found;
    worst_n = n_bins;
    name = series_names[k];
  }
  if (n_judged == 0) return; /* nothing that could have shown it */
  j->n_pooled += n_bins == j->n_bins;
  for (int k = 0; k < SAMPLED_SERIES; k++) {
    size_t n = s->sampled[k].value.n;
    if (n < SAMPLES_LEAST) continue;
    rule.least = (size_t)ceil(m->steady_share * (double)row->counted_ns / (double)s->length_ns * (double)n);
    struct steady found = steady_classify(s->sampled[k].value.at, n, &rule);
    if (found.class == STEADY_SHORT || !is_worse(&found, n, &worst, worst_n)) continue; /* few samples of a still machine are no doubt */
    worst = found;
    worst_n = n;
    name = sampled_names[k];
  }
  int64_t bin_ns = s->length_ns / (int64_t)worst_n;
  ret->class = worst.class;
  ret->series = name;
  ret->drift = worst.drift;
  ret->changed_at_ns = worst.last_change > 0 ? (int64_t)worst.last_change * bin_ns : -1;
  if (worst.class == STEADY_YES && (int64_t)worst.from * bin_ns > ret->from_ns) ret->from_ns = (int64_t)worst.from * bin_ns;
}

/* Each by itself may be too noisy to show that nothing drifts; all of them together may not be. */
static bool pooled_is_steady(struct judging *j, const struct bundle_session *row, int64_t *ret_from_ns) {
  const struct contract_method *m = &j->result->contract.method;
  int64_t length = row->warm_up_ns + row->counted_ns;
  *ret_from_ns = row->warm_up_ns;
  if (j->n_pooled < 2) return false;
  struct steady_rule rule = {.tolerance = m->steady_tolerance, .confidence = m->confidence};
  rule.least = (size_t)ceil(m->steady_share * (double)row->counted_ns / (double)length * (double)j->n_bins);
  for (int k = 0; k < SERIES_MAX; k++) {
    if (j->pooled[k] == NULL) continue;
    struct steady found = steady_classify(j->pooled[k], j->n_bins, &rule);
    if (found.class != STEADY_YES) return false;
    int64_t from = (int64_t)found.from * (length / (int64_t)j->n_bins);
    if (from > *ret_from_ns) *ret_from_ns = from;
  }
  return true;
}

static bool is_stationary(const struct result *result) {
  int load = result->contract.regime.load;
  return !result->observed && load != LOAD_RAMP && load != LOAD_OFFLINE && load != LOAD_REPLAY;
}

enum lynx_status steady_window_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                     const struct bundle_session *const *rows, struct lynx_error *error) {
  const struct contract *contract = &result->contract;
  struct judging j = {.result = result, .precision = p, .closed = load_is_closed((enum load_kind)contract->regime.load)};
  enum lynx_status status = LYNX_OK;
  bool all_steady = true, none_moves = true;
  const struct bundle_session *last = NULL;
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    struct result_session *s = &p->sessions[i];
    s->steady = (struct result_steady){.class = STEADY_SHORT,
                                       .series = "",
                                       .changed_at_ns = -1,
                                       .from_ns = rows[i]->warm_up_ns,
                                       .to_ns = rows[i]->warm_up_ns + rows[i]->counted_ns};
    if (!s->complete) continue;
    last = rows[i];
    if (!is_stationary(result)) continue;
    struct session_series series = {.terms = row_terms_of(bundle, contract), .length_ns = rows[i]->warm_up_ns + rows[i]->counted_ns};
    status = rows_each(bundle, s->id, take_row, &series, error);
    if (status == LYNX_OK) status = bundle_each_sample(bundle, s->id, take_sample, &series, error);
    if (status == LYNX_OK) judge_one(&j, &series, rows[i], &s->steady);
    session_series_release(&series);
    all_steady = all_steady && s->steady.class == STEADY_YES;
    none_moves = none_moves && (s->steady.class == STEADY_YES || s->steady.class == STEADY_SHORT);
  }
  if (status != LYNX_OK || last == NULL) return status;
  int64_t from = 0;
  bool pooled = !all_steady && none_moves && is_stationary(result) && pooled_is_steady(&j, last, &from);
  p->steady_holds = !is_stationary(result) || all_steady || pooled;
  const struct result_steady *worst = NULL;
  for (size_t i = 0; i < p->n_sessions; i++) {
    struct result_steady *s = &p->sessions[i].steady;
    if (!p->sessions[i].complete) continue;
    if (pooled && s->class == STEADY_SHORT)
      *s = (struct result_steady){.class = STEADY_YES,
                                  .series = "all sessions together",
                                  .from_ns = from,
                                  .to_ns = s->to_ns,
                                  .changed_at_ns = -1,
                                  .n_bins = j.n_bins};
    if (contract->method.steady == STEADY_REPORTED || !p->steady_holds)
      s->from_ns = rows[i]->warm_up_ns; /* then the whole window is shown */
    struct steady a = {.class = s->class, .from = (size_t)(s->from_ns / 1000000)},
                  b = {.class = worst != NULL ? worst->class : STEADY_YES, .from = worst != NULL ? (size_t)(worst->from_ns / 1000000) : 0};
    if (worst == NULL || is_worse(&a, 1, &b, 1)) worst = s;
  }
  if (worst != NULL) p->steady = *worst;
  if (!is_stationary(result)) p->steady.series = "this load changes by itself";
  return LYNX_OK;
}
