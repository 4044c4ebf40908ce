#include "tests/simulate/gate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "history/gate.h"
#include "tests/simulate/generate.h"

enum { BASE_MAX = 60, FIGURES_MAX = 4, NIGHTS = 30, BEFORE = 20 };

struct scene {
  size_t k, n_figures;
  double spread, factor; /* factor: the fresh run's true level, of a figure of which more is better */
};

static double at_most(double p, double n) {
  return p + 3 * sqrt(p * (1 - p) / n);
}

/* Any figure of several fails; all of them pass. */
static void decide(struct generator *g, const struct scene *s, const struct gate_plan *plan, bool *ret_fails, bool *ret_passes) {
  *ret_fails = false;
  *ret_passes = true;
  for (size_t f = 0; f < s->n_figures; f++) {
    double base[BASE_MAX], fresh = 100 * s->factor * exp(s->spread * generate_normal(g));
    for (size_t i = 0; i < s->k; i++) base[i] = 100 * exp(s->spread * generate_normal(g));
    struct gate_decision d = gate_decide(base, s->k, &fresh, 1, true, 0, s->n_figures, plan);
    *ret_fails = *ret_fails || d.verdict == GATE_FAILS;
    *ret_passes = *ret_passes && d.verdict == GATE_PASSES;
  }
}

static int study_scene(const struct scene *s, const struct gate_plan *plan, int replications) {
  struct generator g;
  double n_fails = 0, n_passes = 0, n = replications;
  generator_seed(&g, 31 + s->k);
  for (int r = 0; r < replications; r++) {
    bool fails, passes;
    decide(&g, s, plan, &fails, &passes);
    n_fails += fails;
    n_passes += passes;
  }
  double worse = 1 / s->factor - 1;
  bool within = worse <= plan->margin * 1.0001, beyond = worse >= plan->margin * 0.9999;
  bool good = (!within || n_fails / n <= at_most(plan->false_alarms, n)) && (!beyond || n_passes / n <= at_most(plan->false_alarms, n));
  (void)printf("  %2zu runs before, %zu figure%s that vary by %.1f %%, worse by %4.1f %%: fails %5.1f %%, passes %5.1f %%, inconclusive "
               "%5.1f %%  %s\n",
               s->k, s->n_figures, s->n_figures == 1 ? " " : "s", 100 * s->spread, 100 * worse, 100 * n_fails / n, 100 * n_passes / n,
               100 - 100 * (n_fails + n_passes) / n, good ? "ok" : "BROKEN");
  return !good;
}

/* Every night one run of an unchanged executor, checked against all before it; the baseline's level is searched again each time. */
static int study_nights(double margin, int replications) {
  const struct gate_plan plan = {.margin = margin, .false_alarms = 0.05, .last = 20};
  struct generator g;
  double n_fails = 0, n_passes = 0, n = (double)replications * NIGHTS;
  generator_seed(&g, 3);
  for (int r = 0; r < replications; r++) {
    double rates[BEFORE + NIGHTS];
    for (size_t i = 0; i < BEFORE + NIGHTS; i++) rates[i] = 100 * exp(0.02 * generate_normal(&g));
    for (size_t night = BEFORE; night < BEFORE + NIGHTS; night++) {
      struct history h = {.runs = NULL};
      struct gate gate;
      struct summary_figure figure = {"throughput", "", "1/s", BETTER_MORE, 0, NAN, NAN, 2};
      struct summary_precision p = {.name = "p", .fingerprint = "", .figures = &figure, .n_figures = 1};
      struct summary summary = {.contract = "c", .name = "c", .precisions = &p, .n_precisions = 1};
      for (size_t i = 0; i < night; i++) {
        figure.value = rates[i];
        summary.started_ns = (int64_t)i + 1;
        history_add(&h, &(struct history_origin){"", "", "", i}, &summary);
      }
      history_search(&h, &change_plan_usual);
      figure.value = rates[night];
      const struct summary_precision *const fresh[] = {&p};
      const struct gate_wanted wanted = {"throughput", "1/s", BETTER_MORE, true, NULL};
      gate_judge(&(struct gate_question){.history = &h, .fresh = fresh, .m = 1, .wanted = &wanted, .n_wanted = 1}, &plan, &gate);
      n_fails += gate.verdict == GATE_FAILS;
      n_passes += gate.verdict == GATE_PASSES;
      gate_release(&gate);
      history_release(&h);
    }
  }
  bool good = n_fails / n <= at_most(plan.false_alarms, n);
  (void)printf("  30 nights of an unchanged executor, runs vary by 2 %%, margin %.1f %%: %4.2f nights fail, %5.2f pass  %s\n", 100 * margin,
               n_fails / replications, n_passes / replications, good ? "ok" : "BROKEN");
  return !good;
}

int study_gate(bool quick) {
  static const double factors[] = {1, 1 / 1.05, 1 / 1.10};
  const struct gate_plan plan = {.margin = 0.05, .false_alarms = 0.05, .last = 20};
  int broken = 0;
  (void)printf("gate: one fresh run against those before it, margin 5 %%, false alarms 5 %%\n");
  for (size_t k = 3; k <= 20; k += k < 5 ? 2 : k < 10 ? 5 : 10)
    for (size_t n = 1; n <= 3; n += 2)
      for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++)
        broken += study_scene(&(struct scene){k, n, 0.01, factors[f]}, &plan, quick ? 500 : 20000);
  static const double margins[] = {0.001, 0.02, 0.05};
  for (size_t i = 0; i < sizeof margins / sizeof margins[0]; i++)
    if (!quick || i == 0) broken += study_nights(margins[i], quick ? 3 : 100);
  return broken;
}
