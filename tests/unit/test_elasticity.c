/* The slope within cycles against a least-squares fit with a dummy for each cycle and a variance by clusters, done in NumPy. */
#include "stats/elasticity.h"

#include <math.h>

#include "base/status.h"
#include "tests/check.h"

static void check_vector(void) {
  static const double x[] = {0, 0.1, 0.3}, y[] = {5.0, 4.88, 4.71, 5.2, 5.11, 4.86, 4.9, 4.83, 4.58, 5.1, 4.98, 4.83};
  struct block_point points[12];
  for (int i = 0; i < 12; i++) points[i] = (struct block_point){i / 3, x[i % 3], y[i], 1};
  struct slope s = slope_within(points, 12, 0.95);
  CHECK(s.bounded);
  CHECK_INT(s.n_groups, 4);
  CHECK_NEAR(s.estimate, -1.0178571428571497, 1e-12);
  CHECK_NEAR(s.error, 0.06264439103296625, 1e-12); /* the scores' autocorrelation is below zero: nothing is added for it */
  CHECK_NEAR(s.low, -1.2172195536467958, 1e-9);
  CHECK_NEAR(s.high, -0.8184947320675037, 1e-9);
}

/* What two slopes share counts: of the same points the sum is twice the slope, with twice the error, not with its root. */
static void check_sum(void) {
  static const double x[] = {0, 0.1, 0.3}, y[] = {5.0, 4.88, 4.71, 5.2, 5.11, 4.86, 4.9, 4.83, 4.58, 5.1, 4.98, 4.83};
  struct block_point points[12];
  for (int i = 0; i < 12; i++) points[i] = (struct block_point){i / 3, x[i % 3], y[i], 1};
  const struct block_point *const both[] = {points, points};
  const size_t n[] = {12, 12};
  struct slope one = slope_within(points, 12, 0.95), sum = slope_sum(both, n, 2, 0.95);
  CHECK_NEAR(sum.estimate, 2 * one.estimate, 1e-12);
  CHECK_NEAR(sum.error, 2 * one.error, 1e-12);
}

/* What is done one after another: the share is found whatever was tried. With noise, against least squares done in NumPy, by bisection of their derivative. */
static void check_shares(void) {
  static const double slowness[] = {1, 1, 1.5, 2.5, 8.5}, shares[] = {-0.02, 0, 0.04, 0.3, 0.9, 1, 1.6};
  static const double group_of[15] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2};
  struct block_point points[15], rates[15], ratios[15];
  for (size_t k = 0; k < LYNX_COUNT(shares); k++) {
    for (int i = 0; i < 15; i++)
      points[i] = (struct block_point){i / 5, slowness[i % 5], 0.1 * group_of[i] + log(1 + shares[k] * (slowness[i % 5] - 1)), 1};
    for (int i = 0; i < 15; i++) rates[i] = (struct block_point){i / 5, slowness[i % 5], exp(-points[i].y), 1};
    for (int i = 0; i < 15; i++)
      ratios[i] = (struct block_point){i / 5, slowness[i % 5], exp(shares[k] * slowness[i % 5] + group_of[i]), 1};
    elasticity_linearise(points, 15, LN_TIME_FOLLOWS_SLOWNESS);
    elasticity_linearise(rates, 15, RATE_FOLLOWS_SLOWNESS);
    elasticity_linearise(ratios, 15, RATE_FOLLOWS_EXPONENT);
    CHECK_NEAR(slope_within(points, 15, 0.95).estimate, shares[k], 1e-8);
    CHECK_NEAR(slope_within(rates, 15, 0.95).estimate, shares[k], 1e-8);
    CHECK_NEAR(slope_within(ratios, 15, 0.95).estimate, shares[k], 1e-8);
  }
}

static void check_fit(void) {
  static const double x[] = {1, 1, 1.5, 2.5}, y[] = {0.01, -0.02, 0.16, 0.33, 0.12, 0.09, 0.22, 0.47, -0.03, 0.02, 0.1, 0.4};
  struct block_point points[12];
  for (int i = 0; i < 12; i++) points[i] = (struct block_point){i / 4, x[i % 4], y[i], 1};
  elasticity_linearise(points, 12, LN_TIME_FOLLOWS_SLOWNESS);
  struct slope s = slope_within(points, 12, 0.95);
  CHECK_NEAR(s.estimate, 0.2959524246445645, 1e-7);
  CHECK_NEAR(s.error, 0.01720683447648436, 1e-7);
}

/* Of rates, against the same done in NumPy, by bisection of the score. A block in which nothing was answered counts once. */
static void check_rates(void) {
  static const double x[] = {1, 1, 1.5, 2.5}, rates[] = {101, 97, 84, 0, 88, 92, 0, 62, 0, 99, 90, 66, 108, 101, 88, 71};
  struct block_point points[16];
  for (int i = 0; i < 16; i++) points[i] = (struct block_point){i / 4, x[i % 4], rates[i], 1};
  elasticity_linearise(points, 16, RATE_FOLLOWS_SLOWNESS);
  struct slope s = slope_within(points, 16, 0.95);
  CHECK_NEAR(s.estimate, 0.50110543651732, 1e-7);
  CHECK_NEAR(s.error, 0.5120228592234488, 1e-7);
  for (int i = 0; i < 16; i++) points[i] = (struct block_point){i / 4, x[i % 4] > 1, rates[i], 1};
  elasticity_linearise(points, 16, RATE_FOLLOWS_EXPONENT);
  s = slope_within(points, 16, 0.95);
  CHECK_NEAR(s.estimate, -0.3974795847292367, 1e-7);
  CHECK_NEAR(s.error, 0.30028784237236045, 1e-7);
}

/* Faster the slower it is, beyond what is possible: no figure. */
static void check_bound(void) {
  struct block_point points[9];
  for (int i = 0; i < 9; i++) points[i] = (struct block_point){i / 3, 1 + i % 3, i % 3 == 2 ? 1e6 : 1, 1};
  CHECK(!elasticity_linearise(points, 9, RATE_FOLLOWS_SLOWNESS));
}

/* Whatever comes in, something finite comes out, or nothing. */
static void check_wild(void) {
  static const double times[] = {1e-9, 0.3, 1, 40, 1e9};
  static const enum follows all[] = {LN_TIME_FOLLOWS_SLOWNESS, RATE_FOLLOWS_SLOWNESS, RATE_FOLLOWS_EXPONENT};
  struct block_point points[9];
  for (size_t a = 0; a < LYNX_COUNT(times); a++)
    for (size_t b = 0; b < LYNX_COUNT(times); b++)
      for (size_t k = 0; k < LYNX_COUNT(all); k++) {
        for (int i = 0; i < 9; i++) {
          double time = i % 3 == 0 ? 1 : times[i % 3 == 1 ? a : b], y = k > 0 ? 1 / time : log(time);
          points[i] = (struct block_point){i / 3, i % 3 == 0 ? 1 : i % 3 == 1 ? 1.5 : 1e6, y, 1};
        }
        elasticity_linearise(points, 9, all[k]);
        CHECK(isfinite(slope_within(points, 9, 0.95).estimate));
      }
  for (size_t k = 0; k < LYNX_COUNT(all); k++) elasticity_linearise(points, 0, all[k]);
}

static void check_refusals(void) {
  const struct block_point two[] = {{0, 0, 1, 1}, {0, 1, 2, 1}, {1, 0, 1, 1}, {1, 1, 2, 1}};
  CHECK(!slope_within(two, 4, 0.95).bounded); /* two cycles have no interval */
  CHECK_NEAR(slope_within(two, 4, 0.95).estimate, 1, 1e-12);
  const struct block_point flat[] = {{0, 1, 1, 1}, {0, 1, 2, 1}, {1, 1, 1, 1}, {2, 1, 2, 1}, {3, 1, 2, 1}};
  CHECK(!slope_within(flat, 5, 0.95).bounded); /* x does not vary, or a group is one point */
  CHECK(!slope_within(NULL, 0, 0.95).bounded);
}

int main(void) {
  check_vector();
  check_sum();
  check_shares();
  check_fit();
  check_rates();
  check_bound();
  check_wild();
  check_refusals();
  return check_end();
}
