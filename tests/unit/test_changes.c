/* Where levels change, on published series: Otava's lists by the method that they are of, and ours on series that people annotated. */
#include "stats/changes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tests/check.h"
#include "tests/simulate/generate.h"
#include "tests/simulate/hunter.h"

enum { TIGERBEETLE = 365 };

static size_t read_series(const char *path, double *x, size_t room) {
  char line[200];
  size_t n = 0;
  FILE *file = fopen(path, "re");
  CHECK(file != NULL);
  while (file != NULL && n < room && fgets(line, sizeof line, file) != NULL) {
    const char *comma = strchr(line, ',');
    if (line[0] == 'r' && line[1] >= '0' && line[1] <= '9' && comma != NULL) x[n++] = strtod(comma + 1, NULL);
  }
  if (file != NULL) (void)fclose(file);
  return n;
}

/* tests/tigerbeetle_test.py of apache/otava 1ceb153: every list that it expects */
static void check_hunter(const double *x) {
  static const struct {
    double p, least;
    size_t n, at[HUNTER_MAX];
  } rows[] = {
      {0.01, 0.05, 2, {15, 71}},
      {0.05, 0.05, 2, {15, 71}},
      {0.1, 0.05, 5, {10, 11, 15, 71, 363}},
      {0.2, 0.05, 4, {10, 11, 15, 71}},
      {0.2, 0.0, 70, {3,   6,   7,   10,  11,  13,  15,  16,  28,  29,  35,  37,  39,  41,  44,  48,  49,  56,
                      58,  61,  65,  66,  69,  71,  74,  76,  82,  95,  108, 117, 125, 126, 129, 131, 136, 137,
                      142, 148, 165, 169, 187, 190, 192, 197, 200, 212, 220, 241, 243, 246, 247, 249, 250, 260,
                      265, 266, 268, 278, 282, 288, 305, 306, 325, 330, 337, 338, 340, 347, 349, 363}},
      {0.1, 0.0, 35, {3,   6,   10,  11,  15,  16,  28,  29,  35,  37,  39,  41,  44,  48,  49,  61,  71, 95,
                      117, 131, 142, 148, 165, 169, 192, 206, 212, 260, 265, 268, 278, 282, 288, 305, 363}},
      {0.01, 0.0, 14, {15, 26, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 212, 260}},
      {0.001, 0.0, 11, {15, 61, 71, 95, 117, 131, 142, 148, 192, 212, 260}},
      {0.0001, 0.0, 8, {71, 95, 117, 131, 142, 148, 192, 212}},
      {0.00001, 0.0, 5, {71, 95, 131, 192, 212}},
  };
  for (size_t r = 0; r < LYNX_COUNT(rows); r++) {
    size_t found[HUNTER_MAX], n = hunter_changes(x, TIGERBEETLE, 30, rows[r].p, rows[r].least, found);
    CHECK_INT(n, rows[r].n);
    for (size_t i = 0; i < n && i < rows[r].n; i++) CHECK_INT(found[i], rows[r].at[i]);
  }
  static const double jump[] = {0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149, 149.7, 149.5, 149.1, 148.8, 150};
  size_t at, end;
  CHECK_NEAR(hunter_greatest(jump, LYNX_COUNT(jump), &at, &end), 761.2821428571428, 1e-9);
  CHECK_INT(at, 5);
  CHECK_INT(end, 14);
}

/* Annual flow of the Nile, 1871 to 1970 (Cobb 1978): the dam of 1898, for three of five annotators of the Turing Change Point Dataset. */
static const double nile[] = {1120, 1160, 963,  1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994, 1020, 960,  1180,
                              799,  958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,  874, 694,  940,  833,
                              701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,  1120, 1100, 832, 764,  821,  768,
                              845,  864,  862,  698,  845,  744,  796,  1040, 759,  781,  865,  845,  944,  984, 897,  822,  1010,
                              771,  676,  649,  846,  812,  742,  801,  1040, 860,  874,  848,  890,  744,  749, 838,  1050, 918,
                              986,  797,  923,  975,  815,  1020, 906,  901,  1170, 912,  746,  919,  718,  714, 740};

static void check_published(const double *tigerbeetle) {
  struct arena arena = {0};
  struct changes c;
  changes_find(nile, LYNX_COUNT(nile), &change_plan_usual, &arena, &c);
  CHECK_INT(c.n_items, 1);
  CHECK_INT(c.items[0].at, 28);
  CHECK(c.items[0].first <= 28 && c.items[0].last >= 28 && c.items[0].last - c.items[0].first < 8);
  CHECK(c.items[0].ratio && c.items[0].high < 0.85 && c.items[0].low > 0.7);
  CHECK(c.p <= 0.001 && !c.items[0].provisional);
  changes_find(tigerbeetle, TIGERBEETLE, &change_plan_usual, &arena, &c);
  static const size_t wanted[] = {15, 61, 71, 95, 131, 192}; /* those of Otava, p 0.001, whose size is beyond 2 % */
  for (size_t w = 0; w < LYNX_COUNT(wanted); w++) {
    bool found = false;
    for (size_t i = 0; i < c.n_items; i++) found = found || (c.items[i].at <= wanted[w] + 1 && c.items[i].at + 1 >= wanted[w]);
    CHECK(found);
  }
  arena_release(&arena);
}

/* Steps that were put in: place, size, and both neighbours where one is taken out again. */
static void check_steps(void) {
  struct generator g;
  struct arena arena = {0};
  struct changes c;
  double x[90];
  generator_seed(&g, 5);
  for (size_t i = 0; i < 90; i++) x[i] = (i < 30 ? 100 : i < 60 ? 130 : 117) * (1 + 0.01 * generate_normal(&g));
  changes_find(x, 90, &change_plan_usual, &arena, &c);
  CHECK_INT(c.n_items, 2);
  CHECK_INT(c.items[0].at, 30);
  CHECK_INT(c.items[1].at, 60);
  CHECK(c.items[0].low < 1.3 && c.items[0].high > 1.3 && c.items[0].bounded);
  CHECK(c.items[1].low < 0.9 && c.items[1].high > 0.9);
  changes_find(x, 34, &change_plan_usual, &arena, &c); /* four values after it: seen, and not yet sure */
  CHECK_INT(c.n_items, 1);
  CHECK(c.items[0].provisional);
  changes_find(x, 33, &change_plan_usual, &arena, &c); /* three: not seen */
  for (size_t i = 0; i < c.n_items; i++) CHECK(c.items[i].at < 30);
  for (size_t i = 0; i < 90; i++) x[i] = i < 45 ? -1 : 1; /* no ratio */
  changes_find(x, 90, &change_plan_usual, &arena, &c);
  CHECK_INT(c.n_items, 1);
  CHECK(!c.items[0].ratio);
  CHECK_NEAR(c.items[0].size, 2, 1e-12);
  arena_release(&arena);
}

/* Noise in which each value resembles the one before: taken for itself, each says more than it knows. */
static void check_independent(void) {
  enum { SERIES = 20, LENGTH = 100 };
  struct generator g;
  struct arena arena = {0};
  struct change_plan alone = change_plan_usual;
  int n_usual = 0, n_alone = 0;
  alone.independent = true;
  generator_seed(&g, 11);
  for (int k = 0; k < SERIES; k++) {
    double x[LENGTH], last = 0;
    struct changes usual, each;
    for (size_t i = 0; i < LENGTH; i++) x[i] = 100 + (last = 0.7 * last + generate_normal(&g));
    changes_find(x, LENGTH, &change_plan_usual, &arena, &usual);
    changes_find(x, LENGTH, &alone, &arena, &each);
    CHECK_NEAR(each.correlation, usual.correlation, 0);
    CHECK(each.block == 1 && usual.block > 1);
    n_usual += usual.n_items > 0;
    n_alone += each.n_items > 0;
  }
  CHECK(n_usual <= SERIES / 2 && n_alone > 3 * SERIES / 4);
  arena_release(&arena);
}

static void check_edges(void) {
  struct arena arena = {0};
  struct changes c;
  double x[40] = {0};
  for (size_t n = 0; n <= 40; n++) { /* all alike */
    changes_find(x, n, &change_plan_usual, &arena, &c);
    CHECK_INT(c.n_items, 0);
    CHECK(c.p == 1);
  }
  for (size_t i = 0; i < 40; i++) x[i] = (double)(i % 2); /* in turn: no level */
  changes_find(x, 40, &change_plan_usual, &arena, &c);
  CHECK_INT(c.n_items, 0);
  arena_release(&arena);
  static const double p[] = {0.001, 0.5, 0.011, 0.9, 0.039, 0.04};
  CHECK_NEAR(changes_discovery(p, 6, 0.05), 0.011, 0); /* 0.001 <= 0.05/6, 0.011 <= 0.1/6; 0.039 > 0.15/6, 0.04 > 0.2/6 */
  CHECK_NEAR(changes_discovery(p, 0, 0.05), 0, 0);
  CHECK_NEAR(changes_discovery(p + 3, 1, 0.05), 0, 0);
}

int main(void) {
  double x[TIGERBEETLE + 1];
  CHECK_INT(read_series(RECORDED "/history/tigerbeetle.csv", x, LYNX_COUNT(x)), TIGERBEETLE);
  check_hunter(x);
  check_published(x);
  check_steps();
  check_independent();
  check_edges();
  return check_end();
}
