#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "stats/special.h"

/* The product is nudged down so that 0.99 * 100 is 99 and not 99.00000000000001. */
size_t quantile_rank(size_t n, double p) {
  double exact = (double)n * p;
  size_t rank = (size_t)ceil(exact - exact * 1e-12);
  return rank < 1 ? 1 : rank > n ? n : rank;
}

double quantile_of(const double *x, size_t n, double p) {
  return x[quantile_rank(n, p) - 1];
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

struct quantile quantile_ranks(size_t n, double p, double confidence, double n_effective) {
  long few = n_effective < (double)n ? (long)n_effective : (long)n, low, high;
  struct quantile result = {.rank = quantile_rank(n, p), .high_rank = n + 1};
  if (few < 1) return result;
  exact_ranks(few, p, confidence, &low, &high);
  /* The k-th of `few` stands for the levels from (k - 1) / few to k / few: outwards. With few = n these are the ranks themselves. */
  if (low >= 1) result.low_rank = (size_t)((double)(low - 1) / (double)few * (double)n) + 1;
  if (high <= few) result.high_rank = quantile_rank(n, (double)high / (double)few);
  result.bounded = low >= 1 && high <= few;
  return result;
}

struct quantile quantile_interval_effective(const double *x, size_t n, double p, double confidence, double n_effective) {
  struct quantile result = quantile_ranks(n, p, confidence, n_effective);
  result.estimate = x[result.rank - 1];
  result.low = x[result.low_rank > 0 ? result.low_rank - 1 : 0];
  result.high = result.high_rank <= n ? x[result.high_rank - 1] : INFINITY;
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

/* Of a negative number all bits are turned, of another the sign is. */
uint64_t quantile_key(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 63) != 0 ? UINT64_MAX : (uint64_t)1 << 63);
}

double quantile_of_key(uint64_t key) {
  uint64_t bits = key ^ ((key >> 63) != 0 ? (uint64_t)1 << 63 : UINT64_MAX);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* By digits of 11 bits, the lowest first. A digit in which all agree costs nothing: nanoseconds are whole numbers, whose low bits are 0. */
static bool radix_sort(double *x, size_t n) {
  enum { DIGIT = 11, VALUES = 1 << DIGIT, DIGITS = 6 };
  size_t(*counts)[VALUES] = try_alloc(DIGITS, sizeof *counts);
  uint64_t *keys = try_alloc(n, 2 * sizeof *keys), *from = keys, *to = keys + (keys != NULL ? n : 0);
  if (counts != NULL && keys != NULL) {
    for (size_t i = 0; i < n; i++) {
      from[i] = quantile_key(x[i]);
      for (int d = 0; d < DIGITS; d++) counts[d][from[i] >> (d * DIGIT) & (VALUES - 1)]++;
    }
    for (int d = 0; d < DIGITS; d++) {
      size_t at = 0;
      if (counts[d][from[0] >> (d * DIGIT) & (VALUES - 1)] == n) continue;
      for (int v = 0; v < VALUES; v++) {
        size_t count = counts[d][v];
        counts[d][v] = at;
        at += count;
      }
      for (size_t i = 0; i < n; i++) to[counts[d][from[i] >> (d * DIGIT) & (VALUES - 1)]++] = from[i];
      uint64_t *before = from;
      from = to;
      to = before;
    }
    for (size_t i = 0; i < n; i++) x[i] = quantile_of_key(from[i]);
  }
  bool good = counts != NULL && keys != NULL;
  free(counts);
  free(keys);
  return good;
}

void quantile_sort(double *x, size_t n) {
  enum { FEW = 512 };
  if (n > FEW && radix_sort(x, n)) return;
  if (n > 1) qsort(x, n, sizeof *x, compare_doubles);
}

double quantile_plain_mean(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return n > 0 ? sum / (double)n : NAN;
}
