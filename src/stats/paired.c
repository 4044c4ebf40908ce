#include "stats/paired.h"

#include <math.h>

#include "stats/interval.h"
#include "stats/special.h"

double paired_exact(const struct paired_counts *c) {
  size_t differ = c->lost + c->won, less = c->lost < c->won ? c->lost : c->won;
  return differ == 0 ? 1 : fmin(1, 2 * special_binomial_cdf((long)less, (long)differ, 0.5));
}

/* Tango's statistic at the difference d of the shares won and lost. */
static double score_at(const struct paired_counts *c, double d) {
  double n = (double)c->n, won = (double)c->won, lost = (double)c->lost;
  double a = 2 * n, b = -won - lost + (2 * n - won + lost) * d, k = -lost * d * (1 - d);
  double q = (sqrt(fmax(0, b * b - 4 * a * k)) - b) / (2 * a); /* the share lost, under d */
  double variance = n * (2 * q + d * (1 - d)), far = won - lost - n * d;
  return variance > 0 ? far / sqrt(variance) : far > 0 ? INFINITY : far < 0 ? -INFINITY : 0;
}

/* z(d) falls in d. */
static double where_score_is(const struct paired_counts *c, double z, double low, double high) {
  for (int i = 0; i < 100; i++) {
    double middle = (low + high) / 2;
    if (score_at(c, middle) > z) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

struct paired_difference paired_score(const struct paired_counts *c, double confidence) {
  if (c->n == 0) return (struct paired_difference){NAN, -1, 1};
  double z = special_normal_quantile((1 + confidence) / 2), d = ((double)c->won - (double)c->lost) / (double)c->n;
  return (struct paired_difference){d, where_score_is(c, z, -1, d), where_score_is(c, -z, d, 1)};
}

struct paired_difference paired_means(const double *differences, size_t n, double confidence) {
  struct interval i = interval_of_mean(differences, n, confidence);
  if (n == 0) return (struct paired_difference){NAN, -INFINITY, INFINITY};
  double half = i.bounded ? fmax(i.high - i.estimate, -special_log((1 - confidence) / 2) / (double)n) : INFINITY;
  return (struct paired_difference){i.estimate, i.estimate - half, i.estimate + half};
}

size_t paired_needed(double estimate, double variance, double margin, double confidence) {
  double room = estimate + margin, z = special_normal_quantile((1 + confidence) / 2), n = z * z * variance / (room * room);
  return room != 0 && n < PAIRS_MOST ? (size_t)ceil(n) : 0;
}

/* Of n pairs like these, in whole ones. */
static bool would_decide(const struct paired_counts *c, size_t n, double margin, double confidence) {
  double times = (double)n / (double)c->n;
  const struct paired_counts more = {n, (size_t)((double)c->lost * times + 0.5), (size_t)((double)c->won * times + 0.5)};
  struct paired_difference d = paired_score(&more, confidence);
  return d.low > -margin || d.high < -margin;
}

size_t paired_needed_of(const struct paired_counts *c, double margin, double confidence) {
  size_t low = c->n, high = c->n;
  if (c->n == 0) return 0;
  while (!would_decide(c, high, margin, confidence)) {
    low = high;
    high *= 2;
    if (high > PAIRS_MOST) return 0;
  }
  while (high - low > 1 + low / 1000) {
    size_t middle = low + (high - low) / 2;
    if (would_decide(c, middle, margin, confidence)) high = middle;
    else low = middle;
  }
  return high;
}
