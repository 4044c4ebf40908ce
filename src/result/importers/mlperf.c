/* MLPerf LoadGen's logs: mlperf_log_detail.txt, mlperf_log_summary.txt. They hold no requests, so each figure is held against what else the
 * logs say: their own counts, clocks, error lines and each other. The submission checker does not do that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "result/import_result.h"

static const char mark[] = ":::MLLOG ";
enum { LINE_MAX_BYTES = 4 << 20, KEY_MAX = 160 };

static bool is_detail(const struct import_file *file) {
  return strstr(file->text, mark) != NULL;
}

static bool recognise(const struct import_file *file) {
  return is_detail(file) || strstr(file->text, "MLPerf Results Summary") != NULL;
}

/* Both files as name and value: numbers, and words. */
struct logs {
  struct imported *imported;
  json_t *detail, *summary; /* objects */
  size_t n_error_lines;
  bool summary_says_errors;
  char first_error[200];
  double issued_ms, ended_ms; /* the log's own clock: queries made, results written */
};

static enum lynx_status take_line(void *context, const char *line, size_t length, struct lynx_error *error) {
  struct logs *logs = context;
  if (length < sizeof mark || strncmp(line, mark, sizeof mark - 1) != 0)
    return lynx_fail(error, LYNX_INPUT, "a line of LoadGen's detail log begins with '%s'", mark);
  json_t *root = json_parse_reals(line + sizeof mark - 1, length - (sizeof mark - 1), LINE_MAX_BYTES, error); /* seeds have 64 bits */
  if (root == NULL) return error->status;
  const char *key = json_get_text(root, "key", NULL);
  json_t *value = json_object_get(root, "value");
  double at = json_get_double(root, "time_ms", NAN);
  enum lynx_status status = LYNX_OK;
  if (key == NULL || value == NULL) status = lynx_fail(error, LYNX_INPUT, "a line of LoadGen's log without key and value");
  else {
    bool failed = json_get_bool(json_object_get(root, "metadata"), "is_error", false);
    if (failed && logs->n_error_lines++ == 0)
      (void)snprintf(logs->first_error, sizeof logs->first_error, "%.60s: %.120s", key,
                     json_is_string(value) ? json_string_value(value) : "");
    if (strcmp(key, "generated_query_count") == 0) logs->issued_ms = at;
    if (strcmp(key, "logger_swap_request_slots_retry_count") == 0) logs->ended_ms = at;
    const json_t *before = json_object_get(logs->detail, key);
    bool single = strncmp(key, "result_", 7) == 0 || strncmp(key, "effective_", 10) == 0 || strncmp(key, "generated_", 10) == 0 ||
                  strcmp(key, "num_errors") == 0 || strcmp(key, "early_stopping_met") == 0;
    if (single && before != NULL && !json_equal(before, value))
      import_against(logs->imported, arena_printf(&logs->imported->arena, "the detail log has '%.60s' twice, with different values", key));
    if (json_object_set(logs->detail, key, value) != 0) status = lynx_fail(error, LYNX_MACHINE, "memory is gone");
  }
  json_decref(root);
  return status;
}

/* "Mean latency (ns)    : 12" and "  Min queries satisfied : Yes". The first of a name stays: some stand twice. */
static enum lynx_status read_summary(struct logs *logs, const struct import_file *file, struct lynx_error *error) {
  for (const char *at = file->text; *at != 0; at += strcspn(at, "\n"), at += *at != 0) {
    const char *end = at + strcspn(at, "\n"), *colon = memchr(at, ':', (size_t)(end - at));
    char key[KEY_MAX], value[KEY_MAX];
    if (strncmp(at, "No errors", 9) != 0 && memmem(at, (size_t)(end - at), "error", 5) != NULL &&
        memmem(at, (size_t)(end - at), "encountered", 11) != NULL)
      logs->summary_says_errors = true;
    if (memmem(at, (size_t)(end - at), "ERROR", 5) != NULL) logs->summary_says_errors = true;
    if (colon == NULL) continue;
    while (*at == ' ') at++;
    const char *key_end = colon, *from = colon + 1;
    while (key_end > at && key_end[-1] == ' ') key_end--;
    while (from < end && *from == ' ') from++;
    while (end > from && (end[-1] == '\r' || end[-1] == ' ')) end--;
    (void)snprintf(key, sizeof key, "%.*s", (int)(key_end - at < KEY_MAX ? key_end - at : KEY_MAX - 1), at);
    (void)snprintf(value, sizeof value, "%.*s", (int)(end - from < KEY_MAX ? end - from : KEY_MAX - 1), from);
    if (json_object_get(logs->summary, key) == NULL && json_object_set_new(logs->summary, key, json_string(value)) != 0)
      return lynx_fail(error, LYNX_INPUT, "a line of the summary is not UTF-8");
  }
  return LYNX_OK;
}

static double detail_number(const struct logs *logs, const char *key) {
  return json_get_double(logs->detail, key, NAN);
}

static double summary_number(const struct logs *logs, const char *key) {
  const char *text = json_get_text(logs->summary, key, "");
  double value = NAN;
  return number_double(text, strlen(text), &value) ? value : NAN;
}

/* --- what is stated --- */

static const struct stated {
  const char *detail, *summary; /* their names in the two files */
  const char *name, *formula, *unit;
  double tolerance; /* the summary rounds */
} stated[] = {
    {"result_completed_samples_per_sec", "Completed samples per second", "samples per second", "mlperf.rate.1", "1/s", 0.002},
    {"result_samples_per_second", "Samples per second", "samples per second", "mlperf.rate.1", "1/s", 0.002},
    {"result_qps_with_loadgen_overhead", "QPS w/ loadgen overhead", "samples per second", "mlperf.rate.1", "1/s", 0.03},
    {"result_scheduled_samples_per_sec", "Scheduled samples per second", "scheduled samples per second", "mlperf.rate.1", "1/s", 0.002},
    {"result_completed_tokens_per_second", "Completed tokens per second", "tokens per second", "mlperf.rate.1", "1/s", 0.001},
    {"result_tokens_per_second", "Tokens per second", "tokens per second", "mlperf.rate.1", "1/s", 0.001},
    {"result_min_latency_ns", "Min latency (ns)", "latency min", "mlperf.latency.1", "ns", 1e-6},
    {"result_mean_latency_ns", "Mean latency (ns)", "latency mean", "mlperf.latency.1", "ns", 1e-6},
    {"result_50.00_percentile_latency_ns", "50.00 percentile latency (ns)", "latency p50", "mlperf.latency.1", "ns", 1e-6},
    {"result_90.00_percentile_latency_ns", "90.00 percentile latency (ns)", "latency p90", "mlperf.latency.1", "ns", 1e-6},
    {"result_95.00_percentile_latency_ns", "95.00 percentile latency (ns)", "latency p95", "mlperf.latency.1", "ns", 1e-6},
    {"result_97.00_percentile_latency_ns", "97.00 percentile latency (ns)", "latency p97", "mlperf.latency.1", "ns", 1e-6},
    {"result_99.00_percentile_latency_ns", "99.00 percentile latency (ns)", "latency p99", "mlperf.latency.1", "ns", 1e-6},
    {"result_99.90_percentile_latency_ns", "99.90 percentile latency (ns)", "latency p99.9", "mlperf.latency.1", "ns", 1e-6},
    {"result_max_latency_ns", "Max latency (ns)", "latency max", "mlperf.latency.1", "ns", 1e-6},
    {"result_first_token_min_latency_ns", "Min First Token latency (ns)", "first token min", "mlperf.ttft.1", "ns", 1e-6},
    {"result_first_token_mean_latency_ns", "Mean First Token latency (ns)", "first token mean", "mlperf.ttft.1", "ns", 1e-6},
    {"result_first_token_50.00_percentile_latency_ns", "50.00 percentile first token latency (ns)", "first token p50", "mlperf.ttft.1",
     "ns", 1e-6},
    {"result_first_token_90.00_percentile_latency_ns", "90.00 percentile first token latency (ns)", "first token p90", "mlperf.ttft.1",
     "ns", 1e-6},
    {"result_first_token_95.00_percentile_latency_ns", "95.00 percentile first token latency (ns)", "first token p95", "mlperf.ttft.1",
     "ns", 1e-6},
    {"result_first_token_97.00_percentile_latency_ns", "97.00 percentile first token latency (ns)", "first token p97", "mlperf.ttft.1",
     "ns", 1e-6},
    {"result_first_token_99.00_percentile_latency_ns", "99.00 percentile first token latency (ns)", "first token p99", "mlperf.ttft.1",
     "ns", 1e-6},
    {"result_first_token_99.90_percentile_latency_ns", "99.90 percentile first token latency (ns)", "first token p99.9", "mlperf.ttft.1",
     "ns", 1e-6},
    {"result_first_token_max_latency_ns", "Max First Token latency (ns)", "first token max", "mlperf.ttft.1", "ns", 1e-6},
    {"result_time_to_output_token_min", "Min Time to Output Token (ns)", "time per output token min", "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_to_output_token_mean", "Mean Time to Output Token (ns)", "time per output token mean", "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_per_output_token_50.00_percentile_ns", "50.00 percentile time to output token (ns)", "time per output token p50",
     "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_per_output_token_90.00_percentile_ns", "90.00 percentile time to output token (ns)", "time per output token p90",
     "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_per_output_token_95.00_percentile_ns", "95.00 percentile time to output token (ns)", "time per output token p95",
     "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_per_output_token_97.00_percentile_ns", "97.00 percentile time to output token (ns)", "time per output token p97",
     "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_per_output_token_99.00_percentile_ns", "99.00 percentile time to output token (ns)", "time per output token p99",
     "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_per_output_token_99.90_percentile_ns", "99.90 percentile time to output token (ns)", "time per output token p99.9",
     "mlperf.tpot.1", "ns", 1e-6},
    {"result_time_to_output_token_max", "Max Time to Output Token (ns)", "time per output token max", "mlperf.tpot.1", "ns", 1e-6},
};

static void take_figures(struct logs *logs) {
  struct imported *m = logs->imported;
  for (size_t i = 0; i < LYNX_COUNT(stated); i++) {
    double detail = detail_number(logs, stated[i].detail), summary = summary_number(logs, stated[i].summary);
    import_figure_add(m, stated[i].name, stated[i].formula, stated[i].unit, isnan(detail) ? summary : detail);
    import_agree(m, arena_printf(&m->arena, "'%s' in the summary", stated[i].summary), summary, "the detail log", detail,
                 stated[i].tolerance);
  }
}

/* --- held against one another --- */

/* Why a result is or is not valid, in both files. */
static const struct flag {
  const char *detail, *summary;
} flags[] = {{"result_perf_constraints_met", "Performance constraints satisfied"},
             {"result_min_duration_met", "Min duration satisfied"},
             {"result_min_queries_met", "Min queries satisfied"},
             {"early_stopping_met", "Early stopping satisfied"}};

static void check_flags(struct logs *logs, bool valid) {
  struct imported *m = logs->imported;
  for (size_t i = 0; i < LYNX_COUNT(flags); i++) {
    const json_t *detail = json_object_get(logs->detail, flags[i].detail);
    const char *summary = json_get_text(logs->summary, flags[i].summary, NULL);
    bool no = json_is_false(detail) || (summary != NULL && strcmp(summary, "Yes") != 0);
    if (no && valid) import_against(m, arena_printf(&m->arena, "the result is said to be VALID, and '%s' is not", flags[i].summary));
    if (json_is_boolean(detail) && summary != NULL && json_is_true(detail) != (strcmp(summary, "Yes") == 0))
      import_against(m, arena_printf(&m->arena, "the two files differ in '%s'", flags[i].summary));
  }
}

static void check_errors(struct logs *logs) {
  struct imported *m = logs->imported;
  double counted = detail_number(logs, "num_errors");
  if (logs->n_error_lines > 0)
    import_against(m, arena_printf(&m->arena, "the detail log holds %zu line%s marked as an error, the first: %s", logs->n_error_lines,
                                   LYNX_S(logs->n_error_lines), logs->first_error));
  if (logs->n_error_lines > 0 && counted <= 0)
    import_against(m, arena_printf(&m->arena, "num_errors is %.0f, and %zu lines are marked as errors", counted, logs->n_error_lines));
  if (counted > 0) import_against(m, arena_printf(&m->arena, "num_errors is %.0f", counted));
  if (logs->summary_says_errors) import_against(m, "the summary says that errors were encountered");
}

static void check_validity(struct logs *logs) {
  struct imported *m = logs->imported;
  const char *detail = json_get_text(logs->detail, "result_validity", NULL), *summary = json_get_text(logs->summary, "Result is", NULL);
  const char *scenarios[] = {json_get_text(logs->detail, "effective_scenario", NULL), json_get_text(logs->summary, "Scenario", NULL)};
  bool valid = (detail == NULL || strcmp(detail, "VALID") == 0) && (summary == NULL || strcmp(summary, "VALID") == 0);
  if (detail != NULL && summary != NULL && strcmp(detail, summary) != 0)
    import_against(m, arena_printf(&m->arena, "the summary says the result is %s, the detail log %s", summary, detail));
  if (!valid)
    import_against(m, arena_printf(&m->arena, "the result is %s by LoadGen's own word",
                                   detail != NULL && strcmp(detail, "VALID") != 0 ? detail : summary));
  if (scenarios[0] != NULL && scenarios[1] != NULL && strcmp(scenarios[0], scenarios[1]) != 0)
    import_against(m, arena_printf(&m->arena, "the summary is of %.40s, the detail log of %.40s", scenarios[1], scenarios[0]));
  if (json_object_size(logs->detail) > 0 && detail == NULL) import_lacks(m, "the detail log does not say whether the result is valid");
  check_flags(logs, valid);
  check_errors(logs);
  /* The limits that validity rests on. */
  if (valid && strcmp(scenarios[0] != NULL ? scenarios[0] : "", "Server") == 0) {
    static const char *const limits[][3] = {{"requested_server_ttft_latency", "first token p99", "the time to first token"},
                                            {"requested_server_tpot_latency", "time per output token p99", "the time per output token"},
                                            {"effective_target_latency_ns", "latency p99", "the latency"}};
    for (size_t i = 0; i < LYNX_COUNT(limits); i++) {
      double limit = detail_number(logs, limits[i][0]), found = import_figure_stated(m, limits[i][1]);
      if (limit > 0 && found > limit)
        import_against(m, arena_printf(&m->arena, "the result is said to be VALID, and %s at p99 is %.6g ns of at most %.6g", limits[i][2],
                                       found, limit));
    }
  }
}

static void check_rates(struct logs *logs) {
  struct imported *m = logs->imported;
  double samples = import_figure_stated(m, "samples per second"), tokens = import_figure_stated(m, "tokens per second"),
         scheduled = import_figure_stated(m, "scheduled samples per second");
  double queries = detail_number(logs, "result_query_count"), each = detail_number(logs, "generated_samples_per_query"),
         greatest = detail_number(logs, "result_max_latency_ns") / 1e9,
         with = detail_number(logs, "result_token_throughput_with_loadgen_overhead");
  bool offline = strcmp(json_get_text(logs->detail, "effective_scenario", ""), "Offline") == 0;
  bool single = strcmp(json_get_text(logs->detail, "effective_scenario", ""), "SingleStream") == 0;
  import_agree(m, "the rate of queries made", scheduled, "their number over their time",
               detail_number(logs, "generated_query_count") * each / (detail_number(logs, "generated_query_duration") / 1e9), 0.001);
  if (offline) import_agree(m, "'samples per second'", samples, "all samples over the longest latency", queries * each / greatest, 0.002);
  if (single)
    import_agree(m, "'samples per second'", samples, "one over the mean latency", 1e9 / import_figure_stated(m, "latency mean"), 0.05);
  /* What the log's own clock leaves room for. */
  double span = (logs->ended_ms - logs->issued_ms) / 1e3;
  if (queries * each / samples > 1.02 * span)
    import_against(m, arena_printf(&m->arena, "at %.6g samples/s its %.0f samples take %.0f s, and the log's clock has %.0f s for them",
                                   samples, queries * each, queries * each / samples, span));
  /* The log ends when the results are written, which took up to a tenth of the run in published ones. */
  if (samples * span > 1.25 * queries * each)
    import_against(m,
                   arena_printf(&m->arena, "'samples per second' is %.6g, and the log's clock gives %.6g", samples, queries * each / span));
  if (samples > 1.01 * scheduled)
    import_against(m, arena_printf(&m->arena, "%.6g samples/s are said to be completed, and %.6g were scheduled", samples, scheduled));
  if (greatest > 1.02 * span)
    import_against(m, arena_printf(&m->arena, "the longest latency is %.6g s, and the log's clock has %.6g s", greatest, span));
  if (json_object_size(logs->detail) > 0 && isnan(queries * each * span))
    import_lacks(m,
                 "the detail log leaves out when queries were made, how many, or when they ended: rates cannot be compared with its clock");
  /* Tokens: the same requests at the rate at which they were scheduled; and as many as fit between first token and end. */
  import_agree(m, "'tokens per second'", tokens, "the log's other throughput, at the rate that was completed", with * samples / scheduled,
               0.005);
  if (single) import_agree(m, "'tokens per second'", tokens, "the log's other throughput", with, 0.01);
  double first = import_figure_stated(m, "first token mean"), whole = import_figure_stated(m, "latency mean"),
         per_token = import_figure_stated(m, "time per output token mean");
  import_agree(m, "the number of tokens a sample has, by its rates,", tokens / samples,
               "(latency - first token) / time per output token + 1", (whole - first) / per_token + 1, 0.1);
}

/* The checker looks at what was configured; this at what happened. */
static void check_least(struct logs *logs) {
  struct imported *m = logs->imported;
  double queries = detail_number(logs, "result_query_count"), least = detail_number(logs, "effective_min_query_count"),
         least_ms = detail_number(logs, "effective_min_duration_ms"), span_ms = logs->ended_ms - logs->issued_ms;
  if (json_get_bool(logs->detail, "result_min_queries_met", false) && queries < least)
    import_against(m, arena_printf(&m->arena, "the least number of queries is said to be met: %.0f of %.0f", queries, least));
  if (json_get_bool(logs->detail, "result_min_duration_met", false) && span_ms < 0.999 * least_ms)
    import_against(m, arena_printf(&m->arena, "the least duration is said to be met: %.0f of %.0f s", span_ms / 1e3, least_ms / 1e3));
}

static enum lynx_status read_logs(struct logs *logs, const struct import_file *files, size_t n, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n && status == LYNX_OK; i++) {
    if (json_object_size(is_detail(&files[i]) ? logs->detail : logs->summary) > 0)
      status = lynx_fail(error, LYNX_INPUT, "a second file of the same kind; accepted: one detail log, and one summary, of one run");
    else status = is_detail(&files[i]) ? import_each_line(&files[i], take_line, logs, error) : read_summary(logs, &files[i], error);
    if (status != LYNX_OK) lynx_error_at(error, files[i].path, 0, NULL);
  }
  if (status != LYNX_OK) return status;
  struct imported *m = logs->imported;
  const char *scenario = json_get_text(logs->detail, "effective_scenario", json_get_text(logs->summary, "Scenario", ""));
  const char *mode = json_get_text(logs->detail, "effective_test_mode", json_get_text(logs->summary, "Mode", "PerformanceOnly"));
  if (strcmp(mode, "PerformanceOnly") != 0)
    return lynx_fail(error, LYNX_INPUT, "a log of the mode '%.40s'; accepted: PerformanceOnly", mode);
  m->tool = import_words(m, arena_printf(&m->arena, "MLPerf LoadGen, %.40s", scenario));
  m->version = import_words(m, json_get_text(logs->detail, "loadgen_version", ""));
  m->begun = import_words(m, json_get_text(logs->detail, "test_datetime", ""));
  m->poisson = strcmp(scenario, "Server") == 0;
  m->rate_per_s = m->poisson ? fmax(0, json_get_double(logs->detail, "effective_target_qps", 0)) : 0;
  m->concurrency = strcmp(scenario, "SingleStream") == 0 || strcmp(scenario, "MultiStream") == 0 ? 1 : 0;
  m->seconds = isfinite(logs->ended_ms - logs->issued_ms) && logs->ended_ms > logs->issued_ms ? (logs->ended_ms - logs->issued_ms) / 1e3
                                                                                              : 0;
  take_figures(logs);
  check_validity(logs);
  check_rates(logs);
  check_least(logs);
  if (json_object_size(logs->detail) == 0)
    import_lacks(m, "without mlperf_log_detail.txt nothing that the summary says can be compared with anything");
  return LYNX_OK;
}

static enum lynx_status read_all(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  struct logs logs = {.imported = ret, .detail = json_object(), .summary = json_object(), .issued_ms = NAN, .ended_ms = NAN};
  enum lynx_status status = logs.detail != NULL && logs.summary != NULL ? read_logs(&logs, files, n, error)
                                                                        : lynx_fail(error, LYNX_MACHINE, "memory is gone");
  json_decref(logs.detail);
  json_decref(logs.summary);
  return status;
}

const struct importer importer_mlperf = {.name = "mlperf",
                                         .summary = "MLPerf LoadGen's logs, checked against themselves",
                                         .files = "mlperf_log_detail.txt and mlperf_log_summary.txt of one run",
                                         .recognise = recognise,
                                         .read = read_all};
