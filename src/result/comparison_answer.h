/* result/comparison_answer.h: two results compared, in one sentence: which is better, by the figure that the contract's operating target
 * names first, and by what factor. The factor is told from the worse to the better one: above 1 where more is better.
 * Result   what unlike loads, conditions, or a side without a claim leave open is not decided; a figure that is worse for sure is named beside it */
#ifndef RESULT_COMPARISON_ANSWER_H
#define RESULT_COMPARISON_ANSWER_H

#include "result/comparison.h"

struct comparison_answer {
  const char *sentence;                   /* in the list's arena */
  const char *winner;                     /* "A", "B"; "": neither, or not decided */
  const struct comparison_figure *figure; /* that decides; NULL: none is judged */
};

void comparison_answer(struct result *a, struct result *b, struct comparison_list *list, struct comparison_answer *ret);

#endif
