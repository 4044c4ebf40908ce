/* result/comparison.h: two results of the same question, figure by figure, as ratios of their sessions' figures.
 * Shapes   one entry per precision that both have and per figure
 * Judged   what both samples can bound, and what the instrument's own lateness cannot have changed by more than is agreed. Figures share
 *          the error: a difference counts at 1 - (1 - confidence) / (figures judged)
 * Result   verdicts at the margin and confidence that the first one's contract declares (decision.margin, method.confidence)
 * Load     figures of unlike loads (arrivals, prompts, answers) answer different questions: none is judged
 * Unlike   where the sides' conditions differ by more than is agreed they are judged by what the server felt of them (result/felt.h): ratios
 *          are then as at equal conditions; where that is not known there is no verdict
 * Pairs    runs that were interleaved (the same `interleaved` in both records) are compared session by session: a drift of the machine
 *          meets both alike. Others are compared as two groups, and how days and boots differ is then not known */
#ifndef RESULT_COMPARISON_H
#define RESULT_COMPARISON_H

#include "result/felt.h"
#include "result/result.h"
#include "stats/compare.h"

struct comparison_figure {
  const char *precision, *name, *formula, *unit;
  bool more_is_better;
  double a, b; /* means of the sessions' figures */
  size_t n_a, n_b;
  double *x, *y; /* one per session; in the list's arena */
  double *lost_x, *lost_y, *beside_x, *beside_y;
  double known_to;               /* the ratio is known no better, as a logarithm: whole requests in a window; a search's resolution */
  const struct felt_sides *felt; /* NULL: the conditions are alike, or cannot be judged so */
  struct comparison ratio;       /* of a to b */
  const char *felt_text;         /* what the conditions have to do with it; NULL */
  const char *not_judged;        /* why; NULL: it is judged */
};

struct comparison_list {
  struct arena arena;
  struct comparison_figure *items;
  size_t n_items;
  bool paired;
  double margin, confidence;
  size_t n_judged;          /* figures that share the error */
  double shared_confidence; /* of each of them, so that all together are wrong as seldom as `confidence` says (Bonferroni) */
  const char *load;         /* what makes the one load unlike the other, so that no figure is judged; NULL */
  const char *unlike;       /* conditions that differ by more than is agreed, and nothing else to judge by: no verdict then; NULL */
  const char *felt;         /* conditions that differ by more than is agreed, and what the server felt of them: judged by that; NULL */
  const char **only_one;    /* precisions that one side alone has, and why nothing can be said of them */
  size_t n_only_one;
};

void comparison_make(const struct result *a, const struct result *b, bool interleaved, struct comparison_list *ret);
void comparison_release(struct comparison_list *list);

#endif
