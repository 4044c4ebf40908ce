/* AIPerf (and GenAI-Perf, which it follows): profile_export_aiperf.json, and its requests in profile_export.jsonl. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "result/import_result.h"

enum { LINE_MAX_BYTES = 16 << 20 };

static bool is_requests(const struct import_file *file) {
  return strstr(file->text, "\"request_start_ns\"") != NULL;
}

/* The same summary as a table: profile_export_aiperf.csv. */
static bool is_table(const struct import_file *file) {
  return strncmp(file->text, "Metric,avg,", 11) == 0;
}

static bool recognise(const struct import_file *file) {
  return is_requests(file) || is_table(file) ||
         (strstr(file->text, "\"request_throughput\"") != NULL && strstr(file->text, "\"request_latency\"") != NULL);
}

/* How many milliseconds one of its unit is. */
static double in_ms(const json_t *metric) {
  static const struct {
    const char *unit;
    double ms;
  } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"sec", 1e3}, {"seconds", 1e3}};
  const char *unit = json_get_text(metric, "unit", "ms");
  for (size_t i = 0; i < LYNX_COUNT(units); i++)
    if (strcmp(unit, units[i].unit) == 0) return units[i].ms;
  return NAN; /* a unit that is not known is no figure */
}

static void take_metric(const json_t *root, struct imported *m, const char *key, const char *name, const char *formula) {
  static const char *const kinds[] = {"avg", "min", "p50", "p90", "p95", "p99", "max"};
  const json_t *metric = json_object_get(root, key);
  double scale = in_ms(metric);
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++)
    import_figure_add(m, arena_printf(&m->arena, "%s %s", name, i == 0 ? "mean" : kinds[i]), formula, "ms",
                      scale * json_get_double(metric, kinds[i], NAN));
}

static double average(const json_t *root, const char *key) {
  return json_get_double(json_object_get(root, key), "avg", NAN);
}

/* "2026-11-22T06:07:53.817632": seconds, of whatever zone; NaN: none. */
static double time_of(const char *text) {
  struct tm parts = {0};
  const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[12] = "0";
  if (end == NULL) return NAN;
  if (*end == '.') (void)snprintf(fraction, sizeof fraction, "0.%.*s", (int)strspn(end + 1, "0123456789"), end + 1);
  return (double)timegm(&parts) + strtod(fraction, NULL);
}

/* The model and the load stand in the configuration, whose form changes from release to release. */
static void take_input(const json_t *root, struct imported *m) {
  const json_t *input = json_object_get(root, "input_config"), *loadgen = json_object_get(input, "loadgen"),
               *endpoint = json_object_get(input, "endpoint"), *phases = json_object_get(input, "phases");
  const json_t *first = json_array_get(json_object_get(json_object_get(input, "models"), "items"), 0);
  const json_t *streaming = json_object_get(endpoint, "streaming");
  if (json_is_boolean(streaming)) m->streamed = json_is_true(streaming) ? 1 : -1;
  m->model = import_words(m, json_get_text(first, "name", ""));
  if (m->model[0] == 0) m->model = import_words(m, json_string_value(json_array_get(json_object_get(endpoint, "model_names"), 0)));
  if (m->model[0] == 0) m->model = import_words(m, json_string_value(json_array_get(json_object_get(input, "model"), 0)));
  m->concurrency = json_get_int(loadgen, "concurrency", json_get_int(input, "concurrency", 0));
  m->rate_per_s = fmax(0, json_get_double(loadgen, "request_rate", 0));
  m->poisson = strcmp(json_get_text(loadgen, "request_rate_mode", "poisson"), "poisson") == 0;
  for (size_t i = 0; i < json_array_size(phases); i++) { /* since 0.9 or so: the one that is measured */
    const json_t *phase = json_array_get(phases, i);
    if (strcmp(json_get_text(phase, "kind", json_get_text(phase, "name", "")), "profiling") != 0) continue;
    m->concurrency = json_get_int(phase, "concurrency", 0);
    m->rate_per_s = fmax(0, json_get_double(phase, "rate", 0));
    m->poisson = strcmp(json_get_text(phase, "type", ""), "poisson") == 0;
  }
}

/* Rates are over the time from the first request to the last answer, or (0.13) over that of the whole phase, which begins earlier and ends
 * when the tool has written down what came. Which it was, the figures tell; where neither gives what is stated, that speaks against it. */
static void take_duration(const json_t *root, struct imported *m) {
  double duration = average(root, "benchmark_duration"), rate = average(root, "request_throughput"), n = average(root, "request_count"),
         phase = time_of(json_get_text(root, "end_time", "")) - time_of(json_get_text(root, "start_time", ""));
  m->seconds = duration > 0 ? duration : 0;
  if (!(duration > 0)) return;
  bool by_phase = fabs(n / duration - rate) > 0.01 * rate && phase >= duration && fabs(n / phase - rate) <= 0.01 * rate;
  if (by_phase) {
    m->seconds = phase;
    import_lacks(m, arena_printf(&m->arena,
                                 "its rates are over the %.6g s from its start_time to its end_time, and not over the benchmark_duration "
                                 "of %.6g s that it states, as its documents say",
                                 phase, duration));
  } else import_agree(m, "'request_throughput'", rate, "request_count / benchmark_duration", n / duration, 0.01);
}

/* What was asked for and what came, and a first token that is the whole answer: who compares two such files compares something else. */
static void check_asked(const json_t *root, struct imported *m) {
  static const struct {
    const char *asked, *came, *words;
  } lengths[] = {{"output_tokens_mean", "output_sequence_length", "output"},
                 {"synthetic_input_tokens_mean", "input_sequence_length", "input"}};
  const json_t *input = json_object_get(root, "input_config");
  for (size_t i = 0; i < LYNX_COUNT(lengths); i++) {
    double asked = json_get_double(input, lengths[i].asked, NAN), came = average(root, lengths[i].came);
    if (asked > 0 && fabs(came - asked) > 0.05 * asked)
      import_against(m, arena_printf(&m->arena,
                                     "%g %s tokens a request were asked for, and %.6g came: it is not the workload that was asked for",
                                     asked, lengths[i].words, came));
  }
  double first = average(root, "time_to_first_token"), whole = average(root, "request_latency");
  if (whole > 0 && fabs(first - whole) <= 1e-3 * whole)
    import_against(m,
                   "its time to first token is the latency of the whole answer: the answers were not streamed, and it is no time to first "
                   "token");
}

/* "Time to First Token (ms)" -> "time_to_first_token", and its unit. False: too long. */
static bool name_of(const char *cell, size_t n, char key[80], char unit[32]) {
  const char *open = memrchr(cell, '(', n);
  size_t end = open != NULL && open > cell && cell[n - 1] == ')' ? (size_t)(open - cell) - 1 : n;
  unit[0] = 0;
  if (end < n) (void)snprintf(unit, 32, "%.*s", (int)(n - end - 3), open + 1);
  if (end >= 80) return false;
  for (size_t i = 0; i < end; i++) key[i] = cell[i] == ' ' ? '_' : (char)tolower((unsigned char)cell[i]);
  key[end] = 0;
  return true;
}

/* A line of either of its tables, as the JSON has it: a metric with its unit and statistics; of the second table one value, "avg". */
static void take_table_line(const struct bytes *heads, size_t n_heads, const char *line, size_t length, json_t *root) {
  char key[80], unit[32], number[40], head[16];
  const char *comma = memchr(line, ',', length);
  if (comma == NULL || !name_of(line, (size_t)(comma - line), key, unit)) return;
  json_t *metric = json_pack("{s:s}", "unit", unit);
  const char *at = comma + 1, *end = line + length;
  for (size_t i = 1; i < n_heads && at <= end; i++) {
    const char *next = memchr(at, ',', (size_t)(end - at));
    size_t n = next != NULL ? (size_t)(next - at) : (size_t)(end - at);
    double value;
    (void)snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : sizeof number - 1), at);
    (void)snprintf(head, sizeof head, "%.*s", (int)(heads[i].length < sizeof head ? heads[i].length : sizeof head - 1), heads[i].ptr);
    if (number_double(number, strlen(number), &value))
      (void)json_object_set_new(metric, strcmp(head, "Value") == 0 ? "avg" : head, json_real(value));
    at += n + 1;
  }
  (void)json_object_set_new(root, key, metric);
}

static json_t *read_table(const struct import_file *file) {
  enum { HEADS_MAX = 24 };
  json_t *root = json_object();
  struct bytes heads[HEADS_MAX];
  size_t n_heads = 0;
  for (const char *line = file->text, *end = file->text + file->length; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t n = stop != NULL ? (size_t)(stop - line) : (size_t)(end - line), text = n > 0 && line[n - 1] == '\r' ? n - 1 : n;
    if (text >= 7 && strncmp(line, "Metric,", 7) == 0) {
      n_heads = 0;
      for (const char *at = line; at < line + text && n_heads < HEADS_MAX; at += heads[n_heads++].length + 1) {
        const char *comma = memchr(at, ',', (size_t)(line + text - at));
        heads[n_heads] = (struct bytes){at, comma != NULL ? (size_t)(comma - at) : (size_t)(line + text - at)};
      }
    } else if (text == 0) n_heads = 0; /* another table, perhaps of other things */
    else if (n_heads > 1) take_table_line(heads, n_heads, line, text, root);
    line += n + 1;
  }
  return root;
}

static enum lynx_status read_summary(const struct import_file *file, struct imported *m, struct lynx_error *error) {
  bool table = is_table(file);
  json_t *root = table ? read_table(file) : json_parse_python(file->text, file->length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  m->version = import_words(m, json_get_text(root, "aiperf_version", ""));
  m->begun = import_words(m, json_get_text(root, "start_time", ""));
  take_input(root, m);
  take_duration(root, m);
  check_asked(root, m);
  import_figure_add(m, "requests that went well", "aiperf.count.1", "1", average(root, "request_count"));
  import_figure_add(m, "requests that failed", "aiperf.count.1", "1", average(root, "error_request_count"));
  import_figure_add(m, "input tokens", "aiperf.count.1", "1", average(root, table ? "total_input_sequence_length" : "total_isl"));
  import_figure_add(m, "output tokens", "aiperf.count.1", "1", average(root, table ? "total_output_sequence_length" : "total_osl"));
  double mismatched = average(root, "osl_mismatch_count");
  if (mismatched > 0)
    import_against(m,
                   arena_printf(&m->arena, "%.0f of its answers have another length than was asked for (OSL Mismatch Count)", mismatched));
  if (table) import_lacks(m, "profile_export_aiperf.json, which has the model and the load: the table has neither");
  import_figure_add(m, "requests per second", "aiperf.throughput.1", "1/s", average(root, "request_throughput"));
  import_figure_add(m, "output tokens per second", "aiperf.throughput.1", "1/s", average(root, "output_token_throughput"));
  take_metric(root, m, "time_to_first_token", "time to first token", "aiperf.ttft.1");
  take_metric(root, m, "inter_token_latency", "inter-token latency", "aiperf.inter_token_latency.1");
  take_metric(root, m, "request_latency", "request latency", "aiperf.request_latency.1");
  if (json_get_bool(root, "was_cancelled", false)) import_lacks(m, "the tool says that the run was cancelled");
  json_decref(root);
  return LYNX_OK;
}

/* A metric of one request, in seconds. */
static double metric_s(const json_t *metrics, const char *name) {
  const json_t *metric = json_object_get(metrics, name);
  return json_get_double(metric, "value", NAN) * in_ms(metric) / 1e3;
}

static enum lynx_status take_request(const json_t *root, struct imported *m, struct lynx_error *error) {
  const json_t *about = json_object_get(root, "metadata"), *metrics = json_object_get(root, "metrics"),
               *failed = json_object_get(root, "error");
  int64_t start = json_get_int(about, "request_start_ns", -1), end = json_get_int(about, "request_end_ns", -1);
  if (strcmp(json_get_text(about, "benchmark_phase", "profiling"), "warmup") == 0) return LYNX_OK;
  if (start < 0 || end < start) return lynx_fail(error, LYNX_INPUT, "a request without request_start_ns and request_end_ns after it");
  double start_s = (double)start / 1e9, whole = metric_s(metrics, "request_latency"), seconds = (double)(end - start) / 1e9;
  bool ok = failed == NULL || json_is_null(failed);
  struct import_request r = {.start_s = start_s,
                             .first_token_s = start_s + metric_s(metrics, "time_to_first_token"),
                             .last_token_s = NAN,
                             .end_s = start_s + (isnan(whole) ? seconds : whole),
                             .ok = ok,
                             .reason = ok ? "" : json_get_text(failed, "message", json_get_text(failed, "type", "an error"))};
  if (!import_tokens(json_get_double(json_object_get(metrics, "input_sequence_length"), "value", NAN), &r.prompt_tokens) ||
      !import_tokens(json_get_double(json_object_get(metrics, "output_sequence_length"), "value", NAN), &r.output_tokens))
    return lynx_fail(error, LYNX_INPUT, "input_sequence_length, output_sequence_length: no number of tokens");
  /* The tool takes both times itself: they are of one request. */
  if (ok && fabs(whole - seconds) > 0.05 * seconds + 0.01 && m->n_against == 0)
    import_against(m, arena_printf(&m->arena, "request %zu: its latency is %.6g s, and it ends %.6g s after its start", m->n_requests,
                                   whole, seconds));
  return import_request_add(m, &r, error);
}

static enum lynx_status take_line(void *context, const char *line, size_t length, struct lynx_error *error) {
  json_t *root = json_parse_python(line, length, LINE_MAX_BYTES, error);
  enum lynx_status status = root != NULL ? take_request(root, context, error) : error->status;
  json_decref(root);
  return status;
}

static enum lynx_status read_all(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  bool summary = false, requests = false;
  ret->tool = "AIPerf";
  for (size_t i = 0; i < n && status == LYNX_OK; i++) {
    bool *seen = is_requests(&files[i]) ? &requests : &summary;
    if (*seen) status = lynx_fail(error, LYNX_INPUT, "a second file of the same kind; accepted: one summary and one file of requests");
    *seen = true;
    if (status == LYNX_OK)
      status = seen == &requests ? import_each_line(&files[i], take_line, ret, error) : read_summary(&files[i], ret, error);
    if (status != LYNX_OK) lynx_error_at(error, files[i].path, 0, NULL);
  }
  if (status == LYNX_OK && !summary) import_lacks(ret, "without profile_export_aiperf.json what the tool stated is not known");
  return status;
}

const struct importer importer_aiperf = {.name = "aiperf",
                                         .summary = "AIPerf and GenAI-Perf",
                                         .files = "profile_export_aiperf.json or .csv, and profile_export.jsonl for its requests",
                                         .recognise = recognise,
                                         .read = read_all};
