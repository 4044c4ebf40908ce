/* Designs against the tables of Box, Hunter and Hunter (2005, table 6.22), and effects against figures that were put in. */
#include "stats/factorial.h"

#include <math.h>

#include "base/random.h"
#include "tests/check.h"

static void check_designs(void) {
  static const struct {
    size_t facts, runs;
    int resolution;
  } table[] = {{3, 4, 3},  {4, 8, 4},  {5, 8, 3},   {6, 8, 3},  {7, 8, 3},  {5, 16, 5}, {6, 16, 4},  {7, 16, 4},
               {8, 16, 4}, {9, 16, 3}, {15, 16, 3}, {6, 32, 6}, {7, 32, 4}, {8, 32, 4}, {16, 32, 4}, {7, 64, 7},
               {2, 4, 0},  {3, 8, 0},  {4, 16, 0},  {5, 32, 0}, {6, 64, 0}, {3, 64, 0}, {9, 64, 4}};
  for (size_t i = 0; i < LYNX_COUNT(table); i++) {
    struct factorial_design d;
    CHECK(factorial_design(table[i].facts, table[i].runs, &d));
    CHECK_INT(d.resolution, table[i].resolution);
    CHECK_INT(d.runs[0], 0);
    for (size_t f = 0; f < d.n_facts; f++) { /* balanced, alone and with every other */
      for (size_t g = 0; g < d.n_facts; g++) {
        size_t both = 0;
        for (size_t r = 0; r < d.n_runs; r++) both += (d.runs[r] >> f & 1) != 0 && (d.runs[r] >> g & 1) != 0;
        CHECK_INT(both, f == g ? d.n_runs / 2 : d.n_runs / 4);
      }
    }
  }
  struct factorial_design d;
  CHECK(!factorial_design(8, 8, &d));
  CHECK(!factorial_design(1, 4, &d));
  CHECK(!factorial_design(17, 64, &d));
  CHECK(!factorial_design(4, 12, &d));
  CHECK(!factorial_design(4, 128, &d));
  CHECK_INT(factorial_runs(2), 4);
  CHECK_INT(factorial_runs(3), 8);
  CHECK_INT(factorial_runs(4), 16);
  CHECK_INT(factorial_runs(5), 16);
  CHECK_INT(factorial_runs(6), 32);
  CHECK_INT(factorial_runs(7), 16);
  CHECK_INT(factorial_runs(8), 16);
  CHECK_INT(factorial_runs(9), 32);
}

/* ln figure: 0.3 for the first fact, -0.2 for the second, 0.5 more where both are there. */
static double truth(uint64_t run) {
  return 4 + 0.3 * (double)(run & 1) - 0.2 * (double)(run >> 1 & 1) + ((run & 3) == 3 ? 0.5 : 0);
}

static void check_effects(void) {
  struct factorial_design d;
  struct factorial f;
  double y[3 * 8];
  CHECK(factorial_design(3, 8, &d));
  for (size_t r = 0; r < 3; r++)
    for (size_t k = 0; k < 8; k++) y[r * 8 + k] = truth(d.runs[k]) + 0.1 * (double)r + (r == 0 && k == 0 ? 0.024 : 0);
  factorial_analyse(&d, y, 3, 0, 0.95, &f);
  CHECK_INT(f.n_effects, 6);
  CHECK_NEAR(f.effects[0].estimate, 0.3 + 0.25 - 0.002, 1e-12);
  CHECK_NEAR(f.effects[1].estimate, -0.2 + 0.25 - 0.002, 1e-12);
  CHECK_NEAR(f.effects[2].estimate, -0.002, 1e-12);
  CHECK_NEAR(f.effects[3].estimate, 0.5 + 0.004, 1e-12); /* both together, beyond one by one */
  CHECK_NEAR(f.freedom, 14, 0);
  CHECK_NEAR(f.deviation, 0.024 * sqrt((1 - 1.0 / 3) * (1 - 1.0 / 8) / 14), 1e-12);
  CHECK_NEAR(f.effects[3].high - f.effects[3].low, 2 * (f.effects[0].high - f.effects[0].low), 1e-12);
  CHECK_NEAR((f.effects[0].high - f.effects[0].low) / 2, 3.0687792454760574 /* t of 14 at 1 - 0.05 / 12 */ * f.deviation * 2 / sqrt(24),
             1e-9);
  factorial_analyse(&d, y, 3, 0.1, 0.95, &f); /* no variance that is seen is less than that of counting */
  CHECK_NEAR(f.deviation, 0.1, 0);
  factorial_analyse(&d, y, 1, 0, 0.95, &f);
  CHECK(!f.bounded);
}

/* Half of four: the effects of two are mixed in pairs; a quarter of five: with those of one. */
static void check_mixed(void) {
  struct factorial_design d;
  struct factorial f;
  double y[2 * 8] = {0};
  CHECK(factorial_design(4, 8, &d));
  factorial_analyse(&d, y, 2, 0, 0.95, &f);
  CHECK_INT(f.n_effects, 7);
  CHECK_INT(f.effects[0].n_names, 1);
  CHECK_INT(f.effects[4].n_names, 2); /* 1 x 2 with 3 x 4 */
  CHECK_INT(f.effects[4].names[1].first, 2);
  CHECK_INT(f.effects[4].names[1].second, 3);
  CHECK(factorial_design(5, 8, &d));
  factorial_analyse(&d, y, 2, 0, 0.95, &f);
  CHECK_INT(f.n_effects, 7);
  CHECK(f.effects[3].n_names > 1);
}

/* All intervals of a design together hold the truth in 95 % of experiments. */
static void check_cover(void) {
  struct factorial_design d;
  struct factorial f;
  struct random_stream random;
  double y[3 * 16];
  int good = 0;
  random_init(&random, 9, "factorial");
  CHECK(factorial_design(5, 16, &d));
  for (int i = 0; i < 1000; i++) {
    bool all = true;
    for (size_t k = 0; k < 48; k++) {
      double noise = 0; /* about normal: a sum of twelve */
      for (int u = 0; u < 12; u++) noise += (double)random_below(&random, 1 << 20) / (1 << 20) - 0.5;
      y[k] = truth(d.runs[k % 16]) + 0.05 * noise;
    }
    factorial_analyse(&d, y, 3, 0, 0.95, &f);
    for (size_t e = 0; e < f.n_effects; e++) {
      double value = 0, n = (double)d.n_runs;
      const struct factorial_name *name = &f.effects[e].names[0];
      for (size_t k = 0; k < d.n_runs; k++) {
        double sign = ((d.runs[k] >> name->first & 1) != 0 ? 1 : -1) * (name->second < 0 || (d.runs[k] >> name->second & 1) != 0 ? 1 : -1);
        value += (name->second < 0 ? 2 : 4) / n * sign * truth(d.runs[k]);
      }
      all = all && f.effects[e].low <= value && value <= f.effects[e].high;
    }
    good += all;
  }
  CHECK(good >= 930);
}

static double normal(struct random_stream *random) {
  double sum = 0; /* about normal: a sum of twelve */
  for (int u = 0; u < 12; u++) sum += (double)random_below(random, 1 << 20) / (1 << 20) - 0.5;
  return sum;
}

/* What is changed seldom shares the luck of its plot: its effect has the plots' error, the others' has none of it. */
static void check_plots(void) {
  struct factorial_design d;
  struct factorial f;
  struct random_stream random;
  double y[6 * 8], widths[2] = {0};
  size_t plot_of[FACTORIAL_RUNS_MAX];
  int good[2] = {0}, naive = 0;
  random_init(&random, 9, "plots");
  CHECK(factorial_design(3, 8, &d));
  CHECK_INT(factorial_plots(&d, plot_of), 1);
  d.hard = 4;
  CHECK_INT(factorial_plots(&d, plot_of), 2);
  for (size_t k = 0; k < 8; k++) CHECK_INT(plot_of[k], d.runs[k] >> 2 & 1);
  for (int i = 0; i < 2000; i++) {
    for (size_t r = 0; r < 6; r++) {
      double plot[2] = {0.05 * normal(&random), 0.05 * normal(&random)};
      for (size_t k = 0; k < 8; k++) y[r * 8 + k] = truth(d.runs[k]) + plot[plot_of[k]] + 0.01 * normal(&random);
    }
    factorial_analyse(&d, y, 6, 0, 0.95, &f);
    CHECK(f.effects[2].between_plots && !f.effects[0].between_plots && !f.effects[4].between_plots);
    good[0] += f.effects[2].low <= 0 && f.effects[2].high >= 0;
    good[1] += f.effects[0].low <= 0.55 && f.effects[0].high >= 0.55;
    widths[0] += f.effects[2].high - f.effects[2].low;
    widths[1] += f.effects[0].high - f.effects[0].low;
    struct factorial_design flat = d;
    flat.hard = 0;
    factorial_analyse(&flat, y, 6, 0, 0.95, &f);
    naive += f.effects[2].low <= 0 && f.effects[2].high >= 0;
  }
  CHECK_NEAR(f.freedom, 35, 0);
  CHECK(good[0] >= 1960 && good[1] >= 1960); /* six effects share 5 %: each fails in less than 1 % */
  CHECK(naive < 1950);                       /* as if all runs were changed alike: too narrow */
  CHECK(widths[0] > 5 * widths[1]);
  d.hard = 7; /* every run is a plot */
  factorial_analyse(&d, y, 6, 0, 0.95, &f);
  CHECK_INT(f.n_plots, 8);
  CHECK(f.effects[0].between_plots && isfinite(f.effects[0].low) && !isfinite(f.deviation));
}

static struct order {
  uint64_t facts[6 * 8];
  size_t n;
} seen;

static enum measured keep_order(void *context, uint64_t facts, int64_t round, struct session_figure *ret) {
  (void)context;
  (void)round;
  seen.facts[seen.n++] = facts;
  *ret = (struct session_figure){0};
  return MEASURED;
}

/* Within a round a hard fact changes as often as there are plots. */
static void check_order(void) {
  struct factorial_design d;
  double y[6 * 8], grain;
  size_t changes = 0;
  CHECK(factorial_design(3, 8, &d));
  d.hard = 4;
  CHECK_INT(factorial_run(&d, 6, 3, keep_order, NULL, y, &grain), 6);
  CHECK_INT(seen.n, 48);
  for (size_t i = 1; i < 48; i++) changes += ((seen.facts[i] ^ seen.facts[i - 1]) & 4) != 0;
  CHECK(changes >= 6 && changes <= 11);
  for (size_t r = 0; r < 6; r++) {
    uint64_t all = 0;
    for (size_t k = 0; k < 8; k++) all |= (uint64_t)1 << seen.facts[r * 8 + k];
    CHECK_INT(all, 0xff);
  }
}

int main(void) {
  check_designs();
  check_plots();
  check_order();
  check_effects();
  check_mixed();
  check_cover();
  return check_end();
}
