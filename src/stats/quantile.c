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

struct quantile quantile_interval(const double *x, size_t n, double p, double confidence) {
  double half = (1 - confidence) / 2;
  long low = 0, high = (long)n + 1;
  /* Both conditions are monotone in the rank: bisect. */
  for (long a = 0, b = (long)n; a < b;) {
    long middle = (a + b + 1) / 2;
    if (special_binomial_cdf(middle - 1, (long)n, p) <= half) a = low = middle;
    else b = middle - 1;
  }
  for (long a = 1, b = (long)n + 1; a < b;) {
    long middle = (a + b) / 2;
    if (1 - special_binomial_cdf(middle - 1, (long)n, p) <= half) b = high = middle;
    else a = middle + 1;
  }
  struct quantile result = {
      .estimate = quantile_of(x, n, p), .low_rank = (size_t)low, .high_rank = (size_t)high, .bounded = low >= 1 && high <= (long)n};
  result.low = low >= 1 ? x[low - 1] : x[0];
  result.high = high <= (long)n ? x[high - 1] : INFINITY;
  return result;
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
