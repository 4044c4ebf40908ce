/* The slope within cycles against a least-squares fit with a dummy for each cycle and a variance by clusters, done in NumPy. */
#include "stats/elasticity.h"
#include "tests/check.h"

static void check_vector(void) {
  static const double x[] = {0, 0.1, 0.3}, y[] = {5.0, 4.88, 4.71, 5.2, 5.11, 4.86, 4.9, 4.83, 4.58, 5.1, 4.98, 4.83};
  struct block_point points[12];
  for (int i = 0; i < 12; i++) points[i] = (struct block_point){i / 3, x[i % 3], y[i]};
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
  for (int i = 0; i < 12; i++) points[i] = (struct block_point){i / 3, x[i % 3], y[i]};
  const struct block_point *const both[] = {points, points};
  const size_t n[] = {12, 12};
  struct slope one = slope_within(points, 12, 0.95), sum = slope_sum(both, n, 2, 0.95);
  CHECK_NEAR(sum.estimate, 2 * one.estimate, 1e-12);
  CHECK_NEAR(sum.error, 2 * one.error, 1e-12);
}

static void check_refusals(void) {
  const struct block_point two[] = {{0, 0, 1}, {0, 1, 2}, {1, 0, 1}, {1, 1, 2}};
  CHECK(!slope_within(two, 4, 0.95).bounded); /* two cycles have no interval */
  CHECK_NEAR(slope_within(two, 4, 0.95).estimate, 1, 1e-12);
  const struct block_point flat[] = {{0, 1, 1}, {0, 1, 2}, {1, 1, 1}, {2, 1, 2}, {3, 1, 2}};
  CHECK(!slope_within(flat, 5, 0.95).bounded); /* x does not vary, or a group is one point */
  CHECK(!slope_within(NULL, 0, 0.95).bounded);
}

int main(void) {
  check_vector();
  check_sum();
  check_refusals();
  return check_end();
}
