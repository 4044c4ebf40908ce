#include "stats/steady.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/check.h"

/* The generator of the published vectors: a 64-bit linear congruential one (Knuth's MMIX), its upper 53 bits. */
static uint64_t state;

static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-53;
}

static double normal(void) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += uniform();
  return sum;
}

static void mser(void) {
  double x[300];
  state = 42;
  for (int i = 0; i < 300; i++) x[i] = 10 + 5 * exp(-i / 20.0) + (uniform() - 0.5);
  CHECK_NEAR(x[0], 15.068230326643908, 1e-14);
  struct mser m = steady_mser5(x, 300);
  CHECK_INT(m.cut, 50);
  CHECK_NEAR(m.statistic, 3.359403936543e-4, 1e-15);
  CHECK_NEAR(m.mean, 10.053556543790435, 1e-13);
  CHECK(!m.at_limit);
  for (int i = 0; i < 300; i++) x[i] = i; /* it never settles */
  CHECK(steady_mser5(x, 300).at_limit);
}

static void pelt(void) {
  double x[700], cost;
  size_t points[700];
  state = 7;
  for (int i = 0; i < 700; i++) x[i] = (i < 60 ? 1.5 : i < 200 ? 1.2 : 1.0) + 0.01 * normal();
  CHECK_NEAR(x[0], 1.5042856351413236, 1e-14);
  CHECK_NEAR(x[1], 1.4937476006953643, 1e-14);
  size_t n = steady_change_points(x, 700, 15 * log(700), points, &cost);
  CHECK_INT(n, 2);
  CHECK_INT(points[0], 60);
  CHECK_INT(points[1], 200);
  CHECK_NEAR(cost, -4259.450205270791, 1e-6);
  /* Annual flow of the Nile, 1871-1970: with this penalty none (Cobb's change at 28 is 1.3 standard deviations). */
  static const double nile[100] = {1120, 1160, 963,  1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994, 1020, 960,  1180,
                                   799,  958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,  874, 694,  940,  833,
                                   701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,  1120, 1100, 832, 764,  821,  768,
                                   845,  864,  862,  698,  845,  744,  796,  1040, 759,  781,  865,  845,  944,  984, 897,  822,  1010,
                                   771,  676,  649,  846,  812,  742,  801,  1040, 860,  874,  848,  890,  744,  749, 838,  1050, 918,
                                   986,  797,  923,  975,  815,  1020, 906,  901,  1170, 912,  746,  919,  718,  714, 740};
  CHECK_INT(steady_change_points(nile, 100, 15 * log(100), points, NULL), 0);
  CHECK_INT(steady_change_points(nile, 1, 15, points, NULL), 0);
  CHECK_INT(steady_change_points(nile, 0, 15, points, NULL), 0);
}

static void classes(void) {
  double x[100];
  const struct steady_rule rule = {.tolerance = 0.1, .confidence = 0.95, .least = 40};
  state = 11;
  for (int i = 0; i < 100; i++) x[i] = 50 + normal();
  struct steady s = steady_classify(x, 100, &rule);
  CHECK_INT(s.class, STEADY_YES);
  CHECK_INT(s.from, 0);
  for (int i = 0; i < 100; i++) x[i] = (i < 30 ? 100 : 50) + normal(); /* a warm-up of 30 bins */
  s = steady_classify(x, 100, &rule);
  CHECK_INT(s.class, STEADY_YES);
  CHECK_INT(s.from, 30);
  for (int i = 0; i < 100; i++) x[i] = (i < 70 ? 50 : 100) + normal(); /* a new regime, and too little of it */
  s = steady_classify(x, 100, &rule);
  CHECK_INT(s.class, STEADY_NONE);
  CHECK_INT(s.last_change, 70);
  CHECK_INT(s.from, 100);
  for (int i = 0; i < 100; i++) x[i] = (i / 14 % 2 == 0 ? 50 : 80) + (i / 28 == 1 ? 40 : 0) + normal(); /* levels without a rule */
  CHECK_INT(steady_classify(x, 100, &rule).class, STEADY_NONE);
  for (int i = 0; i < 100; i++) x[i] = 50 + 0.4 * i + normal();
  CHECK_INT(steady_classify(x, 100, &rule).class, STEADY_RISING);
  for (int i = 0; i < 100; i++) x[i] = 90 - 0.4 * i + normal();
  CHECK_INT(steady_classify(x, 100, &rule).class, STEADY_FALLING);
  for (int i = 0; i < 100; i++) x[i] = 50 + 10 * sin(i * 6.283185 / 17) + normal();
  CHECK_INT(steady_classify(x, 100, &rule).class, STEADY_CYCLIC);
  CHECK_INT(steady_classify(x, 5, &rule).class, STEADY_SHORT); /* too few bins */
  for (int i = 0; i < 100; i++) x[i] = 50 + 40 * normal();     /* so noisy that a drift of a tenth would not be seen */
  CHECK_INT(steady_classify(x, 100, &rule).class, STEADY_SHORT);
  for (int i = 0; i < 100; i++) x[i] = 50; /* no noise at all */
  CHECK_INT(steady_classify(x, 100, &rule).class, STEADY_YES);
}

int main(void) {
  mser();
  pelt();
  classes();
  return check_end();
}
