/* result/figure_text.h: a figure as people read it.
 * Units    "ns" is written as a duration, bytes/s and operations/s in thousands of millions; others as they are */
#ifndef RESULT_FIGURE_TEXT_H
#define RESULT_FIGURE_TEXT_H

#include "base/buffer.h"

/* "62.1 ms", "1,310 tokens/s" */
void figure_put_value(double value, const char *unit, struct buffer *out);
/* "62.1 ms [60.3 ms, 64.0 ms]"; without the interval where low or high is not finite. */
void figure_put(double value, double low, double high, const char *unit, struct buffer *out);

#endif
