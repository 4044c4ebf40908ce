/* GuideLLM's benchmarks.json, version 2: every request with its times, and statistics of those that went well. */
#include <math.h>
#include <string.h>

#include "result/import_result.h"

static bool recognise(const struct import_file *file) {
  return strstr(file->text, "\"benchmarks\"") != NULL && strstr(file->text, "\"time_to_first_token_ms\"") != NULL &&
         strstr(file->text, "\"scheduler_metrics\"") != NULL;
}

static const json_t *well(const json_t *metrics, const char *key) {
  return json_object_get(json_object_get(metrics, key), "successful");
}

static void take_metric(const json_t *metrics, struct imported *m, const char *key, double scale, const char *name, const char *formula) {
  static const char *const quantiles[] = {"p50", "p90", "p95", "p99", "p999"};
  const json_t *own = well(metrics, key), *percentiles = json_object_get(own, "percentiles");
  import_figure_add(m, arena_printf(&m->arena, "%s mean", name), formula, "ms", scale * json_get_double(own, "mean", NAN));
  import_figure_add(m, arena_printf(&m->arena, "%s min", name), formula, "ms", scale * json_get_double(own, "min", NAN));
  for (size_t i = 0; i < LYNX_COUNT(quantiles); i++)
    import_figure_add(m, arena_printf(&m->arena, "%s %s", name, strcmp(quantiles[i], "p999") == 0 ? "p99.9" : quantiles[i]), formula, "ms",
                      scale * json_get_double(percentiles, quantiles[i], NAN));
  import_figure_add(m, arena_printf(&m->arena, "%s max", name), formula, "ms", scale * json_get_double(own, "max", NAN));
}

static enum lynx_status take_request(const json_t *one, const char *kind, struct imported *m, struct lynx_error *error) {
  const json_t *info = json_object_get(one, "info"), *times = json_object_get(info, "timings");
  bool ok = strcmp(kind, "successful") == 0;
  struct import_request r = {.start_s = json_get_double(times, "request_start", NAN),
                             .first_token_s = json_get_double(times, "first_token_iteration", NAN),
                             .last_token_s = json_get_double(times, "last_token_iteration", NAN),
                             .end_s = json_get_double(times, "request_end", NAN),
                             .ok = ok,
                             .reason = ok ? "" : json_get_text(info, "error", kind)};
  if (!import_tokens(json_get_double(json_object_get(one, "input_metrics"), "total_tokens", NAN), &r.prompt_tokens) ||
      !import_tokens(json_get_double(json_object_get(one, "output_metrics"), "total_tokens", NAN), &r.output_tokens))
    return lynx_fail(error, LYNX_INPUT, "total_tokens: no number of tokens");
  if (!ok && (isnan(r.start_s) || isnan(r.end_s))) return LYNX_OK; /* it was never sent, or never ended */
  return import_request_add(m, &r, error);
}

/* A list may be a sample of its requests, where the configuration says so. */
static enum lynx_status take_requests(const json_t *one, const char *kind, bool sampled, struct imported *m, struct lynx_error *error) {
  const json_t *list = json_object_get(json_object_get(one, "requests"), kind);
  double total = json_get_double(json_object_get(json_object_get(one, "metrics"), "request_totals"), kind, NAN);
  enum lynx_status status = LYNX_OK;
  if (!sampled) import_agree(m, arena_printf(&m->arena, "request_totals.%s", kind), total, "its list", (double)json_array_size(list), 0);
  for (size_t i = 0; i < json_array_size(list) && status == LYNX_OK; i++) status = take_request(json_array_get(list, i), kind, m, error);
  return status;
}

static enum lynx_status take_benchmark(const json_t *one, struct imported *m, struct lynx_error *error) {
  static const char *const kinds[] = {"successful", "errored", "incomplete"};
  const json_t *metrics = json_object_get(one, "metrics"), *config = json_object_get(one, "config"),
               *strategy = json_object_get(config, "strategy");
  const char *type = json_get_text(strategy, "type_", "");
  m->concurrency = json_get_int(strategy, "streams", strcmp(type, "synchronous") == 0 ? 1 : 0);
  m->rate_per_s = fmax(0, json_get_double(strategy, "rate", 0));
  m->poisson = strcmp(type, "poisson") == 0;
  m->seconds = fmax(0, json_get_double(one, "duration", 0));
  bool sampled = json_is_integer(json_object_get(config, "sample_size"));
  if (sampled) import_lacks(m, "it holds a sample of its requests (sample_size)");
  const json_t *totals = json_object_get(metrics, "request_totals");
  if (!sampled) { /* else its rows are not all */
    import_figure_add(m, "requests that went well", "guidellm.count.1", "1", json_get_double(totals, "successful", NAN));
    import_figure_add(m, "requests that failed", "guidellm.count.1", "1", json_get_double(totals, "errored", NAN));
    import_figure_add(m, "input tokens", "guidellm.count.1", "1", json_get_double(well(metrics, "prompt_token_count"), "total_sum", NAN));
    import_figure_add(m, "output tokens", "guidellm.count.1", "1", json_get_double(well(metrics, "output_token_count"), "total_sum", NAN));
  }
  import_figure_add(m, "requests per second", "guidellm.throughput.1", "1/s",
                    json_get_double(well(metrics, "requests_per_second"), "mean", NAN));
  import_figure_add(m, "output tokens per second", "guidellm.throughput.1", "1/s",
                    json_get_double(well(metrics, "output_tokens_per_second"), "mean", NAN));
  import_figure_add(m, "tokens per second", "guidellm.throughput.1", "1/s",
                    json_get_double(well(metrics, "tokens_per_second"), "mean", NAN));
  take_metric(metrics, m, "time_to_first_token_ms", 1, "time to first token", "vllm.ttft.1");
  take_metric(metrics, m, "time_per_output_token_ms", 1, "time per output token", "guidellm.tpot.1");
  take_metric(metrics, m, "inter_token_latency_ms", 1, "inter-token latency", "guidellm.itl.1");
  take_metric(metrics, m, "request_latency", 1e3, "request latency", "vllm.e2el.1");
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < LYNX_COUNT(kinds) && status == LYNX_OK; i++) status = take_requests(one, kinds[i], sampled, m, error);
  return status;
}

static enum lynx_status read_file(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one");
  json_t *root = json_parse_python(files[0].text, files[0].length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  const json_t *about = json_object_get(root, "metadata"), *list = json_object_get(root, "benchmarks"),
               *one = json_array_get(list, ret->part - 1);
  enum lynx_status status = LYNX_OK;
  ret->tool = "GuideLLM";
  ret->version = import_words(ret, json_get_text(about, "guidellm_version", ""));
  if (json_get_int(about, "version", 2) != 2)
    status = lynx_fail(error, LYNX_UNSUPPORTED, "metadata.version is %lld; accepted: 2", (long long)json_get_int(about, "version", 2));
  else if (one == NULL)
    status = lynx_fail(error, LYNX_INPUT, "it holds %zu benchmarks; accepted: --part 1 to %zu", json_array_size(list),
                       json_array_size(list));
  else status = take_benchmark(one, ret, error);
  ret->n_parts = json_array_size(list);
  if (status == LYNX_OK && json_array_size(list) > 1)
    import_lacks(ret, arena_printf(&ret->arena, "this is benchmark %zu of the %zu in the file (--part)", ret->part, json_array_size(list)));
  json_decref(root);
  return status;
}

const struct importer importer_guidellm = {
    .name = "guidellm", .summary = "GuideLLM, version 2", .files = "benchmarks.json", .recognise = recognise, .read = read_file};
