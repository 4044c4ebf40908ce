#include "stats/interval.h"

#include <math.h>

#include "stats/special.h"

struct interval interval_of_mean(const double *x, size_t n, double confidence) {
  struct interval result = {0};
  if (n == 0) return result;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  double mean = sum / (double)n;
  result = (struct interval){.estimate = mean, .low = mean, .high = mean};
  if (n < 2) return result;
  for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
  result.deviation = sqrt(squares / (double)(n - 1));
  double half = special_t_quantile(1 - (1 - confidence) / 2, (double)(n - 1)) * result.deviation / sqrt((double)n);
  result.low = mean - half;
  result.high = mean + half;
  result.bounded = isfinite(half);
  return result;
}
