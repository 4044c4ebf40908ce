#include "stats/covariance.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/special.h"

enum { COLUMNS_MAX = 2 + COVARIANCE_CONDITIONS_MAX };

/* y by least squares on the columns; each row's noise is its group's. */
struct fit {
  size_t n, n_columns;
  double (*x)[COLUMNS_MAX], *y;
  int *group;                               /* 0 or 1 */
  double inverse[COLUMNS_MAX][COLUMNS_MAX]; /* of X'X */
  double at[COLUMNS_MAX], variance[2], freedom[2];
};

/* By Gauss and Jordan with pivots; false: singular, to eleven digits. */
static bool invert(size_t k, double m[COLUMNS_MAX][COLUMNS_MAX], double ret[COLUMNS_MAX][COLUMNS_MAX]) {
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < k; j++) ret[i][j] = i == j;
  for (size_t column = 0; column < k; column++) {
    size_t best = column;
    for (size_t i = column + 1; i < k; i++)
      if (fabs(m[i][column]) > fabs(m[best][column])) best = i;
    if (!(fabs(m[best][column]) > 1e-11)) return false;
    for (size_t j = 0; j < k; j++) {
      double kept = m[column][j], own = ret[column][j];
      m[column][j] = m[best][j], m[best][j] = kept;
      ret[column][j] = ret[best][j], ret[best][j] = own;
    }
    double pivot = m[column][column];
    for (size_t j = 0; j < k; j++) m[column][j] /= pivot, ret[column][j] /= pivot;
    for (size_t i = 0; i < k; i++) {
      double factor = i != column ? m[i][column] : 0;
      for (size_t j = 0; j < k; j++) m[i][j] -= factor * m[column][j], ret[i][j] -= factor * ret[column][j];
    }
  }
  return true;
}

/* A row's share of its own fitted value. */
static double leverage(const struct fit *f, size_t row) {
  double sum = 0;
  for (size_t i = 0; i < f->n_columns; i++)
    for (size_t j = 0; j < f->n_columns; j++) sum += f->x[row][i] * f->inverse[i][j] * f->x[row][j];
  return sum;
}

static bool solve(struct fit *f) {
  double square[COLUMNS_MAX][COLUMNS_MAX] = {{0}}, product[COLUMNS_MAX] = {0};
  for (size_t row = 0; row < f->n; row++)
    for (size_t i = 0; i < f->n_columns; i++) {
      product[i] += f->x[row][i] * f->y[row];
      for (size_t j = 0; j < f->n_columns; j++) square[i][j] += f->x[row][i] * f->x[row][j];
    }
  if (!invert(f->n_columns, square, f->inverse)) return false;
  for (size_t i = 0; i < f->n_columns; i++) {
    f->at[i] = 0;
    for (size_t j = 0; j < f->n_columns; j++) f->at[i] += f->inverse[i][j] * product[j];
  }
  double n[2] = {0}, used[2] = {0}, squares[2] = {0};
  for (size_t row = 0; row < f->n; row++) {
    double rest = f->y[row];
    for (size_t i = 0; i < f->n_columns; i++) rest -= f->at[i] * f->x[row][i];
    n[f->group[row]]++;
    used[f->group[row]] += leverage(f, row);
    squares[f->group[row]] += rest * rest;
  }
  for (int g = 0; g < 2; g++) {
    f->freedom[g] = n[g] - used[g];
    if (n[g] > 0 && !(f->freedom[g] > 0.5)) return false;
    f->variance[g] = n[g] > 0 ? squares[g] / f->freedom[g] : 0;
  }
  return true;
}

/* A column's coefficient is a weighted sum of y: its variance follows from each group's own. */
static double error_of(const struct fit *f, size_t column, double *ret_freedom) {
  double part[2] = {0}, sum = 0, down = 0;
  for (size_t row = 0; row < f->n; row++) {
    double weight = 0;
    for (size_t j = 0; j < f->n_columns; j++) weight += f->x[row][j] * f->inverse[j][column];
    part[f->group[row]] += weight * weight * f->variance[f->group[row]];
  }
  for (int g = 0; g < 2; g++) {
    sum += part[g];
    if (part[g] > 0) down += part[g] * part[g] / f->freedom[g];
  }
  *ret_freedom = down > 0 ? sum * sum / down : 1;
  return sqrt(sum);
}

/* --- the sides --- */

struct condition {
  double apart, scale;    /* between the sides' means; of all values */
  double range;           /* the widest within a side; paired: of the differences */
  double variances_apart; /* between the sides */
  bool within;            /* it varies within a side */
  bool overlaps;          /* the one side's mean lies among the other's sessions */
};

static double mean_of(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] / (double)n;
  return sum;
}

static double variance_of(const double *x, size_t n) {
  double mean = mean_of(x, n), sum = 0;
  for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean) / (double)(n - 1);
  return sum;
}

struct range {
  double least, most;
};

/* Of x; less given: of x - less. */
static struct range range_of(const double *x, const double *less, size_t n) {
  struct range r = {INFINITY, -INFINITY};
  for (size_t i = 0; i < n; i++) {
    double value = less != NULL ? x[i] - less[i] : x[i];
    r = (struct range){fmin(r.least, value), fmax(r.most, value)};
  }
  return r;
}

static bool spans(struct range r, double value) {
  return r.least <= value && value <= r.most;
}

static struct condition condition_of(const struct covariance_sides *s, size_t j) {
  const double *a = s->felt_a[j], *b = s->felt_b[j], mean_a = mean_of(a, s->n_a), mean_b = mean_of(b, s->n_b);
  const struct range range_a = range_of(a, NULL, s->n_a), range_b = range_of(b, NULL, s->n_b);
  struct condition c = {.apart = mean_a - mean_b,
                        .variances_apart = variance_of(a, s->n_a) - variance_of(b, s->n_b),
                        .overlaps = spans(range_a, mean_b) || spans(range_b, mean_a)};
  for (size_t i = 0; i < s->n_a; i++) c.scale = fmax(c.scale, fabs(s->paired ? a[i] - b[i] : a[i] - mean_a));
  for (size_t i = 0; i < s->n_b && !s->paired; i++) c.scale = fmax(c.scale, fabs(b[i] - mean_b));
  c.range = fmax(range_a.most - range_a.least, range_b.most - range_b.least);
  if (s->paired) {
    const struct range apart = range_of(a, b, s->n_a);
    c.range = apart.most - apart.least;
  }
  c.within = c.range > 0;
  return c;
}

/* Unpaired: a column for each side. Paired: one, of the differences. Then the conditions that vary, each by its own scale: unpaired as it
 * departs from both sides' common zero, so that the sides' columns are at equal conditions. */
static bool fill(const struct covariance_sides *s, const struct condition *conditions, struct fit *f) {
  size_t base = s->paired ? 1 : 2;
  f->n = s->paired ? s->n_a : s->n_a + s->n_b;
  for (size_t row = 0; row < f->n; row++) {
    bool of_b = row >= s->n_a;
    size_t i = of_b ? row - s->n_a : row;
    double value = of_b ? s->b[i] : s->a[i];
    if (!(value > 0) || isinf(value) || (s->paired && (!(s->b[i] > 0) || isinf(s->b[i])))) return false;
    f->y[row] = special_log(value) - (s->paired ? special_log(s->b[i]) : 0);
    f->group[row] = of_b;
    f->x[row][0] = 1;
    if (base == 2) f->x[row][1] = of_b ? 0 : 1; /* its coefficient is ln a / b at equal conditions */
    f->n_columns = base;
    for (size_t j = 0; j < s->n_conditions; j++) {
      if (!conditions[j].within) continue;
      double felt = s->paired ? s->felt_a[j][i] - s->felt_b[j][i] : of_b ? s->felt_b[j][i] : s->felt_a[j][i];
      f->x[row][f->n_columns++] = felt / conditions[j].scale;
    }
  }
  return true;
}

/* What the conditions can explain of ln ratio at most. */
static double explain(const struct covariance_sides *s, const struct condition *conditions, const struct fit *f, double alpha) {
  double sum = s->besides;
  size_t column = s->paired ? 1 : 2;
  for (size_t j = 0; j < s->n_conditions; j++) {
    if (!conditions[j].within) continue; /* nor between the sides: else nothing is bounded */
    double freedom, error = error_of(f, column, &freedom), reach = error > 0 ? special_t_quantile(1 - alpha / 2, freedom) * error : 0;
    double apart = fabs(conditions[j].apart), told = (fabs(f->at[column]) + reach) * apart / conditions[j].scale;
    double time = s->is_time[j] && apart < 1 ? -special_log(1 - apart) : INFINITY;
    sum += apart > conditions[j].range ? fmax(told, time) : told;
    column++;
  }
  return sum;
}

/* What the straight line leaves out where the response is that of lost time, -ln(1 - x) = x + x^2 / 2 + ... */
static double curve(const struct covariance_sides *s, const struct condition *conditions, const struct fit *f) {
  double sum = 0;
  size_t column = s->paired ? 1 : 2;
  for (size_t j = 0; j < s->n_conditions; j++) {
    if (!conditions[j].within) continue;
    double response = f->at[column++] / conditions[j].scale, shift = response * conditions[j].apart;
    sum += response * response * fabs(conditions[j].variances_apart) / 2 + shift * shift / 8;
  }
  return sum;
}

static void judge(const struct covariance_sides *s, const struct condition *conditions, const struct fit *f, const struct comparison *plain,
                  double limit, double confidence, struct covariance_comparison *ret) {
  struct comparison *c = &ret->adjusted, narrowed = *c;
  double room = limit - curve(s, conditions, f) - s->besides, alpha = 1 - confidence;
  bool near = ret->explained <= limit, overlaps = true;
  for (size_t j = 0; j < s->n_conditions; j++) overlaps = overlaps && (conditions[j].overlaps || !conditions[j].within);
  if (room > 0) compare_judge(&narrowed, special_log(c->ratio), special_exp(room) - 1, confidence);
  bool same = room > 0 && narrowed.p_equivalence <= alpha && (near || overlaps), differs = c->p_difference <= alpha;
  double near_end = plain->low > 1 ? special_log(plain->low) : plain->high < 1 ? -special_log(plain->high) : 0;
  bool beyond = near_end > limit + ret->explained;
  c->verdict = same && differs ? VERDICT_DIFFERENT_WITHIN : same ? VERDICT_SAME : beyond ? VERDICT_DIFFERENT_BEYOND : VERDICT_INCONCLUSIVE;
}

struct covariance_comparison covariance_compare(const struct covariance_sides *s, double margin, double confidence) {
  struct covariance_comparison result = {.adjusted = {.verdict = VERDICT_INCONCLUSIVE,
                                                      .ratio = NAN,
                                                      .high = INFINITY,
                                                      .inner_high = INFINITY,
                                                      .needed_per_side = INFINITY,
                                                      .p_difference = 1,
                                                      .p_equivalence = 1},
                                         .measured = NAN,
                                         .explained = INFINITY};
  struct condition conditions[COVARIANCE_CONDITIONS_MAX];
  const size_t least = s->paired ? 3 + s->n_conditions : 3;
  if (s->n_a < least || s->n_b < least || (s->paired && s->n_a != s->n_b)) return result;
  const struct comparison plain = compare_sessions(s->a, s->n_a, s->b, s->n_b, s->paired, margin, confidence);
  result.measured = plain.ratio;
  for (size_t j = 0; j < s->n_conditions; j++) {
    conditions[j] = condition_of(s, j);
    if (!conditions[j].within && fabs(conditions[j].apart) > 0) return result;
  }
  struct fit f = {.x = xalloc(s->n_a + s->n_b, sizeof *f.x),
                  .y = xalloc(s->n_a + s->n_b, sizeof *f.y),
                  .group = xalloc(s->n_a + s->n_b, sizeof *f.group)};
  if (plain.bounded && fill(s, conditions, &f) && solve(&f)) {
    struct comparison *c = &result.adjusted;
    size_t column = s->paired ? 0 : 1;
    c->error = error_of(&f, column, &c->freedom);
    compare_judge(c, f.at[column], margin, confidence);
    c->bounded = true;
    result.explained = explain(s, conditions, &f, 1 - confidence);
    judge(s, conditions, &f, &plain, special_log(1 + margin), confidence, &result);
  }
  free(f.x);
  free(f.y);
  free(f.group);
  return result;
}
