#include "result/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/shown.h"
#include "base/number.h"
#include "result/rows.h"
#include "result/values.h"

/* What the names mean. Times are in ns here; writers print the unit of the tool. */
const struct foreign_formula foreign_formulas[] = {
    {"vllm.ttft.1", "first event with text - first byte written; requests that went well"},
    {"vllm.tpot.1", "(end - first event with text) / (output tokens - 1), output tokens > 1; requests that went well"},
    {"vllm.itl.1", "every gap between events with text, pooled"},
    {"vllm.e2el.1", "end - first byte written; requests that went well"},
    {"vllm.throughput.1", "requests that went well, or their tokens / (last end - first send)"},
    {"aiperf.ttft.1", "first event with text - first byte written"},
    {"aiperf.inter_token_latency.1", "(request latency - time to first token) / (output tokens - 1), per request"},
    {"aiperf.request_latency.1", "end - first byte written"},
    {"guidellm.tpot.1", "(last token - first byte written) / output tokens: time to first token is part of it"},
    {"guidellm.itl.1", "(last token - first token) / (output tokens - 1), per request"},
    {"mlperf.latency.1", "end - scheduled time"},
    {"mlperf.ttft.1", "first token - scheduled time"},
    {"mlperf.tpot.1", "(last token - first token) / (output tokens - 1), per request"},
    {"perf_analyzer.latency.1", "end - first byte written"},
    {"vllm.count.1", "requests that went well, that failed; tokens of those that went well"},
    {"aiperf.count.1", "requests that went well, that failed; output tokens of those that went well"},
    {"aiperf.throughput.1", "requests that went well, or their tokens / benchmark duration"},
    {"guidellm.count.1", "requests that went well, that failed"},
    {"guidellm.throughput.1", "requests that went well / (last end - first send)"},
    {"mlperf.rate.1", "samples, or tokens / time from the first query to the last answer; offline: all samples / the longest latency"},
    {"inference_perf.count.1", "requests that went well, that failed"},
    {"inference_perf.throughput.1", "requests that went well, or their tokens / (last end - first start)"},
    {"inference_perf.ttft.1", "first token - start"},
    {"inference_perf.tpot.1", "as stated; its published values are about half of (end - first token) / (output tokens - 1)"},
    {"inference_perf.itl.1", "every gap between chunks, pooled"},
    {"inference_perf.request_latency.1", "end - start"},
    {"inference_perf.schedule_delay.1", "start - scheduled time"},
    {"llama_bench.rate.1", "tokens / time of one test, mean over its repetitions; no tokenisation, no sampling"},
    {"percentile.numpy.1", "linear between the ranks around p (n - 1), from 0"},
    {"percentile.floor.1", "the value of rank floor(n p), from 0"},
    {"percentile.round.1", "the value of rank floor(p (n - 1) + 0.5), from 0"},
};
const size_t n_foreign_formulas = LYNX_COUNT(foreign_formulas);

struct export_data {
  const struct result *result;
  const struct result_precision *precision;
  int64_t window_from;
  /* From the send; of requests that went well. */
  struct values first_token, whole, per_token_to_end, per_token_to_last, with_first, gaps;
  struct values scheduled_first, scheduled_whole; /* from the scheduled time */
  double n_ok, n_failed, prompt_tokens, output_tokens, first_send_ns, last_end_ns, seconds;
};

static enum lynx_status take_row(void *context, const struct row *row) {
  struct export_data *d = context;
  const struct bundle_request *r = row->request;
  if (!row->counted || r->scheduled_ns < d->window_from) return LYNX_OK;
  if (!row->ok || r->written_ns < 0) {
    d->n_failed++;
    return LYNX_OK;
  }
  double sent = (double)r->written_ns, end = (double)r->end_ns, first = (double)r->first_token_ns, last = (double)r->last_token_ns;
  double tokens = (double)(r->output_tokens >= 0 ? r->output_tokens : r->n_text_events);
  d->n_ok++;
  d->prompt_tokens += r->prompt_tokens >= 0 ? (double)r->prompt_tokens : 0;
  d->output_tokens += tokens;
  d->first_send_ns = fmin(d->first_send_ns, sent);
  d->last_end_ns = fmax(d->last_end_ns, end);
  values_add(&d->whole, end - sent);
  values_add(&d->scheduled_whole, end - (double)r->scheduled_ns);
  if (r->first_token_ns < 0) return LYNX_OK;
  values_add(&d->first_token, first - sent);
  values_add(&d->scheduled_first, first - (double)r->scheduled_ns);
  if (tokens > 0) values_add(&d->with_first, (last - sent) / tokens);
  if (tokens > 1) values_add(&d->per_token_to_end, (end - first) / (tokens - 1));
  if (tokens > 1) values_add(&d->per_token_to_last, (last - first) / (tokens - 1));
  int64_t before = -1;
  for (size_t i = 0; i < row->n_tokens; i++) {
    double ns;
    if (row_gap(row, i, &before, &ns)) values_add(&d->gaps, ns);
  }
  return LYNX_OK;
}

/* --- percentiles of several kinds, of sorted values --- */

static double linear(const struct values *v, double p) {
  if (v->n == 0) return NAN;
  double at = p * (double)(v->n - 1);
  size_t low = (size_t)at;
  return low + 1 < v->n ? v->at[low] + (at - (double)low) * (v->at[low + 1] - v->at[low]) : v->at[v->n - 1];
}

static double floored(const struct values *v, double p) {
  size_t rank = (size_t)((double)v->n * p);
  return v->n == 0 ? NAN : v->at[rank < v->n ? rank : v->n - 1];
}

static double rounded(const struct values *v, double p) {
  return v->n == 0 ? NAN : v->at[(size_t)(p * (double)(v->n - 1) + 0.5)];
}

static double mean_of(const struct values *v) {
  double sum = 0;
  for (size_t i = 0; i < v->n; i++) sum += v->at[i];
  return v->n > 0 ? sum / (double)v->n : NAN;
}

static double deviation_of(const struct values *v) { /* numpy's: over n */
  double mean = mean_of(v), squares = 0;
  for (size_t i = 0; i < v->n; i++) squares += (v->at[i] - mean) * (v->at[i] - mean);
  return v->n > 0 ? sqrt(squares / (double)v->n) : NAN;
}

static void put(struct json_writer *json, const char *key, double value) {
  json_put_double(json, key, isfinite(value) ? number_round(value, 7) : value);
}

static void put_formula(struct json_writer *json, const char *name, const char *id) {
  json_put_text(json, name, id);
}

/* --- the formats --- */

static void put_vllm(struct json_writer *json, const char *name, const struct values *v) {
  static const struct {
    const char *kind;
    double p;
  } kinds[] = {{"mean", -1}, {"median", 0.5}, {"std", -2}, {"p99", 0.99}};
  char key[64];
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++) {
    (void)snprintf(key, sizeof key, "%s_%s_ms", kinds[i].kind, name);
    put(json, key, (i == 0 ? mean_of(v) : i == 2 ? deviation_of(v) : linear(v, kinds[i].p)) / 1e6);
  }
}

/* Of what is exported; NaN where it has no one rate. */
static double offered_rate(const struct export_data *d) {
  const struct contract_regime *r = &d->result->contract.regime;
  if (r->load == LOAD_SATURATION) return d->precision->certificate.passing;
  return r->load == LOAD_CONSTANT || r->load == LOAD_POISSON || r->load == LOAD_BURSTY ? r->rate_per_s : NAN;
}

static bool write_vllm(const struct export_data *d, struct buffer *ret) {
  struct json_writer json;
  const struct contract *c = &d->result->contract;
  json_begin_object(&json, ret);
  json_put_text(&json, "label", c->name);
  json_put_text(&json, "endpoint_type", c->workload.api == API_CHAT ? "openai-chat" : "openai");
  json_put_text(&json, "model_id", c->workload.model);
  if (load_is_closed((enum load_kind)c->regime.load)) json_put_text(&json, "request_rate", "inf");
  else put(&json, "request_rate", offered_rate(d));
  if (contract_in_flight(c) > 0) json_put_int(&json, "max_concurrency", contract_in_flight(c));
  json_put_int(&json, "num_prompts", (int64_t)(d->n_ok + d->n_failed));
  put(&json, "duration", d->seconds);
  json_put_int(&json, "completed", (int64_t)d->n_ok);
  json_put_int(&json, "failed", (int64_t)d->n_failed);
  json_put_int(&json, "total_input_tokens", (int64_t)d->prompt_tokens);
  json_put_int(&json, "total_output_tokens", (int64_t)d->output_tokens);
  put(&json, "request_throughput", d->n_ok / d->seconds);
  if (c->slo.n_items > 0) put(&json, "request_goodput", d->precision->goodput.estimate);
  put(&json, "output_throughput", d->output_tokens / d->seconds);
  put(&json, "total_token_throughput", (d->prompt_tokens + d->output_tokens) / d->seconds);
  put_vllm(&json, "ttft", &d->first_token);
  put_vllm(&json, "tpot", &d->per_token_to_end);
  put_vllm(&json, "itl", &d->gaps);
  put_vllm(&json, "e2el", &d->whole);
  json_key(&json, "lynx_formulas");
  json_open_object(&json);
  put_formula(&json, "ttft", "vllm.ttft.1");
  put_formula(&json, "tpot", "vllm.tpot.1");
  put_formula(&json, "itl", "vllm.itl.1");
  put_formula(&json, "e2el", "vllm.e2el.1");
  put_formula(&json, "throughput", "vllm.throughput.1");
  put_formula(&json, "percentile", "percentile.numpy.1");
  json_close(&json);
  return json_end_line(&json);
}

static void put_aiperf(struct json_writer *json, const char *name, const char *unit, const char *formula, const struct values *v,
                       double scale) {
  static const struct {
    const char *key;
    double p;
  } kinds[] = {{"p1", 0.01},  {"p5", 0.05}, {"p10", 0.1},  {"p25", 0.25}, {"p50", 0.5},
               {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
  json_key(json, name);
  json_open_object(json);
  json_put_text(json, "unit", unit);
  put(json, "avg", mean_of(v) * scale);
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++) put(json, kinds[i].key, linear(v, kinds[i].p) * scale);
  put(json, "min", linear(v, 0) * scale);
  put(json, "max", linear(v, 1) * scale);
  put(json, "std", deviation_of(v) * scale);
  json_put_text(json, "lynx_formula", formula);
  json_close(json);
}

static void put_aiperf_one(struct json_writer *json, const char *name, const char *unit, double value) {
  json_key(json, name);
  json_open_object(json);
  json_put_text(json, "unit", unit);
  put(json, "avg", value);
  json_close(json);
}

static bool write_aiperf(const struct export_data *d, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "schema_version", "1.0");
  json_put_bool(&json, "was_cancelled", d->result->seal.end != BUNDLE_COMPLETE);
  put_aiperf_one(&json, "request_throughput", "requests/sec", d->n_ok / d->seconds);
  put_aiperf_one(&json, "output_token_throughput", "tokens/sec", d->output_tokens / d->seconds);
  put_aiperf_one(&json, "request_count", "requests", d->n_ok);
  put_aiperf_one(&json, "error_request_count", "requests", d->n_failed);
  put_aiperf_one(&json, "benchmark_duration", "sec", d->seconds);
  put_aiperf_one(&json, "total_isl", "tokens", d->prompt_tokens);
  put_aiperf_one(&json, "total_osl", "tokens", d->output_tokens);
  if (d->result->contract.slo.n_items > 0) put_aiperf_one(&json, "goodput", "requests/sec", d->precision->goodput.estimate);
  put_aiperf(&json, "request_latency", "ms", "aiperf.request_latency.1", &d->whole, 1e-6);
  put_aiperf(&json, "time_to_first_token", "ms", "aiperf.ttft.1", &d->first_token, 1e-6);
  put_aiperf(&json, "inter_token_latency", "ms", "aiperf.inter_token_latency.1", &d->per_token_to_end, 1e-6);
  json_put_text(&json, "lynx_percentile", "percentile.numpy.1");
  return json_end_line(&json);
}

static void put_guidellm(struct json_writer *json, const char *name, const char *formula, const struct values *v) {
  static const struct {
    const char *key;
    double p;
  } kinds[] = {{"p001", 0.001}, {"p01", 0.01}, {"p05", 0.05}, {"p10", 0.1},  {"p25", 0.25},  {"p50", 0.5},
               {"p75", 0.75},   {"p90", 0.9},  {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};
  json_key(json, name);
  json_open_object(json);
  json_key(json, "successful");
  json_open_object(json);
  put(json, "mean", mean_of(v) / 1e6);
  put(json, "median", floored(v, 0.5) / 1e6);
  put(json, "std_dev", deviation_of(v) / 1e6);
  put(json, "min", floored(v, 0) / 1e6);
  put(json, "max", floored(v, 1) / 1e6);
  json_put_int(json, "count", (int64_t)v->n);
  json_key(json, "percentiles");
  json_open_object(json);
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++) put(json, kinds[i].key, floored(v, kinds[i].p) / 1e6);
  json_close(json);
  json_close(json);
  json_put_text(json, "lynx_formula", formula);
  json_close(json);
}

static bool write_guidellm(const struct export_data *d, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_key(&json, "metadata");
  json_open_object(&json);
  json_put_int(&json, "version", 2);
  json_close(&json);
  json_key(&json, "benchmarks");
  json_open_array(&json);
  json_open_object(&json);
  json_put_text(&json, "type_", "generative_benchmark");
  json_key(&json, "scheduler_metrics");
  json_open_object(&json);
  json_key(&json, "requests_made");
  json_open_object(&json);
  json_put_int(&json, "successful", (int64_t)d->n_ok);
  json_put_int(&json, "errored", (int64_t)d->n_failed);
  json_put_int(&json, "total", (int64_t)(d->n_ok + d->n_failed));
  json_close(&json);
  json_close(&json);
  json_key(&json, "metrics");
  json_open_object(&json);
  put_guidellm(&json, "time_to_first_token_ms", "vllm.ttft.1", &d->first_token);
  put_guidellm(&json, "time_per_output_token_ms", "guidellm.tpot.1", &d->with_first);
  put_guidellm(&json, "inter_token_latency_ms", "guidellm.itl.1", &d->per_token_to_last);
  json_put_text(&json, "lynx_percentile", "percentile.floor.1");
  json_close(&json);
  json_close(&json);
  json_close(&json);
  return json_end_line(&json);
}

static void put_mlperf(struct json_writer *json, const char *name, const char *formula, const struct values *v) {
  static const struct {
    const char *key;
    double p;
  } kinds[] = {{"50.00 percentile", 0.5},  {"90.00 percentile", 0.9},  {"95.00 percentile", 0.95},
               {"97.00 percentile", 0.97}, {"99.00 percentile", 0.99}, {"99.90 percentile", 0.999}};
  char key[120];
  (void)snprintf(key, sizeof key, "Mean %s (ns)", name);
  put(json, key, mean_of(v));
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++) {
    (void)snprintf(key, sizeof key, "%s %s (ns)", kinds[i].key, name);
    put(json, key, floored(v, kinds[i].p));
  }
  (void)snprintf(key, sizeof key, "lynx_formula %s", name);
  json_put_text(json, key, formula);
}

static bool write_mlperf(const struct export_data *d, struct buffer *ret) {
  struct json_writer json;
  int load = d->result->contract.regime.load;
  const char *scenario = load == LOAD_SINGLE_STREAM  ? "SingleStream"
                         : load == LOAD_MULTI_STREAM ? "MultiStream"
                         : load == LOAD_OFFLINE      ? "Offline"
                         : load == LOAD_POISSON      ? "Server"
                                                     : "none of MLPerf's";
  json_begin_object(&json, ret);
  json_put_text(&json, "Scenario", scenario);
  json_put_text(&json, "Mode", "PerformanceOnly");
  put(&json, "Completed samples per second", d->n_ok / d->seconds);
  put(&json, "Completed tokens per second", d->output_tokens / d->seconds);
  json_put_int(&json, "Errors", (int64_t)d->n_failed);
  put_mlperf(&json, "latency", "mlperf.latency.1", &d->scheduled_whole);
  put_mlperf(&json, "first token latency", "mlperf.ttft.1", &d->scheduled_first);
  put_mlperf(&json, "time to output token", "mlperf.tpot.1", &d->per_token_to_last);
  json_put_text(&json, "lynx_percentile", "percentile.floor.1");
  json_put_text(&json, "lynx_note", "no validity is stated: LoadGen's rules of duration and query count are not this contract's");
  return json_end_line(&json);
}

static bool write_perf_analyzer(const struct export_data *d, struct buffer *ret) {
  const struct values *v = &d->whole;
  bool closed = load_is_closed((enum load_kind)d->result->contract.regime.load);
  double load = closed ? (double)contract_in_flight(&d->result->contract) : offered_rate(d);
  (void)buffer_printf(ret, "%s,Inferences/Second,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency\n",
                      closed ? "Concurrency" : "Request Rate");
  if (isfinite(load)) (void)buffer_printf(ret, "%.6g", load);
  return buffer_printf(ret, ",%.6g,%.0f,%.0f,%.0f,%.0f,%.0f\n", d->n_ok / d->seconds, rounded(v, 0.5) / 1e3, rounded(v, 0.9) / 1e3,
                       rounded(v, 0.95) / 1e3, rounded(v, 0.99) / 1e3, mean_of(v) / 1e3);
}

/* --- rows --- */

/* A cell of a spreadsheet: what begins like a formula would be run as one. */
static void put_cell(struct buffer *out, const char *text) {
  const char *first = text + strspn(text, " \t\r\n");
  bool plain = (*first >= 'a' && *first <= 'z') || (*first >= 'A' && *first <= 'Z') || (*first >= '0' && *first <= '9') || *first == 0;
  (void)buffer_text(out, plain ? "\"" : "\"'");
  for (size_t left = strlen(text), n; left > 0; left -= n, text += n) {
    const unsigned char *p = (const unsigned char *)text;
    n = utf8_length(p, left);
    bool good = n > 0 && !text_misleads(p, n);
    if (!good) (void)buffer_text(out, *p < ' ' ? " " : "?");
    else if (*p == '"') (void)buffer_text(out, "\"\"");
    else (void)buffer_append(out, p, n);
    n = n > 0 ? n : 1;
  }
  (void)buffer_text(out, "\"");
}

struct csv_line {
  struct buffer *out;
  bool begun;
};

static void next_cell(struct csv_line *line) {
  if (line->begun) (void)buffer_text(line->out, ",");
  line->begun = true;
}

static void put_value(void *context, const char *column, const char *text, int64_t number) {
  struct csv_line *line = context;
  (void)column;
  next_cell(line);
  if (text != NULL) put_cell(line->out, text);
  else if (number >= 0) (void)buffer_printf(line->out, "%" PRId64, number); /* -1 stands for what was not seen */
}

static void put_name(void *context, const char *column, const char *text, int64_t number) {
  struct csv_line *line = context;
  (void)text;
  (void)number;
  next_cell(line);
  (void)buffer_text(line->out, column);
}

static enum lynx_status put_row(void *context, const struct bundle_request *request) {
  struct csv_line line = {.out = context};
  bundle_request_cells(request, put_value, &line);
  return buffer_text(line.out, "\n") ? LYNX_OK : LYNX_LIMIT;
}

static enum lynx_status write_rows(struct bundle *bundle, const struct result_precision *p, struct buffer *ret, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  bundle_request_cells(&(struct bundle_request){0}, put_name, &(struct csv_line){.out = ret});
  (void)buffer_text(ret, "\n");
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++)
    status = bundle_each_request(bundle, p->sessions[i].id, put_row, ret, error);
  return ret->overflowed ? lynx_fail(error, LYNX_LIMIT, "the rows are larger than %zu bytes", ret->limit) : status;
}

const struct export_format export_formats[] = {
    {"vllm", "the result file of vllm bench serve", write_vllm},
    {"aiperf", "profile_export_aiperf.json", write_aiperf},
    {"guidellm", "benchmarks.json, version 2", write_guidellm},
    {"mlperf", "the figures of LoadGen's summary, as JSON", write_mlperf},
    {"perf_analyzer", "CSV; latencies in microseconds", write_perf_analyzer},
    {"csv", "every request, warm-up and failures included, a line each: for spreadsheets and data frames", NULL},
};
const size_t n_export_formats = LYNX_COUNT(export_formats);

enum lynx_status export_precision(struct bundle *bundle, const struct result *result, size_t precision, const struct export_format *format,
                                  struct buffer *ret, struct lynx_error *error) {
  struct export_data d = {.result = result, .precision = &result->precisions[precision]};
  enum lynx_status status = LYNX_OK;
  if (format->write == NULL) return write_rows(bundle, d.precision, ret, error);
  for (size_t i = 0; i < d.precision->n_sessions && status == LYNX_OK; i++) {
    const struct result_session *s = &d.precision->sessions[i];
    if (!s->complete) continue;
    d.window_from = s->steady.from_ns;
    d.first_send_ns = INFINITY;
    d.last_end_ns = 0;
    status = rows_each(bundle, s->id, take_row, &d, error);
    if (d.last_end_ns > d.first_send_ns) d.seconds += (d.last_end_ns - d.first_send_ns) / 1e9;
  }
  struct values *all[] = {&d.first_token, &d.whole, &d.per_token_to_end, &d.per_token_to_last,
                          &d.with_first,  &d.gaps,  &d.scheduled_first,  &d.scheduled_whole};
  for (size_t i = 0; i < LYNX_COUNT(all); i++) quantile_sort(all[i]->at, all[i]->n);
  if (status == LYNX_OK && d.n_ok <= 0)
    status = lynx_fail(error, LYNX_INPUT, "no request of %s went well: there is nothing to export", d.precision->name);
  if (status == LYNX_OK && !format->write(&d, ret))
    status = lynx_fail(error, LYNX_LIMIT, "the export is larger than %zu bytes", ret->limit);
  for (size_t i = 0; i < LYNX_COUNT(all); i++) values_release(all[i]);
  return status;
}
