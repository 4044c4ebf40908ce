/* stats/covariance.h: the comparison of two sides that were measured under unlike conditions: the analysis of covariance.
 *
 * Shapes   one figure > 0 per session and side, and for each condition j what the session felt of it: felt_a[j][n_a], felt_b[j][n_b];
 *          paired: a[i] and b[i] were measured side by side
 * Model    ln figure = its side's + sum over j of response_j * felt_j + noise, which may vary more on one side than on the other
 * Result   ratio and intervals are a / b as at equal conditions, with the error of the responses, which these sessions alone tell.
 *          «The same» where that lies within the margin, less `besides` and less what a straight line leaves out of the response of
 *          lost time, -ln(1 - x), to second order; and nothing is extrapolated: one side's sessions felt, here and there, what the
 *          other felt on average; or what the conditions can explain at most (below) is itself within the margin.
 *          «Different beyond» where the interval of what was measured, nothing adjusted, ends beyond the margin by more than they can
 *          explain: for each condition the far end of its response's interval times how far apart the sides' means are; where that is further than the
 *          values of either side (paired: the differences) reach, such a response says nothing of it: then as much as the lost time
 *          itself, -ln(1 - apart), at least, where the figure can lose no more (is_time), else nothing is bounded; and `besides`,
 *          which is what else they may have done to ln figure (>= 0; infinite: not known)
 * Errors   bounded is false for fewer than 3 sessions a side (4 pairs with one condition), figures that are not positive, or a condition
 *          that differs between the sides and never within one
 * Source   Fisher 1932; Cochran, «Analysis of Covariance», Biometrics 13 (1957); unequal variances by side as in Welch 1947 and, with
 *          leverage, MacKinnon and White 1985 (HC2); docs/method.md#compare */
#ifndef STATS_COVARIANCE_H
#define STATS_COVARIANCE_H

#include "stats/compare.h"

enum { COVARIANCE_CONDITIONS_MAX = 2 };

struct covariance_sides {
  const double *a, *b;
  size_t n_a, n_b, n_conditions;
  const double *felt_a[COVARIANCE_CONDITIONS_MAX], *felt_b[COVARIANCE_CONDITIONS_MAX];
  bool is_time[COVARIANCE_CONDITIONS_MAX]; /* shares of time, of which the figure loses no greater part */
  bool paired;
  double besides;
};

struct covariance_comparison {
  struct comparison adjusted; /* with the verdict */
  double measured;            /* the ratio as it was, nothing adjusted */
  double explained;           /* of ln ratio, at most: what the conditions can have done; infinite: not known */
};

struct covariance_comparison covariance_compare(const struct covariance_sides *sides, double margin, double confidence);

#endif
