#include "stats/rounds.h"

double rounds_residual(const double *y, size_t n_rounds, size_t n, size_t stride) {
  double all = 0, squares = 0;
  for (size_t r = 0; r < n_rounds; r++)
    for (size_t k = 0; k < n; k++) all += y[r * stride + k] / (double)(n * n_rounds);
  for (size_t k = 0; k < n; k++) {
    double mean = 0;
    for (size_t r = 0; r < n_rounds; r++) mean += y[r * stride + k] / (double)n_rounds;
    for (size_t r = 0; r < n_rounds; r++) {
      double round = 0;
      for (size_t i = 0; i < n; i++) round += y[r * stride + i] / (double)n;
      double rest = y[r * stride + k] - mean - round + all;
      squares += rest * rest;
    }
  }
  return squares;
}
