/* inference-perf: stage_N_lifecycle_metrics.json or summary_lifecycle_metrics.json: totals and quantiles in seconds. */
#include <math.h>
#include <string.h>

#include "result/import_result.h"

static bool recognise(const struct import_file *file) {
  return strstr(file->text, "\"load_summary\"") != NULL && strstr(file->text, "\"successes\"") != NULL;
}

static void take_metric(const json_t *latency, struct imported *m, const char *key, const char *name, const char *formula) {
  static const char *const kinds[] = {"min", "median", "p90", "p95", "p99", "p99.9", "max"};
  const json_t *metric = json_object_get(latency, key);
  import_figure_add(m, arena_printf(&m->arena, "%s mean", name), formula, "ms", 1e3 * json_get_double(metric, "mean", NAN));
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++)
    import_figure_add(m, arena_printf(&m->arena, "%s %s", name, kinds[i]), formula, "ms", 1e3 * json_get_double(metric, kinds[i], NAN));
}

static enum lynx_status read_file(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one stage, or the summary of all");
  json_t *root = json_parse_python(files[0].text, files[0].length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  const json_t *load = json_object_get(root, "load_summary"), *good = json_object_get(root, "successes"),
               *bad = json_object_get(root, "failures"), *latency = json_object_get(good, "latency"),
               *rates = json_object_get(good, "throughput");
  double n_good = json_get_double(good, "count", NAN), n_bad = json_get_double(bad, "count", NAN),
         sent = json_get_double(load, "send_duration", NAN), requests = json_get_double(rates, "requests_per_sec", NAN),
         inputs = json_get_double(json_object_get(good, "prompt_len"), "mean", NAN),
         outputs = json_get_double(json_object_get(good, json_object_get(good, "output_tokens") != NULL ? "output_tokens" : "output_len"),
                                   "mean", NAN);
  ret->tool = "inference-perf";
  ret->rate_per_s = fmax(0, json_get_double(load, "requested_rate", 0));
  ret->concurrency = json_get_int(load, "concurrency", 0);
  ret->seconds = n_good / requests > 0 ? n_good / requests : 0; /* its rate is of those that went well */
  import_figure_add(ret, "requests that went well", "inference_perf.count.1", "1", n_good);
  import_figure_add(ret, "requests that failed", "inference_perf.count.1", "1", n_bad);
  import_figure_add(ret, "requests per second", "inference_perf.throughput.1", "1/s", requests);
  import_figure_add(ret, "output tokens per second", "inference_perf.throughput.1", "1/s",
                    json_get_double(rates, "output_tokens_per_sec", NAN));
  import_figure_add(ret, "input tokens per second", "inference_perf.throughput.1", "1/s",
                    json_get_double(rates, "input_tokens_per_sec", NAN));
  take_metric(latency, ret, "time_to_first_token", "time to first token", "inference_perf.ttft.1");
  take_metric(latency, ret, "time_per_output_token", "time per output token", "inference_perf.tpot.1");
  take_metric(latency, ret, "inter_token_latency", "inter-token latency", "inference_perf.itl.1");
  take_metric(latency, ret, "request_latency", "request latency", "inference_perf.request_latency.1");
  take_metric(load, ret, "schedule_delay", "schedule delay", "inference_perf.schedule_delay.1");
  import_agree(ret, "'count' of the load", json_get_double(load, "count", NAN), "successes and failures", n_good + n_bad, 0);
  import_agree(ret, "'achieved_rate'", json_get_double(load, "achieved_rate", NAN), "count / send_duration",
               json_get_double(load, "count", NAN) / sent, 0.001);
  import_agree(ret, "'output_tokens_per_sec'", json_get_double(rates, "output_tokens_per_sec", NAN), "requests_per_sec x the mean output",
               requests * outputs, 0.005);
  import_agree(ret, "'input_tokens_per_sec'", json_get_double(rates, "input_tokens_per_sec", NAN), "requests_per_sec x the mean prompt",
               requests * inputs, 0.005);
  import_agree(ret, "the mean of 'time_per_output_token' (ms)", import_figure_stated(ret, "time per output token mean"),
               "(request latency - time to first token) / (output length - 1), of the means,",
               (import_figure_stated(ret, "request latency mean") - import_figure_stated(ret, "time to first token mean")) / (outputs - 1),
               0.25);
  json_decref(root);
  return LYNX_OK;
}

const struct importer importer_inference_perf = {.name = "inference_perf",
                                                 .summary = "inference-perf of Kubernetes",
                                                 .files = "stage_N_lifecycle_metrics.json or summary_lifecycle_metrics.json",
                                                 .recognise = recognise,
                                                 .read = read_file};
