/* The result file of `vllm bench serve`, of SGLang's bench_serving that follows it, and of what derives from it in seconds. */
#include <math.h>
#include <string.h>

#include "result/import_result.h"

static bool recognise(const struct import_file *file) {
  return strstr(file->text, "\"request_throughput\"") != NULL && strstr(file->text, "\"total_output_tokens\"") != NULL &&
         strstr(file->text, "aiperf") == NULL;
}

/* "mean_ttft_ms"; or, where it was converted, "mean_ttft", in seconds. */
static void take_latencies(const json_t *root, struct imported *m) {
  static const struct {
    const char *key, *name, *formula;
  } metrics[] = {{"ttft", "time to first token", "vllm.ttft.1"},
                 {"tpot", "time per output token", "vllm.tpot.1"},
                 {"itl", "inter-token latency", "vllm.itl.1"},
                 {"e2el", "end to end", "vllm.e2el.1"}};
  static const char *const kinds[] = {"mean", "median", "p50", "p90", "p95", "p99", "p99.9"};
  for (size_t i = 0; i < LYNX_COUNT(metrics); i++)
    for (size_t k = 0; k < LYNX_COUNT(kinds); k++) {
      const char *key = arena_printf(&m->arena, "%s_%s", kinds[k], metrics[i].key), *ms = arena_printf(&m->arena, "%s_ms", key);
      double in_ms = json_get_double(root, ms, 1e3 * json_get_double(root, key, NAN));
      import_figure_add(m, arena_printf(&m->arena, "%s %s", metrics[i].name, kinds[k]), metrics[i].formula, "ms", in_ms);
    }
}

static double item(const json_t *list, size_t i) {
  return json_number_value(json_array_get(list, i)); /* 0 where it is no number */
}

static enum lynx_status take_requests(const json_t *root, struct imported *m, struct lynx_error *error) {
  const json_t *first = json_object_get(root, "ttfts"), *gaps = json_object_get(root, "itls"),
               *outputs = json_object_get(root, "output_lens"), *inputs = json_object_get(root, "input_lens"),
               *errors = json_object_get(root, "errors"), *starts = json_object_get(root, "start_times");
  if (!json_is_array(first) || !json_is_array(outputs)) {
    import_lacks(m, "it was written without --save-detailed: totals alone");
    return LYNX_OK;
  }
  if (!json_is_array(starts)) {
    import_lacks(m, "when each request began is not in it: rows are laid one beside the other, from the same moment");
  }
  for (size_t i = 0; i < json_array_size(first); i++) {
    const json_t *own = json_array_get(gaps, i);
    double start = json_is_array(starts) ? item(starts, i) : 0, whole = item(first, i);
    for (size_t k = 0; k < json_array_size(own); k++) whole += item(own, k);
    const char *reason = json_string_value(json_array_get(errors, i));
    bool ok = (reason == NULL || reason[0] == 0) && item(outputs, i) > 0;
    const struct import_request r = {.start_s = start,
                                     .first_token_s = start + item(first, i),
                                     .last_token_s = start + whole,
                                     .end_s = start + whole,
                                     .prompt_tokens = json_is_array(inputs) ? (int64_t)item(inputs, i) : -1,
                                     .output_tokens = (int64_t)item(outputs, i),
                                     .ok = ok,
                                     .reason = ok                                 ? ""
                                               : reason != NULL && reason[0] != 0 ? reason
                                                                                  : "no output"};
    if (!(r.end_s >= r.start_s) || !(item(first, i) >= 0)) return lynx_fail(error, LYNX_INPUT, "request %zu ends before it begins", i);
    if (!import_request_add(m, &r)) return lynx_fail(error, LYNX_LIMIT, "more than %d requests", IMPORT_REQUESTS_MAX);
  }
  return LYNX_OK;
}

static enum lynx_status read_file(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one file of a run");
  json_t *root = json_parse(files[0].text, files[0].length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  struct arena *arena = &ret->arena;
  ret->tool = arena_printf(arena, "vllm bench serve%s%.60s", json_get_text(root, "backend", NULL) != NULL ? ", backend " : "",
                           json_get_text(root, "backend", ""));
  ret->model = arena_copy(arena, json_get_text(root, "model_id", ""));
  ret->begun = arena_copy(arena, json_get_text(root, "date", ""));
  ret->concurrency = json_get_int(root, "max_concurrency", 0);
  double rate = json_get_double(root, "request_rate", 0);
  ret->rate_per_s = rate > 0 && isfinite(rate) ? rate : 0;
  ret->poisson = json_get_double(root, "burstiness", 1) == 1;
  ret->seconds = fmax(0, json_get_double(root, "duration", 0));
  import_figure_add(ret, "requests that went well", "vllm.count.1", "1", json_get_double(root, "completed", NAN));
  import_figure_add(ret, "requests that failed", "vllm.count.1", "1", json_get_double(root, "failed", NAN));
  import_figure_add(ret, "input tokens", "vllm.count.1", "1", json_get_double(root, "total_input_tokens", NAN));
  import_figure_add(ret, "output tokens", "vllm.count.1", "1", json_get_double(root, "total_output_tokens", NAN));
  import_figure_add(ret, "requests per second", "vllm.throughput.1", "1/s", json_get_double(root, "request_throughput", NAN));
  import_figure_add(ret, "output tokens per second", "vllm.throughput.1", "1/s", json_get_double(root, "output_throughput", NAN));
  take_latencies(root, ret);
  /* Totals against rates, whatever rows there are. */
  if (ret->seconds > 0) {
    import_agree(ret, "'request_throughput'", json_get_double(root, "request_throughput", NAN), "completed / duration",
                 json_get_double(root, "completed", NAN) / ret->seconds, 0.005);
    import_agree(ret, "'output_throughput'", json_get_double(root, "output_throughput", NAN), "total_output_tokens / duration",
                 json_get_double(root, "total_output_tokens", NAN) / ret->seconds, 0.005);
  }
  enum lynx_status status = take_requests(root, ret, error);
  json_decref(root);
  return status;
}

const struct importer importer_vllm = {.name = "vllm",
                                       .summary = "vllm bench serve, and what follows its format",
                                       .files = "the JSON file of `vllm bench serve --save-result`, better with --save-detailed",
                                       .recognise = recognise,
                                       .read = read_file};
