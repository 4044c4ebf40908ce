/* What `lynxbench import` reads of load generators: the figures that they state, each followed as a series. */
#include <string.h>

#include "history/series_file.h"
#include "history/when.h"
#include "result/import_result.h"

static struct import_file as_import(const struct series_file *file) {
  return (struct import_file){.path = file->path, .text = file->text, .length = file->length};
}

static bool recognise(const struct series_file *file) {
  const struct import_file one = as_import(file);
  for (size_t i = 0; importers[i] != NULL; i++)
    if (importers[i]->recognise(&one)) return true;
  return false;
}

/* By the unit: of rates more is better, of times less. */
static enum better better_by(const char *unit) {
  if (strstr(unit, "/s") != NULL) return BETTER_MORE;
  return strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0 || strcmp(unit, "us") == 0 || strcmp(unit, "ns") == 0 ? BETTER_LESS
                                                                                                                 : BETTER_UNKNOWN;
}

static enum lynx_status read_file(const struct series_file *file, struct series_run *run, struct lynx_error *error) {
  const struct import_file one = as_import(file);
  struct imported m;
  enum lynx_status status = import_read(&one, 1, NULL, 1, &m, error);
  if (status != LYNX_OK) return status;
  run->name = arena_printf(&run->arena, "%.60s: %.200s", m.tool[0] != 0 ? m.tool : m.reader, m.model[0] != 0 ? m.model : "a model");
  if (m.concurrency > 0) run->name = arena_printf(&run->arena, "%s, %lld at once", run->name, (long long)m.concurrency);
  if (m.rate_per_s > 0) run->name = arena_printf(&run->arena, "%s, %.6g requests/s", run->name, m.rate_per_s);
  (void)when_read(m.begun, &run->at_ns); /* a tool that writes no date is followed in the order of its files */
  for (size_t i = 0; i < m.n_figures && status == LYNX_OK; i++)
    status = series_add(run, m.figures[i].name, m.figures[i].unit, better_by(m.figures[i].unit), m.figures[i].stated, error);
  import_release(&m);
  return status;
}

const struct series_reader series_imported = {
    .name = "imported", .files = "a load generator's result, as import reads it", .recognise = recognise, .read = read_file};
