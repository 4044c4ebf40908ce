#include "tests/simulate/perturbation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats/elasticity.h"
#include "tests/simulate/generate.h"

enum { STATIONS = 3, LEVELS = 2, BLOCKS_MAX = 4096 };
static const double asked[LEVELS] = {1.11, 1.4};

/* A closed network: N customers go round exponential stations of one server each, and a delay that nobody slows. */
struct network {
  const char *name;
  int customers;
  double demand[STATIONS], delay; /* mean times; a station of 0 is none */
  double noise;                   /* standard deviation of ln speed from block to block, a first-order autoregression of 0.5 */
  double swing;                   /* the same of ln speed from cycle to cycle */
  double stalls, stalls_slowed;   /* part of the undisturbed blocks, and of the others, in which nothing is answered */
  double least;                   /* of coverage, where more is not expected; 0: 93 % */
};

/* Throughput by mean-value analysis (Reiser and Lavenberg 1980), exact for such networks. */
static double throughput(const struct network *n, const double slowness[STATIONS]) {
  double queue[STATIONS] = {0}, x = 0;
  for (int customers = 1; customers <= n->customers; customers++) {
    double time[STATIONS], sum = n->delay;
    for (int k = 0; k < STATIONS; k++) {
      time[k] = n->demand[k] * slowness[k] * (1 + queue[k]);
      sum += time[k];
    }
    x = customers / sum;
    for (int k = 0; k < STATIONS; k++) queue[k] = x * time[k];
  }
  return x;
}

static double ln_throughput(const struct network *n, int station, double slowness) {
  double all[STATIONS] = {1, 1, 1};
  all[station] = slowness;
  return log(throughput(n, all));
}

/* Of the levels that are tried, as the fit sees them: the undisturbed twice in each cycle. */
static double exact_elasticity(const struct network *n, int station) {
  struct block_point points[LEVELS + 2];
  for (int i = 0; i < LEVELS + 2; i++) {
    double slowness = i < LEVELS ? asked[i] : 1;
    double answered = 1 - (slowness > 1 ? n->stalls_slowed : n->stalls);
    points[i] = (struct block_point){0, slowness, answered * exp(ln_throughput(n, station, slowness)), 1};
  }
  (void)elasticity_linearise(points, LEVELS + 2, RATE_FOLLOWS_SLOWNESS);
  return slope_within(points, LEVELS + 2, 0.95).estimate;
}

static double derivative(const struct network *n, int station) {
  return -(ln_throughput(n, station, 1.0001) - ln_throughput(n, station, 1 / 1.0001)) / (2 * log(1.0001));
}

struct state {
  int at[STATIONS], thinking;
};

/* Memoryless: the next event is that of the sum of all rates. Counts departures from the last station within the block. */
static double run_block(struct generator *g, const struct network *n, struct state *s, const double slowness[STATIONS], double speed,
                        double settle, double length) {
  double now = 0, done = 0;
  while (now < length) {
    double rate[STATIONS + 1], sum = 0;
    for (int k = 0; k < STATIONS; k++) {
      rate[k] = s->at[k] > 0 && n->demand[k] > 0 ? speed / (n->demand[k] * slowness[k]) : 0;
      sum += rate[k];
    }
    rate[STATIONS] = n->delay > 0 ? s->thinking / n->delay : 0;
    sum += rate[STATIONS];
    now += generate_exponential(g) / sum;
    double which = generate_uniform(g) * sum;
    int k = 0;
    while (k < STATIONS && which >= rate[k]) which -= rate[k++];
    if (k == STATIONS) {
      s->thinking--;
      s->at[0]++;
      continue;
    }
    s->at[k]--;
    int next = k + 1;
    while (next < STATIONS && n->demand[next] <= 0) next++;
    if (next < STATIONS) s->at[next]++;
    else {
      done += now >= settle && now < length;
      if (n->delay > 0) s->thinking++;
      else s->at[0]++;
    }
  }
  return done / (length - settle);
}

struct study {
  struct block_point points[STATIONS][BLOCKS_MAX];
  size_t n[STATIONS];
};

static void add_point(struct study *study, int station, int cycle, double x, double y) {
  if (study->n[station] < BLOCKS_MAX) study->points[station][study->n[station]++] = (struct block_point){cycle, x, y, 1};
}

/* One perturbed run: cycles with every station at every level, and as many undisturbed blocks as the program takes. */
static void run_study(struct generator *g, const struct network *n, int cycles, double length, struct study *ret) {
  struct state s = {.at = {n->customers}};
  double drift = 0, swing = 0;
  const double quiet[STATIONS] = {1, 1, 1};
  for (int k = 0; k < STATIONS; k++) ret->n[k] = 0;
  (void)run_block(g, n, &s, quiet, 1, 0, 20 * length); /* warm */
  for (int cycle = 0; cycle < cycles; cycle++) {
    int turns[STATIONS * LEVELS + 2], n_turns = STATIONS * LEVELS + 2;
    for (int i = 0; i < n_turns; i++) turns[i] = i;
    if (n->swing > 0) swing = 0.5 * swing + sqrt(0.75) * n->swing * generate_normal(g);
    for (int i = n_turns; i > 1; i--) {
      int k = (int)(generate_uniform(g) * i), t = turns[i - 1];
      turns[i - 1] = turns[k];
      turns[k] = t;
    }
    for (int i = 0; i < n_turns; i++) {
      int station = turns[i] / LEVELS, level = turns[i] % LEVELS;
      double slowness[STATIONS] = {1, 1, 1};
      bool perturbed = station < STATIONS;
      if (perturbed) slowness[station] = asked[level];
      drift = 0.5 * drift + sqrt(0.75) * n->noise * generate_normal(g);
      double y = run_block(g, n, &s, slowness, exp(drift + swing), length / 10, length);
      double stalls = perturbed ? n->stalls_slowed : n->stalls;
      if (stalls > 0 && generate_uniform(g) < stalls) y = 0;
      for (int k = 0; k < STATIONS; k++)
        if (!perturbed || k == station) add_point(ret, k, cycle, perturbed ? asked[level] : 1, y);
    }
  }
}

static bool enough(double share, double bound, double n) {
  return share >= bound - 3 * sqrt(bound * (1 - bound) / n);
}

static int study_network(const struct network *n, int cycles, double length, int replications) {
  struct study *study = malloc(sizeof *study);
  struct generator g;
  int covered[STATIONS + 1] = {0}, broken = 0;
  double width[STATIONS + 1] = {0}, truth[STATIONS + 1] = {0}, local = 0;
  generator_seed(&g, 4242 + (uint64_t)n->customers);
  for (int k = 0; k < STATIONS; k++) truth[STATIONS] += truth[k] = exact_elasticity(n, k);
  for (int r = 0; r < replications; r++) {
    const struct block_point *lists[STATIONS];
    run_study(&g, n, cycles, length, study);
    for (int k = 0; k <= STATIONS; k++) {
      if (k < STATIONS) {
        (void)elasticity_linearise(study->points[k], study->n[k], RATE_FOLLOWS_SLOWNESS);
        lists[k] = study->points[k];
      }
      struct slope s = k < STATIONS ? slope_within(study->points[k], study->n[k], 0.95) : slope_sum(lists, study->n, STATIONS, 0.95);
      covered[k] += s.low <= truth[k] && truth[k] <= s.high;
      width[k] += (s.high - s.low) / replications;
    }
  }
  (void)printf("  %s, %d cycles of blocks of %g services\n", n->name, cycles, length);
  for (int k = 0; k <= STATIONS; k++) {
    if (k < STATIONS && n->demand[k] <= 0) continue;
    double share = (double)covered[k] / replications;
    const double least = n->least > 0 ? n->least : 0.93;
    bool good = enough(share, least, replications);
    if (k < STATIONS) local += derivative(n, k);
    (void)printf("    %-10s truth %6.3f, local %6.3f, width %5.3f, covered %5.1f %% (wanted: %.0f)  %s\n", k < STATIONS ? "station" : "sum",
                 truth[k], k < STATIONS ? derivative(n, k) : local, width[k], 100 * share, 100 * least, good ? "ok" : "BROKEN");
    broken += !good;
  }
  free(study);
  return broken;
}

/* Without a delay every rate that matters is slowed: then the local elasticities sum to one (Euler: throughput is homogeneous). */
static int check_sums(const struct network *networks, size_t n) {
  int broken = 0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (int k = 0; k < STATIONS; k++) sum += derivative(&networks[i], k);
    bool good = networks[i].delay > 0 ? sum < 0.999 : fabs(sum - 1) < 1e-6;
    (void)printf("  sum of %-34s %.6f %s  %s\n", networks[i].name, sum, networks[i].delay > 0 ? "(a timer holds the rest)" : "",
                 good ? "ok" : "BROKEN");
    broken += !good;
  }
  return broken;
}

int study_perturbation(bool quick) {
  static const struct network networks[] = {
      {.name = "one station", .customers = 4, .demand = {1}, .noise = 0.05},
      {.name = "a bottleneck and two beside it", .customers = 8, .demand = {0.2, 1, 0.4}, .noise = 0.08},
      {.name = "three alike", .customers = 6, .demand = {1, 1, 1}, .noise = 0.05},
      {.name = "a tie of two", .customers = 16, .demand = {1, 1, 0.1}, .noise = 0.1},
      {.name = "a timer", .customers = 4, .demand = {0.3, 0.5, 0.1}, .delay = 3, .noise = 0.05},
      {.name = "a bottleneck; 5 % of blocks stall",
       .customers = 8,
       .demand = {0.2, 1, 0.4},
       .noise = 0.08,
       .stalls = 0.05,
       .stalls_slowed = 0.05},
      {.name = "a bottleneck; 5 % of slowed blocks stall",
       .customers = 8,
       .demand = {0.2, 1, 0.4},
       .noise = 0.08,
       .stalls_slowed = 0.05,
       .least = 0.75},
      {.name = "a bottleneck; cycles differ by e^0.8", .customers = 8, .demand = {0.2, 1, 0.4}, .noise = 0.08, .swing = 0.8},
  };
  const size_t n = sizeof networks / sizeof networks[0];
  int broken = 0, replications = quick ? 60 : 1000;
  (void)printf("perturbation: closed networks with exact elasticities (mean-value analysis), noise from block to block\n");
  broken += check_sums(networks, n);
  for (size_t i = 0; i < n; i++)
    for (int cycles = quick ? 12 : 6; cycles <= (quick ? 12 : 24); cycles *= 2)
      broken += study_network(&networks[i], cycles, 300, replications);
  return broken;
}
