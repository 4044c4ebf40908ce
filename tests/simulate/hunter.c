#include "tests/simulate/hunter.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stats/special.h"

enum { WINDOW_MAX = 200 };

struct point {
  size_t at;
  double p, magnitude;
};

/* Sums of distances: between both sides, and within each. */
double hunter_greatest(const double *x, size_t n, size_t *ret_at, size_t *ret_end) {
  static double within[WINDOW_MAX + 2][WINDOW_MAX + 2]; /* of x[i ... j) */
  double best = -INFINITY;
  for (size_t i = 0; i <= n; i++) within[i][i] = within[i][i + 1] = 0;
  for (size_t i = n; i-- > 0;) {
    double row = 0; /* of x[i] to all up to j */
    for (size_t j = i + 2; j <= n; j++) {
      row += fabs(x[i] - x[j - 1]);
      within[i][j] = within[i + 1][j] + row;
    }
  }
  for (size_t t = 1; t < n; t++)
    for (size_t k = t + 1; k <= n; k++) {
      double a = (double)t, b = (double)(k - t), cross = within[0][k] - within[0][t] - within[t][k];
      double q = 2 / (a + b) * cross;
      if (t > 1) q -= 2 * b / ((a + b) * (a - 1)) * within[0][t];
      if (k - t > 1) q -= 2 * a / ((a + b) * (b - 1)) * within[t][k];
      if (q > best) best = q, *ret_at = t, *ret_end = k;
    }
  return best;
}

static void moments(const double *x, size_t n, double *mean, double *variance) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  *mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) square += (x[i] - *mean) * (x[i] - *mean);
  *variance = n >= 2 ? square / (double)n : 0;
}

static void test(const double *x, size_t begin, size_t end, struct point *point) {
  double mean[2], variance[2], n = (double)(point->at - begin), m = (double)(end - point->at), freedom = n + m - 2;
  moments(x + begin, point->at - begin, &mean[0], &variance[0]);
  moments(x + point->at, end - point->at, &mean[1], &variance[1]);
  double pooled = freedom > 0 ? ((n - 1) * variance[0] + (m - 1) * variance[1]) / freedom : 0,
         t = (mean[0] - mean[1]) / sqrt(pooled * (1 / n + 1 / m));
  point->p = freedom > 0 ? special_beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5) : 1;
  point->magnitude = fmax(fabs(mean[1] / mean[0] - 1), fabs(mean[0] / mean[1] - 1));
}

/* --- one window --- */

static size_t divide(const double *x, size_t n, double p, size_t *ret) {
  size_t edges[WINDOW_MAX + 1] = {0, n}, n_edges = 2;
  for (;;) {
    double best = -INFINITY;
    struct point found = {.p = 1};
    size_t segment = 0;
    for (size_t i = 0; i + 1 < n_edges; i++) {
      size_t at = 0, end = 0;
      if (edges[i + 1] - edges[i] < 2) continue;
      double q = hunter_greatest(x + edges[i], edges[i + 1] - edges[i], &at, &end);
      if (q > best) best = q, found.at = edges[i] + at, segment = i;
    }
    if (best == -INFINITY) break;
    test(x, edges[segment], edges[segment + 1], &found);
    if (!(found.p <= p)) break;
    memmove(&edges[segment + 2], &edges[segment + 1], (n_edges - segment - 1) * sizeof *edges);
    edges[segment + 1] = found.at;
    n_edges++;
  }
  memcpy(ret, edges + 1, (n_edges - 2) * sizeof *ret);
  return n_edges - 2;
}

/* --- the series --- */

static size_t split(const double *x, size_t n, size_t window, double p, struct point *ret) {
  size_t n_points = 0;
  for (size_t start = 0; start < n;) {
    size_t found[WINDOW_MAX + 1], length = n - start < window ? n - start : window, n_found = divide(x + start, length, p, found), last = 0;
    for (size_t i = 0; i < n_found; i++) {
      bool known = false;
      last = start + found[i];
      for (size_t k = 0; k < n_points; k++) known = known || ret[k].at == last;
      if (!known && n_points < HUNTER_MAX) ret[n_points++] = (struct point){.at = last};
    }
    start = last > start + window / 2 ? last : start + window / 2;
  }
  for (size_t i = 1; i < n_points; i++)
    for (size_t k = i; k > 0 && ret[k].at < ret[k - 1].at; k--) {
      struct point other = ret[k];
      ret[k] = ret[k - 1];
      ret[k - 1] = other;
    }
  return n_points;
}

static void test_again(const double *x, size_t n, struct point *points, size_t n_points, size_t i) {
  if (i < n_points) test(x, i > 0 ? points[i - 1].at : 0, i + 1 < n_points ? points[i + 1].at : n, &points[i]);
}

size_t hunter_changes(const double *x, size_t n, size_t window, double p, double least, size_t ret[HUNTER_MAX]) {
  struct point points[HUNTER_MAX];
  size_t n_points = split(x, n, window, p < 0.05 ? 10 * p : p < 0.5 ? 2 * p : p, points);
  for (size_t i = 0; i < n_points; i++) test_again(x, n, points, n_points, i);
  while (n_points > 0) {
    size_t weakest = 0;
    for (size_t i = 1; i < n_points; i++)
      if (points[i].p > points[weakest].p) weakest = i;
    if (points[weakest].p < p) {
      weakest = 0;
      for (size_t i = 1; i < n_points; i++)
        if (points[i].magnitude < points[weakest].magnitude) weakest = i;
      if (points[weakest].magnitude > least) break;
    }
    memmove(&points[weakest], &points[weakest + 1], (n_points - weakest - 1) * sizeof *points);
    n_points--;
    test_again(x, n, points, n_points, weakest);
    test_again(x, n, points, n_points, weakest + 1);
  }
  for (size_t i = 0; i < n_points; i++) ret[i] = points[i].at;
  return n_points;
}
