/* attribute/collective_rates.h: how fast collectives move bytes, as nccl-tests reckons it.
 * Method   bus bandwidth = bytes on the bus / time (collective_size.h)
 * Limits   on one rank the time holds the wait for the others: the rate is then at least this. collectives.h tells them apart */
#ifndef ATTRIBUTE_COLLECTIVE_RATES_H
#define ATTRIBUTE_COLLECTIVE_RATES_H

#include "attribute/timeline.h"

enum { COLLECTIVE_RATES_MAX = 64 };

struct collective_rate {
  const char *name; /* borrowed */
  int64_t n, ns, ranks;
  double bytes;            /* S, summed */
  double median, greatest; /* bytes/s on the bus, of single collectives */
};

struct collective_rates {
  struct collective_rate items[COLLECTIVE_RATES_MAX]; /* the most time first */
  size_t n;
  int64_t n_unsized; /* whose bytes or ranks the trace does not tell */
};

/* Of a trace's device work; items by name and number of ranks. */
void collective_rates_of(const struct timeline *timeline, struct collective_rates *ret);

#endif
