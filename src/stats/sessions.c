#include "stats/sessions.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/special.h"

enum { HILL_LEAST = 20, SKEWED_LEAST = 1000 };

/* Sessions differ where the F test says so at this level; then the variance between them is taken at this upper bound of it. */
static const double DIFFER_LEVEL = 0.05, VARIANCE_BOUND = 0.10;

/* A middle quantile holds without that bound, as simulation shows: sessions lie on both sides of it. */
static const double MIDDLE = 0.4;

/* What a share or mean is the sum of. */
struct measure {
  double threshold; /* values at most so great count 1, where `shares`; else each counts what it is */
  bool shares;
};

static double sum_of(const struct measure *m, const struct sample *sample, size_t batch) {
  return m->shares ? (double)sample_up_to(sample, batch, m->threshold) : sample->batch_sums[batch];
}

/* Variance of the ratio sum(y) / sum(n) over clusters, linearised (Cochran 1977, 6.3, without the finite population). */
struct clusters {
  double sum_squares;
  size_t n;
};

static void add_cluster(struct clusters *c, double sum, size_t n, double centre) {
  double residual = sum - centre * (double)n;
  c->sum_squares += residual * residual;
  c->n++;
}

static double cluster_variance(const struct clusters *c, size_t n_values) {
  if (c->n < 2) return 0;
  return (double)c->n / (double)(c->n - 1) * c->sum_squares / ((double)n_values * (double)n_values);
}

/* How much less than n independent values the values tell, and whether sessions differ by more than what is in them explains. */
struct effect {
  double greatest; /* of 1, the sessions as clusters, batches of consecutive values as clusters */
  double ratio;    /* variance of the sessions as clusters / that of batches about their own session's centre */
  size_t n_sessions, n_batches;
};

static struct effect design_effect(const struct sample *const *sessions, size_t n_sessions, const struct measure *m, double centre,
                                   double value_variance, size_t n) {
  struct clusters whole = {0}, batches = {0}, within = {0};
  for (size_t s = 0; s < n_sessions; s++) {
    const struct sample *x = sessions[s];
    if (x->n == 0) continue;
    double *sums = xalloc(x->n_batches, sizeof *sums), all = 0;
    for (size_t b = 0; b < x->n_batches; b++) all += sums[b] = sum_of(m, x, b);
    for (size_t b = 0; b < x->n_batches; b++) {
      size_t length = sample_batch_length(x, b);
      add_cluster(&batches, sums[b], length, centre);
      add_cluster(&within, sums[b], length, all / (double)x->n);
    }
    add_cluster(&whole, all, x->n, centre);
    free(sums);
  }
  struct effect result = {.greatest = 1, .n_sessions = whole.n, .n_batches = batches.n};
  double simple = value_variance / (double)n, between = cluster_variance(&whole, n), inside = cluster_variance(&within, n);
  if (!(simple > 0)) return result;
  result.greatest = fmax(1, fmax(between, cluster_variance(&batches, n)) / simple);
  result.ratio = inside > 0 ? between / inside : between > 0 ? INFINITY : 0;
  return result;
}

/* Quantile of F(a, b), from that of the beta distribution. */
static double f_quantile(double p, double a, double b) {
  double x = special_beta_quantile(p, a / 2, b / 2);
  return b * x / (a * (1 - x));
}

static bool sessions_differ(const struct effect *e) {
  if (e->n_sessions < 2 || e->n_batches <= e->n_sessions) return false;
  return e->ratio > f_quantile(1 - DIFFER_LEVEL, (double)(e->n_sessions - 1), (double)(e->n_batches - e->n_sessions));
}

/* What knowing the variance from k sessions only costs (Korn and Graubard 1998, eq. 2.4). */
double sessions_freedom_factor(size_t n_sessions, double confidence) {
  if (n_sessions < 2) return 0;
  double upper = 1 - (1 - confidence) / 2;
  double ratio = special_normal_quantile(upper) / special_t_quantile(upper, (double)(n_sessions - 1));
  return ratio * ratio;
}

/* The design effect of the share of values up to a threshold; of the finite ones where the threshold is infinite. */
static struct effect share_effect(const struct sample *const *sessions, size_t n_sessions, double threshold, size_t n) {
  struct measure m = {.shares = true, .threshold = isinf(threshold) ? DBL_MAX : threshold};
  double centre = (double)samples_up_to(sessions, n_sessions, m.threshold) / (double)n;
  return design_effect(sessions, n_sessions, &m, centre, centre * (1 - centre), n);
}

static struct effect quantile_effect(const struct sample *const *sessions, size_t n_sessions, double p, size_t n) {
  return share_effect(sessions, n_sessions, samples_ranked(sessions, n_sessions, quantile_rank(n, p)), n);
}

struct quantile samples_quantile(const struct sample *const *sessions, size_t n_sessions, double p, double confidence, double n_effective) {
  size_t n = samples_count(sessions, n_sessions);
  struct quantile q = quantile_ranks(n, p, confidence, n_effective);
  q.estimate = samples_ranked(sessions, n_sessions, q.rank);
  q.low = samples_ranked(sessions, n_sessions, q.low_rank > 0 ? q.low_rank : 1);
  q.high = q.high_rank <= n ? samples_ranked(sessions, n_sessions, q.high_rank) : INFINITY;
  return q;
}

struct session_quantile sessions_quantile(const struct sample *const *sessions, size_t n_sessions, double p, double confidence) {
  struct session_quantile result = {.n = samples_count(sessions, n_sessions), .design_effect = 1};
  if (result.n == 0) return result;
  struct effect own = quantile_effect(sessions, n_sessions, p, result.n);
  /* A tail may look alike in a few sessions by accident; their medians betray that they differ. What is then given must be safe in
   * exactly those cases in which the variance between sessions came out small. */
  double knowing = sessions_freedom_factor(own.n_sessions, confidence);
  if (fmin(p, 1 - p) < MIDDLE) {
    struct effect median = quantile_effect(sessions, n_sessions, 0.5, result.n);
    if (sessions_differ(&own) || sessions_differ(&median))
      knowing = fmin(knowing, f_quantile(VARIANCE_BOUND, (double)(own.n_sessions - 1), (double)own.n_batches));
  }
  result.design_effect = own.greatest;
  result.n_effective = (double)result.n / result.design_effect * knowing;
  result.quantile = samples_quantile(sessions, n_sessions, p, confidence, result.n_effective);
  return result;
}

/* One more session's quantile: between which bounds would it lie? With a fifth of the error that is allowed, since the share of values
 * judges with all of it. False where that cannot be said. */
static bool predict_session(const struct sample *const *sessions, size_t n_sessions, double quantile, double confidence, double *ret_low,
                            double *ret_high) {
  size_t least = quantile_least_sample(quantile, confidence), k = 0;
  double *own = xalloc(n_sessions + 1, sizeof *own), mean = 0, squares = 0;
  bool finite = true;
  for (size_t s = 0; s < n_sessions; s++) {
    size_t n = sessions[s]->n;
    if (n == 0) continue;
    own[k] = samples_ranked(&sessions[s], 1, n >= least ? quantile_rank(n, quantile) : n);
    finite = finite && isfinite(own[k]);
    mean += own[k++];
  }
  if (k >= 2 && finite) {
    mean /= (double)k;
    for (size_t s = 0; s < k; s++) squares += (own[s] - mean) * (own[s] - mean);
    double spread = special_t_quantile(1 - (1 - confidence) / 10, (double)(k - 1)) * sqrt(squares / (double)(k - 1) * (1 + 1 / (double)k));
    *ret_low = mean - spread;
    *ret_high = mean + spread;
  }
  free(own);
  return k >= 2 && finite;
}

struct session_share sessions_share_above(const struct sample *const *sessions, size_t n_sessions, double threshold, double quantile,
                                          double confidence) {
  struct session_share result = {.high = 1, .n = samples_count(sessions, n_sessions)};
  size_t n_used = 0;
  for (size_t s = 0; s < n_sessions; s++) n_used += sessions[s]->n > 0;
  if (result.n == 0) return result;
  result.n_above = result.n - samples_up_to(sessions, n_sessions, threshold);
  double least, greatest;
  if (predict_session(sessions, n_sessions, quantile, confidence, &least, &greatest)) {
    result.far_above = greatest <= threshold;
    result.far_below = least > threshold;
  }
  double half = (1 - confidence) / 2, there = share_effect(sessions, n_sessions, threshold, result.n).greatest,
         own = quantile_effect(sessions, n_sessions, quantile, result.n).greatest;
  result.share = (double)result.n_above / (double)result.n;
  result.n_effective = (double)result.n / (there > own ? there : own) * sessions_freedom_factor(n_used, confidence);
  double n = result.n_effective, above = result.share * n;
  if (n < 1) return result;
  if (above > 0) result.low = special_beta_quantile(half, above, n - above + 1);
  if (above < n) result.high = special_beta_quantile(1 - half, above + 1, n - above);
  return result;
}

double tail_index(const double *sorted, size_t n, size_t k) {
  if (k + 1 > n || k == 0 || !(sorted[n - 1 - k] > 0)) return INFINITY;
  double base = special_log(sorted[n - 1 - k]), sum = 0;
  for (size_t i = n - k; i < n; i++) sum += special_log(sorted[i]) - base;
  return sum > 0 ? (double)k / sum : INFINITY;
}

static size_t square_root(size_t n) {
  return (size_t)sqrt((double)n);
}

/* Of the greatest values alone. */
static double tail_of(const struct sample *const *sessions, size_t n_sessions, size_t n, size_t *ret_k) {
  *ret_k = square_root(n);
  double *greatest = xalloc(*ret_k + 1, sizeof *greatest);
  samples_greatest(sessions, n_sessions, *ret_k + 1, greatest);
  double index = tail_index(greatest, *ret_k + 1, *ret_k);
  free(greatest);
  return index;
}

const char *mean_refusal_text(enum mean_refusal why) {
  static const char *const texts[] = {
      [MEAN_HOLDS] = "",
      [MEAN_TOO_FEW_SESSIONS] = "fewer than 2 sessions have no interval",
      [MEAN_INFINITE_VALUE] = "a failed request has infinite latency, and so has the mean",
      [MEAN_INFINITE_VARIANCE] = "the tail is as heavy as one without a variance: a mean says nothing, take a quantile",
      [MEAN_TOO_SKEWED] =
          "the values are too skewed for an interval of their mean at this sample size: take a quantile, or a longer window",
  };
  return texts[why];
}

struct session_mean sessions_mean(const struct sample *const *sessions, size_t n_sessions, double confidence) {
  struct session_mean result = {.n = samples_count(sessions, n_sessions), .tail_index = INFINITY, .why = MEAN_TOO_FEW_SESSIONS};
  double *means = xalloc(n_sessions + 1, sizeof *means), sum = 0;
  size_t n_used = 0;
  for (size_t s = 0; s < n_sessions; s++) {
    sum += sessions[s]->sum;
    if (sessions[s]->n > 0) means[n_used++] = sessions[s]->sum / (double)sessions[s]->n;
  }
  if (isinf(sum)) {
    result.interval = (struct interval){.estimate = INFINITY, .low = -INFINITY, .high = INFINITY};
    result.why = MEAN_INFINITE_VALUE;
  } else if (result.n > 0) {
    result.interval = interval_of_mean(means, n_used, confidence);
    double centre = sum / (double)result.n, m2 = 0, m3 = 0;
    for (size_t s = 0; s < n_sessions; s++)
      for (size_t i = 0; i < sessions[s]->n; i++) {
        double d = sample_at(sessions[s], i) - centre;
        m2 += d * d;
        m3 += d * d * d;
      }
    double variance = m2 / (double)result.n, n = (double)result.n;
    struct measure m = {0};
    result.skewness = variance > 0 ? m3 / n / (variance * sqrt(variance)) : 0;
    result.n_effective = n / design_effect(sessions, n_sessions, &m, centre, variance, result.n).greatest;
    size_t k = 0;
    if (result.n >= (size_t)HILL_LEAST * HILL_LEAST) result.tail_index = tail_of(sessions, n_sessions, result.n, &k);
    bool heavy = k > 0 && result.tail_index * (1 + 1.645 / sqrt((double)k)) < 2;
    /* A sample too small to have met its own tail looks less skewed than it is: where there is skewness at all, 1,000. */
    double skewness = fabs(result.skewness);
    bool skewed = result.n_effective < 25 * skewness * skewness || (skewness > 1 && result.n_effective < SKEWED_LEAST);
    result.why = !result.interval.bounded ? MEAN_TOO_FEW_SESSIONS : heavy ? MEAN_INFINITE_VARIANCE : skewed ? MEAN_TOO_SKEWED : MEAN_HOLDS;
  }
  result.interval.bounded = result.why == MEAN_HOLDS;
  free(means);
  return result;
}

double series_autocorrelation(const double *x, size_t n, size_t lag) {
  double sum = 0, squares = 0, products = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  double mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) {
    squares += (x[i] - mean) * (x[i] - mean);
    if (i + lag < n) products += (x[i] - mean) * (x[i + lag] - mean);
  }
  return squares > 0 ? products / squares : 0;
}
