/* cli/rank_pages.h: the page of all ranks of a job, from their traces, from parts that were read elsewhere, or from both. */
#ifndef CLI_RANK_PAGES_H
#define CLI_RANK_PAGES_H

#include "report/ranks_report.h"

/* By the options --ranks and --part, NULL where they are absent; or because one of the files is a part. */
bool rank_pages_are_wanted(const char *ranks, const char *part, const char *const *paths, size_t n);

struct rank_pages {
  const char *const *paths;
  size_t n;
  const struct account_options *options;
  int64_t device; /* -1: the busiest */
  const struct attribution_view *view;
  const char *part, *html; /* files to write; NULL */
  bool json, quiet;
  bool reads_so; /* an option says how traces are read: parts were read before */
};

/* Exit code; what is wrong was reported. */
int rank_pages_make(const struct rank_pages *pages);

#endif
