/* stats/interval.h: the mean of sessions and its interval.
 * Shapes   x[n], one figure per session: the session is the unit of replication
 * Result   mean ± t(1 - (1 - confidence)/2, n - 1) s / sqrt(n); bounded is false for n < 2 (no interval can be given)
 * Source   Student 1908; sums in index order, so that the result is the same on every machine
 * Limits   assumes sessions that are independent and not far from normal; docs/method.md#sessions */
#ifndef STATS_INTERVAL_H
#define STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

struct interval {
  double estimate, low, high, deviation; /* deviation: the sample standard deviation */
  bool bounded;
};

struct interval interval_of_mean(const double *x, size_t n, double confidence);

#endif
