#include "stats/saturation.h"

#include "tests/check.h"

/* A server whose capacity is known and that never errs. */
static double found(double capacity, double from, double to, double resolution, enum search_end *end, size_t *n_points) {
  struct saturation_search s = {.from = from, .to = to, .resolution = resolution};
  for (;;) {
    double load = saturation_next(&s, end);
    if (*end != SEARCH_GOES_ON) break;
    saturation_tell(&s, load, load <= capacity);
  }
  *n_points = s.n_points;
  return s.passing;
}

int main(void) {
  enum search_end end;
  size_t n;
  for (double capacity = 0.3; capacity < 900; capacity *= 1.37) { /* from far above and far below where it begins */
    double passing = found(capacity, 10, 1000, 0.05, &end, &n);
    CHECK_INT(end, SEARCH_FOUND);
    CHECK(passing <= capacity && passing * 1.05 * (1 + 1e-9) >= capacity);
    CHECK(n < 25);
  }
  CHECK_NEAR(found(5000, 10, 1000, 0.05, &end, &n), 1000, 0);
  CHECK_INT(end, SEARCH_NOT_SATURATED);
  (void)found(0, 10, 1000, 0.05, &end, &n);
  CHECK_INT(end, SEARCH_NOTHING_SUSTAINED);
  /* A verdict that is corrected: the search goes on from there and still ends. */
  struct saturation_search s = {.from = 10, .to = 1000, .resolution = 0.05};
  saturation_tell(&s, 10, true);
  saturation_tell(&s, 20, false);
  saturation_tell(&s, 20, true);
  CHECK_NEAR(saturation_next(&s, &end), 40, 0);
  saturation_tell(&s, 15, false);
  CHECK_NEAR(s.failing, 15, 0);
  CHECK_NEAR(s.passing, 0, 0); /* 20 passed and 15 failed: neither is known */

  /* The backlog: +1 per part out of 100 arrivals each is 1 %; certain, as it does not vary. */
  double one[20], noisy[20];
  for (int i = 0; i < 20; i++) one[i] = 1, noisy[i] = i % 2 == 0 ? 30 : -29;
  struct growth g = growth_of(one, 20, 2000, 0.95);
  CHECK_NEAR(g.estimate, 0.01, 1e-15);
  CHECK_INT(growth_verdict(&g, 0.1, false), LOAD_SUSTAINED); /* a real growth of 1 % is less than half the resolution */
  CHECK_INT(growth_verdict(&g, 0.01, false), LOAD_NOT_SUSTAINED);
  CHECK_INT(growth_verdict(&g, 0.05, false), LOAD_NOT_SUSTAINED); /* certain, and more than an eighth of it */
  g = growth_of(noisy, 20, 2000, 0.95);
  CHECK_INT(growth_verdict(&g, 0.05, false), LOAD_UNDECIDED);
  CHECK_INT(growth_verdict(&g, 0.05, true), LOAD_SUSTAINED);
  CHECK_INT(growth_verdict(&(struct growth){.low = -INFINITY, .high = INFINITY}, 0.05, false), LOAD_UNDECIDED);
  CHECK_NEAR(saturation_arrivals_needed(0.05), 16000, 1e-6);
  return check_end();
}
