#include "result/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "executor/capture.h"
#include "load/engine.h"
#include "load/events.h"

static const int64_t time_max_ns = (int64_t)1 << 60; /* 36 years */

const double result_quantiles[RESULT_QUANTILES] = {0.5, 0.9, 0.95, 0.99, 0.999};

/* --- growing lists of values --- */

struct values {
  double *at;
  size_t n, room;
};

static void values_add(struct values *values, double value) {
  if (values->n == values->room) {
    values->room = values->room == 0 ? 1024 : 2 * values->room;
    values->at = xgrow(values->at, values->room, sizeof *values->at);
  }
  values->at[values->n++] = value;
}

/* --- one request --- */

bool result_latency_of(const struct contract *contract, enum metric metric, const struct bundle_request *r, double *ret_ns) {
  bool ok = strcmp(r->outcome, outcome_text(OUTCOME_OK)) == 0, unfinished = strcmp(r->outcome, outcome_text(OUTCOME_UNFINISHED)) == 0;
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
  int64_t window_from, window_to;
  struct values pooled[METRIC_COUNT]; /* of all sessions of the precision */
  struct values own[METRIC_COUNT];    /* of this session */
  struct values ages[METRIC_COUNT];   /* values that are only lower bounds: unfinished requests */
  struct values send_lag, read_lag;
  double tokens_in_window, events_with_usage, tokens_with_usage, prompt_tokens, output_tokens;
  int64_t n_ended_in_window, n_good, n_with_usage, n_with_prompt_usage;
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
  double scale = 1;
  bool running = scan->result->contract.workload.continuous_usage;
  if (!running && r->output_tokens >= 0 && r->n_text_events > 0) scale = (double)r->output_tokens / (double)r->n_text_events;
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
    if (before >= 0 && ok && counted) add_latency(scan, METRIC_INTER_TOKEN_LATENCY, (double)(at - before));
    before = at;
  }
}

static bool meets_objectives(const struct scan *scan, const struct bundle_request *r) {
  const struct contract *contract = &scan->result->contract;
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
  values_add(&scan->send_lag, (double)(r->issued_ns - r->scheduled_ns));
  if (r->read_lag_ns >= 0) values_add(&scan->read_lag, (double)r->read_lag_ns);
  else p->read_lag.n_unknown++;
  if (ok && meets_objectives(scan, r)) scan->n_good++;
  if (ok && r->output_tokens >= 0) {
    scan->n_with_usage++;
    scan->output_tokens += (double)r->output_tokens;
    scan->tokens_with_usage += (double)r->output_tokens;
    scan->events_with_usage += (double)r->n_text_events;
  } else if (ok) p->n_without_usage++;
  if (ok && r->prompt_tokens >= 0) scan->n_with_prompt_usage++, scan->prompt_tokens += (double)r->prompt_tokens;
}

static enum lynx_status scan_request(void *context, const struct bundle_request *r) {
  struct scan *scan = context;
  enum outcome outcome;
  const int64_t times[] = {r->scheduled_ns,   r->issued_ns,     r->written_ns, r->first_byte_ns,
                           r->first_token_ns, r->last_token_ns, r->end_ns,     r->read_lag_ns};
  if (!outcome_parse(r->outcome, &outcome) || r->output_tokens > UINT32_MAX || r->prompt_tokens > UINT32_MAX) return LYNX_INPUT;
  for (size_t i = 0; i < LYNX_COUNT(times); i++)
    if (times[i] < -1 || times[i] > time_max_ns) return LYNX_INPUT; /* sums of two of them cannot overflow */
  bool counted = strcmp(r->phase, phase_text(PHASE_COUNTED)) == 0, ok = outcome == OUTCOME_OK;
  if (strcmp(r->phase, phase_text(PHASE_WARM_UP)) == 0) scan->precision->n_warm_up++;
  else if (!counted) scan->precision->n_tail++;
  if (counted) count_request(scan, r, outcome);
  if (ok || outcome == OUTCOME_ABANDONED || outcome == OUTCOME_UNFINISHED) scan_events(scan, r, ok, counted);
  if (ok && r->end_ns >= scan->window_from && r->end_ns < scan->window_to) scan->n_ended_in_window++;
  return scan->broken ? LYNX_INPUT : LYNX_OK;
}

static void close_session(struct scan *scan) {
  struct result_session *s = scan->session;
  double seconds = (double)(scan->window_to - scan->window_from) / 1e9;
  s->output_rate = scan->tokens_in_window / seconds;
  s->request_rate = (double)scan->n_ended_in_window / seconds;
  s->goodput = (double)scan->n_good / seconds;
  for (int m = 0; m < METRIC_COUNT; m++) {
    struct values *own = &scan->own[m];
    quantile_sort(own->at, own->n);
    for (int q = 0; q < RESULT_QUANTILES; q++) s->at[m][q] = own->n > 0 ? quantile_of(own->at, own->n, result_quantiles[q]) : NAN;
    own->n = 0;
  }
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
  struct arena *arena = &g->result->arena;
  if (g->n_sessions == g->room) {
    g->room = g->room == 0 ? 16 : 2 * g->room;
    g->sessions = xgrow(g->sessions, g->room, sizeof *g->sessions);
  }
  struct bundle_session *copy = &g->sessions[g->n_sessions++];
  *copy = *session;
  copy->precision = arena_copy(arena, session->precision);
  copy->status = arena_copy(arena, session->status);
  copy->executor_started = arena_copy(arena, session->executor_started);
  copy->executed_json = arena_copy(arena, session->executed_json);
  copy->instrument_json = arena_copy(arena, session->instrument_json);
  return session->warm_up_ns < 0 || session->counted_ns <= 0 ? LYNX_INPUT : LYNX_OK;
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

static struct interval interval_of_sessions(const struct result_precision *p, double (*figure)(const struct result_session *, int, int),
                                            int a, int b, double confidence) {
  double *x = xalloc(p->n_sessions + 1, sizeof *x);
  size_t n = 0;
  for (size_t i = 0; i < p->n_sessions; i++) {
    double value = p->sessions[i].complete ? figure(&p->sessions[i], a, b) : NAN;
    if (!isnan(value)) x[n++] = value;
  }
  bool infinite = false;
  for (size_t i = 0; i < n; i++) infinite = infinite || isinf(x[i]);
  struct interval result = infinite ? (struct interval){.estimate = INFINITY, .low = -INFINITY, .high = INFINITY}
                                    : interval_of_mean(x, n, confidence);
  if (n == 0) result.estimate = result.low = result.high = NAN;
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

static double bits_of(const struct result_session *s, int a, int b) {
  (void)a, (void)b;
  return s->bits_per_byte;
}

static double quantile_figure(const struct result_session *s, int metric, int quantile) {
  return s->at[metric][quantile];
}

/* The values that an objective is held against: an unfinished request's age is a lower bound, and one below the objective may have
 * missed it, so it counts as a miss. */
static struct values *without_ages(struct scan *scan, enum metric metric, double at_most) {
  struct values *pooled = &scan->pooled[metric];
  for (size_t k = 0; k < scan->ages[metric].n; k++) {
    if (scan->ages[metric].at[k] > at_most) continue;
    for (size_t i = 0; i < pooled->n; i++)
      if (pooled->at[i] == scan->ages[metric].at[k]) {
        pooled->at[i] = INFINITY;
        break;
      }
  }
  quantile_sort(pooled->at, pooled->n);
  return pooled;
}

static void close_precision(struct scan *scan) {
  struct result_precision *p = scan->precision;
  const struct contract *contract = &scan->result->contract;
  double confidence = contract->method.confidence;
  for (int m = 0; m < METRIC_COUNT; m++) {
    struct values *pooled = &scan->pooled[m];
    struct result_latency *latency = &p->latency[m];
    quantile_sort(pooled->at, pooled->n);
    latency->n = pooled->n;
    for (size_t i = pooled->n; i > 0 && isinf(pooled->at[i - 1]); i--) latency->n_infinite++;
    for (int q = 0; q < RESULT_QUANTILES && pooled->n > 0; q++) {
      latency->at[q] = quantile_interval(pooled->at, pooled->n, result_quantiles[q], confidence);
      latency->of_sessions[q] = interval_of_sessions(p, quantile_figure, m, q, confidence);
    }
  }
  const struct contract_slo *slo = contract->slo.items;
  p->n_objectives = contract->slo.n_items;
  p->objectives = arena_alloc(&scan->result->arena, p->n_objectives, sizeof *p->objectives);
  for (size_t i = 0; i < p->n_objectives; i++) {
    struct values *pooled = without_ages(scan, (enum metric)slo[i].metric, (double)slo[i].at_most_ns);
    struct result_objective *o = &p->objectives[i];
    *o = (struct result_objective){.metric = (enum metric)slo[i].metric, .quantile = slo[i].quantile, .at_most_ns = slo[i].at_most_ns};
    if (pooled->n == 0) continue;
    o->measured = quantile_interval(pooled->at, pooled->n, slo[i].quantile, confidence);
    o->bounded = o->measured.bounded;
    o->met = o->measured.estimate <= (double)o->at_most_ns;
    o->held = o->bounded && o->measured.high <= (double)o->at_most_ns;
  }
  p->output_rate = interval_of_sessions(p, output_rate_of, 0, 0, confidence);
  p->request_rate = interval_of_sessions(p, request_rate_of, 0, 0, confidence);
  p->goodput = interval_of_sessions(p, goodput_of, 0, 0, confidence);
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

static enum lynx_status compute_precision(struct gather *g, const char *name, struct result_precision *p, struct lynx_error *error) {
  struct scan scan = {.result = g->result, .precision = p};
  enum lynx_status status = LYNX_OK;
  double cpu = 0, wall = 0;
  p->name = name;
  p->accuracy_ratio = NAN;
  read_executed(g->result, p, "");
  p->sessions = arena_alloc(&g->result->arena, g->n_sessions, sizeof *p->sessions);
  for (size_t i = 0; i < g->n_sessions && status == LYNX_OK; i++) {
    const struct bundle_session *from = &g->sessions[i];
    if (strcmp(from->precision, name) != 0) continue;
    struct result_session *s = &p->sessions[p->n_sessions++];
    *s = (struct result_session){
        .id = from->id, .number = from->index, .status = from->status, .executor_started = from->executor_started, .bits_per_byte = NAN};
    s->complete = strcmp(from->status, "complete") == 0;
    p->n_complete += s->complete;
    if (strncmp(from->status, "unavailable", 11) == 0) p->unavailable = true;
    if (from->executed_json[0] != 0) read_executed(g->result, p, from->executed_json);
    json_t *instrument = json_parse(from->instrument_json, strlen(from->instrument_json), 65536, NULL);
    cpu += json_get_double(instrument, "cpu_ns", 0);
    wall += json_get_double(instrument, "wall_ns", 0);
    json_decref(instrument);
    scan.session = s;
    scan.window_from = from->warm_up_ns;
    scan.window_to = from->warm_up_ns + from->counted_ns;
    status = bundle_each_request(g->bundle, from->id, scan_request, &scan, error);
    close_session(&scan);
  }
  p->engine_cpu_share = wall > 0 ? cpu / wall : NAN;
  close_precision(&scan);
  if (status == LYNX_INPUT) (void)lynx_fail(error, status, "a request's outcome or event times are not what this format holds");
  return status == LYNX_OK ? LYNX_OK : status;
}

/* --- accuracy --- */

struct accuracy_sum {
  struct result *result;
  int64_t session;
  double bits;
  int64_t bytes;
};

static void settle_accuracy(struct accuracy_sum *sum) {
  if (sum->bytes == 0) return;
  for (size_t p = 0; p < sum->result->n_precisions; p++)
    for (size_t i = 0; i < sum->result->precisions[p].n_sessions; i++) {
      struct result_session *s = &sum->result->precisions[p].sessions[i];
      if (s->id == sum->session) s->bits_per_byte = sum->bits / (double)sum->bytes;
    }
  sum->bits = 0;
  sum->bytes = 0;
}

static enum lynx_status add_accuracy(void *context, int64_t session, int64_t window, const char *measure, double value, int64_t weight) {
  (void)window;
  struct accuracy_sum *sum = context;
  if (strcmp(measure, "bits") != 0) return LYNX_OK;
  if (sum->session != session) settle_accuracy(sum);
  sum->session = session;
  sum->bits += value;
  sum->bytes += weight;
  return LYNX_OK;
}

static void judge_accuracy(struct result *result) {
  const struct result_precision *reference = NULL;
  if (!contract_states(&result->contract, "accuracy")) return;
  for (size_t i = 0; i < result->n_precisions; i++)
    if (strcmp(result->precisions[i].name, result->contract.accuracy.reference) == 0) reference = &result->precisions[i];
  if (reference == NULL && result->n_precisions == 1) reference = &result->precisions[0];
  if (reference == NULL || !(reference->bits_per_byte.estimate > 0)) return;
  for (size_t i = 0; i < result->n_precisions; i++) {
    struct result_precision *p = &result->precisions[i];
    if (!(p->bits_per_byte.estimate > 0)) continue;
    p->accuracy_ratio = reference->bits_per_byte.estimate / p->bits_per_byte.estimate;
    p->accuracy_known = true;
    p->accuracy_passed = p->accuracy_ratio >= result->contract.accuracy.at_least_ratio;
  }
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

static bool may_change(const struct contract *contract, enum layer layer, const char *key) {
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

static void judge_changes(struct result *result, const struct fact_list *start, const struct fact_list *end) {
  struct difference_list differences;
  capture_diff(start, end, &differences);
  for (size_t i = 0; i < differences.n_items; i++) {
    const struct difference *d = &differences.items[i];
    if (d->of != FACT_IDENTITY || may_change(&result->contract, d->layer, d->key)) continue;
    add_once(result, &result->changed, &result->n_changed,
             arena_printf(&result->arena, "%s (%s, %s): '%s' at the start, '%s' at the end", d->key, layer_text(d->layer),
                          contract_owner(&result->contract, d->layer), d->a != NULL ? d->a : "absent", d->b != NULL ? d->b : "absent"));
  }
  difference_list_release(&differences);
}

/* Each precision was captured by itself: its process has other arguments. */
static enum lynx_status judge_executor(struct bundle *bundle, struct result *result, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (size_t p = 0; p < result->n_precisions && status == LYNX_OK; p++) {
    struct fact_list start = {0}, end = {0};
    struct result_precision *precision = &result->precisions[p];
    status = bundle_facts(bundle, arena_printf(&result->arena, "start:%s", precision->name), &start, error);
    if (status == LYNX_OK) status = bundle_facts(bundle, arena_printf(&result->arena, "end:%s", precision->name), &end, error);
    if (start.n_items > 0) {
      capture_fingerprint(&start, precision->fingerprint);
      judge_expectations(result, &start);
      if (end.n_items > 0) judge_changes(result, &start, &end);
    }
    for (size_t i = 0; i < start.n_items; i++)
      if (strncmp(start.items[i].key, "hole.", 5) == 0)
        add_once(result, &result->holes, &result->n_holes, arena_copy(&result->arena, start.items[i].value));
    fact_list_release(&start);
    fact_list_release(&end);
  }
  return status;
}

static enum lynx_status keep_condition(void *context, int64_t realtime_ns, const char *kind, const char *text) {
  (void)realtime_ns;
  struct result *result = context;
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
  return LYNX_OK;
}

enum lynx_status result_compute(struct bundle *bundle, const struct bundle_seal_info *seal, struct result *ret, struct lynx_error *error) {
  *ret = (struct result){.seal = *seal};
  struct gather g = {.result = ret, .bundle = bundle};
  enum lynx_status status = read_contract(bundle, ret, error);
  if (status == LYNX_OK) status = bundle_each_session(bundle, keep_session, &g, error);
  if (status == LYNX_INPUT) (void)lynx_fail(error, status, "a session's windows are not what this format holds");
  if (status == LYNX_OK) {
    ret->n_precisions = ret->contract.precisions.n_items;
    ret->precisions = arena_alloc(&ret->arena, ret->n_precisions, sizeof *ret->precisions);
  }
  struct accuracy_sum sum = {.result = ret, .session = -1};
  for (size_t i = 0; i < ret->n_precisions && status == LYNX_OK; i++)
    status = compute_precision(&g, ret->contract.precisions.items[i], &ret->precisions[i], error);
  if (status == LYNX_OK) status = bundle_each_accuracy(bundle, add_accuracy, &sum, error);
  if (status == LYNX_OK) {
    settle_accuracy(&sum);
    for (size_t i = 0; i < ret->n_precisions; i++)
      ret->precisions[i].bits_per_byte = interval_of_sessions(&ret->precisions[i], bits_of, 0, 0, ret->contract.method.confidence);
    judge_accuracy(ret);
  }
  free(g.sessions);
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
