/* Paired answers: exact probabilities, and score intervals against a likelihood that was maximised by itself (golden section, in Python). */
#include "stats/paired.h"

#include <math.h>

#include "base/status.h"
#include "tests/check.h"

static void check_exact(void) {
  static const struct {
    size_t lost, won;
    double p;
  } rows[] = {{10, 25, 0.016674}, {30, 45, 0.105342}, {60, 72, 0.338380}, {25, 10, 0.016674}, {0, 0, 1}, {3, 3, 1}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++)
    CHECK_NEAR(paired_exact(&(struct paired_counts){1319, rows[i].lost, rows[i].won}), rows[i].p, 6e-7);
}

static void check_score(void) {
  static const struct {
    struct paired_counts counts;
    double low, high;
  } rows[] = {{{50, 2, 12}, 0.06111240563990575, 0.3447087488946986},
              {{1319, 10, 25}, 0.0027324734708677875, 0.021058729842174773},
              {{1319, 60, 45}, -0.02696580624520782, 0.00391821400613207},
              {{100, 0, 0}, -0.03699349820698582, 0.036993498206985845},
              {{20, 0, 3}, -0.03529393351614124, 0.36041886474075713}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct paired_difference d = paired_score(&rows[i].counts, 0.95);
    CHECK_NEAR(d.low, rows[i].low, 2e-6);
    CHECK_NEAR(d.high, rows[i].high, 2e-6);
    const struct paired_counts turned = {rows[i].counts.n, rows[i].counts.won, rows[i].counts.lost};
    struct paired_difference other = paired_score(&turned, 0.95);
    CHECK_NEAR(other.low, -d.high, 1e-9);
    CHECK_NEAR(other.high, -d.low, 1e-9);
  }
}

static void check_means(void) {
  static const double differences[] = {0.1, -0.2, 0.05, 0, 0.1, -0.3, 0.2, 0};
  struct paired_difference d = paired_means(differences, 8, 0.95);
  CHECK_NEAR(d.estimate, -0.00625, 1e-12);
  CHECK_NEAR(d.high - d.estimate, -log(0.025) / 8, 1e-9); /* so few say no more than that */
  static const double alike[2000];
  d = paired_means(alike, 2000, 0.95);
  CHECK_NEAR(d.low, log(0.025) / 2000, 1e-9);
  CHECK_INT(paired_needed(0, 0.08, 0.01, 0.95), 3074);     /* 1.96^2 0.08 / 0.0001 */
  CHECK_INT(paired_needed(-0.02, 0.08, 0.01, 0.95), 3074); /* toward a no-go */
  CHECK_INT(paired_needed(-0.01, 0.08, 0.01, 0.95), 0);
  size_t alone = paired_needed_of(&(struct paired_counts){50, 0, 0}, 0.01, 0.95); /* z^2 (1/m - 1) */
  CHECK_NEAR((double)alone, 3.841459 * 99, 3);
  CHECK_INT(paired_needed_of(&(struct paired_counts){100, 2, 1}, 0.01, 0.95), 0); /* it loses the margin itself */
  CHECK(paired_needed_of(&(struct paired_counts){100, 14, 9}, 0.01, 0.95) > 100);
}

int main(void) {
  check_exact();
  check_score();
  check_means();
  return check_end();
}
