#include "tests/simulate/felt.h"

#include <math.h>
#include <stdio.h>

#include "stats/covariance.h"
#include "tests/simulate/generate.h"

enum { SESSIONS_MAX = 20 };

/* A server loses `lost_a` and `lost_b` seconds of each second on average, by a factor of exp(varying * normal) from session to session; its
 * throughput is (1 - response * lost)^power, and varies by `noise` besides. */
struct scene {
  const char *name;
  double lost_a, lost_b, varying_a, varying_b, response, power, noise;
  bool paired; /* both sides of a pair feel the same level, and each its own part of it */
};

static const struct scene scenes[] = {
    {"it waits, alone and beside neighbours", 0.0005, 0.004, 0.5, 0.5, 1, 1, 0.01, false},
    {"one thread bounds it; alone, then half taken", 0.002, 0.5, 0.5, 0.1, 1, 1, 0.01, false},
    {"one thread; neighbours come and go on both sides", 0.1, 0.2, 0.6, 0.6, 1, 1, 0.01, false},
    {"eight threads; neighbours come and go", 0.8, 1.6, 0.6, 0.6, 0.125, 1, 0.01, false},
    {"one thread; a steady neighbour beside one side", 0.001, 0.25, 0.3, 0.02, 1, 1, 0.01, false},
    {"it loses by the square; they come and go", 0.1, 0.2, 0.6, 0.6, 1, 2, 0.01, false},
    {"one thread, side by side", 0.15, 0.2, 0.6, 0.6, 1, 1, 0.01, true},
    {"it waits, sessions vary by 3 %", 0.0005, 0.004, 0.5, 0.5, 1, 1, 0.03, false},
};

struct drawn {
  double value[SESSIONS_MAX], lost[SESSIONS_MAX];
};

static void draw(struct generator *g, const struct scene *s, bool of_b, const double *shared, double factor, size_t n, struct drawn *ret) {
  for (size_t i = 0; i < n; i++) {
    double lost = (of_b ? s->lost_b : s->lost_a) * exp((of_b ? s->varying_b : s->varying_a) * generate_normal(g));
    if (s->paired) lost *= shared[i];
    if (lost * s->response > 0.9) lost = 0.9 / s->response;
    ret->lost[i] = lost;
    ret->value[i] = factor * pow(1 - s->response * lost, s->power) * exp(s->noise * generate_normal(g));
  }
}

static double share_at_most(double p, double n) {
  return p + 3 * sqrt(p * (1 - p) / n);
}

static int study_scene(const struct scene *s, double change, size_t n, int replications) {
  static const double margin = 0.05;
  struct generator g;
  int n_same = 0, n_beyond = 0, n_plain = 0;
  generator_seed(&g, 4711 + n);
  for (int r = 0; r < replications; r++) {
    struct drawn a, b;
    double shared[SESSIONS_MAX];
    for (size_t i = 0; i < n; i++) shared[i] = exp(0.5 * generate_normal(&g));
    draw(&g, s, false, shared, 1, n, &a);
    draw(&g, s, true, shared, change, n, &b);
    const struct covariance_sides sides = {
        .a = b.value, .b = a.value, .n_a = n, .n_b = n, .n_conditions = 1, .felt_a = {b.lost}, .felt_b = {a.lost}, .paired = s->paired};
    enum verdict found = covariance_compare(&sides, margin, 0.95).adjusted.verdict;
    n_same += verdict_is_same(found);
    n_beyond += found == VERDICT_DIFFERENT_BEYOND;
    n_plain += compare_sessions(b.value, n, a.value, n, s->paired, margin, 0.95).verdict == VERDICT_DIFFERENT_BEYOND;
  }
  double times = replications, apart = fabs(log(change)), limit = log(1 + margin);
  bool good = (apart < limit - 1e-9 || n_same / times <= share_at_most(0.05, times)) &&
              (apart > limit + 1e-9 || n_beyond / times <= share_at_most(0.05, times));
  (void)printf("  %-48s %2zu a side, changed by %+5.1f %%: the same %5.1f %%, beyond %5.1f %% (nothing adjusted %5.1f %%)  %s\n", s->name,
               n, 100 * (change - 1), 100 * n_same / times, 100 * n_beyond / times, 100 * n_plain / times, good ? "ok" : "BROKEN");
  return !good;
}

int study_felt(bool quick) {
  static const double changes[] = {1, 1.05, 1 / 1.05, 0.8, 1.25};
  static const size_t sizes[] = {5, 10};
  int n_broken = 0;
  (void)printf("\nUnlike conditions, judged by what the sessions felt: margin 5 %%, confidence 95 %%\n");
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
      for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++)
        n_broken += study_scene(&scenes[i], changes[c], sizes[k], quick ? 100 : 2000);
  return n_broken;
}
