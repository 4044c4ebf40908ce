/* attribute/collectives.h: collectives over several ranks: how much of each rank's time in them is transfer, and how much is waiting for
 * the others.
 * Method   a collective on one rank belongs to that of the same process group with the same sequence number on the others, or, where there
 *          are no numbers, to the n-th as the n-th. All ranks that show the group must have it. Transfer is the least duration over them, a
 *          rank's waiting is what its own takes longer. That needs no common clock; the skew of the starts does
 * Source   TraceLens's NCCL analyser
 * Limits   without sequence numbers, a collective that one trace lacks shifts those behind it; what differs in name or size is not
 *          matched, and counted */
#ifndef ATTRIBUTE_COLLECTIVES_H
#define ATTRIBUTE_COLLECTIVES_H

#include "attribute/timeline.h"

/* One collective on one rank. */
struct collective_call {
  const char *group, *name; /* borrowed */
  int64_t order;            /* its sequence number; where there is none, its place in its group */
  int64_t repeat;           /* how many of that group and order stand before it */
  int64_t start_ns, duration_ns, elements;
  int64_t bus_bytes; /* see collective_size.h; 0: not known */
  uint32_t rank;     /* index of its rank, while they are matched */
};

/* Those of one rank, by group, order and repeat. */
struct rank_calls {
  int64_t rank;
  struct collective_call *at;
  size_t n;
};

/* default_rank: where the trace does not say which it is. ret->at is to be freed. */
void collectives_list(const struct timeline *timeline, int64_t default_rank, struct rank_calls *ret);

struct rank_wait {
  int64_t rank, n, busy_ns, wait_ns;
  int64_t n_matched, n_last; /* n_last: how often it alone came last, so that the others waited for it */
  int64_t caused_ns;         /* what all the others together waited in these */
  int64_t n_kept;            /* how many others were in these, summed */
  double by_chance;          /* how often it would be last if all were alike */
};

/* Of one process group, or of all. bus_bytes and bus_ns: of those whose size is known, by the time of transfer alone. */
struct group_wait {
  const char *group; /* borrowed; NULL: of all */
  int64_t n_ranks, n_matched, n_unmatched, transfer_ns, wait_ns, bus_bytes, bus_ns, skew_greatest_ns, skew_sum_ns;
};

/* What a match says of one call: how long that rank waited in it. */
typedef void collectives_each(void *context, const struct collective_call *call, int64_t wait_ns);

struct collectives {
  size_t n_ranks;
  struct rank_wait *ranks;
  struct group_wait all, *groups; /* groups: by name */
  size_t n_groups;
};

/* The calls of one job's ranks, as they were given. each: NULL, or told of every call that was matched. */
void collectives_match(const struct rank_calls *ranks, size_t n, collectives_each *each, void *context, struct collectives *ret);
/* For which the others wait most, but for one; there must be such a rank. but: NULL, or another one. */
const struct rank_wait *collectives_latest(const struct collectives *collectives, const struct rank_wait *but);
void collectives_release(struct collectives *collectives);

#endif
