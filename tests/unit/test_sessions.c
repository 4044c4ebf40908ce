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

enum { SESSIONS = 5, EACH = 2000 };
static double value[SESSIONS][EACH];
static struct sample own[SESSIONS];
static const struct sample *sessions[SESSIONS];

/* Closed samples of the values. */
static void take_values(void) {
  for (int s = 0; s < SESSIONS; s++) {
    sample_release(&own[s]);
    for (int i = 0; i < EACH; i++) sample_add(&own[s], value[s][i]);
    sample_close(&own[s]);
    sessions[s] = &own[s];
  }
}

/* Every rank of samples is that of one sorted array, whatever the values. */
static void check_ranks(double (*draw)(struct random_stream *), bool stay_small) {
  struct random_stream r;
  struct sample samples[3] = {{0}};
  const struct sample *list[3] = {&samples[0], &samples[1], &samples[2]};
  const size_t lengths[3] = {1, 777, 15000};
  static double sorted[16000], greatest[100];
  double sum = 0, squares = 0;
  size_t n = 0, n_low = 0;
  random_init(&r, 7, "ranks");
  for (int s = 0; s < 3; s++) {
    for (size_t i = 0; i < lengths[s]; i++) sample_add(&samples[s], sorted[n++] = draw(&r));
    CHECK((samples[s].any == NULL) == stay_small);
    sample_close(&samples[s]);
  }
  quantile_sort(sorted, n);
  CHECK_INT(samples_count(list, 3), (long long)n);
  for (size_t rank = 1; rank <= n; rank += 1 + rank / 37) {
    double found = samples_ranked(list, 3, rank);
    CHECK(found >= sorted[rank - 1] && found <= sorted[rank - 1]);
  }
  for (size_t i = 0; i < n; i++) n_low += sorted[i] <= sorted[n / 3];
  CHECK_INT(samples_up_to(list, 3, sorted[n / 3]), (long long)n_low);
  CHECK_INT(samples_up_to(list, 3, -1), 0);
  samples_greatest(list, 3, 100, greatest);
  for (size_t i = 0; i < 100; i++) CHECK(greatest[i] >= sorted[n - 100 + i] && greatest[i] <= sorted[n - 100 + i]);
  for (size_t i = 0; i < n; i++) sum += sorted[i];
  for (size_t i = 0; i < n; i++) squares += (sorted[i] - sum / (double)n) * (sorted[i] - sum / (double)n);
  if (isfinite(sum)) CHECK_NEAR(samples_deviation(list, 3) / sqrt(squares / (double)(n - 1)), 1, 1e-9);
  else CHECK(isnan(samples_deviation(list, 3)));
  for (int s = 0; s < 3; s++) sample_release(&samples[s]);
}

static double draw_whole(struct random_stream *r) {
  return floor(1e6 / uniform(r) / uniform(r)) > 4e9 ? INFINITY : floor(1e3 / uniform(r));
}

static double draw_alike(struct random_stream *r) {
  return floor(3 * uniform(r));
}

static double draw_any(struct random_stream *r) {
  return uniform(r) < 0.01 ? INFINITY : 10 * uniform(r) - 1;
}

/* A value in another's place: as if it had been added so. */
static void check_raised(void) {
  struct sample was = {0}, is = {0};
  struct sample_place places[3] = {{3, 103}, {250, 350}, {299, 399}};
  for (size_t i = 0; i < 300; i++) sample_add(&was, 100 + (double)i), sample_add(&is, i == 3 || i == 250 ? INFINITY : 100 + (double)i);
  sample_close(&was);
  sample_close(&is);
  struct sample raised = sample_raised(&was, places, 3, 350);
  const struct sample *a = &raised, *b = &is;
  for (size_t batch = 0; batch < is.n_batches; batch++)
    for (double at = 99; at < 402; at++) CHECK_INT(sample_up_to(&raised, batch, at), (long long)sample_up_to(&is, batch, at));
  for (size_t rank = 1; rank <= 298; rank++) CHECK_NEAR(samples_ranked(&a, 1, rank), samples_ranked(&b, 1, rank), 0);
  CHECK(isinf(samples_ranked(&a, 1, 299)));
  sample_release(&was);
  sample_release(&is);
  sample_release(&raised);
}

int main(void) {
  check_ranks(draw_whole, true);
  check_ranks(draw_alike, true);
  check_ranks(draw_any, false);
  check_raised();
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
  static double sorted[SESSIONS * EACH];
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) sorted[s * EACH + i] = value[s][i] = uniform(&r);
  take_values();
  quantile_sort(sorted, SESSIONS * EACH);
  struct session_quantile q = sessions_quantile(sessions, SESSIONS, 0.9, 0.95);
  CHECK(q.design_effect >= 1 && q.design_effect < 3);
  CHECK_NEAR(q.n_effective * q.design_effect / (SESSIONS * EACH), 0.4984, 0.001);
  CHECK(q.quantile.bounded && q.quantile.low < 0.9 && q.quantile.high > 0.9);
  /* The same values in blocks of one session each: sessions that differ wholly tell little. */
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) value[s][i] = sorted[s * EACH + i];
  take_values();
  q = sessions_quantile(sessions, SESSIONS, 0.9, 0.95);
  CHECK(q.design_effect > 500);
  /* They differ, and the variance between them is taken at its upper bound: 0.2647 = 1 / 3.778, the 90 % point of F(100, 4) in tables. */
  CHECK_NEAR(q.n_effective * q.design_effect / (SESSIONS * EACH), 0.2647, 0.0001);
  CHECK(!q.quantile.bounded);
  /* One session is no replication. */
  CHECK(!sessions_quantile(sessions, 1, 0.5, 0.95).quantile.bounded);
  CHECK(sessions_mean(sessions, 1, 0.95).why == MEAN_TOO_FEW_SESSIONS);

  /* Means: refused for a failure, for a tail without variance (Pareto 1.2), held for uniform values. */
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) value[s][i] = uniform(&r);
  take_values();
  struct session_mean m = sessions_mean(sessions, SESSIONS, 0.95);
  CHECK(m.why == MEAN_HOLDS && m.interval.bounded);
  CHECK_NEAR(m.interval.estimate, 0.5, 0.02);
  value[2][7] = INFINITY;
  take_values();
  CHECK(sessions_mean(sessions, SESSIONS, 0.95).why == MEAN_INFINITE_VALUE);
  for (int s = 0; s < SESSIONS; s++)
    for (int i = 0; i < EACH; i++) value[s][i] = pow(uniform(&r), -1 / 1.2);
  take_values();
  m = sessions_mean(sessions, SESSIONS, 0.95);
  CHECK(m.why == MEAN_INFINITE_VARIANCE || m.why == MEAN_TOO_SKEWED);
  CHECK(!m.interval.bounded);
  CHECK_NEAR(m.tail_index, 1.2, 0.6);
  /* Hill's estimate on exact Pareto quantiles, index 2: 2 / (1 + small). */
  for (int i = 0; i < 1000; i++) x[i] = pow(1 - (i + 0.5) / 1000, -0.5);
  CHECK_NEAR(tail_index(x, 1000, 100), 2, 0.15);
  for (int s = 0; s < SESSIONS; s++) sample_release(&own[s]);
  return check_end();
}
