#include "stats/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/quantile.h"
#include "stats/special.h"

bool verdict_is_same(enum verdict verdict) {
  return verdict == VERDICT_SAME || verdict == VERDICT_DIFFERENT_WITHIN;
}

const char *verdict_text(enum verdict verdict) {
  static const char *const texts[] = {[VERDICT_SAME] = "the same within the margin",
                                      [VERDICT_DIFFERENT_WITHIN] = "different, but within the margin",
                                      [VERDICT_DIFFERENT_BEYOND] = "different beyond the margin",
                                      [VERDICT_INCONCLUSIVE] = "inconclusive"};
  return texts[verdict];
}

struct moments {
  double mean, variance;
};

static struct moments moments_of(const double *x, size_t n) {
  struct moments m = {0};
  for (size_t i = 0; i < n; i++) m.mean += x[i];
  m.mean /= (double)n;
  for (size_t i = 0; i < n; i++) m.variance += (x[i] - m.mean) * (x[i] - m.mean);
  m.variance /= (double)(n - 1);
  return m;
}

static bool logs_of(const double *x, size_t n, double *ret) {
  for (size_t i = 0; i < n; i++) {
    if (!(x[i] > 0) || isinf(x[i])) return false;
    ret[i] = special_log(x[i]);
  }
  return true;
}

void compare_judge(struct comparison *c, double d, double margin, double confidence) {
  double alpha = 1 - confidence, limit = special_log(1 + margin);
  /* Figures that do not vary at all: the interval is a point. */
  double outer = c->error > 0 ? special_t_quantile(1 - alpha / 2, c->freedom) * c->error : 0;
  double inner = c->error > 0 ? special_t_quantile(1 - alpha, c->freedom) * c->error : 0;
  c->ratio = special_exp(d);
  c->low = special_exp(d - outer);
  c->high = special_exp(d + outer);
  c->inner_low = special_exp(d - inner);
  c->inner_high = special_exp(d + inner);
  if (c->error > 0) {
    double below = 1 - special_t_cdf((d + limit) / c->error, c->freedom), above = special_t_cdf((d - limit) / c->error, c->freedom);
    c->p_equivalence = below > above ? below : above;
    c->p_difference = 2 * (1 - special_t_cdf(fabs(d) / c->error, c->freedom));
  } else {
    c->p_equivalence = fabs(d) < limit ? 0 : 1;
    c->p_difference = d == 0 ? 1 : 0;
  }
  bool same = c->p_equivalence <= alpha, differs = c->p_difference <= alpha;
  bool beyond = d - outer > limit || d + outer < -limit;
  c->verdict = same && differs ? VERDICT_DIFFERENT_WITHIN : same ? VERDICT_SAME : beyond ? VERDICT_DIFFERENT_BEYOND : VERDICT_INCONCLUSIVE;
}

void compare_not_finer(struct comparison *c, double reach, double margin, double confidence) {
  static const double many = 1e6; /* degrees of freedom: what is known so is no estimate */
  double half = special_log(c->high / c->low) / 2;
  if (!c->bounded || !(reach > 0) || half >= reach) return;
  if (isinf(reach)) {
    c->low = c->inner_low = 0;
    c->high = c->inner_high = c->needed_per_side = INFINITY;
    c->p_difference = c->p_equivalence = 1;
    c->verdict = VERDICT_INCONCLUSIVE;
    return;
  }
  if (half > 0) c->error *= reach / half;
  else {
    c->freedom = many;
    c->error = reach / special_t_quantile((1 + confidence) / 2, many);
  }
  compare_judge(c, special_log(c->ratio), margin, confidence);
}

static double needed(double d, double margin, double confidence, double spread, bool paired) {
  double limit = special_log(1 + margin), room = fabs(limit - fabs(d));
  double z = special_normal_quantile(confidence) + special_normal_quantile(fabs(d) < limit ? 0.9 : 0.8);
  return room > 0 ? ceil((paired ? 1 : 2) * spread * z * z / (room * room)) : INFINITY;
}

struct comparison compare_sessions(const double *a, size_t n_a, const double *b, size_t n_b, bool paired, double margin,
                                   double confidence) {
  struct comparison result = {.verdict = VERDICT_INCONCLUSIVE,
                              .ratio = NAN,
                              .low = 0,
                              .high = INFINITY,
                              .needed_per_side = INFINITY,
                              .inner_high = INFINITY,
                              .p_difference = 1,
                              .p_equivalence = 1};
  if (n_a < 2 || n_b < 2 || (paired && n_a != n_b)) return result;
  double *la = xalloc(n_a, sizeof *la), *lb = xalloc(n_b, sizeof *lb), d, spread;
  if (logs_of(a, n_a, la) && logs_of(b, n_b, lb)) {
    result.bounded = true;
    if (paired) {
      for (size_t i = 0; i < n_a; i++) la[i] -= lb[i];
      struct moments m = moments_of(la, n_a);
      d = m.mean;
      spread = m.variance;
      result.error = sqrt(m.variance / (double)n_a);
      result.freedom = (double)(n_a - 1);
    } else {
      struct moments ma = moments_of(la, n_a), mb = moments_of(lb, n_b);
      double va = ma.variance / (double)n_a, vb = mb.variance / (double)n_b;
      d = ma.mean - mb.mean;
      spread = (ma.variance + mb.variance) / 2;
      result.error = sqrt(va + vb);
      result.freedom = va + vb > 0 ? (va + vb) * (va + vb) / (va * va / (double)(n_a - 1) + vb * vb / (double)(n_b - 1)) : 1;
    }
    compare_judge(&result, d, margin, confidence);
    result.needed_per_side = needed(d, margin, confidence, spread, paired);
  }
  free(la);
  free(lb);
  return result;
}

/* --- what a plan can decide --- */

enum { POWER_STEPS = 200 };
static const double POWER_REACH = 4; /* of the variance's root, in units of its mean: nothing that matters lies beyond */

/* The density at u of the root of a chi-square variable over its degrees of freedom; scale: its logarithm's part without u. */
static double root_density(double u, double freedom, double scale) {
  return u > 0 ? 2 * special_exp(scale + (freedom - 1) * special_log(u) - freedom / 2 * u * u) : 0;
}

struct power compare_power(double sd, size_t n_a, size_t n_b, double shift, double margin, double confidence) {
  double limit = special_log(1 + margin), a = (double)n_a, b = (double)n_b, alpha = 1 - confidence;
  if (n_a < 2 || n_b < 2) return (struct power){0, 0};
  if (!(sd > 0)) return (struct power){fabs(shift) < limit, fabs(shift) > limit};
  double error = sd * sqrt(1 / a + 1 / b);
  double freedom = (1 / a + 1 / b) * (1 / a + 1 / b) / (1 / (a * a * (a - 1)) + 1 / (b * b * (b - 1)));
  double inner = special_t_quantile(1 - alpha, freedom), outer = special_t_quantile(1 - alpha / 2, freedom);
  struct power sum = {0, 0};
  double step = POWER_REACH / POWER_STEPS, scale = freedom / 2 * special_log(freedom / 2) - special_log_gamma(freedom / 2);
  for (int i = 0; i <= POWER_STEPS; i++) { /* Simpson's rule */
    double u = i * step, weight = root_density(u, freedom, scale) * step / 3 * (i == 0 || i == POWER_STEPS ? 1 : i % 2 == 1 ? 4 : 2);
    double room = limit / error - inner * u; /* the estimate must lie this close to 0 */
    if (room > 0) sum.same += weight * (special_normal_cdf(room - shift / error) - special_normal_cdf(-room - shift / error));
    sum.beyond += weight * (special_normal_cdf((fabs(shift) - limit) / error - outer * u));
  }
  return sum;
}

double compare_deviation_bound(double sd, size_t n, double confidence) {
  if (n < 2) return INFINITY;
  double freedom = (double)(n - 1), part = 2 / (9 * freedom), root = 1 - part + special_normal_quantile(1 - confidence) * sqrt(part);
  return root > 0 ? sd / sqrt(root * root * root) : INFINITY; /* sqrt(freedom / chi-square) */
}

bool compare_decides(double sd, size_t n_a, size_t n_b, const struct plan_aim *aim) {
  double shift = special_log(1 + 2.5 * aim->margin);
  return compare_power(sd, n_a, n_b, 0, aim->margin, aim->same_confidence).same >= aim->power &&
         compare_power(sd, n_a, n_b, shift, aim->margin, aim->beyond_confidence).beyond >= aim->power;
}

size_t compare_plan(double sd, size_t n_a, size_t most, const struct plan_aim *aim) {
  for (size_t n = 3; n <= most; n++) /* from below: with n_a few, more may decide less (Welch's degrees of freedom fall to n_a - 1) */
    if (compare_decides(sd, n_a, n, aim)) return n;
  return 0;
}

/* --- Hodges-Lehmann --- */

enum { EXACT_MOST = 50, DIFFERENCES_MOST = 1000000 };

/* P(U <= u) for samples of m and n without ties, from the number of arrangements: r(m, n, u) = r(m-1, n, u-n) + r(m, n-1, u), summed
 * as shares so that nothing overflows. */
static void mann_whitney(size_t m, size_t n, double *ret_share /* of u = 0..m n */) {
  size_t width = m * n + 1;
  double *rows = xalloc((n + 1) * width, sizeof *rows); /* for the present m, by n */
  for (size_t j = 0; j <= n; j++) rows[j * width] = 1;
  for (size_t i = 1; i <= m; i++) {
    double *next = xalloc((n + 1) * width, sizeof *next);
    next[0] = 1;
    for (size_t j = 1; j <= n; j++) {
      double from_first = (double)i / (double)(i + j), from_second = (double)j / (double)(i + j);
      for (size_t u = 0; u <= i * j; u++) {
        double share = u >= j ? from_first * rows[j * width + u - j] : 0;
        if (u <= i * (j - 1)) share += from_second * next[(j - 1) * width + u];
        next[j * width + u] = share;
      }
    }
    free(rows);
    rows = next;
  }
  for (size_t u = 0; u < width; u++) ret_share[u] = rows[n * width + u];
  free(rows);
}

struct shift compare_shift(const double *a, size_t n_a, const double *b, size_t n_b, double confidence) {
  struct shift result = {.low = -INFINITY, .high = INFINITY, .estimate = NAN};
  size_t n = n_a * n_b;
  if (n == 0 || n > DIFFERENCES_MOST) return result;
  double *d = xalloc(n, sizeof *d), half = (1 - confidence) / 2;
  for (size_t i = 0; i < n_a; i++)
    for (size_t j = 0; j < n_b; j++) {
      d[i * n_b + j] = a[i] - b[j];
      result.u += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
    }
  quantile_sort(d, n);
  result.estimate = n % 2 == 1 ? d[n / 2] : (d[n / 2 - 1] + d[n / 2]) / 2;
  size_t u = 0;
  double below = 0; /* P(U <= u - 1) */
  if (n_a <= EXACT_MOST && n_b <= EXACT_MOST) {
    double *share = xalloc(n + 1, sizeof *share);
    mann_whitney(n_a, n_b, share);
    while (u <= n && below + share[u] < half) below += share[u++];
    free(share);
  } else {
    double deviation = sqrt((double)n * (double)(n_a + n_b + 1) / 12), rank = (double)n / 2 + special_normal_quantile(half) * deviation;
    u = rank > 1 ? (size_t)rank : 0;
    below = half;
  }
  if (u == 0) below = 0;
  result.coverage = 1 - 2 * below;
  result.bounded = u >= 1; /* with u = 0 even the extremes do not reach the confidence */
  if (u < 1) u = 1;
  result.low = d[u - 1];
  result.high = d[n - u];
  free(d);
  return result;
}

/* --- nested experiments, stopping --- */

struct nested nested_components(const double *x, size_t r3, size_t r2, size_t r1) {
  struct nested result = {0};
  double *mean2 = xalloc(r3 * r2, sizeof *mean2), *mean3 = xalloc(r3, sizeof *mean3), n1 = (double)r1, n2 = (double)r2, n3 = (double)r3;
  for (size_t i = 0; i < r3; i++)
    for (size_t j = 0; j < r2; j++) {
      for (size_t k = 0; k < r1; k++) mean2[i * r2 + j] += x[(i * r2 + j) * r1 + k] / n1;
      mean3[i] += mean2[i * r2 + j] / n2;
      for (size_t k = 0; k < r1; k++) {
        double d = x[(i * r2 + j) * r1 + k] - mean2[i * r2 + j];
        result.s2[0] += d * d / (n3 * n2 * (n1 - 1));
      }
    }
  for (size_t i = 0; i < r3; i++) result.mean += mean3[i] / n3;
  for (size_t i = 0; i < r3; i++) {
    for (size_t j = 0; j < r2; j++) result.s2[1] += (mean2[i * r2 + j] - mean3[i]) * (mean2[i * r2 + j] - mean3[i]) / (n3 * (n2 - 1));
    result.s2[2] += (mean3[i] - result.mean) * (mean3[i] - result.mean) / (n3 - 1);
  }
  result.t2[0] = result.s2[0];
  result.t2[1] = result.s2[1] - result.s2[0] / n1;
  result.t2[2] = result.s2[2] - result.s2[1] / n2;
  free(mean2);
  free(mean3);
  return result;
}

double nested_repetitions(double t2_own, double t2_above, double cost_own, double cost_above) {
  if (!(t2_above > 0)) return INFINITY;
  return t2_own > 0 ? sqrt(cost_above / cost_own * t2_own / t2_above) : 1;
}

long early_stopping_least(double p, long t, double confidence) {
  /* h fast ones are enough when P(at least h of h + t | share p) is at most 1 - confidence: I_p(h, t + 1). */
  long low = 1, high = 1;
  while (special_beta_cdf(p, (double)high, (double)t + 1) > 1 - confidence) high *= 2;
  while (low < high) {
    long middle = (low + high) / 2;
    if (special_beta_cdf(p, (double)middle, (double)t + 1) <= 1 - confidence) high = middle;
    else low = middle + 1;
  }
  return low + t;
}

double look_confidence(double confidence, size_t n_looks) {
  return n_looks > 1 ? 1 - (1 - confidence) / (double)n_looks : confidence;
}
