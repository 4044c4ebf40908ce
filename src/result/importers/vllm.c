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
  const json_t *value = json_array_get(list, i);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

/* One request of the detailed lists; its gaps go to all of them. */
static enum lynx_status take_request(const json_t *root, size_t i, struct imported *m, struct lynx_error *error) {
  const json_t *gaps = json_array_get(json_object_get(root, "itls"), i), *starts = json_object_get(root, "start_times");
  double start = json_is_array(starts) ? item(starts, i) : 0, first = item(json_object_get(root, "ttfts"), i), whole = first;
  const char *reason = json_string_value(json_array_get(json_object_get(root, "errors"), i));
  struct import_request r = {.start_s = start, .prompt_tokens = -1};
  if (!import_tokens(item(json_object_get(root, "output_lens"), i), &r.output_tokens) ||
      (json_is_array(json_object_get(root, "input_lens")) &&
       !import_tokens(item(json_object_get(root, "input_lens"), i), &r.prompt_tokens)))
    return lynx_fail(error, LYNX_INPUT, "input_lens, output_lens: item %zu is no number of tokens", i);
  r.ok = (reason == NULL || reason[0] == 0) && r.output_tokens > 0;
  r.reason = r.ok ? "" : reason != NULL && reason[0] != 0 ? reason : "no output";
  for (size_t k = 0; k < json_array_size(gaps); k++) {
    whole += item(gaps, k);
    if (r.ok) import_gap_add(m, item(gaps, k));
  }
  r.first_token_s = start + first;
  r.last_token_s = r.end_s = start + whole;
  return import_request_add(m, &r, error);
}

static enum lynx_status take_requests(const json_t *root, struct imported *m, struct lynx_error *error) {
  static const char *const lists[] = {"itls", "output_lens", "input_lens", "errors", "start_times"};
  size_t n = json_array_size(json_object_get(root, "ttfts"));
  if (n == 0 || !json_is_array(json_object_get(root, "output_lens"))) {
    import_lacks(m, "it was written without --save-detailed: totals alone");
    return LYNX_OK;
  }
  for (size_t i = 0; i < LYNX_COUNT(lists); i++) {
    const json_t *list = json_object_get(root, lists[i]);
    if (json_is_array(list) && json_array_size(list) != n && (json_array_size(list) > 0 || strcmp(lists[i], "errors") != 0))
      return lynx_fail(error, LYNX_INPUT, "%s has %zu items, ttfts %zu; accepted: one each for every request", lists[i],
                       json_array_size(list), n);
  }
  m->starts_unknown = !json_is_array(json_object_get(root, "start_times"));
  if (m->starts_unknown) import_lacks(m, "when each request began is not in it: rows are laid one beside the other, from the same moment");
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n && status == LYNX_OK; i++) status = take_request(root, i, m, error);
  return status;
}

static enum lynx_status read_file(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one file of a run");
  json_t *root = json_parse(files[0].text, files[0].length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  ret->tool = json_get_text(root, "backend", NULL) != NULL
                  ? import_words(ret, arena_printf(&ret->arena, "vllm bench serve, backend %.60s", json_get_text(root, "backend", "")))
                  : "vllm bench serve";
  ret->model = import_words(ret, json_get_text(root, "model_id", ""));
  ret->begun = import_words(ret, json_get_text(root, "date", ""));
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
  import_figure_add(ret, "tokens per second", "vllm.throughput.1", "1/s", json_get_double(root, "total_token_throughput", NAN));
  take_latencies(root, ret);
  /* Totals against rates, whatever rows there are. */
  if (ret->seconds > 0) {
    import_agree(ret, "'request_throughput'", json_get_double(root, "request_throughput", NAN), "completed / duration",
                 json_get_double(root, "completed", NAN) / ret->seconds, 0.005);
    import_agree(ret, "'output_throughput'", json_get_double(root, "output_throughput", NAN), "total_output_tokens / duration",
                 json_get_double(root, "total_output_tokens", NAN) / ret->seconds, 0.005);
  }
  import_agree(
      ret, "'total_token_throughput'", json_get_double(root, "total_token_throughput", NAN), "its input and output tokens / duration",
      (json_get_double(root, "total_input_tokens", NAN) + json_get_double(root, "total_output_tokens", NAN)) / ret->seconds, 0.005);
  enum lynx_status status = take_requests(root, ret, error);
  json_decref(root);
  return status;
}

const struct importer importer_vllm = {.name = "vllm",
                                       .summary = "vllm bench serve, and what follows its format",
                                       .files = "the JSON file of `vllm bench serve --save-result`, better with --save-detailed",
                                       .recognise = recognise,
                                       .read = read_file};
