/* result/comparison.h: two results of the same question, figure by figure, as ratios of their sessions' figures.
 * Shapes   one entry per precision that both have and per figure
 * Result   verdicts at the margin and confidence that the first one's contract declares (decision.margin, method.confidence)
 * Pairs    runs that were interleaved (the same `interleaved` in both records) are compared session by session: a drift of the machine
 *          meets both alike. Others are compared as two groups, and how days and boots differ is then not known */
#ifndef RESULT_COMPARISON_H
#define RESULT_COMPARISON_H

#include "result/result.h"
#include "stats/compare.h"

struct comparison_figure {
  const char *precision, *name, *formula, *unit;
  bool more_is_better;
  double a, b; /* means of the sessions' figures */
  size_t n_a, n_b;
  struct comparison ratio; /* of a to b */
};

struct comparison_list {
  struct arena arena;
  struct comparison_figure *items;
  size_t n_items;
  bool paired;
  double margin, confidence;
  const char **only_one; /* precisions that one side alone has, and why nothing can be said of them */
  size_t n_only_one;
};

void comparison_make(const struct result *a, const struct result *b, bool interleaved, struct comparison_list *ret);
void comparison_release(struct comparison_list *list);

#endif
