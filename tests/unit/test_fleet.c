/* Queues whose times are known exactly, and the simulation against them. */
#include "decide/fleet.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "tests/check.h"

enum { WORKS = 4096 };
static double exponential_work[WORKS], same_work[1] = {1};

/* k servers, each for one request: a curve of k points. */
static struct fleet_curve servers(size_t k) {
  struct fleet_curve c = {.n = k};
  for (size_t i = 0; i < k; i++) c.in_flight[i] = c.rate[i] = (double)i + 1;
  return c;
}

/* M/M/k, 6 digits: Erlang's formulas (recursion of B, C = B / (1 - rho (1 - B)), Wq = C / (k - a)). */
static void check_exact(void) {
  static const struct {
    size_t k;
    double a, waiting, wait;
  } rows[] = {{1, 0.5, 0.5, 1},
              {2, 1.6, 0.711111, 1.777778},
              {4, 3.2, 0.596432, 0.745541},
              {8, 6.4, 0.457645, 0.286028},
              {10, 8, 0.409180, 0.204590},
              {50, 45, 0.363864, 0.072773}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct fleet_curve c = servers(rows[i].k);
    struct fleet_exact e = fleet_exact(&c, rows[i].a);
    CHECK_NEAR(e.waiting, rows[i].waiting, 6e-7);
    CHECK_NEAR(e.wait, rows[i].wait, 6e-7);
    CHECK_NEAR(e.mean, rows[i].wait + 1, 6e-7);
  }
  /* X(n) = n / (0.5 + 0.05 n), no more than 16 at once. */
  struct fleet_curve c = {.n = 16};
  for (size_t i = 0; i < 16; i++) {
    c.in_flight[i] = (double)i + 1;
    c.rate[i] = c.in_flight[i] / (0.5 + 0.05 * c.in_flight[i]);
  }
  CHECK_NEAR(fleet_exact(&c, 6).mean, 0.78579, 6e-6);
  CHECK_NEAR(fleet_exact(&c, 9).mean, 1.01629, 6e-6);
  CHECK_NEAR(fleet_exact(&c, 9).waiting, 0.07705, 6e-6);
  CHECK_NEAR(fleet_exact(&c, 11).mean, 1.51074, 6e-6);
  CHECK_NEAR(fleet_exact(&c, 11).wait, 0.33757, 6e-6);
  CHECK_NEAR(fleet_exact(&c, 11).waiting, 0.44144, 6e-6);
  CHECK(isnan(fleet_exact(&c, 13).mean)); /* more than it can answer */
}

static struct fleet_load load_of(double rate, enum fleet_routing routing, const double *work, size_t n) {
  return (struct fleet_load){.rate_per_s = rate,
                             .burstiness = 1,
                             .routing = routing,
                             .work = work,
                             .n_work = n,
                             .percentile = 0.99,
                             .seed = 7,
                             .n_arrivals = 200000};
}

static void check_mean(const struct fleet_times *t, double mean, double within) {
  CHECK(t->steady);
  CHECK_NEAR(t->mean.estimate, mean, within * mean);
  CHECK(t->mean.low <= t->mean.estimate && t->mean.estimate <= t->mean.high && t->mean.high - t->mean.low < 0.2 * mean);
}

/* Executors with one place each. Times in the system: a wait and a service of 1. */
static void check_routings(void) {
  struct fleet_curve one = servers(1);
  struct fleet_load load = load_of(0.8, FLEET_RANDOM, exponential_work, WORKS);
  struct fleet_times t = fleet_simulate(&one, &load, 1);
  check_mean(&t, 5, 0.05);                                            /* M/M/1 */
  CHECK_NEAR(t.quantile.estimate, 5 * log(100), 0.15 * 5 * log(100)); /* its time is exponential; batches of 20,000 */
  CHECK_NEAR(t.waiting, 0.8, 0.01);
  CHECK_NEAR(t.in_flight, 4, 0.2);
  load = load_of(0.8, FLEET_RANDOM, same_work, 1);
  t = fleet_simulate(&one, &load, 1);
  check_mean(&t, 3, 0.03); /* M/D/1: a wait of 2 */
  load = load_of(4 * 0.8, FLEET_RANDOM, exponential_work, WORKS);
  t = fleet_simulate(&one, &load, 4);
  check_mean(&t, 5, 0.05); /* each of them is an M/M/1 */
  load.routing = FLEET_IN_TURN;
  t = fleet_simulate(&one, &load, 4);
  check_mean(&t, 1 + 2.267384, 0.04); /* Erlang-4/M/1 */
  load = load_of(2 * 0.8, FLEET_IN_TURN, exponential_work, WORKS);
  t = fleet_simulate(&one, &load, 2);
  check_mean(&t, 1 + 2.843980, 0.04);
  load = load_of(100 * 0.8, FLEET_TWO_CHOICES, exponential_work, WORKS);
  t = fleet_simulate(&one, &load, 100);
  check_mean(&t, 1.9474, 0.04); /* of infinitely many: sum of rho^(2^i - 2) */
  load = load_of(3.2, FLEET_LEAST, exponential_work, WORKS);
  t = fleet_simulate(&one, &load, 4);
  CHECK(t.mean.estimate > 1.745541 && t.mean.estimate < 3.267384); /* between one queue for all, and in turn */
}

/* Those that share an executor: what its curve says, whatever the lengths (Cohen 1979), and burstier arrivals wait longer. */
static void check_sharing(void) {
  struct fleet_curve c = {.n = 16};
  for (size_t i = 0; i < 16; i++) {
    c.in_flight[i] = (double)i + 1;
    c.rate[i] = c.in_flight[i] / (0.5 + 0.05 * c.in_flight[i]);
  }
  struct fleet_load load = load_of(9, FLEET_LEAST, exponential_work, WORKS);
  struct fleet_times t = fleet_simulate(&c, &load, 1);
  check_mean(&t, 1.01629, 0.03);
  CHECK_NEAR(t.waiting, 0.07705, 0.01);
  load.burstiness = 3;
  struct fleet_times bursty = fleet_simulate(&c, &load, 1);
  CHECK(bursty.steady && bursty.mean.low > t.mean.high && bursty.quantile.low > t.quantile.high);
  struct fleet_times again = fleet_simulate(&c, &load, 1);
  CHECK_NEAR(again.quantile.estimate, bursty.quantile.estimate, 0);
  load.rate_per_s = 12.4; /* its capacity is 16 / 1.3 */
  CHECK(!fleet_simulate(&c, &load, 1).steady);
}

/* A tail whose moments are few: the interval holds it, and nobody is promised less. */
static void check_tail(void) {
  struct fleet_curve one = servers(1);
  size_t n_held = 0;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    struct fleet_load load = load_of(0.9, FLEET_LEAST, exponential_work, WORKS);
    load.n_arrivals = 50000;
    load.seed = seed;
    struct fleet_times t = fleet_simulate(&one, &load, 1);
    n_held += t.quantile.low <= 46.05 && 46.05 <= t.quantile.high; /* 10 ln 100 */
  }
  CHECK(n_held >= 10);
}

static void check_least(void) {
  struct fleet_curve c = servers(1);
  struct fleet_load load = load_of(6.4, FLEET_LEAST, same_work, 1);
  struct fleet_times t;
  load.n_arrivals = 100000;
  size_t wide = fleet_least(&c, &load, 20, &t), narrow = fleet_least(&c, &load, 1.5, &t);
  CHECK(wide == 7 && narrow > 7 && narrow < 20);
  CHECK(t.quantile.high <= 1.5);
  CHECK(fleet_simulate(&c, &load, narrow - 1).quantile.high > 1.5);
  CHECK_INT(fleet_least(&c, &load, 0.9, &t), 0); /* one alone takes longer */
  load.rate_per_s = 0.95 * 8;                    /* eight, to the point */
  CHECK_INT(fleet_least(&c, &load, 1000, &t), 8);
  load.rate_per_s = 1e6;
  CHECK_INT(fleet_least(&c, &load, 10, &t), 0);
}

int main(void) {
  for (int i = 0; i < WORKS; i++) exponential_work[i] = -log((i + 0.5) / WORKS);
  check_exact();
  check_routings();
  check_sharing();
  check_tail();
  check_least();
  return check_end();
}
