/* attribute/span_sort.h: spans in order of their start, the longer first where two start together; in place, in n log n steps whatever the
 * file holds. */
#ifndef ATTRIBUTE_SPAN_SORT_H
#define ATTRIBUTE_SPAN_SORT_H

#include <stddef.h>

#include "attribute/span.h"

void spans_sort(struct span *spans, size_t n);

#endif
