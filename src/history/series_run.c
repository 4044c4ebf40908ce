/* What readers of other tools' files add to a run. */
#include <math.h>
#include <string.h>

#include "history/series_file.h"

static const char *words(struct series_run *run, const char *text) {
  char safe[SERIES_TEXT_MAX];
  return arena_copy(&run->arena, text_sanitise(safe, sizeof safe, text, strlen(text)));
}

enum lynx_status series_add(struct series_run *run, const char *figure, const char *unit, enum better better, double value,
                            struct lynx_error *error) {
  if (isnan(value)) return LYNX_OK;
  const char *name = words(run, figure);
  if (fabs(value) > SUMMARY_VALUE_MAX) return lynx_fail(error, LYNX_INPUT, "%s: found %g; accepted: a finite number", name, value);
  if (run->n_samples == SERIES_FIGURES_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d values in a file", SERIES_FIGURES_MAX);
  run->samples = xroom(run->samples, run->n_samples, &run->room, sizeof *run->samples);
  run->samples[run->n_samples] = (struct series_sample){
      .figure = name, .unit = words(run, unit), .better = better, .value = value, .order = run->n_samples};
  run->n_samples++;
  return LYNX_OK;
}
