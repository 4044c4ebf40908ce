/* stats/sessions.h: figures of values that come in sessions: means, shares and quantiles whose intervals hold although the values
 * of one session depend on one another, and although sessions differ.
 *
 * Shapes   k sessions, each a closed sample of values added in time order; values may be +infinity (failures)
 * Result   the estimand is the pooled one: the mean, or the quantile, of all values that such sessions give.
 *          n_effective is how many independent values would tell as much: n / design effect * (z / t(k-1))^2. The design effect
 *          is the greatest of 1, that of the sessions as clusters, and that of batches of consecutive values as clusters: the
 *          first sees sessions that differ, the second autocorrelation, even where the sessions happen to agree. (z / t)^2 pays
 *          for knowing the variance from k sessions only. Of a quantile below 0.4 or above 0.6, where sessions differ (F test at
 *          5 %, at the quantile or at the median), the 10 % point of F(k-1, batches) is used in its place: the variance between
 *          sessions at its upper 90 % bound, since an interval would otherwise be given just where that variance came out small
 *          by accident
 * Refusal  quantile: `bounded` is false where n_effective cannot bound it (two-sided 95 %: p99 needs 368, p99.9 3,688)
 *          mean: `bounded` is false, and `why` says so, for fewer than 2 sessions, an infinite value, a tail as of an infinite
 *          variance (Hill 1975), or a skewness that n_effective does not outweigh (Cochran 1977, 2.15: n > 25 G1^2; and, where
 *          |G1| > 1, at least 1,000)
 * Source   interval of a share in clusters: Korn and Graubard 1998; of a quantile by inverting it: Woodruff 1952, with the exact
 *          binomial ranks of stats/quantile.h; docs/method.md#intervals
 * Limits   sessions are taken as independent of one another and as drawn from one population */
#ifndef STATS_SESSIONS_H
#define STATS_SESSIONS_H

#include "stats/interval.h"
#include "stats/quantile.h"
#include "stats/sample.h"

struct session_quantile {
  struct quantile quantile;
  size_t n;
  double n_effective, design_effect;
};

struct session_quantile sessions_quantile(const struct sample *const *sessions, size_t n_sessions, double p, double confidence);

/* A quantile of all values together, at an n_effective that the caller knows. n >= 1 */
struct quantile samples_quantile(const struct sample *const *sessions, size_t n_sessions, double p, double confidence, double n_effective);

/* (z / t(k-1))^2: what is left of n for knowing the variance from k sessions only; 0 for fewer than 2. */
double sessions_freedom_factor(size_t n_sessions, double confidence);

/* The share of values above a threshold, with its exact interval at n_effective (Clopper and Pearson 1934, after Korn and Graubard):
 * what an objective on `quantile` is judged by. The design effect is the greater of that at the threshold and that at the sample's own
 * quantile: where hardly a value is above the threshold, how sessions differ shows at the latter only.
 * A threshold that is far off needs no such share: where a further session's own quantile would lie on one side of it (the prediction
 * interval of one more normal value, mean +- t(k-1) s sqrt(1 + 1/k) at a fifth of alpha; of a session too short for the quantile its
 * greatest value is taken), `far_above` or `far_below` says that the threshold lies above or below all of it. */
struct session_share {
  double share, low, high, n_effective;
  size_t n, n_above;
  bool far_above, far_below;
};

struct session_share sessions_share_above(const struct sample *const *sessions, size_t n_sessions, double threshold, double quantile,
                                          double confidence);

enum mean_refusal { MEAN_HOLDS, MEAN_TOO_FEW_SESSIONS, MEAN_INFINITE_VALUE, MEAN_INFINITE_VARIANCE, MEAN_TOO_SKEWED };
const char *mean_refusal_text(enum mean_refusal why);

struct session_mean {
  struct interval interval;
  size_t n;
  double n_effective, skewness, tail_index;
  enum mean_refusal why;
};

struct session_mean sessions_mean(const struct sample *const *sessions, size_t n_sessions, double confidence);

/* Autocorrelation at one lag (NIST's definition: deviations from the whole mean, divided by the whole sum of squares). */
double series_autocorrelation(const double *x, size_t n, size_t lag);

/* Hill's estimate of the tail index from the greatest k values of x[n] ascending; infinity where they are all alike. */
double tail_index(const double *sorted, size_t n, size_t k);

#endif
