#include "stats/sessions.h"

#include <stdlib.h>

#include "base/random.h"
#include "tests/check.h"

/* NIST's univariate data sets, with certified mean, standard deviation and lag-1 autocorrelation. */
static void check_nist(const char *name, double tolerance) {
  char path[400];
  (void)snprintf(path, sizeof path, "%s/nist/%s.txt", RECORDED, name);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  if (file == NULL) return;
  char line[400];
  int n = 0;
  double mean = 0, deviation = 0, lag1 = 0;
  CHECK(fgets(line, sizeof line, file) != NULL);
  CHECK(fscanf(file, "%d %lf %lf %lf", &n, &mean, &deviation, &lag1) == 4);
  double *x = calloc((size_t)n, sizeof *x);
  for (int i = 0; i < n; i++) CHECK(fscanf(file, "%lf", &x[i]) == 1);
  struct interval found = interval_of_mean(x, (size_t)n, 0.95);
  CHECK_NEAR(found.estimate, mean, 1e-12 * fabs(mean));
  CHECK_NEAR(found.deviation, deviation, tolerance * deviation);
  CHECK_NEAR(series_autocorrelation(x, (size_t)n, 1), lag1, tolerance);
  free(x);
  (void)fclose(file);
}

static double uniform(struct random_stream *r) {
  return ((double)(random_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

int main(void) {
  check_nist("Lew", 1e-12);
  check_nist("Lottery", 1e-12);
  check_nist("Mavro", 1e-11);
  check_nist("Michelso", 1e-12);
  check_nist("NumAcc1", 1e-12);
  check_nist("NumAcc2", 1e-12);
  check_nist("NumAcc3", 1e-8); /* the values themselves, 1000000.1, are only so exact */
  check_nist("NumAcc4", 1e-7);

  /* Ranks of n_effective = n are those of independent values. */
  double x[1000];
  for (int i = 0; i < 1000; i++) x[i] = i + 1;
  struct quantile all = quantile_interval(x, 1000, 0.99, 0.95), fewer = quantile_interval_effective(x, 1000, 0.99, 0.95, 500);
  CHECK_INT(all.low_rank, 983);
  CHECK_INT(all.high_rank, 997);
  CHECK(fewer.bounded && fewer.low_rank < all.low_rank && fewer.high_rank > all.high_rank);
  CHECK(!quantile_interval_effective(x, 1000, 0.99, 0.95, 367.9).bounded); /* 368 are needed */
  CHECK(quantile_interval_effective(x, 1000, 0.99, 0.95, 368).bounded);
  CHECK(!quantile_interval_effective(x, 1000, 0.99, 0.95, 0).bounded);

  /* Five like sessions of independent values: the design effect is near 1, and (1.960 / 2.776)^2 = 0.498 of n is left. (One seed in
   * ten makes like sessions seem to differ: two F tests at 5 %.) */
  struct random_stream r;
  random_init(&r, 4, "sessions");
  enum { SESSIONS = 5, EACH = 2000 };
  static double value[SESSIONS][EACH], sorted[SESSIONS * EACH];
  struct session_values sessions[SESSIONS];
  for (int s = 0; s < SESSIONS; s++) {
    for (int i = 0; i < EACH; i++) sorted[s * EACH + i] = value[s][i] = uniform(&r);
    sessions[s] = (struct session_values){value[s], EACH};
  }
  quantile_sort(sorted, SESSIONS * EACH);
  struct session_quantile q = sessions_quantile(sessions, SESSIONS, sorted, 0.9, 0.95);
  CHECK(q.design_effect >= 1 && q.design_effect < 3);
  CHECK_NEAR(q.n_effective * q.design_effect / (SESSIONS * EACH), 0.4984, 0.001);
  CHECK(q.quantile.bounded && q.quantile.low < 0.9 && q.quantile.high > 0.9);
  /* The same values in blocks of one session each: sessions that differ wholly tell little. */
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) value[s][i] = sorted[s * EACH + i];
  q = sessions_quantile(sessions, SESSIONS, sorted, 0.9, 0.95);
  CHECK(q.design_effect > 500);
  /* They differ, and the variance between them is taken at its upper bound: 0.2647 = 1 / 3.778, the 90 % point of F(100, 4) in tables. */
  CHECK_NEAR(q.n_effective * q.design_effect / (SESSIONS * EACH), 0.2647, 0.0001);
  CHECK(!q.quantile.bounded);
  /* One session is no replication. */
  CHECK(!sessions_quantile(sessions, 1, sorted, 0.5, 0.95).quantile.bounded);
  CHECK(sessions_mean(sessions, 1, 0.95).why == MEAN_TOO_FEW_SESSIONS);

  /* Means: refused for a failure, for a tail without variance (Pareto 1.2), held for uniform values. */
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) value[s][i] = uniform(&r);
  struct session_mean m = sessions_mean(sessions, SESSIONS, 0.95);
  CHECK(m.why == MEAN_HOLDS && m.interval.bounded);
  CHECK_NEAR(m.interval.estimate, 0.5, 0.02);
  value[2][7] = INFINITY;
  CHECK(sessions_mean(sessions, SESSIONS, 0.95).why == MEAN_INFINITE_VALUE);
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) value[s][i] = pow(uniform(&r), -1 / 1.2);
  m = sessions_mean(sessions, SESSIONS, 0.95);
  CHECK(m.why == MEAN_INFINITE_VARIANCE || m.why == MEAN_TOO_SKEWED);
  CHECK(!m.interval.bounded);
  CHECK_NEAR(m.tail_index, 1.2, 0.6);
  /* Hill's estimate on exact Pareto quantiles, index 2: 2 / (1 + small). */
  for (int i = 0; i < 1000; i++) x[i] = pow(1 - (i + 0.5) / 1000, -0.5);
  CHECK_NEAR(tail_index(x, 1000, 100), 2, 0.15);
  return check_end();
}
