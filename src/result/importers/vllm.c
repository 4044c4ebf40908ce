/* The result file of `vllm bench serve`, of SGLang's bench_serving that follows it, and of what derives from it in seconds. */
#include <math.h>
#include <stdlib.h>
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
                 {"e2el", "end to end", "vllm.e2el.1"},
                 {"e2e_latency", "end to end", "vllm.e2el.1"}}; /* SGLang */
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

/* SGLang's tool follows the format, and adds what the server says of itself. */
static bool is_sglang(const json_t *root) {
  return strncmp(json_get_text(root, "backend", ""), "sglang", 6) == 0 || json_is_object(json_object_get(root, "server_info"));
}

static void take_server(const json_t *root, struct imported *m) {
  static const char *const told[] = {"version",
                                     "model_path",
                                     "tp_size",
                                     "dp_size",
                                     "dtype",
                                     "quantization",
                                     "attention_backend",
                                     "kv_cache_dtype",
                                     "context_length",
                                     "chunked_prefill_size",
                                     "max_running_requests",
                                     "mem_fraction_static",
                                     "speculative_algorithm"};
  const json_t *info = json_object_get(root, "server_info");
  const char *text = "";
  if (m->model[0] == 0) m->model = import_words(m, json_get_text(info, "model_path", ""));
  for (size_t i = 0; i < LYNX_COUNT(told); i++) {
    const json_t *value = json_object_get(info, told[i]);
    char *word = value != NULL && !json_is_null(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (word != NULL) text = arena_printf(&m->arena, "%s%s%s %.80s", text, text[0] != 0 ? ", " : "", told[i], word);
    free(word);
  }
  if (text[0] != 0) import_lacks(m, arena_printf(&m->arena, "the server's own words of itself, which nobody checked: %s", text));
}

/* What cannot be, whatever was measured. */
static void check_possible(const json_t *root, struct imported *m) {
  double output = json_get_double(root, "total_output_tokens", NAN), again = json_get_double(root, "total_output_tokens_retokenized", NAN);
  if (again > 0 && fabs(again - output) > 0.02 * output)
    import_against(
        m, arena_printf(&m->arena, "the server counts %g output tokens, and the client's tokenizer %g in the same text", output, again));
}

/* One run in a file; or, as SGLang writes, one on each line. */
static json_t *read_run(const struct import_file *file, struct imported *m, struct lynx_error *error) {
  size_t n = 0;
  const char *run = NULL, *end = NULL;
  for (const char *at = file->text; *at != 0;) {
    size_t length = strcspn(at, "\n");
    if (length > 1 && at[0] == '{' && at[length - (at[length - 1] == '\r') - 1] == '}') {
      if (++n == (m->part > 0 ? m->part : 1)) run = at, end = at + length;
    }
    at += length + (at[length] != 0);
  }
  m->n_parts = n;
  if (n < 2) return json_parse_python(file->text, file->length, IMPORT_FILE_BYTES_MAX, error);
  if (run == NULL) {
    (void)lynx_fail(error, LYNX_INPUT, "--part: found %zu; accepted: 1 to %zu, one run on each line", m->part, n);
    return NULL;
  }
  import_lacks(m, arena_printf(&m->arena, "the file holds %zu runs, and this is one of them (--part)", n));
  return json_parse_python(run, (size_t)(end - run), IMPORT_FILE_BYTES_MAX, error);
}

static enum lynx_status read_file(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one file of a run");
  json_t *root = read_run(&files[0], ret, error);
  if (root == NULL) return error->status;
  const char *backend = json_get_text(root, "backend", NULL), *program = is_sglang(root) ? "SGLang's bench_serving" : "vllm bench serve";
  ret->tool = backend != NULL ? import_words(ret, arena_printf(&ret->arena, "%s, backend %.60s", program, backend)) : program;
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
  import_figure_add(ret, "tokens per second", "vllm.throughput.1", "1/s",
                    json_get_double(root, "total_token_throughput", json_get_double(root, "total_throughput", NAN)));
  import_figure_add(ret, "peak output tokens per second", "vllm.throughput.1", "1/s",
                    json_get_double(root, "max_output_tokens_per_s", NAN));
  import_figure_add(ret, "most requests in flight", "vllm.count.1", "1", json_get_double(root, "max_concurrent_requests", NAN));
  take_latencies(root, ret);
  import_check_rates(ret);
  take_server(root, ret);
  check_possible(root, ret);
  enum lynx_status status = take_requests(root, ret, error);
  json_decref(root);
  return status;
}

const struct importer importer_vllm = {.name = "vllm",
                                       .summary = "vllm bench serve, and what follows its format",
                                       .files = "the JSON file of `vllm bench serve --save-result`, better with --save-detailed",
                                       .recognise = recognise,
                                       .read = read_file};
