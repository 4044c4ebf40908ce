/* stats/paired.h: the same questions answered twice: what changed, and whether the second is worse by more than a margin.
 *
 * Counts    of pairs right or wrong: `lost` right before and wrong after, `won` the other way
 * Exact     McNemar's (1947) test, exact: 2 P(Bin(lost + won, 1/2) <= the lesser), at most 1
 * Score     interval of the difference of two paired proportions (Tango 1998): of all d with |z(d)| <= z, where the nuisance share is its
 *           restricted maximum-likelihood estimate. It keeps its level where few pairs differ, or none
 * Means     of values that are not 0 and 1: Student's interval of the mean difference; 3/n at least, as of n alike (rule of three)
 * Needed    pairs after which an interval of that width would lie within the margin, were the rest like these (normal) */
#ifndef STATS_PAIRED_H
#define STATS_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

struct paired_counts {
  size_t n, lost, won;
};

struct paired_difference {
  double estimate, low, high; /* after less before */
};

double paired_exact(const struct paired_counts *counts);
struct paired_difference paired_score(const struct paired_counts *counts, double confidence);
struct paired_difference paired_means(const double *differences, size_t n, double confidence);
/* 0: none would, the estimate itself lies beyond the margin. variance: of one pair's difference. */
size_t paired_needed(double estimate, double variance, double margin, double confidence);

#endif
