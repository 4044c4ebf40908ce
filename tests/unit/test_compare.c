#include "stats/compare.h"

#include "tests/check.h"

static const double a[] = {100.2, 101.1, 99.7, 100.9, 100.4, 99.9, 100.6, 101.3},
                    b[] = {101.5, 102.2, 100.8, 101.9, 101.1, 101.6, 102.4, 100.9};

static void equivalence(void) {
  struct comparison c = compare_sessions(a, 8, b, 8, false, 0.02, 0.95);
  CHECK_NEAR(c.ratio, 0.9897842152, 1e-10);
  CHECK_NEAR(c.error, 0.00287551942, 1e-11);
  CHECK_NEAR(c.freedom, 13.98758302, 1e-8);
  CHECK_NEAR(c.inner_low, 0.98478363, 1e-8);
  CHECK_NEAR(c.inner_high, 0.99481019, 1e-8);
  CHECK_NEAR(c.low, 0.98369812, 1e-8);
  CHECK_NEAR(c.high, 0.99590796, 1e-8);
  CHECK_NEAR(c.p_difference, 0.0030744124, 1e-9);
  CHECK_NEAR(c.p_equivalence, 0.0025530072, 1e-9);
  CHECK_INT(c.verdict, VERDICT_DIFFERENT_WITHIN);
  c = compare_sessions(a, 8, b, 8, false, 0.015, 0.95);
  CHECK_NEAR(c.p_equivalence, 0.0652187614, 1e-9);
  CHECK_INT(c.verdict, VERDICT_INCONCLUSIVE);
  CHECK(c.needed_per_side > 8 && c.needed_per_side < 60);
  CHECK_NEAR(compare_sessions(a, 8, b, 8, false, 0.01, 0.95).p_equivalence, 0.5432422840, 1e-9);
  /* Itself: the same. Twice as much: beyond. */
  CHECK_INT(compare_sessions(a, 8, a, 8, false, 0.02, 0.95).verdict, VERDICT_SAME);
  const double fourteen[] = {14, 14, 14}, thirteen[] = {13, 13, 13}; /* even arrivals: nothing varies, and one request is 7 % */
  c = compare_sessions(thirteen, 3, fourteen, 3, false, 0.05, 0.95);
  CHECK_INT(c.verdict, VERDICT_DIFFERENT_BEYOND);
  compare_not_finer(&c, 0.1, 0.05, 0.95);
  CHECK_INT(c.verdict, VERDICT_INCONCLUSIVE);
  CHECK_NEAR(c.ratio, 13.0 / 14, 1e-12);
  CHECK_NEAR(c.low, 13.0 / 14 * exp(-0.1), 1e-5);
  CHECK_NEAR(c.high, 13.0 / 14 * exp(0.1), 1e-5);
  compare_not_finer(&c, 0.05, 0.05, 0.95); /* narrower than what is there */
  CHECK_NEAR(c.high, 13.0 / 14 * exp(0.1), 1e-5);
  compare_not_finer(&c, INFINITY, 0.05, 0.95);
  CHECK(c.low == 0 && isinf(c.high) && c.verdict == VERDICT_INCONCLUSIVE);
  double twice[8];
  for (int i = 0; i < 8; i++) twice[i] = 2 * a[i];
  CHECK_INT(compare_sessions(twice, 8, a, 8, false, 0.02, 0.95).verdict, VERDICT_DIFFERENT_BEYOND);
  CHECK_NEAR(compare_sessions(twice, 8, a, 8, true, 0.02, 0.95).ratio, 2, 1e-12);
  /* No verdict without replication, nor of figures that are not positive. */
  CHECK(!compare_sessions(a, 1, b, 8, false, 0.02, 0.95).bounded);
  const double zero[] = {0, 1};
  CHECK(!compare_sessions(zero, 2, a, 2, false, 0.02, 0.95).bounded);
  CHECK(!compare_sessions(a, 8, b, 7, true, 0.02, 0.95).bounded); /* pairs that are none */
  /* Pairs that share their drift tell apart what two groups cannot. */
  const double pa[] = {10, 20, 40, 80}, pb[] = {11, 22.2, 43.9, 88.1};
  CHECK_INT(compare_sessions(pa, 4, pb, 4, true, 0.05, 0.95).verdict, VERDICT_DIFFERENT_BEYOND);
  CHECK_INT(compare_sessions(pa, 4, pb, 4, false, 0.05, 0.95).verdict, VERDICT_INCONCLUSIVE);
}

static void hodges_lehmann(void) { /* Hollander and Wolfe's permeability data */
  const double x[] = {.80, .83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, .73, 1.46}, y[] = {1.15, .88, .90, .74, 1.21};
  struct shift s = compare_shift(x, 10, y, 5, 0.95);
  CHECK_NEAR(s.u, 35, 0);
  CHECK_NEAR(s.estimate, 0.305, 1e-12);
  CHECK_NEAR(s.low, -0.15, 1e-12);
  CHECK_NEAR(s.high, 0.76, 1e-12);
  CHECK_NEAR(s.coverage, 0.96003996, 1e-8);
  CHECK(s.bounded);
  CHECK(!compare_shift(x, 2, y, 2, 0.95).bounded); /* 4 differences cannot give 95 % */
}

static void kalibera_jones(void) {
  const double x[] = {9, 5, 8, 3, 10, 6, 7, 11, 1, 12, 2, 4};
  struct nested n = nested_components(x, 3, 2, 2);
  CHECK_NEAR(n.s2[0], 16.5, 1e-12);
  CHECK_NEAR(n.s2[1], 2.583333, 1e-6);
  CHECK_NEAR(n.s2[2], 3.5625, 1e-12);
  CHECK_NEAR(n.t2[1], -5.666667, 1e-6);
  CHECK_NEAR(n.t2[2], 2.2708333, 1e-7);
  const double y[] = {3, 4, 3, 1.2, 3.1, 3, .2, 1, 1.5, 1, 2, 3};
  n = nested_components(y, 2, 2, 3);
  CHECK_NEAR(n.t2[0], .7266667, 1e-7);
  CHECK_NEAR(n.t2[1], .2627778, 1e-7);
  CHECK_NEAR(n.t2[2], .7747222, 1e-7);
  CHECK_NEAR(nested_repetitions(n.t2[0], n.t2[1], 3, 20), 4.29366, 1e-5);
  CHECK_NEAR(nested_repetitions(n.t2[1], n.t2[2], 20, 100), 1.302286, 1e-6);
  CHECK(isinf(nested_repetitions(1, -1, 1, 1)));
  const double resistance[] = {196.3052, 196.1240, 196.1890, 196.2569, 196.3403, 196.3042, 196.3825, 196.1669, 196.3257,
                               196.0422, 196.1303, 196.2005, 196.2889, 196.0343, 196.1811, 196.2795, 196.1748, 196.1494,
                               196.1485, 195.9885, 196.2119, 196.1051, 196.1850, 196.0052, 196.2090};
  /* NIST's SiRstv: the mean squares within and between, the latter per value. */
  double s2[2] = {0, 0}, all = 0, means[5] = {0};
  for (int i = 0; i < 25; i++) means[i / 5] += resistance[i] / 5, all += resistance[i] / 25;
  n = nested_components(resistance, 1, 5, 5);
  for (int i = 0; i < 5; i++) s2[1] += (means[i] - all) * (means[i] - all) / 4;
  CHECK_NEAR(n.s2[0], .0108318280, 1e-10);
  CHECK_NEAR(n.s2[1], .0127865654 / 5, 1e-11);
  CHECK_NEAR(s2[1], n.s2[1], 1e-12);
}

static void early_stopping(void) { /* MLPerf's floors and the table of LoadGen's rule */
  static const struct {
    double p;
    long t, least;
  } rows[] = {{.9, 0, 44},   {.9, 1, 64},   {.9, 2, 81},     {.9, 10, 197},     {.99, 0, 459},
              {.99, 1, 662}, {.99, 2, 838}, {.99, 10, 2010}, {.99, 100, 12571}, {.999, 1, 6636}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) CHECK_INT(early_stopping_least(rows[i].p, rows[i].t, 0.99), rows[i].least);
}

int main(void) {
  equivalence();
  hodges_lehmann();
  kalibera_jones();
  early_stopping();
  CHECK_NEAR(look_confidence(0.95, 5), 0.99, 1e-12);
  CHECK_NEAR(look_confidence(0.95, 1), 0.95, 0);
  return check_end();
}
