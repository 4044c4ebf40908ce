#include "result/precision.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "result/check_verdicts.h"
#include "result/climb.h"
#include "result/conditions.h"
#include "result/objective.h"
#include "result/phases.h"
#include "result/points.h"
#include "result/represent.h"
#include "result/rows.h"
#include "result/server_figures.h"
#include "result/steady_window.h"
#include "result/values.h"

/* --- one session --- */

#define TOGETHER 0.2 /* of a request's mean time */

struct scan {
  struct result *result;
  struct row_terms terms;
  struct result_precision *precision;
  struct result_session *session;
  int64_t window_from, window_to, last_end;
  struct objective_values *values[METRIC_COUNT]; /* by session */
  size_t at;                                     /* the present session among them */
  struct values punctual[METRIC_COUNT];          /* of all sessions: each value less what we were late by */
  struct values send_lag, read_lag;
  struct values ends; /* of a closed loop: of what was done in the session's window */
  double together;    /* summed over what was done */
  int64_t n_together;
  double held_ns, slots_ns; /* of a closed loop's slots in the counted windows: of requests of the warm-up, and all */
  double lag_ns, life_ns;   /* of counted requests that ended well: summed */
  double tokens_in_window, good_tokens, events_with_usage, tokens_with_usage, prompt_tokens, output_tokens;
  int64_t n_reasoned, n_tool_calls, n_done, n_good, n_told, n_with_usage, n_with_prompt_usage;
};

static double tokens_after_first(const struct bundle_request *r) {
  int64_t tokens = r->output_tokens >= 0 ? r->output_tokens : r->n_text_events;
  return tokens > 2 ? (double)(tokens - 1) : 1;
}

static void count_request(struct scan *scan, const struct row *row) {
  const struct bundle_request *r = row->request;
  double lag = row_lag(&scan->terms, row), read_lag = r->read_lag_ns > 0 ? (double)r->read_lag_ns : 0;
  struct result_precision *p = scan->precision;
  p->n_counted++;
  scan->session->n_counted++;
  p->outcomes[r->outcome]++;
  if (p->reasons[r->outcome] == NULL && r->reason != NULL && r->reason[0] != 0)
    p->reasons[r->outcome] = arena_copy(&scan->result->arena, r->reason);
  if (r->outcome == OUTCOME_HTTP_STATUS) {
    p->http_statuses += p->http_status != r->http_status;
    p->http_status = r->http_status;
  }
  if (row->ok) p->n_ok++, scan->session->n_ok++;
  else p->n_failed++, scan->session->n_failed++;
  for (unsigned i = 0; i < ANSWER_FLAG_COUNT; i++)
    if ((r->flags >> i & 1) != 0) p->flags[i]++;
  scan->n_reasoned += (r->flags & ANSWER_REASONING) != 0;
  scan->n_tool_calls += (r->flags & ANSWER_TOOL_CALL) != 0;
  for (int m = 0; m < METRIC_COUNT; m++) {
    double ns;
    struct objective_values *v = &scan->values[m][scan->at];
    if (!row_latency(&scan->terms, (enum metric)m, row, &ns)) continue;
    objective_values_add(v, ns, r->outcome == OUTCOME_UNFINISHED && isfinite(ns));
    double late = m == METRIC_TIME_PER_OUTPUT_TOKEN && row->ok ? read_lag / tokens_after_first(r) : lag;
    values_add(&scan->punctual[m], ns > late ? ns - late : 0);
  }
  if (row->ok) scan->lag_ns += lag, scan->life_ns += (double)(r->end_ns - r->scheduled_ns);
  int64_t before = -1;
  for (size_t i = 0; i < row->n_tokens && row->ok && scan->result->imported[0] == 0; i++) {
    double ns;
    if (row_gap(row, i, &before, &ns)) objective_values_add(&scan->values[METRIC_INTER_TOKEN_LATENCY][scan->at], ns, false);
  }
  p->n_waited_slot += (r->flags & ANSWER_WAITED_SLOT) != 0;
  values_add(&scan->send_lag, (double)((r->issued_ns >= 0 ? r->issued_ns : r->end_ns) - r->scheduled_ns)); /* every wait of ours is one */
  if (r->read_lag_ns >= 0) values_add(&scan->read_lag, (double)r->read_lag_ns);
  else p->read_lag.n_unknown++;
  if (!row->ok) return;
  if (r->output_tokens > 0 || r->n_text_events > 0) p->has_tokens = true;
  p->n_without_tokens += scan->terms.holds_tokens && r->output_tokens <= 0 && r->n_text_events == 0;
  p->n_textless += r->output_tokens > 0 && r->n_text_events == 0;
  p->n_told_none += r->output_tokens == 0 && r->n_text_events > 0;
  p->n_contradicting += row->contradicts;
  if ((r->flags & ANSWER_TOKENS_TOLD) != 0) scan->n_told++;
  if (r->output_tokens >= 0) {
    scan->n_with_usage++;
    scan->output_tokens += (double)r->output_tokens;
    if (r->n_text_events > 0) scan->tokens_with_usage += (double)r->output_tokens;
    scan->events_with_usage += (double)r->n_text_events;
  } else p->n_without_usage++;
  if (r->prompt_tokens >= 0) scan->n_with_prompt_usage++, scan->prompt_tokens += (double)r->prompt_tokens;
}

static enum lynx_status scan_row(void *context, const struct row *row) {
  struct scan *scan = context;
  bool counted = row->counted && row->request->scheduled_ns >= scan->window_from,
       done = row_done_within(row, scan->window_from, scan->window_to);
  if (row->warm_up && row->request->end_ns > scan->window_from)
    scan->held_ns += (double)((row->request->end_ns < scan->window_to ? row->request->end_ns : scan->window_to) - scan->window_from);
  if (row->warm_up) scan->precision->n_warm_up++;
  else if (row->counted && !counted) scan->precision->n_not_steady++;
  else if (!counted) scan->precision->n_tail++;
  if (counted) count_request(scan, row);
  scan->tokens_in_window += row_tokens_within(row, scan->window_from, scan->window_to);
  scan->n_done += done;
  if (done && load_is_closed((enum load_kind)scan->result->contract.regime.load)) values_add(&scan->ends, (double)row->request->end_ns);
  bool good = done && row_meets_objectives(&scan->terms, row);
  scan->n_good += good;
  if (good) scan->good_tokens += row_tokens_within(row, 0, INT64_MAX);
  if (counted && row->ok && row->request->end_ns > scan->last_end) scan->last_end = row->request->end_ns;
  return LYNX_OK;
}

/* A closed loop begins with all of its requests at once, and like ones go on ending together: a window that ends a moment later may hold
 * that many more. How many others end within a tenth of a request's time of each. */
static void count_together(struct scan *scan) {
  const struct result_precision *p = scan->precision;
  double reach = p->n_ok > 0 ? TOGETHER / 2 * scan->life_ns / (double)p->n_ok : 0;
  struct values *ends = &scan->ends;
  quantile_sort(ends->at, ends->n);
  for (size_t i = 0, low = 0, high = 0; i < ends->n; i++) {
    while (ends->at[low] < ends->at[i] - reach) low++;
    while (high < ends->n && ends->at[high] <= ends->at[i] + reach) high++;
    scan->together += (double)(high - low);
  }
  scan->n_together += (int64_t)ends->n;
  ends->n = 0;
}

static void close_session(struct scan *scan) {
  struct result_session *s = scan->session;
  double seconds = (double)(scan->window_to - scan->window_from) / 1e9;
  bool offline = scan->result->contract.regime.load == LOAD_OFFLINE; /* its window is as long as the batch took */
  if (offline && scan->last_end > scan->window_from) seconds = (double)(scan->last_end - scan->window_from) / 1e9;
  scan->last_end = 0;
  if (s->complete) count_together(scan);
  scan->ends.n = 0;
  s->output_rate = scan->tokens_in_window / seconds;
  s->request_rate = (double)scan->n_done / seconds;
  s->goodput = (double)scan->n_good / seconds;
  s->good_output_rate = scan->good_tokens / seconds;
  for (int m = 0; m < METRIC_COUNT; m++) {
    struct objective_values *own = &scan->values[m][scan->at];
    const struct sample *values = &own->values;
    sample_close(&own->values);
    own->whole = s->complete;
    for (int q = 0; q < RESULT_QUANTILES; q++)
      s->at[m][q] = values->n > 0 ? samples_ranked(&values, 1, quantile_rank(values->n, result_quantiles[q])) : NAN;
  }
  scan->tokens_in_window = scan->good_tokens = 0;
  scan->n_done = scan->n_good = 0;
}

/* --- one precision --- */

static void read_executed(struct result *result, struct result_precision *p, const char *json) {
  p->executed_json = json;
  p->executed = p->status = "not stated by the executor";
  p->primitive = "";
  json_t *root = json[0] != 0 ? json_parse(json, strlen(json), 65536, NULL) : NULL;
  if (root == NULL) return;
  const char *precision = json_get_text(root, "precision", p->executed); /* as a program says it; a server: what was executed */
  p->executed = arena_copy(&result->arena, json_get_text(root, "executed", precision));
  p->status = arena_copy(&result->arena, json_get_text(root, "status", p->status));
  p->primitive = arena_copy(&result->arena, json_get_text(root, "primitive", ""));
  json_decref(root);
}

static struct result_lag lag_of(struct values *values, size_t n_unknown) {
  struct result_lag lag = {.n = values->n, .n_unknown = n_unknown, .p50 = NAN, .p99 = NAN, .greatest = NAN};
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

static double good_output_rate_of(const struct result_session *s, int a, int b) {
  (void)a, (void)b;
  return s->good_output_rate;
}

static double quantile_figure(const struct result_session *s, int metric, int quantile) {
  return s->at[metric][quantile];
}

/* A window holds whole requests: where it begins and ends between them can make one more or less. Sessions of even arrivals all begin
 * alike, so that their spread does not show it. */
static struct interval not_finer(struct interval rate, double quantum) {
  if (!rate.bounded || !(quantum > 0) || (rate.high - rate.low) / 2 >= quantum) return rate;
  rate.low = fmax(0, rate.estimate - quantum);
  rate.high = rate.estimate + quantum;
  return rate;
}

/* What our lateness can have added to a quantile. Gaps between tokens: what the reads can have been late by. */
static double instrument_share(const struct scan *scan, int metric, double measured, double quantile) {
  const struct values *punctual = &scan->punctual[metric];
  if (!isfinite(measured) || !(measured > 0)) return 0;
  if (metric == METRIC_INTER_TOKEN_LATENCY) {
    double lag = scan->read_lag.n > 0 ? quantile_of(scan->read_lag.at, scan->read_lag.n, quantile) : 0; /* sorted by then */
    return lag < measured ? lag / measured : 1;
  }
  return punctual->n > 0 ? 1 - quantile_of(punctual->at, punctual->n, quantile) / measured : 0;
}

static void close_latency(struct scan *scan, struct objective_values *const *own, size_t n_sessions, int metric) {
  struct result_precision *p = scan->precision;
  struct result_latency *latency = &p->latency[metric];
  double confidence = scan->result->interval_confidence;
  size_t n_all, n_whole;
  const struct sample **all = objective_samples(own, n_sessions, false, &n_all),
                      **whole = objective_samples(own, n_sessions, true, &n_whole);
  size_t n = latency->n = samples_count(all, n_all);
  latency->n_infinite = n - samples_up_to(all, n_all, DBL_MAX);
  latency->mean = sessions_mean(whole, n_whole, confidence);
  latency->mean.interval = result_not_negative(latency->mean.interval);
  if (samples_count(whole, n_whole) == 0) latency->mean.interval.estimate = NAN; /* no session is whole */
  latency->least = n > 0 ? samples_ranked(all, n_all, 1) : NAN;
  latency->greatest = n > 0 ? samples_ranked(all, n_all, n) : NAN;
  latency->deviation = samples_deviation(all, n_all);
  for (int q = 0; q < RESULT_QUANTILES && n > 0; q++) {
    latency->at[q] = objective_quantile(own, n_sessions, result_quantiles[q], confidence);
    latency->of_sessions[q] = result_not_negative(interval_of_sessions(p, quantile_figure, metric, q, confidence));
    latency->instrument_share[q] = instrument_share(scan, metric, latency->at[q].quantile.estimate, result_quantiles[q]);
  }
  free((void *)all);
  free((void *)whole);
}

/* Whether a latency says anything here: one of the answer where no model reasons is the first token's again, and one of tool calls where
 * there is none is that of failures. */
static bool tells(const struct scan *scan, int metric) {
  const struct contract_slo *slo = scan->result->contract.slo.items;
  if (metric == METRIC_TIME_TO_FIRST_TOOL_CALL) return scan->n_tool_calls > 0;
  bool limited = false;
  for (size_t i = 0; i < scan->result->contract.slo.n_items; i++) limited = limited || slo[i].metric == metric;
  return metric != METRIC_TIME_TO_FIRST_ANSWER_TOKEN || scan->n_reasoned > 0 || limited;
}

static void close_latencies(struct scan *scan) {
  struct result_precision *p = scan->precision;
  const struct contract *contract = &scan->result->contract;
  const struct contract_slo *slo = contract->slo.items;
  struct objective_values **own = arena_alloc(&scan->result->arena, p->n_sessions + 1, sizeof(struct objective_values *));
  p->n_objectives = contract->slo.n_items;
  p->objectives = arena_alloc(&scan->result->arena, p->n_objectives, sizeof *p->objectives);
  quantile_sort(scan->read_lag.at, scan->read_lag.n);
  for (int m = 0; m < METRIC_COUNT; m++) {
    quantile_sort(scan->punctual[m].at, scan->punctual[m].n);
    size_t n_sessions = tells(scan, m) ? p->n_sessions : 0;
    for (size_t i = 0; i < n_sessions; i++) own[i] = &scan->values[m][i];
    close_latency(scan, own, n_sessions, m);
    for (size_t i = 0; i < p->n_objectives; i++) {
      if (slo[i].metric != m) continue;
      struct result_objective *o = &p->objectives[i];
      objective_judge(&slo[i], own, n_sessions, scan->result->interval_confidence, o);
      const struct values *punctual = &scan->punctual[m];
      o->by_instrument = !o->met && punctual->n > 0 && quantile_of(punctual->at, punctual->n, slo[i].quantile) <= (double)slo[i].at_most_ns;
    }
  }
}

static void scan_release(struct scan *scan) {
  for (int m = 0; m < METRIC_COUNT; m++) {
    for (size_t i = 0; i < scan->precision->n_sessions; i++) objective_values_release(&scan->values[m][i]);
    free(scan->values[m]);
    values_release(&scan->punctual[m]);
  }
  values_release(&scan->send_lag);
  values_release(&scan->ends);
  values_release(&scan->read_lag);
}

/* In a closed loop every moment of ours is one that the executor had nothing to do for that slot; in an open loop lateness only moves
 * what stands at the window's edges. */
static double rate_share(const struct scan *scan) {
  const struct contract *c = &scan->result->contract;
  double window = (double)c->method.counted_ns;
  if (load_is_closed((enum load_kind)c->regime.load)) return scan->life_ns > 0 ? fmin(1, scan->lag_ns / scan->life_ns) : 0;
  const struct result_lag *read = &scan->precision->read_lag;
  double p99 = scan->precision->send_lag.p99 + (read->n > 0 ? read->p99 : 0);
  return p99 < window ? p99 / window : 1;
}

static void close_precision(struct scan *scan) {
  struct result_precision *p = scan->precision;
  const struct contract *contract = &scan->result->contract;
  double confidence = scan->result->interval_confidence;
  close_latencies(scan);
  p->mean_output_tokens = scan->n_with_usage > 0 ? scan->output_tokens / (double)scan->n_with_usage : NAN;
  /* The window of a load that is run to its end is as long as that took. */
  double one = contract->regime.load == LOAD_OFFLINE ? 0 : 1e9 / (double)contract->method.counted_ns;
  p->together = scan->n_together > 0 ? fmax(1, scan->together / (double)scan->n_together) : 1;
  /* Tokens of requests that run in step come together, too: one of each. */
  double each = scan->events_with_usage > 0 ? fmax(1, scan->tokens_with_usage / scan->events_with_usage) : 1;
  p->request_step = one * p->together;
  p->token_step = (contract->workload.stream ? one : p->request_step) * p->mean_output_tokens;
  if (contract->workload.stream) p->token_step = fmax(p->token_step, p->request_step * each);
  p->output_rate = not_finer(result_not_negative(interval_of_sessions(p, output_rate_of, 0, 0, confidence)), p->token_step);
  p->request_rate = not_finer(result_not_negative(interval_of_sessions(p, request_rate_of, 0, 0, confidence)), p->request_step);
  p->goodput = not_finer(result_not_negative(interval_of_sessions(p, goodput_of, 0, 0, confidence)), p->request_step);
  p->good_output_rate = not_finer(result_not_negative(interval_of_sessions(p, good_output_rate_of, 0, 0, confidence)),
                                  p->request_step * p->mean_output_tokens);
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
  p->rate_instrument_share = rate_share(scan);
  p->instrument_limited = p->rate_instrument_share > contract->method.instrument_error_at_most;
  for (size_t i = 0; i < p->n_objectives; i++) p->instrument_limited = p->instrument_limited || p->objectives[i].by_instrument;
  p->tokens_per_event = scan->events_with_usage > 0 ? scan->tokens_with_usage / scan->events_with_usage : NAN;
  p->mean_prompt_tokens = scan->n_with_prompt_usage > 0 ? scan->prompt_tokens / (double)scan->n_with_prompt_usage : NAN;
}

/* The sessions whose rows make a precision's figures: those of the plain measurement; of a search, those of the certificate at the
 * load that passed. Sessions in which the precision was unavailable say so. */
static bool is_measured(const struct result_precision *p, const struct contract *contract, const struct bundle_session *s) {
  if (strcmp(s->precision, p->name) != 0) return false;
  if (s->end == SESSION_UNAVAILABLE) return true;
  if (contract->regime.load != LOAD_SATURATION) return purpose_measures(s->purpose);
  return s->purpose == PURPOSE_CERTIFY && s->rate_per_s >= p->certificate.passing && s->rate_per_s <= p->certificate.passing;
}

static void take_session(struct result *result, struct result_precision *p, const struct bundle_session *from, double *cpu, double *wall) {
  struct result_session *s = &p->sessions[p->n_sessions++];
  *s = (struct result_session){
      .id = from->id, .number = from->index, .end = from->end, .why = from->why, .executor = from->executor, .accuracy = NAN};
  s->complete = from->end == SESSION_COMPLETE;
  p->n_complete += s->complete;
  if (from->end == SESSION_UNAVAILABLE) p->unavailable = true;
  if (from->executed_json[0] != 0) read_executed(result, p, from->executed_json);
  json_t *instrument = json_parse(from->instrument_json, strlen(from->instrument_json), 65536, NULL);
  *cpu += json_get_double(instrument, "cpu_ns", 0);
  *wall += json_get_double(instrument, "wall_ns", 0);
  json_decref(instrument);
}

enum lynx_status precision_compute(struct bundle *bundle, struct result *result, const struct session_list *sessions, const char *name,
                                   struct result_precision *p, struct lynx_error *error) {
  struct scan scan = {.result = result, .precision = p, .terms = row_terms_of(bundle, &result->contract)};
  struct arena *arena = &result->arena;
  double cpu = 0, wall = 0;
  p->name = name;
  p->accuracy_ratio = NAN;
  read_executed(result, p, "");
  enum lynx_status status = points_judge(bundle, result, p, sessions, error);
  if (status == LYNX_OK) status = climb_judge(bundle, result, p, sessions, error);
  p->sessions = arena_alloc(arena, sessions->n_items + 1, sizeof *p->sessions);
  /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is meant */
  const struct bundle_session **rows = arena_alloc(arena, sessions->n_items + 1, sizeof *rows);
  for (size_t i = 0; i < sessions->n_items; i++) {
    if (!is_measured(p, &result->contract, &sessions->items[i])) continue;
    rows[p->n_sessions] = &sessions->items[i];
    take_session(result, p, &sessions->items[i], &cpu, &wall);
  }
  for (int m = 0; m < METRIC_COUNT; m++) scan.values[m] = xalloc(p->n_sessions + 1, sizeof *scan.values[m]);
  if (status == LYNX_OK) status = steady_window_judge(bundle, result, p, rows, error);
  for (; scan.at < p->n_sessions && status == LYNX_OK; scan.at++) {
    scan.session = &p->sessions[scan.at];
    scan.window_from = scan.session->steady.from_ns;
    scan.window_to = scan.session->steady.to_ns;
    if (result->contract.regime.load == LOAD_OFFLINE) scan.window_to += rows[scan.at]->drain_ns; /* it ends with its last answer */
    if (load_is_closed((enum load_kind)result->contract.regime.load))
      scan.slots_ns += (double)rows[scan.at]->concurrency * (double)(scan.window_to - scan.window_from);
    status = rows_each(bundle, scan.session->id, scan_row, &scan, error);
    close_session(&scan);
  }
  if (status == LYNX_OK) status = conditions_judge(bundle, p, rows, error);
  p->held_share = scan.slots_ns > 0 ? scan.held_ns / scan.slots_ns : 0;
  p->engine_cpu_share = wall > 0 ? cpu / wall : NAN;
  close_precision(&scan);
  scan_release(&scan);
  if (status == LYNX_OK) status = represent_judge(bundle, result, p, error);
  if (status == LYNX_OK) status = phases_judge(bundle, result, p, error);
  if (status == LYNX_OK) status = server_figures_judge(bundle, result, p, rows, error);
  if (status == LYNX_OK) status = check_verdicts_judge(bundle, result, p, sessions, error);
  return status;
}
