#include "telemetry/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { NAMES_MAX = 6 };

static const struct {
  const char *series;
  const char *names[NAMES_MAX];
} table[METRICS_COUNT] = {
    [METRICS_RUNNING] = {"server.running",
                         {"vllm:num_requests_running", "sglang:num_running_reqs", "tgi_batch_current_size", "llamacpp:requests_processing",
                          "trtllm_num_requests_running", "nv_trt_llm_request_metrics{request_type=\"active\""}},
    [METRICS_WAITING] = {"server.waiting",
                         {"vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size", "llamacpp:requests_deferred",
                          "trtllm_num_requests_waiting", "nv_trt_llm_request_metrics{request_type=\"waiting\""}},
    [METRICS_FINISHED] = {"server.finished",
                          {"vllm:request_success_total", "sglang:num_requests_total", "tgi_request_success", "nv_inference_request_success",
                           "trtllm_request_success_total", "request_success_total"}},
    [METRICS_PROMPT_TOKENS] = {"server.prompt_tokens",
                               {"vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "llamacpp:prompt_tokens_total",
                                "trtllm_prompt_tokens_total"}},
    [METRICS_OUTPUT_TOKENS] = {"server.output_tokens",
                               {"vllm:generation_tokens_total", "sglang:generation_tokens_total", "llamacpp:tokens_predicted_total",
                                "trtllm_generation_tokens_total"}},
    [METRICS_CACHE_QUERIES] = {"server.cache_queries",
                               {"vllm:prefix_cache_queries_total", "sglang:prompt_tokens_total", "trtllm_prompt_tokens_total"}},
    [METRICS_CACHE_HITS] = {"server.cache_hits",
                            {"vllm:prefix_cache_hits_total", "sglang:cached_tokens_total{cache_source=\"total\"",
                             "trtllm_prompt_cached_tokens_total"}},
    [METRICS_PREEMPTIONS] = {"server.preemptions", {"vllm:num_preemptions_total", "sglang:num_retracted_requests_total"}},
    [METRICS_CACHE_USE] = {"server.cache_use",
                           {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "trtllm_kv_cache_utilization",
                            "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\""}},
    [METRICS_DRAFTS] = {"server.drafts", {"vllm:spec_decode_num_drafts_total", "llamacpp:spec_decode_num_drafts_total"}},
    [METRICS_DRAFT_TOKENS] = {"server.draft_tokens",
                              {"vllm:spec_decode_num_draft_tokens_total", "llamacpp:spec_decode_num_draft_tokens_total",
                               "trtllm_spec_decode_num_draft_tokens_total"}},
    [METRICS_ACCEPTED_TOKENS] = {"server.accepted_tokens",
                                 {"vllm:spec_decode_num_accepted_tokens_total", "llamacpp:spec_decode_num_accepted_tokens_total",
                                  "trtllm_spec_decode_num_accepted_tokens_total"}},
    [METRICS_ACCEPTANCE_LENGTH] = {"server.acceptance_length", {"sglang:spec_accept_length", "trtllm_spec_decode_acceptance_length"}},
    [METRICS_ACCEPTANCE_RATE] = {"server.acceptance_rate", {"sglang:spec_accept_rate"}},
    [METRICS_CACHE_HIT_RATE] = {"server.cache_hit_rate", {"sglang:cache_hit_rate", "trtllm_kv_cache_hit_rate"}},
    [METRICS_FIRST_TOKEN_SUM] = {"server.first_token_sum_s",
                                 {"vllm:time_to_first_token_seconds_sum", "sglang:time_to_first_token_seconds_sum",
                                  "trtllm_time_to_first_token_seconds_sum", "time_to_first_token_seconds_sum"}},
    [METRICS_FIRST_TOKEN_COUNT] = {"server.first_token_count",
                                   {"vllm:time_to_first_token_seconds_count", "sglang:time_to_first_token_seconds_count",
                                    "trtllm_time_to_first_token_seconds_count", "time_to_first_token_seconds_count"}},
    [METRICS_WHOLE_SUM] = {"server.end_to_end_sum_s",
                           {"vllm:e2e_request_latency_seconds_sum", "sglang:e2e_request_latency_seconds_sum", "tgi_request_duration_sum",
                            "trtllm_e2e_request_latency_seconds_sum", "e2e_request_latency_seconds_sum"}},
    [METRICS_WHOLE_COUNT] = {"server.end_to_end_count",
                             {"vllm:e2e_request_latency_seconds_count", "sglang:e2e_request_latency_seconds_count",
                              "tgi_request_duration_count", "trtllm_e2e_request_latency_seconds_count",
                              "e2e_request_latency_seconds_count"}},
    [METRICS_GAP_SUM] = {"server.inter_token_sum_s",
                         {"vllm:inter_token_latency_seconds_sum", "vllm:time_per_output_token_seconds_sum",
                          "sglang:inter_token_latency_seconds_sum"}},
    [METRICS_GAP_COUNT] = {"server.inter_token_count",
                           {"vllm:inter_token_latency_seconds_count", "vllm:time_per_output_token_seconds_count",
                            "sglang:inter_token_latency_seconds_count"}},
};

static const struct {
  const char *text;
  const char *names[NAMES_MAX]; /* of histograms in seconds, each with _sum and _count */
} phases[METRICS_PHASE_COUNT] = {
    [METRICS_QUEUE] = {"queue",
                       {"vllm:request_queue_time_seconds", "sglang:queue_time_seconds", "tgi_request_queue_duration",
                        "trtllm_request_queue_time_seconds", "request_queue_time_seconds"}},
    [METRICS_PREFILL] = {"prefill", {"vllm:request_prefill_time_seconds", "trtllm_request_prefill_time_seconds"}},
    [METRICS_DECODE] = {"decode", {"vllm:request_decode_time_seconds", "trtllm_request_decode_time_seconds"}},
};

const char *metrics_phase_text(enum metrics_phase phase) {
  return phases[phase].text;
}

const char *metrics_series_text(enum metrics_series series) {
  return table[series].series;
}

/* One line: name, the label set's text (empty without one), value. */
struct sample {
  struct bytes name, labels;
  double value;
};

static bool read_sample(struct bytes line, struct sample *ret) {
  size_t n = 0;
  while (n < line.length && strchr("{ \t", line.ptr[n]) == NULL) n++;
  if (n == 0 || line.ptr[0] == '#' || n == line.length) return false;
  *ret = (struct sample){.name = {line.ptr, n}};
  size_t at = n;
  if (line.ptr[at] == '{') {
    bool quoted = false;
    size_t from = ++at;
    for (; at < line.length && (quoted || line.ptr[at] != '}'); at++) {
      if (quoted && line.ptr[at] == '\\') at++;
      else if (line.ptr[at] == '"') quoted = !quoted;
    }
    if (at >= line.length) return false;
    ret->labels = (struct bytes){line.ptr + from, at - from};
    at++;
  }
  while (at < line.length && (line.ptr[at] == ' ' || line.ptr[at] == '\t')) at++;
  size_t from = at;
  while (at < line.length && strchr(" \t\r", line.ptr[at]) == NULL) at++; /* a time stamp may follow */
  return number_double(line.ptr + from, at - from, &ret->value);          /* NaN and Inf are no values */
}

/* The next line of a page; false at its end. */
static bool next_line(struct bytes page, size_t *at, struct bytes *ret) {
  if (*at >= page.length) return false;
  const char *end = memchr(page.ptr + *at, '\n', page.length - *at);
  size_t n = end != NULL ? (size_t)(end - page.ptr) - *at : page.length - *at;
  *ret = (struct bytes){page.ptr + *at, n};
  *at += n + 1;
  return true;
}

static bool holds(struct bytes text, const char *part) {
  return text.length > 0 && memmem(text.ptr, text.length, part, strlen(part)) != NULL;
}

/* name: whole, or with one label that it must have: `name{label="value"`. */
static bool is_named(const struct sample *s, const char *name) {
  size_t n = strcspn(name, "{");
  return s->name.length == n && memcmp(s->name.ptr, name, n) == 0 && (name[n] == 0 || holds(s->labels, name + n + 1));
}

/* SGLang counts each request a second time under its priority, where it schedules by them. */
static bool is_repeated(const struct sample *s) {
  return holds(s->labels, "priority=\"") && !holds(s->labels, "priority=\"\"");
}

static double total_of(struct bytes page, const char *name, double *ret_n) {
  struct bytes line;
  struct sample s;
  double sum[2] = {NAN, NAN}, n[2] = {0, 0};
  for (size_t at = 0; next_line(page, &at, &line);)
    if (read_sample(line, &s) && is_named(&s, name)) {
      bool repeated = is_repeated(&s);
      sum[repeated] = (isnan(sum[repeated]) ? 0 : sum[repeated]) + s.value;
      n[repeated]++;
    }
  bool only = n[0] <= 0;
  *ret_n = n[only];
  return sum[only];
}

static double sum_of(struct bytes page, const char *name) {
  double n;
  return total_of(page, name, &n);
}

/* Of several engines the mean, not the sum. */
static bool is_ratio(enum metrics_series series) {
  return series == METRICS_CACHE_USE || series == METRICS_ACCEPTANCE_LENGTH || series == METRICS_ACCEPTANCE_RATE ||
         series == METRICS_CACHE_HIT_RATE;
}

double metrics_value(struct bytes page, enum metrics_series series) {
  for (size_t i = 0; i < NAMES_MAX && table[series].names[i] != NULL; i++) {
    double n, value = total_of(page, table[series].names[i], &n);
    if (!isnan(value)) return is_ratio(series) ? value / n : value;
  }
  return NAN;
}

const char *metrics_name(struct bytes page, enum metrics_series series) {
  for (size_t i = 0; i < NAMES_MAX && table[series].names[i] != NULL; i++)
    if (!isnan(sum_of(page, table[series].names[i]))) return table[series].names[i];
  return NULL;
}

bool metrics_phase_total(struct bytes page, enum metrics_phase phase, double *ret_sum_s, double *ret_n) {
  char name[120];
  for (size_t i = 0; i < NAMES_MAX && phases[phase].names[i] != NULL; i++) {
    (void)snprintf(name, sizeof name, "%s_sum", phases[phase].names[i]);
    *ret_sum_s = sum_of(page, name);
    (void)snprintf(name, sizeof name, "%s_count", phases[phase].names[i]);
    *ret_n = sum_of(page, name);
    if (*ret_sum_s >= 0 && *ret_n >= 0) return true;
  }
  return false;
}

static bool bound_of(struct bytes labels, double *ret) {
  const char *found = labels.length == 0 ? NULL : memmem(labels.ptr, labels.length, "le=\"", 4);
  if (found == NULL) return false;
  size_t from = (size_t)(found - labels.ptr) + 4, n = 0;
  while (from + n < labels.length && labels.ptr[from + n] != '"') n++;
  if (n == 4 && memcmp(labels.ptr + from, "+Inf", 4) == 0) *ret = INFINITY;
  else if (!number_double(labels.ptr + from, n, ret)) return false;
  return true;
}

static bool add_bucket(struct metrics_histogram *h, double bound, double count) {
  size_t at = 0;
  while (at < h->n && h->bound[at] < bound) at++;
  if (at == h->n || h->bound[at] > bound) {
    if (h->n == METRICS_BUCKETS_MAX) return false;
    memmove(h->bound + at + 1, h->bound + at, (h->n - at) * sizeof *h->bound);
    memmove(h->count + at + 1, h->count + at, (h->n - at) * sizeof *h->count);
    h->bound[at] = bound;
    h->count[at] = 0;
    h->n++;
  }
  h->count[at] += count;
  return true;
}

bool metrics_histogram(struct bytes page, const char *name, struct metrics_histogram *ret) {
  struct bytes line;
  struct sample s;
  size_t n = strlen(name);
  double bound;
  *ret = (struct metrics_histogram){0};
  for (size_t at = 0; next_line(page, &at, &line);) {
    bool ours = read_sample(line, &s) && s.name.length == n + 7 && memcmp(s.name.ptr, name, n) == 0 &&
                memcmp(s.name.ptr + n, "_bucket", 7) == 0;
    if (ours && s.value >= 0 && bound_of(s.labels, &bound) && !add_bucket(ret, bound, s.value)) return false;
  }
  for (size_t i = ret->n; i-- > 1;)
    ret->count[i] = ret->count[i] > ret->count[i - 1] ? ret->count[i] - ret->count[i - 1] : 0; /* they come cumulated */
  return ret->n > 0;
}
