#include "stats/elasticity.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/special.h"

/* A group's part in a slope. */
struct part {
  int64_t group;
  double xx, xy;
};

static size_t group_end(const struct block_point *points, size_t n, size_t from) {
  size_t to = from;
  while (to < n && points[to].group == points[from].group) to++;
  return to;
}

static struct part part_of(const struct block_point *points, size_t n) {
  struct part part = {.group = points[0].group};
  double weight = 0, x = 0, y = 0;
  for (size_t i = 0; i < n; i++) weight += points[i].weight;
  if (!(weight > 0)) return part;
  for (size_t i = 0; i < n; i++) {
    x += points[i].x * (points[i].weight / weight);
    y += points[i].y * (points[i].weight / weight);
  }
  for (size_t i = 0; i < n; i++) {
    part.xx += points[i].weight * (points[i].x - x) * (points[i].x - x);
    part.xy += points[i].weight * (points[i].x - x) * (points[i].y - y);
  }
  return part;
}

/* The groups that tell something. */
static size_t parts_of(const struct block_point *points, size_t n, struct part *ret) {
  size_t n_parts = 0;
  for (size_t from = 0, to; from < n; from = to) {
    to = group_end(points, n, from);
    ret[n_parts] = part_of(points + from, to - from);
    if (ret[n_parts].xx > 0) n_parts++;
  }
  return n_parts;
}

static double slope_of(const struct part *parts, size_t n, double *ret_xx) {
  double xx = 0, xy = 0;
  for (size_t i = 0; i < n; i++) {
    xx += parts[i].xx;
    xy += parts[i].xy;
  }
  *ret_xx = xx;
  return xx > 0 ? xy / xx : NAN;
}

/* Groups that tell as much as these, if all told the same. */
static double effective(const double *information, size_t n) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    sum += information[i];
    squares += information[i] * information[i];
  }
  return squares > 0 ? sum * sum / squares : 0;
}

/* Scores of groups, one each, that sum to zero: the variance of what they are the score of. */
static double variance_of(const double *scores, size_t n, double n_effective) {
  double sum = 0, lagged = 0;
  for (size_t i = 0; i < n; i++) {
    sum += scores[i] * scores[i];
    if (i > 0) lagged += scores[i] * scores[i - 1];
  }
  double r = sum > 0 ? lagged / sum : 0, most = 0.9;
  if (r > most) r = most;
  return sum * n_effective / (n_effective - 1) * (r > 0 ? (1 + r) / (1 - r) : 1);
}

static struct slope with_interval(double estimate, const double *scores, const double *information, size_t n_groups, size_t n,
                                  double confidence) {
  struct slope slope = {.estimate = estimate, .n = n, .n_groups = n_groups};
  const double n_effective = effective(information, n_groups);
  slope.bounded = n_groups >= 3 && n_effective >= 2 && isfinite(estimate);
  if (!slope.bounded) return slope;
  slope.error = sqrt(variance_of(scores, n_groups, n_effective));
  double half = special_t_quantile(1 - (1 - confidence) / 2, n_effective - 1) * slope.error;
  slope.low = estimate - half;
  slope.high = estimate + half;
  return slope;
}

struct slope slope_within(const struct block_point *points, size_t n, double confidence) {
  return slope_sum(&points, &n, 1, confidence);
}

/* How its rate follows x, but for what its group has in common. */
static double shape_at(const struct block_point *p, double elasticity, enum follows follows) {
  return follows == RATE_FOLLOWS_EXPONENT ? special_exp(elasticity * p->x) : 1 / (1 + elasticity * (p->x - 1));
}

/* A point as it is linear at E; mean: of the rates that its group has at E, as multiples of their shape. */
static struct block_point linear_at(const struct block_point *p, double elasticity, enum follows follows, double mean) {
  const double shape = shape_at(p, elasticity, follows), rate = mean * shape;
  const double x = follows == RATE_FOLLOWS_EXPONENT ? p->x : (p->x - 1) * shape;
  double left = follows == LN_TIME_FOLLOWS_SLOWNESS ? p->y + special_log(shape) : rate > 0 ? 1 - p->y / rate : 0;
  if (follows == RATE_FOLLOWS_EXPONENT) left = -left;
  return (struct block_point){p->group, x, left + elasticity * x, follows == LN_TIME_FOLLOWS_SLOWNESS ? 1 : rate};
}

/* Of the rates of the points' group at E, as multiples of their shape. */
static double mean_rate(const struct block_point *points, size_t n, double elasticity, enum follows follows) {
  double sum = 0, shapes = 0;
  for (size_t i = 0; i < n; i++) {
    sum += points[i].y;
    shapes += shape_at(&points[i], elasticity, follows);
  }
  return sum / shapes;
}

/* The slope of the points as they are linear at E: where it is E itself, it is the fit. */
static double fit_at(const struct block_point *points, size_t n, double elasticity, enum follows follows, struct block_point *ret) {
  for (size_t from = 0, to; from < n; from = to) {
    to = group_end(points, n, from);
    double mean = follows != LN_TIME_FOLLOWS_SLOWNESS ? mean_rate(points + from, to - from, elasticity, follows) : 0;
    for (size_t i = from; i < to; i++) ret[i] = linear_at(&points[i], elasticity, follows, mean);
  }
  return slope_within(ret, n, 0.95).estimate;
}

/* No time falls below 5 % of the undisturbed one, and no rate changes by more than e^20. */
static void find_bounds(const struct block_point *points, size_t n, enum follows follows, double *ret_low, double *ret_high) {
  double most = 1, least = 1, widest = 0;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, points[i].x);
    least = fmin(least, points[i].x);
    widest = fmax(widest, fabs(points[i].x));
  }
  *ret_low = most > 1 ? -0.95 / (most - 1) : 0;
  *ret_high = least < 1 ? 0.95 / (1 - least) : 1e6;
  if (follows != RATE_FOLLOWS_EXPONENT) return;
  *ret_high = widest > 0 ? 20 / widest : 0;
  *ret_low = -*ret_high;
}

bool elasticity_linearise(struct block_point *points, size_t n, enum follows follows) {
  enum { STEPS = 200 };
  struct block_point *linear = xalloc(n + 1, sizeof *linear);
  double low, high, at = 0, step = 1, damped = 1;
  find_bounds(points, n, follows, &low, &high);
  for (int i = 0; i < STEPS && fabs(step) > 1e-9 * (1 + fabs(at)); i++) {
    double next = fit_at(points, n, at, follows, linear), before = step;
    step = isfinite(next) ? damped * (fmin(fmax(next, low), high) - at) : 0;
    if (step * before < 0 && fabs(step) > fabs(before) / 2) damped /= 2; /* it goes to and fro */
    at += step;
  }
  (void)fit_at(points, n, at, follows, linear);
  for (size_t i = 0; i < n; i++) points[i] = linear[i];
  free(linear);
  return at > low && at < high;
}

struct slope slope_turned(struct slope s) {
  return (struct slope){-s.estimate, -s.high, -s.low, s.error, s.n, s.n_groups, s.bounded};
}

/* The first and the last group of all; false: there is none, or they lie too far apart to be numbers of cycles. */
static bool range_of(const struct block_point *const *points, const size_t *n, size_t n_slopes, int64_t *ret_first, size_t *ret_n) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  size_t all = 0;
  for (size_t k = 0; k < n_slopes; k++)
    for (size_t i = 0; i < n[k]; i++) {
      if (points[k][i].group < first) first = points[k][i].group;
      if (points[k][i].group > last) last = points[k][i].group;
      all++;
    }
  *ret_first = first;
  if (all == 0 || first < 0 || last - first > INT32_MAX) return false;
  *ret_n = (size_t)(last - first) + 1;
  return true;
}

struct slope slope_sum(const struct block_point *const *points, const size_t *n, size_t n_slopes, double confidence) {
  double sum = 0;
  size_t all = 0, n_groups = 0, range;
  int64_t first;
  if (!range_of(points, n, n_slopes, &first, &range)) return (struct slope){.estimate = NAN};
  for (size_t k = 0; k < n_slopes; k++) all += n[k];
  struct part *parts = xalloc(all + 1, sizeof *parts);
  double *scores = xalloc(range, sizeof *scores), *information = xalloc(range, sizeof *information);
  bool *tells = xalloc(range, sizeof *tells);
  for (size_t k = 0; k < n_slopes; k++) {
    double xx;
    size_t n_parts = parts_of(points[k], n[k], parts);
    double slope = slope_of(parts, n_parts, &xx);
    sum += slope;
    for (size_t i = 0; i < n_parts; i++) {
      size_t at = (size_t)(parts[i].group - first);
      scores[at] += (parts[i].xy - slope * parts[i].xx) / xx;
      information[at] += parts[i].xx / xx;
      tells[at] = true;
    }
  }
  for (size_t i = 0; i < range; i++) {
    if (!tells[i]) continue;
    scores[n_groups] = scores[i];
    information[n_groups++] = information[i];
  }
  struct slope ret = with_interval(sum, scores, information, n_groups, all, confidence);
  free(parts);
  free(scores);
  free(information);
  free(tells);
  return ret;
}
