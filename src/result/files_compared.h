/* result/files_compared.h: did a change help, by the result files of other tools alone: two sides of a few files each.
 *
 * Shapes   one value per file and figure; figures are joined by name, formula and unit, never by name alone
 * Ratio    after to before, on logarithms: Welch's t over the files of each side (stats/compare.h). A file is one run: with one a side
 *          nobody knows how runs vary, and nothing is decided
 * Judged   one throughput (not where the load was offered at a rate: it would be the load's), time to first token, time per token, whole
 *          answer; of llama-bench every test. They share the error (Bonferroni)
 * Work     what was asked and delivered must be alike: model, tool, lengths, requests in flight, rate. Else it is not the same work, and
 *          there is no verdict
 * Limits   files do not say in which order the runs were made, nor on what: what else changed is for the reader to add
 * Source   docs/method.md#compare */
#ifndef RESULT_FILES_COMPARED_H
#define RESULT_FILES_COMPARED_H

#include "result/import_result.h"
#include "stats/compare.h"

enum { COMPARED_FILES_MAX = 16 }; /* of a side */

struct files_side {
  struct imported *items;
  size_t n;
};

struct compared_figure {
  const char *name, *formula, *unit;
  int better;               /* 1: more is, -1: less is, 0: neither */
  double before, after;     /* means over the files */
  size_t n_before, n_after; /* files that state it */
  bool judged;
  size_t rank;             /* of the judged ones: throughput first */
  struct comparison ratio; /* after to before; bounded: by at least two files a side */
};

enum files_verdict { FILES_BETTER, FILES_WORSE, FILES_SAME, FILES_MIXED, FILES_UNDECIDED, FILES_OTHER_WORK };

struct files_compared {
  struct arena arena;
  struct compared_figure *items; /* the judged ones first */
  size_t n_items, n_judged;
  double margin, confidence, each_confidence;
  enum files_verdict verdict;
  const struct compared_figure *named; /* that the verdict rests on; NULL: there is none to judge */
  const char **other_work;             /* "prompts: 512 tokens before, 1024 after" */
  size_t n_other_work;
  double needed_per_side; /* files, where undecided; infinity: nobody can say */
};

void files_compare(const struct files_side *before, const struct files_side *after, double margin, double confidence,
                   struct files_compared *ret);
void files_compared_release(struct files_compared *compared);

/* "better", "worse", "the same within the margin", ... */
const char *files_verdict_text(enum files_verdict verdict);

#endif
