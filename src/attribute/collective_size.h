/* attribute/collective_size.h: how many bytes a collective moves, as nccl-tests reckons it.
 * Shapes   S: the whole buffer, the greater of what goes in and what comes out. On the bus: S x f, with f = 2 (n - 1) / n for an all-reduce of
 *          n ranks, (n - 1) / n for all-gather, reduce-scatter, all-to-all, gather and scatter, 1 for broadcast, reduce, send and receive;
 *          so that a figure of any kind and number of ranks compares with the link
 * Result   bytes; 0: not known
 * Source   nccl-tests, PERFORMANCE.md */
#ifndef ATTRIBUTE_COLLECTIVE_SIZE_H
#define ATTRIBUTE_COLLECTIVE_SIZE_H

#include "trace/trace.h"

int64_t collective_bytes(const struct trace_span *span); /* S */
int64_t collective_bus_bytes(struct bytes name, int64_t bytes, int64_t ranks);

#endif
