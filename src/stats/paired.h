/* stats/paired.h: the same questions answered twice: what changed, and whether the second is worse by more than a margin.
 *
 * Counts    of pairs right or wrong: `lost` right before and wrong after, `won` the other way
 * Exact     McNemar's (1947) test, exact: 2 P(Bin(lost + won, 1/2) <= the lesser), at most 1
 * Score     interval of the difference of two paired proportions (Tango 1998): of all d with |z(d)| <= z, where the nuisance share is its
 *           restricted maximum-likelihood estimate. It keeps its level where few pairs differ, or none
 * Means     of values that are not 0 and 1: Student's interval of the mean difference; -ln((1 - confidence)/2)/n at least, as of n alike (the rule of three, for
 *           this confidence: 3.69/n at 95 %)
 * Needed    pairs after which the score interval would lie on one side of the margin, were the rest like these: of values that are not 0
 *           and 1 by the normal distribution */
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
/* 0: none up to PAIRS_MOST would: what is lost is about the margin. variance: of one pair's difference. */
#define PAIRS_MOST 100000000
size_t paired_needed(double estimate, double variance, double margin, double confidence);
size_t paired_needed_of(const struct paired_counts *counts, double margin, double confidence);

#endif
