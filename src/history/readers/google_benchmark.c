/* Google Benchmark's JSON, from --benchmark_out. Repetitions are taken one by one; where only aggregates were written, the median. */
#include <math.h>
#include <string.h>

#include "history/series_file.h"
#include "history/when.h"

static bool recognise(const struct series_file *file) {
  const json_t *context = json_object_get(file->json, "context");
  return json_is_array(json_object_get(file->json, "benchmarks")) && json_object_get(context, "num_cpus") != NULL &&
         json_object_get(context, "date") != NULL;
}

static bool is_aggregate(const json_t *one) {
  return strcmp(json_get_text(one, "run_type", "iteration"), "aggregate") == 0;
}

/* False: it is no time. */
static bool seconds_of(const json_t *one, const char *key, double *ret) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const char *unit = json_get_text(one, "time_unit", "ns");
  for (size_t i = 0; i < LYNX_COUNT(units); i++)
    if (strcmp(unit, units[i].unit) == 0) {
      *ret = json_get_double(one, key, NAN) * units[i].seconds;
      return *ret >= 0;
    }
  return false;
}

static enum lynx_status take(const json_t *one, const char *name, struct series_run *run, struct lynx_error *error) {
  double real, processor;
  if (!seconds_of(one, "real_time", &real) || !seconds_of(one, "cpu_time", &processor))
    return lynx_fail(error, LYNX_INPUT, "%.200s: real_time, cpu_time, time_unit: accepted: numbers from 0 in ns, us, ms or s", name);
  const struct {
    const char *what, *unit;
    enum better better;
    double value;
  } figures[] = {{"", "s", BETTER_LESS, real},
                 {", processor time", "s", BETTER_LESS, processor},
                 {", items", "1/s", BETTER_MORE, json_get_double(one, "items_per_second", NAN)},
                 {", bytes", "B/s", BETTER_MORE, json_get_double(one, "bytes_per_second", NAN)}};
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < LYNX_COUNT(figures) && status == LYNX_OK; i++)
    status = series_add(run, arena_printf(&run->arena, "%.300s%s", name, figures[i].what), figures[i].unit, figures[i].better,
                        figures[i].value, error);
  return status;
}

static enum lynx_status read_file(const struct series_file *file, struct series_run *run, struct lynx_error *error) {
  const json_t *context = json_object_get(file->json, "context"), *all = json_object_get(file->json, "benchmarks");
  const char *time = json_get_text(context, "date", "");
  bool only_aggregates = true;
  if (!when_read(time, &run->at_ns)) return lynx_fail(error, LYNX_INPUT, "context.date: found '%.60s'; accepted: a date and time", time);
  run->name = arena_printf(&run->arena, "Google Benchmark on %s, %lld processors", json_get_text(context, "host_name", "a machine"),
                           (long long)json_get_int(context, "num_cpus", 0));
  for (size_t i = 0; i < json_array_size(all); i++) only_aggregates = only_aggregates && is_aggregate(json_array_get(all, i));
  for (size_t i = 0; i < json_array_size(all); i++) {
    const json_t *one = json_array_get(all, i);
    const char *name = json_get_text(one, only_aggregates ? "run_name" : "name", json_get_text(one, "name", ""));
    bool median = strcmp(json_get_text(one, "aggregate_name", ""), "median") == 0;
    if (name[0] == 0) return lynx_fail(error, LYNX_INPUT, "benchmarks[%zu]: no name", i);
    if (json_get_bool(one, "error_occurred", false) || (only_aggregates ? !median : is_aggregate(one))) continue;
    enum lynx_status status = take(one, name, run, error);
    if (status != LYNX_OK) return status;
  }
  return LYNX_OK;
}

const struct series_reader series_google_benchmark = {
    .name = "google-benchmark", .files = "--benchmark_out of Google Benchmark", .recognise = recognise, .read = read_file};
