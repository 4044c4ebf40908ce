#include "stats/factorial.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "stats/special.h"

/* --- designs --- */

static size_t bits_of(uint64_t set) {
  return (size_t)__builtin_popcountll(set);
}

/* The sets of base facts that further facts follow: of three or more, of odd size where that is asked for. */
static bool next_generator(uint64_t *at, size_t n_base, bool odd) {
  do ++*at;
  while (*at < (uint64_t)1 << n_base && (bits_of(*at) < 2 || (odd && bits_of(*at) % 2 == 0)));
  return *at < (uint64_t)1 << n_base;
}

/* The shortest product of facts that is constant over all runs. */
static int resolution_of(size_t n_facts, size_t n_base, const uint64_t *generators) {
  size_t n_further = n_facts - n_base, least = 0;
  for (uint64_t which = 1; which < (uint64_t)1 << n_further; which++) {
    uint64_t word = 0;
    for (size_t i = 0; i < n_further; i++)
      if (which >> i & 1) word ^= generators[i] | (uint64_t)1 << (n_base + i);
    if (least == 0 || bits_of(word) < least) least = bits_of(word);
  }
  return (int)least;
}

bool factorial_design(size_t n_facts, size_t n_runs, struct factorial_design *ret) {
  uint64_t generators[FACTORIAL_FACTS_MAX] = {0}, at = 0;
  size_t n_base = 0;
  while ((size_t)1 << n_base < n_runs) n_base++;
  if (n_facts < 2 || n_facts > FACTORIAL_FACTS_MAX || n_runs < 4 || n_runs > FACTORIAL_RUNS_MAX || n_runs != (size_t)1 << n_base ||
      n_facts >= n_runs)
    return false;
  if (n_base > n_facts) n_base = n_facts;
  size_t n_further = n_facts - n_base;
  bool odd = n_facts <= n_runs / 2;
  if (n_further == 1) generators[0] = ((uint64_t)1 << n_base) - 1;
  for (size_t i = 0; i < n_further && n_further > 1; i++) {
    if (!next_generator(&at, n_base, odd)) return false;
    generators[i] = at;
  }
  *ret = (struct factorial_design){.n_facts = n_facts, .n_runs = (size_t)1 << n_base};
  ret->resolution = n_further > 0 ? resolution_of(n_facts, n_base, generators) : 0;
  for (uint64_t run = 0; run < ret->n_runs; run++) {
    ret->runs[run] = run;
    for (size_t i = 0; i < n_further; i++)
      if (bits_of(run & generators[i]) % 2 == 1) ret->runs[run] |= (uint64_t)1 << (n_base + i);
  }
  return true;
}

size_t factorial_runs(size_t n_facts) {
  size_t n = 4;
  if (n_facts <= 6) { /* all, or half of five or six: no effect of two facts is mixed with another of two */
    while (n < (size_t)1 << (n_facts <= 4 ? n_facts : n_facts - 1)) n *= 2;
    return n;
  }
  while (n < n_facts * 2) n *= 2;
  return n;
}

size_t factorial_plots(const struct factorial_design *d, size_t ret[FACTORIAL_RUNS_MAX]) {
  size_t n = 0;
  for (size_t k = 0; k < d->n_runs; k++) {
    size_t like = 0;
    while (like < k && (d->runs[like] & d->hard) != (d->runs[k] & d->hard)) like++;
    ret[k] = like < k ? ret[like] : n++;
  }
  return n;
}

/* The runs of one round: plots in random order, and within each its runs. */
static void order_round(const struct factorial_design *d, struct random_stream *random, size_t ret[FACTORIAL_RUNS_MAX]) {
  size_t plot_of[FACTORIAL_RUNS_MAX], plots[FACTORIAL_RUNS_MAX], within[FACTORIAL_RUNS_MAX], n = 0;
  size_t n_plots = factorial_plots(d, plot_of);
  random_order(random, plots, n_plots);
  for (size_t p = 0; p < n_plots; p++) {
    size_t members[FACTORIAL_RUNS_MAX], n_members = 0;
    for (size_t k = 0; k < d->n_runs; k++)
      if (plot_of[k] == plots[p]) members[n_members++] = k;
    random_order(random, within, n_members);
    for (size_t k = 0; k < n_members; k++) ret[n++] = members[within[k]];
  }
}

size_t factorial_run(const struct factorial_design *d, size_t n_rounds, uint64_t seed, measure_facts *measure, void *context, double *ret_y,
                     double *ret_grain) {
  struct random_stream random;
  random_init(&random, seed, "factorial");
  *ret_grain = 0;
  for (size_t round = 0; round < n_rounds; round++) {
    size_t order[FACTORIAL_RUNS_MAX] = {0};
    order_round(d, &random, order);
    for (size_t k = 0; k < d->n_runs; k++) {
      struct session_figure figure = {0};
      if (measure(context, d->runs[order[k]], (int64_t)round, &figure) != MEASURED) return round;
      ret_y[round * d->n_runs + order[k]] = figure.ln;
      *ret_grain = fmax(*ret_grain, figure.grain);
    }
  }
  return n_rounds;
}

/* --- effects --- */

/* 1 where an effect's facts agree in number, -1 elsewhere. */
static double sign_of(uint64_t run, int first, int second) {
  double sign = (run >> first & 1) != 0 ? 1 : -1;
  if (second >= 0) sign *= (run >> second & 1) != 0 ? 1 : -1;
  return sign;
}

/* 1 or -1: their columns are the same, or each other's negative; 0: neither. */
static int likeness(const struct factorial_design *d, const struct factorial_name *a, int first, int second) {
  double product = 0;
  for (size_t r = 0; r < d->n_runs; r++) product += sign_of(d->runs[r], a->first, a->second) * sign_of(d->runs[r], first, second);
  return product >= (double)d->n_runs ? 1 : product <= -(double)d->n_runs ? -1 : 0;
}

static void add_name(const struct factorial_design *d, struct factorial *ret, int first, int second) {
  for (size_t i = 0; i < ret->n_effects; i++) {
    struct factorial_effect *e = &ret->effects[i];
    int like = likeness(d, &e->names[0], first, second);
    if (like == 0) continue;
    if (e->n_names < FACTORIAL_NAMES_MAX) e->names[e->n_names++] = (struct factorial_name){first, second, like < 0};
    else e->n_unnamed++;
    return;
  }
  if (ret->n_effects == FACTORIAL_EFFECTS_MAX) return; /* no design has more columns than runs - 1 */
  ret->effects[ret->n_effects++] = (struct factorial_effect){.names = {{first, second, false}}, .n_names = 1};
}

/* Is its column one value over each plot? */
static bool is_between_plots(const struct factorial_design *d, const size_t *plot_of, const struct factorial_name *name) {
  for (size_t k = 0; k < d->n_runs; k++)
    for (size_t l = 0; l < k; l++)
      if (plot_of[k] == plot_of[l] && sign_of(d->runs[k], name->first, name->second) != sign_of(d->runs[l], name->first, name->second))
        return false;
  return true;
}

static double deviation_of(double squares, double freedom, double least) {
  return freedom > 0 ? fmax(sqrt(fmax(squares, 0) / freedom), least) : NAN;
}

/* The residual's two parts: of the plots' means, and of the runs within them. Plots are equally large in a regular design. */
static void part_residual(const struct factorial_design *d, const size_t *plot_of, const double *y, size_t n_rounds, double grain,
                          struct factorial *ret) {
  size_t n = d->n_runs, n_plots = ret->n_plots;
  double size = (double)n / (double)n_plots, *means = xalloc(n_rounds * n_plots, sizeof *means);
  for (size_t r = 0; r < n_rounds; r++)
    for (size_t k = 0; k < n; k++) means[r * n_plots + plot_of[k]] += y[r * n + k] / size;
  double of_plots = n_plots > 1 ? rounds_residual(means, n_rounds, n_plots, n_plots) : 0;
  ret->plot_freedom = (double)(n_rounds - 1) * (double)(n_plots - 1);
  ret->freedom = (double)(n_rounds - 1) * (double)(n - n_plots);
  ret->plot_deviation = deviation_of(of_plots, ret->plot_freedom, grain / sqrt(size));
  ret->deviation = deviation_of(rounds_residual(y, n_rounds, n, n) - size * of_plots, ret->freedom, grain);
  free(means);
}

void factorial_analyse(const struct factorial_design *d, const double *y, size_t n_rounds, double grain, double confidence,
                       struct factorial *ret) {
  int n = (int)d->n_facts;
  size_t plot_of[FACTORIAL_RUNS_MAX];
  *ret = (struct factorial){.bounded = n_rounds >= 2, .n_plots = factorial_plots(d, plot_of)};
  for (size_t r = 0; r < n_rounds; r++)
    for (size_t k = 0; k < d->n_runs; k++) ret->means[k] += y[r * d->n_runs + k] / (double)n_rounds;
  part_residual(d, plot_of, y, n_rounds, grain, ret);
  for (int i = 0; i < n; i++) add_name(d, ret, i, -1);
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) add_name(d, ret, i, j);
  double error = (1 - confidence) / (double)ret->n_effects;
  for (size_t i = 0; i < ret->n_effects; i++) {
    struct factorial_effect *e = &ret->effects[i];
    e->between_plots = ret->n_plots > 1 && is_between_plots(d, plot_of, &e->names[0]);
    double times = e->names[0].second >= 0 ? 4 : 2, units = (double)((e->between_plots ? ret->n_plots : d->n_runs) * n_rounds);
    double freedom = e->between_plots ? ret->plot_freedom : ret->freedom;
    double t = ret->bounded ? special_t_quantile(1 - error / 2, freedom) : NAN;
    double half = t * (e->between_plots ? ret->plot_deviation : ret->deviation) * times / sqrt(units);
    for (size_t k = 0; k < d->n_runs; k++)
      e->estimate += times / (double)d->n_runs * sign_of(d->runs[k], e->names[0].first, e->names[0].second) * ret->means[k];
    e->low = e->estimate - half;
    e->high = e->estimate + half;
  }
}
