#include "stats/resample.h"

#include "tests/check.h"

static double mean(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum / (double)n;
}

int main(void) {
  /* Efron's data as scipy's tests use them; relative tolerance .005 there, with 9,999 resamples. */
  const double x[] = {10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213};
  struct bca b = resample_bca(x, 16, mean, 0.95, 20000, 1);
  CHECK_NEAR(b.low, 32.31, 0.01 * 32.31);
  CHECK_NEAR(b.high, 91.43, 0.01 * 91.43);
  struct bca again = resample_bca(x, 16, mean, 0.95, 20000, 1);
  CHECK_NEAR(again.low, b.low, 0); /* the same seed, the same interval */
  const double y[] = {10, 27, 31, 40, 46, 50, 52, 104, 146}, z[] = {16, 23, 38, 94, 99, 141, 197};
  CHECK_NEAR(resample_acceleration_of_difference(y, 9, z, 7), .011008228344026734, 1e-15);
  const double p[] = {1, 2, 3, 4}, q[] = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK_NEAR(distance_ks(p, 4, p, 4), 0, 0);
  CHECK_NEAR(distance_ks(p, 4, q, 8), 0.5, 1e-15);
  CHECK(isnan(distance_ks(p, 0, q, 8)));
  CHECK_NEAR(distance_dkw(100, 0.95), .135810, 1e-6);
  CHECK_NEAR(distance_dkw(1000, 0.95), .0429469, 1e-7);
  CHECK_NEAR(distance_dkw(10000, 0.95), .0135810, 1e-7);
  return check_end();
}
