#include "result/result_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "load/engine.h"
#include "load/events.h"
#include "stats/compare.h"

static const int64_t time_max_ns = (int64_t)1 << 60; /* 36 years */

const double result_quantiles[RESULT_QUANTILES] = {0.5, 0.9, 0.95, 0.99, 0.999};

void values_add(struct values *values, double value) {
  if (values->n == values->room) {
    values->room = values->room == 0 ? 1024 : 2 * values->room;
    values->at = xgrow(values->at, values->room, sizeof *values->at);
  }
  values->at[values->n++] = value;
}

void values_release(struct values *values) {
  free(values->at);
  *values = (struct values){0};
}

/* --- one request --- */

bool result_latency_of(const struct contract *contract, enum metric metric, const struct bundle_request *r, double *ret_ns) {
  bool ok = strcmp(r->outcome, outcome_text(OUTCOME_OK)) == 0, unfinished = strcmp(r->outcome, outcome_text(OUTCOME_UNFINISHED)) == 0;
  bool tensors = strcmp(contract->workload.driver, "kserve") == 0 || strcmp(contract->workload.driver, "onnxruntime") == 0;
  if (metric != METRIC_END_TO_END && (contract->workload.api == API_EMBEDDINGS || tensors)) return false; /* no tokens to wait for */
  int64_t origin = contract->counting.latency_from == LATENCY_FROM_SENT && r->written_ns >= 0 ? r->written_ns : r->scheduled_ns;
  switch (metric) {
    case METRIC_TIME_TO_FIRST_TOKEN:
      if (!contract->workload.stream) return false;
      if (ok && r->first_token_ns < 0) return false; /* an empty answer has no first token */
      *ret_ns = ok || (unfinished && r->first_token_ns >= 0) ? (double)(r->first_token_ns - origin)
                : unfinished                                 ? (double)(r->end_ns - origin)
                                                             : INFINITY;
      return true;
    case METRIC_TIME_PER_OUTPUT_TOKEN: {
      if (!contract->workload.stream) return false;
      int64_t tokens = r->output_tokens >= 0 ? r->output_tokens : r->n_text_events;
      if (ok && (tokens < 2 || r->first_token_ns < 0)) return false;
      *ret_ns = ok ? (double)(r->last_token_ns - r->first_token_ns) / (double)(tokens - 1) : INFINITY;
      return true;
    }
    case METRIC_END_TO_END: *ret_ns = ok || unfinished ? (double)(r->end_ns - origin) : INFINITY; return true;
    default: return false; /* inter-token latencies are many per request */
  }
}

/* --- one session --- */

struct scan {
  struct result *result;
  struct result_precision *precision;
  struct result_session *session;
  int64_t window_from, window_to, last_end;
  struct session_values (*by_session)[METRIC_COUNT]; /* of the complete sessions, in time order, in the result's arena */
  size_t n_by_session;
  struct values pooled[METRIC_COUNT]; /* of all sessions of the precision */
  struct values own[METRIC_COUNT];    /* of this session */
  struct values ages[METRIC_COUNT];   /* values that are only lower bounds: unfinished requests */
  struct values send_lag, read_lag;
  double tokens_in_window, events_with_usage, tokens_with_usage, prompt_tokens, output_tokens;
  int64_t n_ended_in_window, n_good, n_told, n_with_usage, n_with_prompt_usage;
  bool broken;
};

static void add_latency(struct scan *scan, enum metric metric, double ns) {
  values_add(&scan->pooled[metric], ns);
  values_add(&scan->own[metric], ns);
}

/* Tokens by their own times, and gaps between events that carry text. */
static void scan_events(struct scan *scan, const struct bundle_request *r, bool ok, bool counted) {
  struct events_reader reader;
  struct answer_event event;
  double scale = result_tokens_per_count(r);
  int64_t before = -1;
  events_begin(&reader, r->events, r->events_length);
  for (int more; (more = events_next(&reader, &event)) != 0;) {
    if (more < 0) {
      scan->broken = true;
      return;
    }
    if (event.at_ns > time_max_ns) {
      scan->broken = true;
      return;
    }
    int64_t at = r->written_ns + event.at_ns;
    if (at >= scan->window_from && at < scan->window_to) scan->tokens_in_window += event.n_tokens * scale;
    if (!event.carries_text) continue;
    if (before >= 0 && ok && counted && scan->result->imported[0] == 0)
      add_latency(scan, METRIC_INTER_TOKEN_LATENCY, (double)(at - before));
    before = at;
  }
}

double result_tokens_per_count(const struct bundle_request *r) {
  bool spread = (r->flags & ANSWER_TOKENS_TOLD) == 0 && r->output_tokens >= 0 && r->n_text_events > 0;
  return spread ? (double)r->output_tokens / (double)r->n_text_events : 1;
}

const struct interval *result_throughput(const struct result_precision *p) {
  return p->has_tokens ? &p->output_rate : &p->request_rate;
}

double result_throughput_of(const struct result_precision *p, const struct result_session *session) {
  return p->has_tokens ? session->output_rate : session->request_rate;
}

const char *result_throughput_unit(const struct result_precision *p) {
  return p->has_tokens ? "tokens/s" : "requests/s";
}

bool result_meets_objectives(const struct contract *contract, const struct bundle_request *r) {
  const struct contract_slo *slo = contract->slo.items;
  for (size_t i = 0; i < contract->slo.n_items; i++) {
    double ns;
    if (result_latency_of(contract, (enum metric)slo[i].metric, r, &ns) && !(ns <= (double)slo[i].at_most_ns)) return false;
  }
  return true;
}

static void count_request(struct scan *scan, const struct bundle_request *r, enum outcome outcome) {
  struct result_precision *p = scan->precision;
  bool ok = outcome == OUTCOME_OK;
  p->n_counted++;
  scan->session->n_counted++;
  p->outcomes[outcome]++;
  if (ok) p->n_ok++, scan->session->n_ok++;
  else p->n_failed++, scan->session->n_failed++;
  for (unsigned i = 0; i < ANSWER_FLAG_COUNT; i++)
    if ((r->flags >> i & 1) != 0) p->flags[i]++;
  for (int m = 0; m < METRIC_COUNT; m++) {
    double ns;
    if (!result_latency_of(&scan->result->contract, (enum metric)m, r, &ns)) continue;
    add_latency(scan, (enum metric)m, ns);
    if (outcome == OUTCOME_UNFINISHED && isfinite(ns)) values_add(&scan->ages[m], ns);
  }
  if ((r->flags & ANSWER_WAITED_SLOT) != 0) p->n_waited_slot++; /* late by the contract's own limit, not by the instrument */
  else values_add(&scan->send_lag, (double)(r->issued_ns - r->scheduled_ns));
  if (r->read_lag_ns >= 0) values_add(&scan->read_lag, (double)r->read_lag_ns);
  else p->read_lag.n_unknown++;
  if (ok && result_meets_objectives(&scan->result->contract, r)) scan->n_good++;
  if (ok && (r->output_tokens > 0 || r->n_text_events > 0)) p->has_tokens = true;
  if (ok && (r->flags & ANSWER_TOKENS_TOLD) != 0) scan->n_told++;
  if (ok && r->output_tokens >= 0) {
    scan->n_with_usage++;
    scan->output_tokens += (double)r->output_tokens;
    scan->tokens_with_usage += (double)r->output_tokens;
    scan->events_with_usage += (double)r->n_text_events;
  } else if (ok) p->n_without_usage++;
  if (ok && r->prompt_tokens >= 0) scan->n_with_prompt_usage++, scan->prompt_tokens += (double)r->prompt_tokens;
}

bool result_see(const struct bundle_request *r, struct seen_request *ret) {
  const int64_t times[] = {r->scheduled_ns,   r->issued_ns,     r->written_ns, r->first_byte_ns,
                           r->first_token_ns, r->last_token_ns, r->end_ns,     r->read_lag_ns};
  if (!outcome_parse(r->outcome, &ret->outcome) || r->output_tokens > UINT32_MAX || r->prompt_tokens > UINT32_MAX) return false;
  for (size_t i = 0; i < LYNX_COUNT(times); i++)
    if (times[i] < -1 || times[i] > time_max_ns) return false; /* sums of two of them cannot overflow */
  ret->counted = strcmp(r->phase, phase_text(PHASE_COUNTED)) == 0;
  ret->warm_up = strcmp(r->phase, phase_text(PHASE_WARM_UP)) == 0;
  ret->ok = ret->outcome == OUTCOME_OK;
  return true;
}

static enum lynx_status scan_request(void *context, const struct bundle_request *r) {
  struct scan *scan = context;
  struct seen_request seen;
  if (!result_see(r, &seen)) return LYNX_INPUT;
  bool counted = seen.counted && r->scheduled_ns >= scan->window_from;
  if (seen.warm_up) scan->precision->n_warm_up++;
  else if (seen.counted && !counted) scan->precision->n_not_steady++;
  else if (!counted) scan->precision->n_tail++;
  if (counted) count_request(scan, r, seen.outcome);
  if (seen.ok || seen.outcome == OUTCOME_ABANDONED || seen.outcome == OUTCOME_UNFINISHED) scan_events(scan, r, seen.ok, counted);
  if (seen.ok && r->end_ns >= scan->window_from && r->end_ns < scan->window_to) scan->n_ended_in_window++;
  if (counted && seen.ok && r->end_ns > scan->last_end) scan->last_end = r->end_ns;
  return scan->broken ? LYNX_INPUT : LYNX_OK;
}

static void close_session(struct scan *scan) {
  struct result_session *s = scan->session;
  double seconds = (double)(scan->window_to - scan->window_from) / 1e9;
  bool offline = scan->result->contract.regime.load == LOAD_OFFLINE; /* its window is as long as the batch took */
  if (offline && scan->last_end > scan->window_from) seconds = (double)(scan->last_end - scan->window_from) / 1e9;
  scan->last_end = 0;
  s->output_rate = scan->tokens_in_window / seconds;
  s->request_rate = (double)scan->n_ended_in_window / seconds;
  s->goodput = (double)scan->n_good / seconds;
  for (int m = 0; m < METRIC_COUNT; m++) {
    struct values *own = &scan->own[m];
    if (s->complete) {
      double *copy = arena_alloc(&scan->result->arena, own->n + 1, sizeof *copy);
      for (size_t i = 0; i < own->n; i++) copy[i] = own->at[i];
      scan->by_session[scan->n_by_session][m] = (struct session_values){copy, own->n};
    }
    quantile_sort(own->at, own->n);
    for (int q = 0; q < RESULT_QUANTILES; q++) s->at[m][q] = own->n > 0 ? quantile_of(own->at, own->n, result_quantiles[q]) : NAN;
    own->n = 0;
  }
  scan->n_by_session += s->complete;
  scan->tokens_in_window = 0;
  scan->n_ended_in_window = scan->n_good = 0;
}

/* --- one precision --- */

struct gather {
  struct result *result;
  struct bundle *bundle;
  struct bundle_session *sessions; /* copies, in the result's arena */
  size_t n_sessions, room;
};

static enum lynx_status keep_session(void *context, const struct bundle_session *session) {
  struct gather *g = context;
  if (g->n_sessions == g->room) {
    g->room = g->room == 0 ? 16 : 2 * g->room;
    g->sessions = xgrow(g->sessions, g->room, sizeof *g->sessions);
  }
  g->sessions[g->n_sessions++] = bundle_session_copy(session, &g->result->arena);
  if (!(session->rate_per_s >= 0) || session->rate_per_s > 1e9) return LYNX_INPUT;
  return session->warm_up_ns < 0 || session->counted_ns <= 0 || session->warm_up_ns > time_max_ns / 4 ||
                 session->counted_ns > time_max_ns / 4 || session->drain_ns < 0 || session->drain_ns > time_max_ns / 4
             ? LYNX_INPUT
             : LYNX_OK;
}

static void read_executed(struct result *result, struct result_precision *p, const char *json) {
  p->executed_json = json;
  p->executed = p->status = "not stated by the executor";
  p->primitive = "";
  json_t *root = json[0] != 0 ? json_parse(json, strlen(json), 65536, NULL) : NULL;
  if (root == NULL) return;
  p->executed = arena_copy(&result->arena, json_get_text(root, "executed", p->executed));
  p->status = arena_copy(&result->arena, json_get_text(root, "status", p->status));
  p->primitive = arena_copy(&result->arena, json_get_text(root, "primitive", ""));
  json_decref(root);
}

static struct result_lag lag_of(struct values *values, size_t n_unknown) {
  struct result_lag lag = {.n = values->n, .n_unknown = n_unknown};
  if (values->n == 0) return lag;
  quantile_sort(values->at, values->n);
  lag.p50 = quantile_of(values->at, values->n, 0.5);
  lag.p99 = quantile_of(values->at, values->n, 0.99);
  lag.greatest = values->at[values->n - 1];
  return lag;
}

struct interval result_interval(const double *x, size_t n, double confidence) {
  bool infinite = false;
  for (size_t i = 0; i < n; i++) infinite = infinite || isinf(x[i]);
  struct interval result = infinite ? (struct interval){.estimate = INFINITY, .low = -INFINITY, .high = INFINITY}
                                    : interval_of_mean(x, n, confidence);
  if (n == 0) result.estimate = result.low = result.high = NAN;
  return result;
}

static struct interval interval_of_sessions(const struct result_precision *p, double (*figure)(const struct result_session *, int, int),
                                            int a, int b, double confidence) {
  double *x = xalloc(p->n_sessions + 1, sizeof *x);
  size_t n = 0;
  for (size_t i = 0; i < p->n_sessions; i++) {
    double value = p->sessions[i].complete ? figure(&p->sessions[i], a, b) : NAN;
    if (!isnan(value)) x[n++] = value;
  }
  struct interval result = result_interval(x, n, confidence);
  free(x);
  return result;
}

static double output_rate_of(const struct result_session *s, int a, int b) {
  (void)a, (void)b;
  return s->output_rate;
}

static double request_rate_of(const struct result_session *s, int a, int b) {
  (void)a, (void)b;
  return s->request_rate;
}

static double goodput_of(const struct result_session *s, int a, int b) {
  (void)a, (void)b;
  return s->goodput;
}

static double quantile_figure(const struct result_session *s, int metric, int quantile) {
  return s->at[metric][quantile];
}

/* An unfinished request's age is a lower bound; one below an objective may have missed it, so there it counts as a miss. The values
 * change in place, for this objective and those after it. */
static void ages_are_misses(struct scan *scan, enum metric metric, double at_most) {
  struct values *pooled = &scan->pooled[metric];
  for (size_t k = 0; k < scan->ages[metric].n; k++) {
    double age = scan->ages[metric].at[k];
    if (age > at_most || isinf(age)) continue;
    for (size_t i = 0; i < pooled->n; i++)
      if (pooled->at[i] <= age && pooled->at[i] >= age) {
        pooled->at[i] = INFINITY;
        break;
      }
    bool found = false;
    for (size_t s = 0; s < scan->n_by_session && !found; s++) {
      struct session_values *own = &scan->by_session[s][metric];
      double *x = (double *)(uintptr_t)own->x; /* our own copy */
      for (size_t i = 0; i < own->n && !found; i++)
        if (x[i] <= age && x[i] >= age) {
          x[i] = INFINITY;
          found = true;
        }
    }
  }
  quantile_sort(pooled->at, pooled->n);
}

static struct session_quantile quantile_of_sessions(struct scan *scan, enum metric metric, double p, double confidence) {
  struct session_values *own = xalloc(scan->n_by_session + 1, sizeof *own);
  size_t n = 0, n_values = 0;
  for (size_t s = 0; s < scan->n_by_session; s++) {
    own[n] = scan->by_session[s][metric];
    n_values += own[n++].n;
  }
  const struct values *pooled = &scan->pooled[metric];
  /* With a session that was cut off among the values there is an estimate, and no interval. */
  struct session_quantile q = n_values == pooled->n
                                  ? sessions_quantile(own, n, pooled->at, p, confidence)
                                  : (struct session_quantile){
                                        .n = pooled->n, .quantile = quantile_interval_effective(pooled->at, pooled->n, p, confidence, 0)};
  free(own);
  return q;
}

/* A rate is not below zero, whatever a wide interval of few sessions says. */
static struct interval not_negative(struct interval rate) {
  if (rate.low < 0) rate.low = 0;
  return rate;
}

static double *sorted_of(const struct session_values *sessions, size_t n_sessions) {
  size_t n = 0, at = 0;
  for (size_t s = 0; s < n_sessions; s++) n += sessions[s].n;
  double *sorted = xalloc(n + 1, sizeof *sorted);
  for (size_t s = 0; s < n_sessions; s++)
    for (size_t i = 0; i < sessions[s].n; i++) sorted[at++] = sessions[s].x[i];
  quantile_sort(sorted, n);
  return sorted;
}

static void close_precision(struct scan *scan) {
  struct result_precision *p = scan->precision;
  const struct contract *contract = &scan->result->contract;
  double confidence = scan->result->interval_confidence;
  for (int m = 0; m < METRIC_COUNT; m++) {
    struct values *pooled = &scan->pooled[m];
    struct result_latency *latency = &p->latency[m];
    quantile_sort(pooled->at, pooled->n);
    latency->n = pooled->n;
    for (size_t i = pooled->n; i > 0 && isinf(pooled->at[i - 1]); i--) latency->n_infinite++;
    struct session_values *own = xalloc(scan->n_by_session + 1, sizeof *own);
    for (size_t i = 0; i < scan->n_by_session; i++) own[i] = scan->by_session[i][m];
    latency->mean = sessions_mean(own, scan->n_by_session, confidence);
    free(own);
    for (int q = 0; q < RESULT_QUANTILES && pooled->n > 0; q++) {
      latency->at[q] = quantile_of_sessions(scan, (enum metric)m, result_quantiles[q], confidence);
      latency->of_sessions[q] = interval_of_sessions(p, quantile_figure, m, q, confidence);
    }
  }
  const struct contract_slo *slo = contract->slo.items;
  p->n_objectives = contract->slo.n_items;
  p->objectives = arena_alloc(&scan->result->arena, p->n_objectives, sizeof *p->objectives);
  for (size_t i = 0; i < p->n_objectives; i++) {
    enum metric metric = (enum metric)slo[i].metric;
    ages_are_misses(scan, metric, (double)slo[i].at_most_ns);
    struct result_objective *o = &p->objectives[i];
    *o = (struct result_objective){.metric = (enum metric)slo[i].metric, .quantile = slo[i].quantile, .at_most_ns = slo[i].at_most_ns};
    if (scan->pooled[metric].n == 0) continue;
    struct session_quantile q = quantile_of_sessions(scan, metric, slo[i].quantile, confidence);
    o->measured = q.quantile;
    struct session_values *own = xalloc(scan->n_by_session + 1, sizeof *own);
    for (size_t k = 0; k < scan->n_by_session; k++) own[k] = scan->by_session[k][metric];
    double *in_sessions = sorted_of(own, scan->n_by_session); /* without sessions that were cut off */
    o->misses = sessions_share_above(own, scan->n_by_session, in_sessions, (double)o->at_most_ns, o->quantile, confidence);
    free(in_sessions);
    free(own);
    double allowed = 1 - o->quantile + 1e-12; /* 1 - 0.99 is not 0.01 */
    o->n_effective = o->misses.n_effective;
    o->met = o->measured.estimate <= (double)o->at_most_ns;
    o->held = o->misses.high <= allowed || (o->misses.far_above && o->misses.share <= allowed);
    o->missed = o->misses.low > allowed || (o->misses.far_below && o->misses.share > allowed);
    o->bounded = o->held || o->missed || o->n_effective >= (double)quantile_least_sample(o->quantile, confidence);
  }
  p->output_rate = not_negative(interval_of_sessions(p, output_rate_of, 0, 0, confidence));
  p->request_rate = not_negative(interval_of_sessions(p, request_rate_of, 0, 0, confidence));
  p->goodput = not_negative(interval_of_sessions(p, goodput_of, 0, 0, confidence));
  p->token_source = p->n_ok == 0                     ? "nothing was answered"
                    : scan->result->imported[0] != 0 ? "the tool that measured: it does not say when each one came"
                    : !p->has_tokens                 ? "nobody: answers hold none, and requests are what is counted"
                    : p->n_without_usage == p->n_ok  ? "events that carry text: the server gives no usage"
                    : p->n_without_usage > 0         ? "the server's usage where it gives one, else events that carry text"
                    : scan->n_told == p->n_ok        ? "the server, for every event"
                                                     : "the server's final usage, spread evenly over the events that carry text";
  p->failure_share = p->n_counted > 0 ? (double)p->n_failed / (double)p->n_counted : 0;
  p->send_lag = lag_of(&scan->send_lag, 0);
  p->read_lag = lag_of(&scan->read_lag, p->read_lag.n_unknown);
  double bound = (double)contract->method.lag_p99_at_most_ns;
  p->instrument_limited = p->send_lag.p99 > bound || p->read_lag.p99 > bound;
  p->tokens_per_event = scan->events_with_usage > 0 ? scan->tokens_with_usage / scan->events_with_usage : NAN;
  p->mean_output_tokens = scan->n_with_usage > 0 ? scan->output_tokens / (double)scan->n_with_usage : NAN;
  p->mean_prompt_tokens = scan->n_with_prompt_usage > 0 ? scan->prompt_tokens / (double)scan->n_with_prompt_usage : NAN;
  for (int m = 0; m < METRIC_COUNT; m++) {
    free(scan->pooled[m].at);
    free(scan->own[m].at);
    free(scan->ages[m].at);
  }
  free(scan->send_lag.at);
  free(scan->read_lag.at);
}

/* The sessions whose rows make a precision's figures: those of the plain measurement; of a search, those of the certificate at the
 * load that passed. Sessions in which the precision was unavailable say so. */
static bool is_measured(const struct result_precision *p, const struct contract *contract, const struct bundle_session *s) {
  if (strcmp(s->precision, p->name) != 0) return false;
  if (strncmp(s->status, "unavailable", 11) == 0) return true;
  if (contract->regime.load != LOAD_SATURATION) return strcmp(s->purpose, "measure") == 0;
  return strcmp(s->purpose, "certify") == 0 && s->rate_per_s >= p->certificate.passing && s->rate_per_s <= p->certificate.passing;
}

static void take_session(struct gather *g, struct result_precision *p, const struct bundle_session *from, double *cpu, double *wall) {
  struct result_session *s = &p->sessions[p->n_sessions++];
  *s = (struct result_session){
      .id = from->id, .number = from->index, .status = from->status, .executor_started = from->executor_started, .accuracy = NAN};
  s->complete = strcmp(from->status, "complete") == 0;
  p->n_complete += s->complete;
  if (strncmp(from->status, "unavailable", 11) == 0) p->unavailable = true;
  if (from->executed_json[0] != 0) read_executed(g->result, p, from->executed_json);
  json_t *instrument = json_parse(from->instrument_json, strlen(from->instrument_json), 65536, NULL);
  *cpu += json_get_double(instrument, "cpu_ns", 0);
  *wall += json_get_double(instrument, "wall_ns", 0);
  json_decref(instrument);
}

static enum lynx_status compute_precision(struct gather *g, const char *name, struct result_precision *p, struct lynx_error *error) {
  struct scan scan = {.result = g->result, .precision = p};
  struct arena *arena = &g->result->arena;
  const struct session_list all = {g->sessions, g->n_sessions};
  double cpu = 0, wall = 0;
  p->name = name;
  p->accuracy_ratio = NAN;
  read_executed(g->result, p, "");
  enum lynx_status status = result_judge_points(g->bundle, g->result, p, &all, error);
  p->sessions = arena_alloc(arena, g->n_sessions + 1, sizeof *p->sessions);
  /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is meant */
  const struct bundle_session **rows = arena_alloc(arena, g->n_sessions + 1, sizeof *rows);
  for (size_t i = 0; i < g->n_sessions; i++) {
    if (!is_measured(p, &g->result->contract, &g->sessions[i])) continue;
    rows[p->n_sessions] = &g->sessions[i];
    take_session(g, p, &g->sessions[i], &cpu, &wall);
  }
  scan.by_session = arena_alloc(arena, p->n_sessions + 1, sizeof *scan.by_session);
  if (status == LYNX_OK) status = result_judge_steady(g->bundle, g->result, p, rows, error);
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    scan.session = &p->sessions[i];
    scan.window_from = p->sessions[i].steady.from_ns;
    scan.window_to = p->sessions[i].steady.to_ns;
    if (g->result->contract.regime.load == LOAD_OFFLINE) scan.window_to += rows[i]->drain_ns; /* it ends with its last answer */
    status = bundle_each_request(g->bundle, p->sessions[i].id, scan_request, &scan, error);
    close_session(&scan);
  }
  p->engine_cpu_share = wall > 0 ? cpu / wall : NAN;
  close_precision(&scan);
  if (status == LYNX_INPUT) (void)lynx_fail(error, status, "a request's outcome or event times are not what this format holds");
  if (status == LYNX_OK) status = result_judge_distance(g->bundle, g->result, p, error);
  if (status == LYNX_OK) status = result_judge_phases(g->bundle, g->result, p, error);
  if (status == LYNX_OK) status = result_judge_checks(g->bundle, g->result, p, &all, error);
  return status;
}

/* --- the executor: holes, departures, changes --- */

static void add_text(struct result *result, const char ***list, size_t *n, const char *text) {
  const char **grown = arena_alloc(&result->arena, *n + 1, sizeof *grown);
  if (*n > 0) memcpy(grown, *list, *n * sizeof *grown);
  grown[(*n)++] = text;
  *list = grown;
}

static bool matches(const char *pattern, const char *key) {
  size_t n = strlen(pattern);
  return n > 0 && pattern[n - 1] == '*' ? strncmp(pattern, key, n - 1) == 0 : strcmp(pattern, key) == 0;
}

const struct result_precision *result_precision_named(const struct result *result, const char *name) {
  for (size_t i = 0; result != NULL && i < result->n_precisions; i++)
    if (strcmp(result->precisions[i].name, name) == 0) return &result->precisions[i];
  return NULL;
}

bool result_may_change(const struct contract *contract, enum layer layer, const char *key) {
  const struct contract_change *never = contract->optimisation.must_not_change.items, *may = contract->optimisation.may_change.items;
  for (size_t i = 0; i < contract->optimisation.must_not_change.n_items; i++)
    if (strcmp(never[i].layer, layer_text(layer)) == 0 && matches(never[i].what, key)) return false;
  for (size_t i = 0; i < contract->optimisation.may_change.n_items; i++)
    if (strcmp(may[i].layer, layer_text(layer)) == 0 && matches(may[i].what, key)) return true;
  return false;
}

static void add_once(struct result *result, const char ***list, size_t *n, const char *text) {
  for (size_t i = 0; i < *n; i++)
    if (strcmp((*list)[i], text) == 0) return;
  add_text(result, list, n, text);
}

static void judge_expectations(struct result *result, const struct fact_list *facts) {
  struct arena *arena = &result->arena;
  const struct text_map *expect = &result->contract.executor.expect;
  for (size_t i = 0; i < expect->n_items; i++) {
    const struct fact *fact = fact_find(facts, expect->keys[i]);
    if (fact != NULL && fact->status == FACT_READ && strcmp(fact->value, expect->values[i]) == 0) continue;
    const char *owner = fact != NULL ? contract_owner(&result->contract, fact->layer) : "unknown layer";
    const char *found = fact == NULL ? "no such fact"
                                     : arena_printf(arena, "'%s'%s", fact->value, fact->status == FACT_READ ? "" : " (not read)");
    add_once(result, &result->departures, &result->n_departures,
             arena_printf(arena, "%s (%s): expected '%s', found %s", expect->keys[i], owner, expect->values[i], found));
  }
}

/* What was declared and can be read is held against what was found: ordered is not delivered. */
static void judge_declarations(struct result *result, const struct fact_list *facts) {
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *declared = &facts->items[i];
    if (strncmp(declared->key, "declared.", 9) != 0 || declared->status != FACT_DECLARED) continue;
    const struct fact *found = fact_find(facts, declared->key + 9);
    if (found == NULL || found->status != FACT_READ) continue;
    const char *value = found->unit[0] != 0 ? arena_printf(&result->arena, "%s %s", found->value, found->unit) : found->value;
    if (strcmp(found->value, declared->value) == 0 || strcmp(value, declared->value) == 0) continue;
    add_once(result, &result->departures, &result->n_departures,
             arena_printf(&result->arena, "%s (%s): declared '%s', found '%s'", found->key,
                          contract_owner(&result->contract, declared->layer), declared->value, value));
  }
}

static bool is_fact(const struct fact *fact, const char *name) {
  return strcmp(fact_without_role(fact->key), name) == 0 && fact_is_known(fact);
}

/* A comma-separated list of devices; "" and "-1" stand for none. */
static double count_visible(const char *list) {
  if (list[0] == 0 || strcmp(list, "-1") == 0) return 0;
  if (strstr(list, " by UUID") != NULL) return (double)strtol(list, NULL, 10);
  double n = 1;
  for (const char *p = list; *p != 0; p++) n += *p == ',';
  return n;
}

/* GPUs of all hosts, else what else computes on the bus, else processors. */
static void count_accelerators(struct result *result, const struct fact_list *facts) {
  static const char *const counts[] = {"gpu.count", "amd-gpu.count", "accelerator.count", "topology.packages"};
  static const char *const names[] = {"gpu.0.name", "amd-gpu.0.name", "accelerator.0.device", "cpu.model"};
  result->accelerator = "";
  for (size_t k = 0; k < LYNX_COUNT(counts) && result->n_accelerators == 0; k++) {
    for (size_t i = 0; i < facts->n_items; i++) {
      if (is_fact(&facts->items[i], counts[k])) result->n_accelerators += (double)strtol(facts->items[i].value, NULL, 10);
      if (is_fact(&facts->items[i], names[k])) result->accelerator = arena_copy(&result->arena, facts->items[i].value);
    }
    const struct fact *visible = fact_find(facts, "environment.CUDA_VISIBLE_DEVICES");
    if (k == 0 && result->n_accelerators > 0 && visible != NULL && count_visible(visible->value) < result->n_accelerators)
      result->n_accelerators = count_visible(visible->value);
    if (!(result->n_accelerators > 0)) result->accelerator = "";
  }
}

static void judge_changes(struct result *result, const struct fact_list *start, const struct fact_list *end) {
  struct difference_list differences;
  capture_diff(start, end, &differences);
  for (size_t i = 0; i < differences.n_items; i++) {
    const struct difference *d = &differences.items[i];
    if (d->of != FACT_IDENTITY || result_may_change(&result->contract, d->layer, d->key)) continue;
    add_once(result, &result->changed, &result->n_changed,
             arena_printf(&result->arena, "%s (%s, %s): '%s' at the start, '%s' at the end", d->key, layer_text(d->layer),
                          contract_owner(&result->contract, d->layer), d->a != NULL ? d->a : "absent", d->b != NULL ? d->b : "absent"));
  }
  difference_list_release(&differences);
}

/* Each precision was captured by itself: its process has other arguments. */
static enum lynx_status judge_executor(struct bundle *bundle, struct result *result, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  result->accelerator = "";
  for (size_t p = 0; p < result->n_precisions && status == LYNX_OK; p++) {
    struct fact_list start = {0}, end = {0};
    struct result_precision *precision = &result->precisions[p];
    status = bundle_facts(bundle, arena_printf(&result->arena, "start:%s", precision->name), &start, error);
    if (status == LYNX_OK) status = bundle_facts(bundle, arena_printf(&result->arena, "end:%s", precision->name), &end, error);
    if (start.n_items > 0) {
      capture_fingerprint(&start, precision->fingerprint);
      judge_expectations(result, &start);
      judge_declarations(result, &start);
      if (result->n_accelerators == 0) count_accelerators(result, &start);
      if (end.n_items > 0) judge_changes(result, &start, &end);
    }
    for (size_t i = 0; i < start.n_items; i++)
      if (strncmp(fact_without_role(start.items[i].key), "hole.", 5) == 0)
        add_once(result, &result->holes, &result->n_holes, arena_copy(&result->arena, start.items[i].value));
    fact_list_release(&start);
    fact_list_release(&end);
  }
  return status;
}

static enum lynx_status keep_condition(void *context, int64_t realtime_ns, const char *kind, const char *text) {
  (void)realtime_ns;
  struct result *result = context;
  if (strcmp(kind, "precision") == 0 || strcmp(kind, "budget") == 0) result->stopped = arena_copy(&result->arena, text);
  if (strcmp(kind, "budget") == 0) result->budget_ended = true;
  if (strcmp(kind, "condition") == 0) add_text(result, &result->conditions, &result->n_conditions, arena_copy(&result->arena, text));
  return LYNX_OK;
}

/* --- the whole --- */

static enum lynx_status read_contract(struct bundle *bundle, struct result *result, struct lynx_error *error) {
  const char *text = bundle_meta(bundle, "contract");
  if (text == NULL)
    return lynx_fail(error, LYNX_INPUT, "the bundle holds no contract (it was withheld, or the run ended before it was written)");
  if (contract_parse(text, strlen(text), &result->arena, &result->contract, &result->problems) != LYNX_OK)
    return lynx_fail(error, LYNX_INPUT, "the bundle's contract is not one that this build reads");
  contract_digest(&result->contract, result->contract_digest);
  result->grade = contract_grade(&result->problems);
  result->interval_confidence = look_confidence(result->contract.method.confidence, contract_looks(&result->contract));
  return LYNX_OK;
}

enum lynx_status result_compute(struct bundle *bundle, const struct bundle_seal_info *seal, struct result *ret, struct lynx_error *error) {
  *ret = (struct result){.seal = *seal,
                         .stopped = "",
                         .profile_taken = "",
                         .profile_signed_by = "",
                         .ledger = "",
                         .calibration = "",
                         .imported = "",
                         .load_hosts = ""};
  struct gather g = {.result = ret, .bundle = bundle};
  enum lynx_status status = read_contract(bundle, ret, error);
  const char *imported = bundle_meta(bundle, "imported"), *hosts = bundle_meta(bundle, "load_hosts");
  if (hosts != NULL) ret->load_hosts = arena_copy(&ret->arena, hosts);
  if (imported != NULL) ret->imported = arena_copy(&ret->arena, imported);
  if (status == LYNX_OK) status = bundle_each_session(bundle, keep_session, &g, error);
  if (status == LYNX_INPUT) (void)lynx_fail(error, status, "a session's windows are not what this format holds");
  if (status == LYNX_OK) {
    ret->n_precisions = ret->contract.precisions.n_items;
    ret->precisions = arena_alloc(&ret->arena, ret->n_precisions, sizeof *ret->precisions);
  }
  for (size_t i = 0; i < ret->n_precisions && status == LYNX_OK; i++)
    status = compute_precision(&g, ret->contract.precisions.items[i], &ret->precisions[i], error);
  if (status == LYNX_OK) status = result_judge_accuracy(bundle, ret, error);
  free(g.sessions);
  const char *ledger = bundle_meta(bundle, "ledger_origin");
  if (ledger != NULL) ret->ledger = arena_copy(&ret->arena, ledger);
  const char *calibration = bundle_meta(bundle, "calibration");
  if (calibration != NULL) ret->calibration = arena_copy(&ret->arena, calibration);
  if (status == LYNX_OK) status = judge_executor(bundle, ret, error);
  if (status == LYNX_OK) status = bundle_each_event(bundle, keep_condition, ret, error);
  if (status != LYNX_OK) {
    result_release(ret);
    return status;
  }
  return LYNX_OK;
}

void result_release(struct result *result) {
  arena_release(&result->arena);
  *result = (struct result){0};
}
