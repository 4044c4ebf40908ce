/* attribute/collectives.h: collectives over several ranks: how much of each rank's time in them is transfer, and how much is waiting for
 * the others.
 * Method   a collective on one rank belongs to that of the same process group with the same sequence number on the others, or, where there
 *          are no numbers, to the n-th as the n-th; transfer is the least duration over the ranks, a rank's waiting is what its own takes
 *          longer. That needs no common clock; the skew of the starts does
 * Source   TraceLens's NCCL analyser; bus bandwidth by nccl-tests' factors
 * Limits   without sequence numbers, a collective that one trace lacks shifts those behind it; what differs in name or size is not
 *          matched, and counted */
#ifndef ATTRIBUTE_COLLECTIVES_H
#define ATTRIBUTE_COLLECTIVES_H

#include "attribute/timeline.h"

struct rank_wait {
  int64_t rank, n, busy_ns, wait_ns, n_last; /* n_last: how often it came last, so that the others waited for it */
};

struct collectives {
  size_t n_ranks;
  struct rank_wait *ranks;
  int64_t n_matched, n_unmatched, transfer_ns, skew_greatest_ns, skew_sum_ns;
};

/* The timelines of one job's ranks, as they were given. */
void collectives_match(const struct timeline *const *timelines, size_t n, struct collectives *ret);
void collectives_release(struct collectives *collectives);

#endif
