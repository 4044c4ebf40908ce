/* stats/quantile.h: order statistics of a sample, and their intervals.
 * Shapes   x[n] ascending, n >= 1, may end in +infinity (failures); 0 < p < 1; 0 < confidence < 1
 * Units    whatever x has; the result has the same
 * Result   the estimate is the inverse of the empirical distribution, x_(ceil(n p)); the interval is [x_(l), x_(u)] with
 *          l = max{l : P(B <= l-1) <= a/2}, u = min{u : P(B >= u) <= a/2}, B ~ Bin(n, p), a = 1 - confidence.
 *          bounded is false where no such u <= n (or l >= 1) exists: then the sample cannot bound the quantile and no claim
 *          may be made of it (two-sided 95 %: p99 needs 368, p99.9 needs 3688)
 * Source   distribution-free interval for quantiles (Conover, Practical Nonparametric Statistics, 3.2); docs/method.md#quantiles
 *          with n_effective < n: the ranks of n_effective independent values, scaled to n
 * Limits   quantile_interval is right for independent values only; of requests, which are not, stats/sessions.h */
#ifndef STATS_QUANTILE_H
#define STATS_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quantile {
  double estimate, low, high;
  size_t rank, low_rank, high_rank; /* 1-based; low_rank 0 and high_rank n + 1 where there is none */
  bool bounded;
};

/* The least rank k with k >= n p. */
size_t quantile_rank(size_t n, double p);

double quantile_of(const double *x, size_t n, double p);
struct quantile quantile_interval(const double *x, size_t n, double p, double confidence);

/* The ranks alone, whose values are the caller's to find. */
struct quantile quantile_ranks(size_t n, double p, double confidence, double n_effective);

struct quantile quantile_interval_effective(const double *x, size_t n, double p, double confidence, double n_effective);

/* The least n for which quantile_interval is bounded. */
size_t quantile_least_sample(double p, double confidence);

void quantile_sort(double *x, size_t n);

/* Whole numbers that order as the numbers do, and back. */
uint64_t quantile_key(double x);
double quantile_of_key(uint64_t key);

/* Of values in any order, all finite; NaN for none. */
double quantile_plain_mean(const double *x, size_t n);

#endif
