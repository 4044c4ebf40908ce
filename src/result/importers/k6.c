/* k6: what `k6 run --summary-export FILE` writes, and what handleSummary gives: metrics with their statistics, and thresholds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "result/import_result.h"

static bool recognise(const struct import_file *file) {
  return strstr(file->text, "\"metrics\"") != NULL && strstr(file->text, "\"iterations\"") != NULL &&
         (strstr(file->text, "\"http_reqs\"") != NULL || strstr(file->text, "\"vus_max\"") != NULL);
}

/* handleSummary's have their statistics one level deeper. */
static const json_t *statistics(const json_t *metrics, const char *name) {
  const json_t *metric = json_object_get(metrics, name), *values = json_object_get(metric, "values");
  return json_is_object(values) ? values : metric;
}

/* A threshold is the user's own limit. The two forms say it in opposite words: {"ok": true}, and false where it was not crossed. */
static void take_thresholds(const json_t *metrics, struct imported *m) {
  const char *name, *limit;
  json_t *metric, *said;
  json_object_foreach((json_t *)(uintptr_t)metrics, name, metric) {
    json_object_foreach(json_object_get(metric, "thresholds"), limit, said) {
      bool crossed = json_is_object(said) ? json_is_false(json_object_get(said, "ok")) : json_is_true(said);
      if (crossed)
        import_against(m,
                       arena_printf(&m->arena, "its own threshold of %s was not met: %s", import_words(m, name), import_words(m, limit)));
    }
  }
}

static enum lynx_status read_file(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  static const char *const kinds[][2] = {{"avg", "mean"},  {"min", "min"},   {"med", "median"}, {"p(90)", "p90"},
                                         {"p(95)", "p95"}, {"p(99)", "p99"}, {"max", "max"}};
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: the summary of one run");
  json_t *root = json_parse_python(files[0].text, files[0].length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  const json_t *metrics = json_object_get(root, "metrics"), *requests = statistics(metrics, "http_reqs"),
               *failed = statistics(metrics, "http_req_failed"), *took = statistics(metrics, "http_req_duration"),
               *iterations = statistics(metrics, "iterations"), *users = statistics(metrics, "vus_max");
  double count = json_get_double(requests, "count", NAN), rate = json_get_double(requests, "rate", NAN),
         loops = json_get_double(iterations, "count", NAN), loop_rate = json_get_double(iterations, "rate", NAN);
  ret->tool = "k6";
  ret->concurrency = json_get_int(users, "max", json_get_int(users, "value", 0));
  ret->seconds = count / rate > 0 ? count / rate : loops / loop_rate > 0 ? loops / loop_rate : 0;
  import_figure_add(ret, "requests", "k6.count.1", "1", count);
  import_figure_add(ret, "requests per second", "k6.throughput.1", "1/s", rate);
  import_figure_add(ret, "requests that failed", "k6.count.1", "1",
                    json_get_double(failed, "passes", NAN)); /* its "passes" are of "it failed" */
  import_figure_add(ret, "iterations", "k6.count.1", "1", loops);
  import_figure_add(ret, "iterations per second", "k6.throughput.1", "1/s", loop_rate);
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++)
    import_figure_add(ret, arena_printf(&ret->arena, "request latency %s", kinds[i][1]), "k6.request_latency.1", "ms",
                      json_get_double(took, kinds[i][0], NAN));
  take_thresholds(metrics, ret);
  double checks_failed = json_get_double(statistics(metrics, "checks"), "fails", 0);
  if (checks_failed > 0) import_lacks(ret, arena_printf(&ret->arena, "%.0f of its own checks failed", checks_failed));
  json_decref(root);
  return LYNX_OK;
}

const struct importer importer_k6 = {.name = "k6",
                                     .summary = "k6 of Grafana",
                                     .files = "the JSON of `k6 run --summary-export` or of handleSummary",
                                     .recognise = recognise,
                                     .read = read_file};
