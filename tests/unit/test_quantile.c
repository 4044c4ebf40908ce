#include <stdlib.h>

#include "base/random.h"
#include "stats/quantile.h"
#include "stats/special.h"
#include "tests/check.h"

static void ranks(void) {
  /* n, quantile, confidence -> ranks and exact coverage: order-statistic interval with each tail at most half. */
  static const struct {
    size_t n;
    double p, confidence;
    size_t low, high;
    double coverage;
  } rows[] = {
      {20, 0.5, 0.95, 6, 15, 0.95861053},
      {100, 0.9, 0.95, 84, 96, 0.95569011},
      {1000, 0.99, 0.95, 983, 997, 0.97609476},
      {10000, 0.999, 0.95, 9983, 9997, 0.97545746},
  };
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    double *x = calloc(rows[i].n, sizeof *x);
    for (size_t k = 0; k < rows[i].n; k++) x[k] = (double)k + 1;
    struct quantile q = quantile_interval(x, rows[i].n, rows[i].p, rows[i].confidence);
    CHECK_INT(q.low_rank, rows[i].low);
    CHECK_INT(q.high_rank, rows[i].high);
    CHECK(q.bounded);
    double coverage = special_binomial_cdf((long)q.high_rank - 1, (long)rows[i].n, rows[i].p) -
                      special_binomial_cdf((long)q.low_rank - 1, (long)rows[i].n, rows[i].p);
    CHECK_NEAR(coverage, rows[i].coverage, 5e-9);
    free(x);
  }
  /* R's confintr and scipy agree on this one: x = exp(0, .01 .. 1). */
  double x[101];
  for (int i = 0; i <= 100; i++) x[i] = exp(i / 100.0);
  struct quantile q = quantile_interval(x, 101, 0.3, 0.95);
  CHECK_NEAR(q.low, 1.22140275816, 1e-10);
  CHECK_NEAR(q.high, 1.47698079388, 1e-10);
  q = quantile_interval(x, 101, 0.5, 0.90);
  CHECK_NEAR(q.low, 1.50681778511, 1e-10);
  CHECK_NEAR(q.high, 1.80398841540, 1e-10);
}

static void least_samples(void) {
  static const struct {
    double p;
    size_t n;
  } rows[] = {{0.5, 6}, {0.9, 36}, {0.95, 72}, {0.99, 368}, {0.999, 3688}, {0.9999, 36887}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) CHECK_INT(quantile_least_sample(rows[i].p, 0.95), rows[i].n);
  double x[400];
  for (int i = 0; i < 400; i++) x[i] = i;
  CHECK(!quantile_interval(x, 367, 0.99, 0.95).bounded);
  CHECK(isinf(quantile_interval(x, 367, 0.99, 0.95).high));
  CHECK(quantile_interval(x, 368, 0.99, 0.95).bounded);
}

static void estimates(void) {
  const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, INFINITY};
  CHECK_NEAR(quantile_of(x, 10, 0.5), 5, 0);
  CHECK_NEAR(quantile_of(x, 10, 0.9), 9, 0);
  CHECK(isinf(quantile_of(x, 10, 0.99))); /* a failure is an infinite latency, not a missing one */
  double hundred[100];
  for (int i = 0; i < 100; i++) hundred[i] = i + 1;
  CHECK_NEAR(quantile_of(hundred, 100, 0.99), 99, 0); /* 0.99 * 100 is not 99.00000000000001 here */
}

/* Does a 95 % interval hold the true median of exponential samples 95 % of the time or more? 2000 samples of 60:
 * the exact coverage is at least 0.95, so at most 5 standard errors below it. */
static void coverage(void) {
  struct random_stream r;
  random_init(&r, 11, "coverage");
  int covered = 0, n = 2000;
  for (int i = 0; i < n; i++) {
    double x[60];
    for (int k = 0; k < 60; k++) x[k] = (double)random_exponential_ns(&r, 1000000000);
    quantile_sort(x, 60);
    struct quantile q = quantile_interval(x, 60, 0.5, 0.95);
    covered += q.low <= 0.69314718 * 1e9 && q.high >= 0.69314718 * 1e9;
  }
  CHECK((double)covered / n > 0.95 - 5 * sqrt(0.95 * 0.05 / n));
}

/* The same order as a comparison gives, for few and for many, with negative and infinite values. */
static void sorting(void) {
  static double x[5000], y[5000];
  uint64_t state = 1;
  for (size_t n = 1; n <= 5000; n = n * 3 + 1) {
    for (size_t i = 0; i < n; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      double value = (double)(int64_t)(state >> 40) - 5e6;
      x[i] = y[i] = i % 97 == 5 ? INFINITY : i % 89 == 3 ? -INFINITY : i % 3 == 0 ? value : value / 1e7;
    }
    quantile_sort(x, n);
    bool ascending = true;
    double sum_x = 0, sum_y = 0;
    for (size_t i = 0; i < n; i++) {
      ascending = ascending && (i == 0 || x[i - 1] <= x[i]);
      if (isfinite(x[i])) sum_x += x[i];
      if (isfinite(y[i])) sum_y += y[i];
    }
    CHECK(ascending);
    CHECK_NEAR(sum_x, sum_y, 1e-3); /* the same values, in another order */
  }
}

int main(void) {
  sorting();
  ranks();
  least_samples();
  estimates();
  coverage();
  return check_end();
}
