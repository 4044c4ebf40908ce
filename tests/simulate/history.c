#include "tests/simulate/history.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats/changes.h"
#include "tests/simulate/generate.h"
#include "tests/simulate/hunter.h"

enum { LENGTH_MAX = 300, STEPS_MAX = 4, OTAVA_WINDOW = 50, NEAR = 3 };
static const double otava_p = 0.001; /* its defaults */

enum noise { NOISE_NORMAL, NOISE_LOGNORMAL, NOISE_OUTLIERS };

struct scene {
  const char *name;
  enum noise noise;
  double correlation, spread; /* spread: standard deviation, as a share of the level */
  size_t n;
  struct {
    size_t at;
    double factor;
  } steps[STEPS_MAX];
  size_t n_steps;
  double at_most; /* promised: false alarms */
};

static double draw(struct generator *g, enum noise noise) {
  if (noise == NOISE_LOGNORMAL) return (exp(0.8 * generate_normal(g)) - exp(0.32)) / 1.3; /* skewed, variance about 1 */
  double z = generate_normal(g);
  return noise == NOISE_OUTLIERS && generate_uniform(g) < 0.03 ? z + 8 : z;
}

static void make_series(struct generator *g, const struct scene *s, double *x) {
  double e = draw(g, s->noise), level = 100;
  size_t step = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (step < s->n_steps && s->steps[step].at == i) level *= s->steps[step++].factor;
    x[i] = level * (1 + s->spread * e);
    e = s->correlation * e + sqrt(1 - s->correlation * s->correlation) * draw(g, s->noise);
  }
}

struct tally {
  double any, found, other, otava_any, otava_found, otava_other; /* found: true changes; other: those that are none */
  double sizes, sizes_held, places_held;
};

static bool is_near(size_t a, size_t b) {
  return a <= b + NEAR && b <= a + NEAR;
}

static void judge_ours(const struct scene *s, const struct changes *c, struct tally *t) {
  t->any += c->n_items > 0;
  size_t matched = 0;
  for (size_t k = 0; k < s->n_steps; k++)
    for (size_t i = 0; i < c->n_items; i++) {
      const struct change *change = &c->items[i];
      if (!is_near(change->at, s->steps[k].at)) continue;
      matched++;
      t->found++;
      t->sizes++;
      t->sizes_held += change->low <= s->steps[k].factor && s->steps[k].factor <= change->high;
      t->places_held += change->first <= s->steps[k].at && s->steps[k].at <= change->last;
      break;
    }
  t->other += (double)(c->n_items - (matched < c->n_items ? matched : c->n_items));
}

static void judge_otava(const struct scene *s, const double *x, double p, struct tally *t) {
  size_t found[HUNTER_MAX], n = hunter_changes(x, s->n, OTAVA_WINDOW, p, 0, found), matched = 0;
  t->otava_any += n > 0;
  for (size_t k = 0; k < s->n_steps; k++)
    for (size_t i = 0; i < n; i++)
      if (is_near(found[i], s->steps[k].at)) {
        matched++;
        t->otava_found++;
        break;
      }
  t->otava_other += (double)(n - (matched < n ? matched : n));
}

static struct tally run(const struct scene *s, int replications, double p) {
  struct generator g;
  struct tally t = {0};
  double x[LENGTH_MAX];
  generator_seed(&g, 9000 + s->n);
  for (int r = 0; r < replications; r++) {
    struct arena arena = {0};
    struct changes c;
    struct change_plan plan = change_plan_usual;
    plan.seed = (uint64_t)r + 1;
    make_series(&g, s, x);
    changes_find(x, s->n, &plan, &arena, &c);
    judge_ours(s, &c, &t);
    judge_otava(s, x, p, &t);
    arena_release(&arena);
  }
  return t;
}

static int study_noise(const struct scene *s, int replications) {
  struct tally t = run(s, replications, otava_p);
  double n = replications, share = t.any / n;
  bool good = share <= s->at_most + 3 * sqrt(s->at_most * (1 - s->at_most) / n);
  (void)printf("  %-34s %3zu values: any change %5.1f %% (at most %.0f); Otava, defaults %5.1f %%  %s\n", s->name, s->n, 100 * share,
               100 * s->at_most, 100 * t.otava_any / n, good ? "ok" : "BROKEN");
  return !good;
}

/* The p at which Otava's method names a change in 5 % of such series without one. */
static double matched_p(const struct scene *s, int replications) {
  struct scene without = *s;
  double low = 1e-9, high = 0.05, x[LENGTH_MAX];
  without.n_steps = 0;
  for (int k = 0; k < 12; k++) {
    struct tally t = {0};
    struct generator g;
    double middle = sqrt(low * high);
    generator_seed(&g, 77);
    for (int r = 0; r < replications; r++) {
      make_series(&g, &without, x);
      judge_otava(&without, x, middle, &t);
    }
    if (t.otava_any / replications > 0.05) high = middle;
    else low = middle;
  }
  return low;
}

static int study_steps(const struct scene *s, int replications) {
  double p = matched_p(s, replications), n = replications, all = n * (double)s->n_steps;
  struct tally t = run(s, replications, p);
  double held = t.sizes > 0 ? t.sizes_held / t.sizes : 1;
  bool good = t.found / all >= t.otava_found / all - 3 * sqrt(0.5 / all); /* no worse than it, at its own false-alarm rate */
  (void)printf("  %-34s %3zu values: found %5.1f %%, others %4.2f a series; Otava at 5 %% false alarms (p %.1g) %5.1f %%, %4.2f; sizes "
               "held %5.1f %%, places %5.1f %%  %s\n",
               s->name, s->n, 100 * t.found / all, t.other / n, p, 100 * t.otava_found / all, t.otava_other / n, 100 * held,
               t.found > 0 ? 100 * t.places_held / t.found : 100, good ? "ok" : "BROKEN");
  return !good;
}

int study_history(bool quick) {
  static const struct scene quiet[] = {
      {"independent", NOISE_NORMAL, 0, 0.02, 300, {{0}}, 0, 0.10},
      {"independent", NOISE_NORMAL, 0, 0.02, 100, {{0}}, 0, 0.05},
      {"independent", NOISE_NORMAL, 0, 0.02, 30, {{0}}, 0, 0.05},
      {"independent, skewed", NOISE_LOGNORMAL, 0, 0.02, 300, {{0}}, 0, 0.10},
      {"independent, 3 % outlie by 8 sd", NOISE_OUTLIERS, 0, 0.02, 300, {{0}}, 0, 0.10},
      {"correlation 0.3", NOISE_NORMAL, 0.3, 0.02, 300, {{0}}, 0, 0.10},
      {"correlation 0.6", NOISE_NORMAL, 0.6, 0.02, 300, {{0}}, 0, 0.15},
      {"correlation 0.9", NOISE_NORMAL, 0.9, 0.02, 300, {{0}}, 0, 0.30},
      {"correlation 0.3", NOISE_NORMAL, 0.3, 0.02, 30, {{0}}, 0, 0.20},
      {"correlation 0.6", NOISE_NORMAL, 0.6, 0.02, 30, {{0}}, 0, 0.35},
  };
  static const struct scene steps[] = {
      {"one, 1 sd", NOISE_NORMAL, 0, 0.02, 100, {{50, 1.02}}, 1, 0},
      {"one, 2 sd", NOISE_NORMAL, 0, 0.02, 100, {{50, 1.04}}, 1, 0},
      {"one, 3 sd", NOISE_NORMAL, 0, 0.02, 100, {{50, 1.06}}, 1, 0},
      {"one, 3 sd, 8 values after it", NOISE_NORMAL, 0, 0.02, 60, {{52, 1.06}}, 1, 0},
      {"one, 5 sd, 4 values after it", NOISE_NORMAL, 0, 0.02, 60, {{56, 1.1}}, 1, 0},
      {"one, 2 sd, outliers", NOISE_OUTLIERS, 0, 0.02, 100, {{50, 1.04}}, 1, 0},
      {"one, 2 sd, skewed", NOISE_LOGNORMAL, 0, 0.02, 100, {{50, 1.04}}, 1, 0},
      {"up and back after 10, 3 sd", NOISE_NORMAL, 0, 0.02, 100, {{45, 1.06}, {55, 1 / 1.06}}, 2, 0},
      {"four, 3 sd each", NOISE_NORMAL, 0, 0.02, 200, {{40, 1.06}, {80, 0.94}, {120, 0.94}, {160, 1.06}}, 4, 0},
      {"one, 2 sd, correlation 0.3", NOISE_NORMAL, 0.3, 0.02, 100, {{50, 1.04}}, 1, 0},
      {"one, 3 sd, correlation 0.6", NOISE_NORMAL, 0.6, 0.02, 200, {{100, 1.06}}, 1, 0},
  };
  int broken = 0, many = quick ? 100 : 1000;
  (void)printf("history: series without a change, looked at once\n");
  for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
    if (!quick || i % 3 == 0) broken += study_noise(&quiet[i], many);
  (void)printf("history: changes of level that were put in; spread is one sd of the noise\n");
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
    if (!quick || i % 5 == 1) broken += study_steps(&steps[i], quick ? 50 : 500);
  return broken;
}
