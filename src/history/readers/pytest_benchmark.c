/* pytest-benchmark's JSON, from --benchmark-json or its storage. A benchmark's figure is the median of its rounds, in seconds. */
#include <math.h>
#include <string.h>

#include "history/series_file.h"
#include "history/when.h"

static bool recognise(const struct series_file *file) {
  return json_is_object(json_object_get(file->json, "machine_info")) && json_is_array(json_object_get(file->json, "benchmarks"));
}

/* The commit, and the Python that ran it: a newer one is a change of the stack, and no other series. */
static const char *label_of(const json_t *root, struct series_run *run) {
  const json_t *commit = json_object_get(root, "commit_info"), *machine = json_object_get(root, "machine_info");
  const char *id = json_get_text(commit, "id", "unknown");
  if (strcmp(id, "unknown") == 0) return "";
  return arena_printf(&run->arena, "%.12s%s, %s %s", id, json_get_bool(commit, "dirty", false) ? " changed" : "",
                      json_get_text(machine, "python_implementation", "Python"), json_get_text(machine, "python_version", ""));
}

static enum lynx_status read_file(const struct series_file *file, struct series_run *run, struct lynx_error *error) {
  const json_t *machine = json_object_get(file->json, "machine_info"), *all = json_object_get(file->json, "benchmarks");
  const char *time = json_get_text(file->json, "datetime", "");
  if (time[0] != 0 && !when_read(time, &run->at_ns))
    return lynx_fail(error, LYNX_INPUT, "datetime: found '%.60s'; accepted: a date and time", time);
  run->name = arena_printf(&run->arena, "pytest-benchmark on %s", json_get_text(machine, "node", "a machine"));
  run->label = label_of(file->json, run);
  for (size_t i = 0; i < json_array_size(all); i++) {
    const json_t *one = json_array_get(all, i), *stats = json_object_get(one, "stats");
    const char *name = json_get_text(one, "fullname", json_get_text(one, "name", ""));
    double value = json_get_double(stats, "median", NAN);
    if (name[0] == 0 || isnan(value))
      return lynx_fail(error, LYNX_INPUT, "benchmarks[%zu]: no fullname, or no stats.median; accepted: what pytest-benchmark writes", i);
    if (value < 0) return lynx_fail(error, LYNX_INPUT, "benchmarks[%zu]: stats.median: found %g; accepted: seconds from 0", i, value);
    enum lynx_status status = series_add(run, name, "s", BETTER_LESS, value, error);
    if (status != LYNX_OK) return status;
  }
  return LYNX_OK;
}

const struct series_reader series_pytest_benchmark = {
    .name = "pytest-benchmark", .files = "pytest --benchmark-json", .recognise = recognise, .read = read_file};
