#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

#include "stats/special.h"

/* The least rank k with k >= n p. The product is nudged down so that 0.99 * 100 is 99 and not 99.00000000000001. */
static size_t rank_of(size_t n, double p) {
  double exact = (double)n * p;
  size_t rank = (size_t)ceil(exact - exact * 1e-12);
  return rank < 1 ? 1 : rank > n ? n : rank;
}

double quantile_of(const double *x, size_t n, double p) {
  return x[rank_of(n, p) - 1];
}

/* Ranks 0 and n + 1 mean that there is none. Both conditions are monotone in the rank: bisect. */
static void exact_ranks(long n, double p, double confidence, long *ret_low, long *ret_high) {
  double half = (1 - confidence) / 2;
  *ret_low = 0;
  *ret_high = n + 1;
  for (long a = 0, b = n; a < b;) {
    long middle = (a + b + 1) / 2;
    if (special_binomial_cdf(middle - 1, n, p) <= half) a = *ret_low = middle;
    else b = middle - 1;
  }
  for (long a = 1, b = n + 1; a < b;) {
    long middle = (a + b) / 2;
    if (1 - special_binomial_cdf(middle - 1, n, p) <= half) b = *ret_high = middle;
    else a = middle + 1;
  }
}

struct quantile quantile_interval_effective(const double *x, size_t n, double p, double confidence, double n_effective) {
  long few = n_effective < (double)n ? (long)n_effective : (long)n, low, high;
  struct quantile result = {.estimate = quantile_of(x, n, p), .low = x[0], .high = INFINITY, .high_rank = n + 1};
  if (few < 1) return result;
  exact_ranks(few, p, confidence, &low, &high);
  /* The k-th of `few` stands for the levels from (k - 1) / few to k / few: outwards. With few = n these are the ranks themselves. */
  if (low >= 1) result.low_rank = (size_t)((double)(low - 1) / (double)few * (double)n) + 1;
  if (high <= few) result.high_rank = rank_of(n, (double)high / (double)few);
  result.bounded = low >= 1 && high <= few;
  if (low >= 1) result.low = x[result.low_rank - 1];
  if (high <= few) result.high = x[result.high_rank - 1];
  return result;
}

struct quantile quantile_interval(const double *x, size_t n, double p, double confidence) {
  return quantile_interval_effective(x, n, p, confidence, (double)n);
}

size_t quantile_least_sample(double p, double confidence) {
  double half = (1 - confidence) / 2;
  for (size_t n = 1; n < 10000000; n++) {
    double all_below = special_exp((double)n * special_log(p)),
           all_above = special_exp((double)n * special_log(1 - p) < -690 ? -690 : (double)n * special_log(1 - p));
    if (all_below <= half && all_above <= half) return n;
  }
  return 10000000;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void quantile_sort(double *x, size_t n) {
  if (n > 1) qsort(x, n, sizeof *x, compare_doubles);
}
