#include "stats/resample.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "stats/quantile.h"
#include "stats/special.h"

static double acceleration_of(const double *left_out, size_t n, double scale, double *ret_cubes, double *ret_squares) {
  double mean = 0, cubes = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += left_out[i] / (double)n;
  for (size_t i = 0; i < n; i++) {
    double d = scale * (mean - left_out[i]);
    cubes += d * d * d;
    squares += d * d;
  }
  if (ret_cubes != NULL) *ret_cubes = cubes;
  if (ret_squares != NULL) *ret_squares = squares;
  return squares > 0 ? cubes / (6 * squares * sqrt(squares)) : 0;
}

struct bca resample_bca(const double *x, size_t n, statistic *figure, double confidence, size_t n_resamples, uint64_t seed) {
  struct bca result = {.estimate = figure(x, n)};
  struct random_stream random;
  random_init(&random, seed, "bootstrap");
  double *draw = xalloc(n, sizeof *draw), *values = xalloc(n_resamples, sizeof *values), *left_out = xalloc(n, sizeof *left_out);
  size_t below = 0;
  for (size_t b = 0; b < n_resamples; b++) {
    for (size_t i = 0; i < n; i++) draw[i] = x[random_below(&random, n)];
    values[b] = figure(draw, n);
    below += values[b] < result.estimate;
  }
  quantile_sort(values, n_resamples);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k + 1 < n; k++) draw[k] = x[k < i ? k : k + 1];
    left_out[i] = figure(draw, n - 1);
  }
  double share = (double)below / (double)n_resamples, least = 0.5 / (double)n_resamples;
  result.bias = special_normal_quantile(share < least ? least : share > 1 - least ? 1 - least : share);
  result.acceleration = acceleration_of(left_out, n, 1, NULL, NULL);
  double *ends[] = {&result.low, &result.high};
  for (int i = 0; i < 2; i++) {
    double z = result.bias + special_normal_quantile(i == 0 ? (1 - confidence) / 2 : (1 + confidence) / 2);
    double level = special_normal_cdf(result.bias + z / (1 - result.acceleration * z));
    *ends[i] = quantile_of(values, n_resamples, level < least ? least : level);
  }
  free(draw);
  free(values);
  free(left_out);
  return result;
}

double resample_acceleration_of_difference(const double *a, size_t n_a, const double *b, size_t n_b) {
  const double *sides[] = {a, b};
  const size_t sizes[] = {n_a, n_b};
  double cubes = 0, squares = 0;
  for (int s = 0; s < 2; s++) {
    size_t n = sizes[s];
    double sum = 0, c, q, *left_out = xalloc(n, sizeof *left_out), part = (double)n;
    for (size_t i = 0; i < n; i++) sum += sides[s][i];
    for (size_t i = 0; i < n; i++) left_out[i] = (s == 0 ? -1 : 1) * (sum - sides[s][i]) / (double)(n - 1);
    (void)acceleration_of(left_out, n, (part - 1) / part, &c, &q);
    cubes += c;
    squares += q;
    free(left_out);
  }
  return squares > 0 ? cubes / (6 * squares * sqrt(squares)) : 0;
}

double distance_ks(const double *a, size_t n_a, const double *b, size_t n_b) {
  size_t i = 0, k = 0;
  double greatest = 0;
  if (n_a == 0 || n_b == 0) return NAN;
  while (i < n_a && k < n_b) {
    double at = a[i] < b[k] ? a[i] : b[k];
    while (i < n_a && a[i] <= at) i++;
    while (k < n_b && b[k] <= at) k++;
    double d = fabs((double)i / (double)n_a - (double)k / (double)n_b);
    if (d > greatest) greatest = d;
  }
  return greatest;
}

double distance_dkw(size_t n, double confidence) {
  return sqrt(special_log(2 / (1 - confidence)) / (2 * (double)n));
}
