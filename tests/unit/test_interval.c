#include "base/random.h"
#include "stats/interval.h"
#include "tests/check.h"

int main(void) {
  /* mean 3, s = sqrt(2.5), n = 5: 3 +- 2.776445105 * sqrt(2.5 / 5) */
  const double x[] = {1, 2, 3, 4, 5};
  struct interval i = interval_of_mean(x, 5, 0.95);
  CHECK_NEAR(i.estimate, 3, 1e-15);
  CHECK_NEAR(i.high - 3, 2.776445105198 * sqrt(0.5), 1e-8);
  CHECK(i.bounded);
  CHECK(!interval_of_mean(x, 1, 0.95).bounded); /* one session has no interval */
  CHECK(!interval_of_mean(x, 0, 0.95).bounded);

  /* Coverage of the 95 % interval on near-normal samples of 4 (sums of 12 uniforms): 4000 of them, 5 standard errors. */
  struct random_stream r;
  random_init(&r, 5, "coverage");
  int covered = 0, n = 4000;
  for (int k = 0; k < n; k++) {
    double y[4];
    for (int s = 0; s < 4; s++) {
      y[s] = -6;
      for (int u = 0; u < 12; u++) y[s] += (double)(random_next(&r) >> 11) / 9007199254740992.0;
    }
    i = interval_of_mean(y, 4, 0.95);
    covered += i.low <= 0 && i.high >= 0;
  }
  CHECK_NEAR((double)covered / n, 0.95, 5 * sqrt(0.95 * 0.05 / n));
  return check_end();
}
