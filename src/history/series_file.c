#include "history/series_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct series_reader *series_file_reader(const struct series_file *file) {
  for (size_t i = 0; series_readers[i] != NULL; i++)
    if (series_readers[i]->recognise(file)) return series_readers[i];
  return NULL;
}

/* --- repetitions --- */

static int compare_names(const struct series_sample *x, const struct series_sample *y) {
  int order = strcmp(x->figure, y->figure);
  return order != 0 ? order : strcmp(x->unit, y->unit);
}

static int by_name(const void *a, const void *b) {
  const struct series_sample *x = a, *y = b;
  int order = compare_names(x, y);
  return order != 0 ? order : (x->value > y->value) - (x->value < y->value);
}

static int by_order(const void *a, const void *b) {
  const struct series_sample *x = a, *y = b;
  return (x->order > y->order) - (x->order < y->order);
}

/* One for each name: the median of its values, at the place of the first. */
static void take_medians(struct series_run *run) {
  size_t n = 0;
  if (run->n_samples > 0) qsort(run->samples, run->n_samples, sizeof *run->samples, by_name);
  for (size_t from = 0, to; from < run->n_samples; from = to) {
    struct series_sample one = run->samples[from];
    for (to = from; to < run->n_samples && compare_names(&run->samples[from], &run->samples[to]) == 0; to++)
      if (run->samples[to].order < one.order) one.order = run->samples[to].order;
    size_t middle = from + (to - from) / 2;
    one.value = run->samples[middle].value;
    if ((to - from) % 2 == 0) one.value = (one.value + run->samples[middle - 1].value) / 2;
    run->samples[n++] = one;
  }
  run->n_samples = n;
  if (n > 0) qsort(run->samples, n, sizeof *run->samples, by_order);
}

static void hand_over(struct series_run *run, const char *path, size_t source, struct history *history) {
  char precision[SERIES_TEXT_MAX];
  struct summary_figure *figures = xalloc(run->n_samples + 1, sizeof *figures);
  struct summary_precision one = {.name = text_sanitise(precision, sizeof precision, run->precision, strlen(run->precision)),
                                  .fingerprint = "",
                                  .figures = figures,
                                  .n_figures = run->n_samples,
                                  .conditions = {NAN, NAN, NAN, NAN, NAN, NAN, NAN},
                                  .left_out = run->n_samples == 0 ? "no value" : NULL};
  const struct summary summary = {.contract = "", .name = run->name, .started_ns = run->at_ns, .precisions = &one, .n_precisions = 1};
  const char *slash = strrchr(path, '/'), *label = run->label[0] != 0 ? run->label : slash != NULL ? slash + 1 : path;
  for (size_t i = 0; i < run->n_samples; i++) {
    const struct series_sample *s = &run->samples[i];
    figures[i] = (struct summary_figure){
        .name = s->figure, .formula = "", .unit = s->unit, .better = s->better, .value = s->value, .low = NAN, .high = NAN, .n = 1};
  }
  history_add(history, &(struct history_origin){label, "", "", source}, &summary);
  free(figures);
}

enum lynx_status series_file_read(const struct series_file *file, size_t source, struct history *history, struct lynx_error *error) {
  struct series_run run = {.name = "", .precision = "", .label = ""};
  const struct series_reader *reader = series_file_reader(file);
  enum lynx_status status = LYNX_OK;
  if (reader == NULL) status = lynx_fail(error, LYNX_INPUT, "no tool's file that is known");
  else status = reader->read(file, &run, error);
  if (status == LYNX_OK) {
    take_medians(&run);
    hand_over(&run, file->path, source, history);
  }
  free(run.samples);
  arena_release(&run.arena);
  return status;
}
