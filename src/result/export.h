/* result/export.h: the counted requests of one precision in the terms of other tools. The names are theirs, and so are the formulas: each
 * exported name carries the id of what it means, because «TPOT» is not one thing.
 *
 * Formats  vllm           the result file of `vllm bench serve`
 *          aiperf         profile_export_aiperf.json
 *          guidellm       benchmarks.json, version 2: one benchmark, successful and errored requests
 *          mlperf         the figures of mlperf_log_summary.txt, as JSON
 *          perf_analyzer  the CSV of perf_analyzer
 *          csv            no tool's: every request of the precision's sessions, a line each
 * Limits   what a tool says that was not measured (its own version, its configuration) is left out */
#ifndef RESULT_EXPORT_H
#define RESULT_EXPORT_H

#include "result/result.h"

struct export_data; /* the requests, as the writers see them */

struct foreign_formula {
  const char *id, *definition;
};

extern const struct foreign_formula foreign_formulas[];
extern const size_t n_foreign_formulas;

struct export_format {
  const char *name, *summary;
  bool (*write)(const struct export_data *data, struct buffer *ret); /* NULL: its rows themselves */
};

extern const struct export_format export_formats[];
extern const size_t n_export_formats;

enum lynx_status export_precision(struct bundle *bundle, const struct result *result, size_t precision, const struct export_format *format,
                                  struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
