/* base/side_by_side.h: one step for each of many items, several at a time.
 * Result   as if one came after another, in any order: a step touches nothing that another one touches
 * Errors   none: where no thread can be had, who asks does all of it */
#ifndef BASE_SIDE_BY_SIDE_H
#define BASE_SIDE_BY_SIDE_H

#include <stddef.h>

enum { SIDE_BY_SIDE_MOST = 64 };

typedef void side_by_side_step(void *context, size_t i);

/* n_threads: with the one that asks. */
void side_by_side(size_t n, size_t n_threads, side_by_side_step *step, void *context);
/* Processors that this thread may run on, at most so many. */
size_t side_by_side_threads(size_t most);

#endif
