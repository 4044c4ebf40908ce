/* history/series_file.h: what other tools wrote of one run, as a run of a history: one reader per tool (src/history/readers).
 *
 * Shapes   one file is one run; each benchmark or test in it is a figure. Values of one name in one file are repetitions: their median
 *          counts. A run's name holds what tells machines apart: runs of two machines are no series
 * Errors   INPUT: not what its tool writes, or a value that none has; LIMIT: more than SERIES_FIGURES_MAX values
 * Limits   no interval is known of these values, and nothing of what they were measured on */
#ifndef HISTORY_SERIES_FILE_H
#define HISTORY_SERIES_FILE_H

#include "base/json.h"
#include "history/history.h"

enum { SERIES_FIGURES_MAX = 20000, SERIES_TEXT_MAX = 400 };

struct series_file {
  const char *path, *text; /* text ends in 0 */
  size_t length;
  const json_t *json; /* NULL: it is none */
};

struct series_sample {
  const char *figure, *unit;
  enum better better;
  double value;
  size_t order;
};

/* What a reader fills in. */
struct series_run {
  const char *name;      /* the series' own: the tool, and where it ran */
  const char *precision; /* "" */
  const char *label;     /* a commit, an image; "": the file's name */
  int64_t at_ns;         /* 0: not said, then the order of the files counts */
  struct series_sample *samples;
  size_t n_samples, room;
  struct arena arena; /* for the reader's texts */
};

struct series_reader {
  const char *name, *files; /* files: which it takes, in words */
  bool (*recognise)(const struct series_file *file);
  enum lynx_status (*read)(const struct series_file *file, struct series_run *run, struct lynx_error *error);
};
extern const struct series_reader *const series_readers[]; /* generated from src/history/readers; ends in NULL */

/* A reader for it; NULL: none knows it. */
const struct series_reader *series_file_reader(const struct series_file *file);
/* Adds one run, from source. */
enum lynx_status series_file_read(const struct series_file *file, size_t source, struct history *history,
                                  struct lynx_error *error) LYNX_MUST_CHECK;

/* --- for readers --- */

/* NaN: there is no value. */
enum lynx_status series_add(struct series_run *run, const char *figure, const char *unit, enum better better, double value,
                            struct lynx_error *error) LYNX_MUST_CHECK;

#endif
