/* Three worked examples: the mix changed, the mix hides that the system got faster, and a kind of demand that was not there before. */
#include "stats/demand_shift.h"
#include "tests/check.h"

int main(void) {
  static const struct stratum longer[] = {{{.8, .5}, {200, 210}}, {{.2, .5}, {900, 950}}};
  struct demand_shift s = demand_shift(longer, 2);
  CHECK_NEAR(s.before, 340, 1e-9);
  CHECK_NEAR(s.after, 580, 1e-9);
  CHECK_NEAR(s.demand, 216, 1e-9);
  CHECK_NEAR(s.system, 24, 1e-9);

  /* Each kind is served in less time, and the mean triples (Simpson). */
  static const struct stratum faster[] = {{{.9, .4}, {100, 90}}, {{.1, .6}, {1000, 900}}};
  s = demand_shift(faster, 2);
  CHECK_NEAR(s.after - s.before, 386, 1e-9);
  CHECK_NEAR(s.demand, 427.5, 1e-9);
  CHECK_NEAR(s.system, -41.5, 1e-9);

  static const struct stratum fresh[] = {{{1, .5}, {100, 100}}, {{0, .5}, {0, 700}}};
  s = demand_shift(fresh, 2);
  CHECK_NEAR(s.after - s.before, 300, 1e-9);
  CHECK_NEAR(s.demand, 300, 1e-9); /* what nobody asked before was served no otherwise */
  CHECK_NEAR(s.system, 0, 1e-9);
  return check_end();
}
