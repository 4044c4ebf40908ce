#include "stats/covariance.h"

#include <math.h>

#include "tests/check.h"

/* As numpy gives them, by the formulas of the header. */
static void two_groups(void) {
  static const double a[] = {103, 99, 101, 104, 98}, b[] = {88, 91, 84, 86, 93}, lost_a[] = {0.01, 0.03, 0.02, 0.00, 0.04},
                      lost_b[] = {0.12, 0.09, 0.16, 0.14, 0.08};
  struct covariance_sides s = {
      .a = a, .b = b, .n_a = 5, .n_b = 5, .n_conditions = 1, .felt_a = {lost_a}, .felt_b = {lost_b}, .is_time = {true}};
  struct covariance_comparison c = covariance_compare(&s, 0.05, 0.95);
  CHECK(c.adjusted.bounded);
  CHECK_NEAR(c.adjusted.ratio, 1.0070352169746233, 1e-12);
  CHECK_NEAR(c.adjusted.error, 0.007173229657149739, 1e-12);
  CHECK_NEAR(c.adjusted.freedom, 5.895373731306007, 1e-9);
  CHECK_NEAR(c.measured, compare_sessions(a, 5, b, 5, false, 0.05, 0.95).ratio, 0);
  CHECK_NEAR(c.explained, 0.098 * (1.2924793822461726 + 2.535 * 0.06509968439313314), 1e-4); /* t at 0.975 with 5.24 */
  /* The sides do not overlap, and what is explained is more than the margin: nothing is extrapolated. */
  CHECK_INT(c.adjusted.verdict, VERDICT_INCONCLUSIVE);
  CHECK_INT(covariance_compare(&s, 0.2, 0.95).adjusted.verdict, VERDICT_SAME);
  /* Further apart than any side's values reach, of a figure that may lose more than the time: nothing is bounded. */
  s.is_time[0] = false;
  c = covariance_compare(&s, 0.2, 0.95);
  CHECK(isinf(c.explained));
  CHECK_INT(c.adjusted.verdict, VERDICT_INCONCLUSIVE);
  s.is_time[0] = true;
  /* Beyond what the conditions can explain: three times as much. */
  double third[5];
  for (int i = 0; i < 5; i++) third[i] = b[i] / 3;
  s.b = third;
  CHECK_INT(covariance_compare(&s, 0.05, 0.95).adjusted.verdict, VERDICT_DIFFERENT_BEYOND);
  s.besides = 2; /* e^2 = 7.4 times might have come from elsewhere */
  CHECK_INT(covariance_compare(&s, 0.05, 0.95).adjusted.verdict, VERDICT_INCONCLUSIVE);
}

static void side_by_side(void) {
  static const double a[] = {100, 97, 103, 99, 101, 95, 102, 98}, b[] = {90, 91, 92, 88, 95, 80, 93, 89};
  static const double lost_a[] = {.1, .12, .08, .11, .1, .16, .09, .12}, lost_b[] = {.2, .18, .19, .25, .15, .33, .2, .21},
                      beside_a[] = {.5, .4, .45, .6, .5, .55, .4, .5}, beside_b[] = {.5, .55, .4, .5, .6, .65, .42, .52};
  const struct covariance_sides s = {
      .a = a, .b = b, .n_a = 8, .n_b = 8, .n_conditions = 2, .felt_a = {lost_a, beside_a}, .felt_b = {lost_b, beside_b}, .paired = true};
  struct covariance_comparison c = covariance_compare(&s, 0.05, 0.95);
  CHECK_NEAR(log(c.adjusted.ratio), 0.00730518, 1e-8);
  CHECK_NEAR(c.adjusted.error, 0.01338037, 1e-8);
  CHECK_NEAR(c.adjusted.freedom, 5, 1e-9);
}

/* A condition that is the other one on one side throughout tells nothing of its response: no verdict, whatever the figures. */
static void unknown_response(void) {
  static const double a[] = {100, 101, 99, 100}, b[] = {50, 51, 49, 50}, none[] = {0, 0, 0, 0}, much[] = {0.5, 0.5, 0.5, 0.5};
  struct covariance_sides s = {.a = a, .b = b, .n_a = 4, .n_b = 4, .n_conditions = 1, .felt_a = {none}, .felt_b = {much}};
  struct covariance_comparison c = covariance_compare(&s, 0.05, 0.95);
  CHECK(!c.adjusted.bounded && isinf(c.explained));
  CHECK_INT(c.adjusted.verdict, VERDICT_INCONCLUSIVE);
  s.felt_b[0] = none; /* nothing was felt on either side: as if there were no condition */
  c = covariance_compare(&s, 0.05, 0.95);
  CHECK_NEAR(c.adjusted.ratio, compare_sessions(a, 4, b, 4, false, 0.05, 0.95).ratio, 1e-12);
  CHECK_NEAR(c.explained, 0, 0);
  CHECK_INT(c.adjusted.verdict, VERDICT_DIFFERENT_BEYOND);
  s.n_b = 2;
  CHECK(!covariance_compare(&s, 0.05, 0.95).adjusted.bounded);
}

int main(void) {
  two_groups();
  side_by_side();
  unknown_response();
  return check_end();
}
