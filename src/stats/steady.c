#include "stats/steady.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/sessions.h"
#include "stats/special.h"

enum { MIN_SEGMENT = 2, DRIFT_BATCHES = 12 };
static const double variance_floor = 1e-11, two_pi = 6.283185307179586477;

/* --- MSER-5 --- */

struct mser steady_mser5(const double *x, size_t n) {
  size_t k = n / 5;
  struct mser result = {.statistic = INFINITY};
  double *means = xalloc(k + 1, sizeof *means);
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < 5; j++) means[i] += x[5 * i + j];
    means[i] /= 5;
  }
  for (size_t d = 0; d <= k / 2 && d < k; d++) {
    double sum = 0, squares = 0, left = (double)(k - d);
    for (size_t j = d; j < k; j++) sum += means[j];
    for (size_t j = d; j < k; j++) squares += (means[j] - sum / left) * (means[j] - sum / left);
    if (squares / (left * left) >= result.statistic) continue;
    result = (struct mser){.cut = 5 * d, .statistic = squares / (left * left), .mean = sum / left, .at_limit = d == k / 2};
  }
  free(means);
  return result;
}

/* --- change points --- */

struct prefix {
  double sum, squares;
};

static double segment_cost(const struct prefix *p, size_t from, size_t to) {
  double n = (double)(to - from), sum = p[to].sum - p[from].sum, squares = p[to].squares - p[from].squares;
  double variance = (squares - sum * sum / n) / n;
  return n * (special_log(two_pi) + special_log(variance > variance_floor ? variance : variance_floor) + 1);
}

size_t steady_change_points(const double *x, size_t n, double penalty, size_t *ret, double *ret_cost) {
  struct prefix *p = xalloc(n + 1, sizeof *p);
  double *best = xalloc(n + 1, sizeof *best);
  size_t *before = xalloc(n + 1, sizeof *before), *open = xalloc(n + 1, sizeof *open), n_open = 0, n_points = 0;
  double mean = 0;
  for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
  for (size_t i = 0; i < n; i++) { /* around the mean, so that squares do not cancel */
    double d = x[i] - mean;
    p[i + 1] = (struct prefix){p[i].sum + d, p[i].squares + d * d};
  }
  best[0] = -penalty;
  for (size_t i = 1; i <= n; i++) best[i] = INFINITY;
  for (size_t to = MIN_SEGMENT; to <= n; to++) {
    if (to - MIN_SEGMENT == 0 || to - MIN_SEGMENT >= MIN_SEGMENT) open[n_open++] = to - MIN_SEGMENT;
    for (size_t i = 0; i < n_open; i++) {
      double cost = best[open[i]] + segment_cost(p, open[i], to) + penalty;
      if (cost >= best[to]) continue;
      best[to] = cost;
      before[to] = open[i];
    }
    size_t kept = 0;
    for (size_t i = 0; i < n_open; i++)
      if (best[open[i]] + segment_cost(p, open[i], to) <= best[to]) open[kept++] = open[i];
    n_open = kept;
  }
  if (ret_cost != NULL) *ret_cost = best[n];
  if (n >= MIN_SEGMENT)
    for (size_t at = before[n]; at > 0; at = before[at]) ret[n_points++] = at;
  for (size_t i = 0; i < n_points / 2; i++) {
    size_t kept = ret[i];
    ret[i] = ret[n_points - 1 - i];
    ret[n_points - 1 - i] = kept;
  }
  free(p);
  free(best);
  free(before);
  free(open);
  return n_points;
}

/* --- drift and cycles of a stretch --- */

static double mean_of(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return n > 0 ? sum / (double)n : 0;
}

struct drift {
  double value, low, high; /* of the line from the first bin to the last, as a share of the level */
  double explained;        /* of the batches' variance, by the line */
};

/* A straight line through batch means: batches take most of the autocorrelation out of the residuals. */
static struct drift drift_of(const double *x, size_t n, double confidence) {
  size_t b = n < 2 * DRIFT_BATCHES ? n / 2 : DRIFT_BATCHES;
  double y[DRIFT_BATCHES], level = mean_of(x, n), sxx = 0, sxy = 0, syy = 0, squares = 0;
  if (b < 4 || !(fabs(level) > 0)) return (struct drift){0, -INFINITY, INFINITY, 0};
  for (size_t i = 0; i < b; i++) y[i] = mean_of(x + i * n / b, (i + 1) * n / b - i * n / b);
  double centre = mean_of(y, b), middle = (double)(b - 1) / 2;
  for (size_t i = 0; i < b; i++) {
    sxx += ((double)i - middle) * ((double)i - middle);
    sxy += ((double)i - middle) * (y[i] - centre);
    syy += (y[i] - centre) * (y[i] - centre);
  }
  double slope = sxy / sxx;
  for (size_t i = 0; i < b; i++) {
    double residual = y[i] - centre - slope * ((double)i - middle);
    squares += residual * residual;
  }
  double error = sqrt(squares / (double)(b - 2) / sxx), t = special_t_quantile(1 - (1 - confidence) / 2, (double)(b - 2));
  double scale = (double)b / fabs(level);
  return (struct drift){slope * scale, (slope - t * error) * scale, (slope + t * error) * scale, syy > 0 ? 1 - squares / syy : 0};
}

/* A cycle: the autocorrelation falls well below zero at half a period, comes back at a whole one, and falls again at one and a half. */
static bool has_cycle(const double *x, size_t n, double tolerance) {
  double level = mean_of(x, n), variance = 0;
  for (size_t i = 0; i < n; i++) variance += (x[i] - level) * (x[i] - level) / (double)n;
  if (sqrt(2 * variance) <= tolerance / 2 * fabs(level)) return false; /* the amplitude of a sine with this variance */
  double deepest = 0, peak = 0;
  size_t period = 0;
  for (size_t lag = 1; lag <= n / 3; lag++) {
    double r = series_autocorrelation(x, n, lag) * (double)n / (double)(n - lag);
    if (r < deepest && period == 0) deepest = r;
    if (deepest >= -0.4 || r < 0.4) continue;
    if (r > peak) peak = r, period = lag;
    else break;
  }
  if (period == 0) return false;
  size_t again = period + period / 2;
  return again < n && series_autocorrelation(x, n, again) * (double)n / (double)(n - again) < -0.3;
}

/* --- the classes --- */

/* Where the final run of segments at the level of the last one begins. */
static size_t final_run(const double *x, size_t n, double tolerance) {
  size_t *points = xalloc(n + 1, sizeof *points);
  size_t n_points = steady_change_points(x, n, 5 * special_log((double)n), points, NULL), from = n_points > 0 ? points[n_points - 1] : 0;
  size_t end = n;
  double level = mean_of(x + from, end - from);
  for (size_t k = n_points; k > 0; k--) {
    size_t start = k >= 2 ? points[k - 2] : 0;
    double own = mean_of(x + start, points[k - 1] - start);
    if (fabs(own - level) > tolerance * fabs(level)) break;
    from = start;
    level = mean_of(x + from, end - from);
  }
  free(points);
  return from;
}

static bool holds_still(const double *x, size_t n, const struct steady_rule *rule, struct drift *ret) {
  *ret = drift_of(x, n, rule->confidence);
  return ret->low > -rule->tolerance && ret->high < rule->tolerance && !has_cycle(x, n, rule->tolerance);
}

/* A drift is one line, not a level here and another there: the line must explain most of what the batches do. */
static bool drifts(const struct drift *d, double tolerance) {
  return fabs(d->value) > tolerance && d->explained > 0.8 && (d->low > 0 || d->high < 0);
}

static enum steady_class class_without(const double *x, size_t n, const struct steady_rule *rule, size_t from, struct drift *ret) {
  *ret = drift_of(x, n, rule->confidence);
  if (has_cycle(x, n, rule->tolerance)) return STEADY_CYCLIC;
  if (drifts(ret, rule->tolerance)) return ret->value > 0 ? STEADY_RISING : STEADY_FALLING;
  return from > 0 ? STEADY_NONE : STEADY_SHORT;
}

struct steady steady_classify(const double *x, size_t n, const struct steady_rule *rule) {
  struct steady result = {.class = STEADY_SHORT, .from = n, .drift_low = -INFINITY, .drift_high = INFINITY};
  struct drift drift = {.low = -INFINITY, .high = INFINITY};
  size_t least = rule->least > STEADY_LEAST_BINS ? rule->least : STEADY_LEAST_BINS;
  if (n < STEADY_LEAST_BINS) return result;
  size_t from = final_run(x, n, rule->tolerance);
  result.last_change = from;
  result.class = STEADY_NONE;
  /* What is left of a warm-up tail after the last change point may go too, as far as the least length allows, up to a third. */
  for (int step = 0; step <= 3; step++) {
    size_t start = from + (n - from) * (size_t)step / 9;
    if (n - start < least) break;
    if (!holds_still(x + start, n - start, rule, &drift)) continue;
    result.class = STEADY_YES;
    result.from = start;
    break;
  }
  if (result.class != STEADY_YES) result.class = class_without(x, n, rule, from, &drift);
  result.drift = drift.value;
  result.drift_low = drift.low;
  result.drift_high = drift.high;
  size_t judged = result.class == STEADY_YES ? result.from : 0;
  result.lag1 = series_autocorrelation(x + judged, n - judged, 1);
  return result;
}
