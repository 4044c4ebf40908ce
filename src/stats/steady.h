/* stats/steady.h: from when on a series holds still, or what it does instead.
 *
 * Shapes   x[n] in time order: one number per bin of equal time (latency, throughput, a clock, a temperature); finite
 * Result   STEADY: from bin `from` on, no change point beyond the tolerance, no drift beyond it (with that confidence), no cycle
 *          beyond it, and at least `least` bins of that. RISING, FALLING: a drift to the end. CYCLIC. NONE: it moves otherwise.
 *          SHORT: nothing is wrong, but so few or so noisy bins cannot show that nothing is
 * Source   change points: PELT (Killick et al. 2012) with the normal cost in mean and variance, classes after Barrett et al. 2017 but
 *          with a band in the unit of the mean; truncation: MSER-5 (White et al. 2000); drift: straight line through batch means;
 *          docs/method.md#steady-state; rates of right and wrong answers by simulation (make simulate)
 * Limits   a change within the tolerance is none; a cycle must show at least three times */
#ifndef STATS_STEADY_H
#define STATS_STEADY_H

#include <stdbool.h>
#include <stddef.h>

enum steady_class { STEADY_YES, STEADY_RISING, STEADY_FALLING, STEADY_CYCLIC, STEADY_NONE, STEADY_SHORT };

struct steady_rule {
  double tolerance;  /* of the level: what counts as standing still */
  double confidence; /* that the drift is within it */
  size_t least;      /* bins that must be steady to the end */
};

struct steady {
  enum steady_class class;
  size_t from;                         /* the first steady bin; n if there is none */
  double drift, drift_low, drift_high; /* over the steady bins (over all where there are none), as a share of the level */
  size_t last_change;                  /* the bin of the last change point beyond the tolerance; 0: none */
  double lag1;                         /* autocorrelation of the judged bins */
};

enum { STEADY_LEAST_BINS = 10 };

struct steady steady_classify(const double *x, size_t n, const struct steady_rule *rule);

/* The optimal change points of x[n] for the penalty: ret[k] is the first index of segment k + 1. Returns how many; ret holds n.
 * ret_cost: the least total cost (-penalty where there is no segment). */
size_t steady_change_points(const double *x, size_t n, double penalty, size_t *ret, double *ret_cost);

struct mser {
  size_t cut; /* values to drop; a multiple of 5 */
  double statistic, mean;
  bool at_limit; /* the minimum is where the search ends: no steady state, run longer */
};

struct mser steady_mser5(const double *x, size_t n);

#endif
