/* result/import_result.h: what another tool measured, as a bundle of ours: the figures it states, the requests it recorded, and what is
 * missing.
 *
 * One reader per tool (src/result/importers). A reader recognises its files, reads them, and holds what they state against each other and
 * against what their own rows yield: a contradiction is named, never mended.
 *
 * Shapes   figures in the unit that they are named with; times of requests in seconds, on whatever clock the tool used
 * Result   a bundle with every row there is, the stated figures with the ids of the tool's own formulas, and a condition for everything
 *          that an import lacks: no claim can be made from it, and each reason is told
 * Errors   INPUT: no file of a known tool, or one that is not what its tool writes; LIMIT: more than is accepted; error is never NULL
 * Memory   everything lives in its arena */
#ifndef RESULT_IMPORT_RESULT_H
#define RESULT_IMPORT_RESULT_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/json.h"

enum { IMPORT_FILES_MAX = 64, IMPORT_FILE_BYTES_MAX = 512 << 20, IMPORT_REQUESTS_MAX = 10000000 };

struct import_file {
  const char *path;
  const char *text; /* ends in 0 */
  size_t length;
  char digest[DIGEST_HEX];
};

struct import_figure {
  const char *name, *formula, *unit;
  double stated, recomputed; /* recomputed NaN: the file holds nothing that it could be computed from */
};

/* NaN, -1: not said. */
struct import_request {
  double start_s, first_token_s, last_token_s, end_s;
  double late_s; /* start - scheduled time; 0 where nobody says it */
  int64_t prompt_tokens, output_tokens;
  bool ok;
  const char *reason;
};

struct imported {
  struct arena arena;
  const char *reader, *tool, *version, *model, *endpoint, *begun; /* "" where it is not said */
  double rate_per_s;                                              /* offered; 0: not by a rate */
  bool poisson;
  size_t part;         /* which of several measurements in the files, from 1 */
  size_t n_parts;      /* how many there are; 0: one */
  int64_t concurrency; /* 0: not bounded by one */
  double seconds;      /* that it measured; 0: not said */
  struct import_figure *figures;
  size_t n_figures;
  struct import_request *requests;
  size_t n_requests, room_requests;
  bool starts_unknown; /* each request's times are from its own start */
  int streamed;        /* 1: its answers were streamed; -1: they were not; 0: not said */
  double *gaps_s;      /* between tokens, of all requests */
  size_t n_gaps, room_gaps, n_outside;
  struct import_source {
    const char *name, *digest;
  } * files;
  size_t n_files;
  const char **lacks, **against;
  size_t n_lacks, n_against;
};

#define TIME_MAX_S 1e8 /* three years: what a bundle's rows can hold, with room */

struct importer {
  const char *name, *summary;
  const char *files; /* which files it takes, in words */
  bool (*recognise)(const struct import_file *file);
  /* files: all of one tool, by recognise. */
  enum lynx_status (*read)(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error);
};
extern const struct importer *const importers[]; /* generated from src/result/importers; ends in NULL */

/* The files of one import; name NULL: whichever reader recognises the first. All of them must be of that tool. */
enum lynx_status import_read(const struct import_file *files, size_t n, const char *name, size_t part, struct imported *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;
/* A new file at path. */
enum lynx_status import_write(const struct imported *imported, const char *path, char ret_root[DIGEST_HEX],
                              struct lynx_error *error) LYNX_MUST_CHECK;
/* Figures, what speaks against them, and what is missing, as an object. */
void import_json(const struct imported *imported, struct json_writer *json);
void import_release(struct imported *imported);

/* Holds the figures of a file against its own requests; quantiles and means against one another. */
void import_recompute(struct imported *imported);
void import_check_order(struct imported *imported);
/* A figure by that formula and statistic ("time to first token p99") from the rows, in seconds; NaN: they do not yield it. */
double import_recomputed(const struct imported *imported, const char *formula, const char *name);
/* What cannot be, whatever was measured: a first token behind the end, a peak below the mean, more in flight than is allowed, by the most
 * that was seen and by Little's law (requests per second x mean latency). */
void import_check_possible(struct imported *imported);

/* --- for readers --- */

/* A file's own words: made safe to show, and not too long. */
const char *import_words(struct imported *imported, const char *text);
void import_figure_add(struct imported *imported, const char *name, const char *formula, const char *unit, double stated);
/* A count that stands in several lines: the sum. */
void import_figure_count(struct imported *imported, const char *name, const char *formula, double more);
/* How many of that unit of time are a second; of what is no unit of time: 1. */
double import_per_second(const char *unit);
/* Of all that were sent, as far as the tool says how many these were; NaN: it does not. */
double import_failed_share(const struct imported *imported);
/* NaN: the tool did not state it. */
double import_figure_stated(const struct imported *imported, const char *name);
void import_lacks(struct imported *imported, const char *text);
void import_against(struct imported *imported, const char *text);
/* "A says x, and B gives y": where they differ by more than the tolerance, relative to the greater. Either NaN: nothing is said. */
void import_agree(struct imported *imported, const char *what, double stated, const char *from, double derived, double tolerance);
/* Rates against counts over the time that was measured, with room for what was rounded to two decimals. For tools that divide so. */
void import_check_rates(struct imported *imported);
/* Every line that is not empty, the error placed at it. */
typedef enum lynx_status import_line(void *context, const char *line, size_t length, struct lynx_error *error);
enum lynx_status import_each_line(const struct import_file *file, import_line *visit, void *context,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* NaN: not said. False: no number of tokens. */
bool import_tokens(double value, int64_t *ret);
/* INPUT: times that no request has; LIMIT: too many. A token before its request or after its end loses its time, and is told. */
enum lynx_status import_request_add(struct imported *imported, const struct import_request *request,
                                    struct lynx_error *error) LYNX_MUST_CHECK;
void import_gap_add(struct imported *imported, double gap_s);

#endif
