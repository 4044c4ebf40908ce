/* stats/resample.h: bootstrap intervals of a statistic of independent values, and how far two distributions are apart.
 * Shapes   x[n], n >= 2; a seed, which belongs into the record: the same seed gives the same interval
 * Source   BCa: Efron 1987 (z0 from the share below, acceleration from the jackknife); distances: Kolmogorov-Smirnov's D; the band
 *          of a distribution function: Dvoretzky, Kiefer and Wolfowitz 1956 with Massart's constant
 * Limits   the values must be independent: sessions' figures are, requests are not */
#ifndef STATS_RESAMPLE_H
#define STATS_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "stats/interval.h"

typedef double statistic(const double *x, size_t n);

struct bca {
  double estimate, low, high, bias, acceleration;
};

struct bca resample_bca(const double *x, size_t n, statistic *figure, double confidence, size_t n_resamples, uint64_t seed);

/* The jackknife's acceleration of a difference of means mean(b) - mean(a), as scipy's two-sample BCa has it. */
double resample_acceleration_of_difference(const double *a, size_t n_a, const double *b, size_t n_b);

/* Kolmogorov-Smirnov: the greatest distance of the two distribution functions, in [0, 1]. a and b ascending. */
double distance_ks(const double *a, size_t n_a, const double *b, size_t n_b);

/* Half the width of a band that holds the whole distribution function with that confidence. */
double distance_dkw(size_t n, double confidence);

#endif
