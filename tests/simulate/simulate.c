/* Holds the intervals, the steady-state classes and the saturation search against simulation, in virtual time. Prints every figure
 * with its Monte Carlo error; exits with 1 where one is not what docs/method.md promises. With --quick, fewer replications. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/compare.h"
#include "stats/sessions.h"
#include "stats/steady.h"
#include "tests/simulate/bisection.h"
#include "tests/simulate/felt.h"
#include "tests/simulate/gate.h"
#include "tests/simulate/generate.h"
#include "tests/simulate/history.h"
#include "tests/simulate/perturbation.h"
#include "tests/simulate/search.h"

static int n_broken;
static bool quick;

static const char *verdict(bool good) {
  n_broken += !good;
  return good ? "ok" : "BROKEN";
}

/* The bound, and what chance alone may take from it in this many replications: 3 standard errors. */
static bool at_least(double share, double bound, double n) {
  return share >= bound - 3 * sqrt(bound * (1 - bound) / n);
}

/* --- intervals --- */

enum { QUANTILES = 4, FIGURES = QUANTILES + 1 };
static const double levels[QUANTILES] = {0.5, 0.9, 0.99, 0.999};
static const char *const figure_names[FIGURES] = {"p50", "p90", "p99", "p99.9", "mean"};

struct tally {
  int n_given, n_covered;
  double width, n_effective;
};

static void note(struct tally *t, bool given, double low, double high, double truth, double n_effective) {
  t->n_effective += n_effective;
  if (!given) return;
  t->n_given++;
  t->n_covered += low <= truth && truth <= high;
  t->width += (high - low) / fabs(truth);
}

/* Closed samples of every session; x: room for one. */
static void draw_sessions(struct generator *g, enum series_kind kind, size_t n_sessions, size_t each, double *x, struct sample *own,
                          const struct sample **ret) {
  for (size_t s = 0; s < n_sessions; s++) {
    generate_series(g, kind, x, each);
    own[s] = (struct sample){0};
    for (size_t i = 0; i < each; i++) sample_add(&own[s], x[i]);
    sample_close(&own[s]);
    ret[s] = &own[s];
  }
}

static void study_intervals(enum series_kind kind, size_t n_sessions, size_t each, int replications) {
  struct tally tallies[FIGURES] = {{0}};
  struct generator g;
  double *x = malloc(each * sizeof *x);
  struct sample own[64];
  const struct sample *sessions[64];
  generator_seed(&g, 77 + (uint64_t)kind * 1000 + each);
  for (int r = 0; r < replications; r++) {
    draw_sessions(&g, kind, n_sessions, each, x, own, sessions);
    for (int q = 0; q < QUANTILES; q++) {
      struct session_quantile found = sessions_quantile(sessions, n_sessions, levels[q], 0.95);
      note(&tallies[q], found.quantile.bounded, found.quantile.low, found.quantile.high, series_quantile(kind, levels[q]),
           found.n_effective);
    }
    struct session_mean mean = sessions_mean(sessions, n_sessions, 0.95);
    note(&tallies[QUANTILES], mean.interval.bounded, mean.interval.low, mean.interval.high, series_mean(kind), mean.n_effective);
    for (size_t s = 0; s < n_sessions; s++) sample_release(&own[s]);
  }
  for (int f = 0; f < FIGURES; f++) {
    const struct tally *t = &tallies[f];
    double share = t->n_given > 0 ? (double)t->n_covered / t->n_given : 0;
    (void)printf("  %-31s %2zu x %-6zu %-6s", series_name(kind), n_sessions, each, figure_names[f]);
    if (t->n_given == 0) (void)printf(" refused always                                  n_eff %8.0f\n", t->n_effective / replications);
    else
      (void)printf(" covered %.3f +- %.3f  refused %5.1f %%  width %7.3g %%  n_eff %8.0f  %s\n", share,
                   sqrt(share * (1 - share) / t->n_given), 100.0 * (replications - t->n_given) / replications, 100 * t->width / t->n_given,
                   t->n_effective / replications,
                   t->n_given < replications / 10 ? "(seldom given)" : verdict(at_least(share, 0.93, t->n_given)));
  }
  free(x);
}

/* An objective at exactly the true quantile: «holds» and «fails» are each wrong, and may be said in 2.5 % of the cases, 3.5 with what
 * a normal approximation costs. */
static void study_objectives(enum series_kind kind, size_t n_sessions, size_t each, int replications) {
  struct generator g;
  struct sample own[64];
  const struct sample *sessions[64];
  int held[3] = {0}, missed[3] = {0};
  double *x = malloc(each * sizeof *x);
  generator_seed(&g, 300 + (uint64_t)kind);
  for (int r = 0; r < replications; r++) {
    draw_sessions(&g, kind, n_sessions, each, x, own, sessions);
    for (int q = 0; q < 3; q++) {
      struct session_share share = sessions_share_above(sessions, n_sessions, series_quantile(kind, levels[q]), levels[q], 0.95);
      held[q] += share.high <= 1 - levels[q] || (share.far_above && share.share <= 1 - levels[q]);
      missed[q] += share.low > 1 - levels[q] || (share.far_below && share.share > 1 - levels[q]);
    }
    for (size_t s = 0; s < n_sessions; s++) sample_release(&own[s]);
  }
  for (int q = 0; q < 3; q++) {
    double h = (double)held[q] / replications, m = (double)missed[q] / replications;
    (void)printf("  %-31s %2zu x %-6zu %-6s «holds» %.3f, «fails» %.3f (at most 0.035 each)  %s\n", series_name(kind), n_sessions, each,
                 figure_names[q], h, m, verdict(at_least(1 - h, 0.965, replications) && at_least(1 - m, 0.965, replications)));
  }
  free(x);
}

/* Two executors whose session figures differ by 10 %, with a drift that both share in each round. */
static void study_ratio(size_t n_sessions, bool paired, int replications) {
  struct generator g;
  struct tally t = {0};
  double a[64], b[64];
  generator_seed(&g, 99 + n_sessions);
  for (int r = 0; r < replications; r++) {
    for (size_t s = 0; s < n_sessions; s++) {
      double drift = 0.05 * generate_normal(&g), other = paired ? drift : 0.05 * generate_normal(&g);
      a[s] = 110 * exp(drift + 0.02 * generate_normal(&g));
      b[s] = 100 * exp(other + 0.02 * generate_normal(&g));
    }
    struct comparison c = compare_sessions(a, n_sessions, b, n_sessions, paired, 0.05, 0.95);
    note(&t, c.bounded, c.low, c.high, 1.1, (double)n_sessions);
  }
  double share = (double)t.n_covered / t.n_given;
  (void)printf("  ratio of two executors, %-8s %2zu sessions each   covered %.3f +- %.3f  width %.3g %%  %s\n",
               paired ? "in pairs" : "apart", n_sessions, share, sqrt(share * (1 - share) / t.n_given), 100 * t.width / t.n_given,
               verdict(at_least(share, 0.93, t.n_given)));
}

/* How often the equivalence test says «the same» of figures that differ by exactly the margin: at most alpha. */
static void study_equivalence(int replications) {
  struct generator g;
  int n_same = 0, n_beyond = 0;
  generator_seed(&g, 123);
  for (int r = 0; r < replications; r++) {
    double a[10], b[10];
    for (int s = 0; s < 10; s++) a[s] = 105 * exp(0.03 * generate_normal(&g)), b[s] = 100 * exp(0.03 * generate_normal(&g));
    struct comparison c = compare_sessions(a, 10, b, 10, false, 0.05, 0.95);
    n_same += c.verdict == VERDICT_SAME || c.verdict == VERDICT_DIFFERENT_WITHIN;
    n_beyond += c.verdict == VERDICT_DIFFERENT_BEYOND;
  }
  (void)printf("  on the margin itself: «within» %.3f, «beyond» %.3f (at most 0.050 each)  %s\n", (double)n_same / replications,
               (double)n_beyond / replications,
               verdict(at_least(1 - (double)n_same / replications, 0.95, replications) &&
                       at_least(1 - (double)n_beyond / replications, 0.95, replications)));
}

/* --- verification --- */

enum { DECIDED_MOST = 100 };

/* compare_plan for a deviation known to a hundredth of itself: thousands of replications ask for the same ones. */
static size_t plan_of(double sd, size_t n_a, const struct plan_aim *aim) {
  enum { STEPS = 1200 };
  static struct {
    size_t n_a, n;
    double margin, power;
  } known[STEPS];
  if (!(sd > 0) || isinf(sd)) return compare_plan(sd, n_a, DECIDED_MOST, aim);
  int step = (int)ceil(100 * log(sd)) + STEPS - 100;
  if (step < 0 || step >= STEPS) return compare_plan(sd, n_a, DECIDED_MOST, aim);
  bool same = known[step].n_a == n_a && fabs(known[step].margin - aim->margin) + fabs(known[step].power - aim->power) <= 0;
  if (!same) known[step].n = compare_plan(exp((step - STEPS + 100) / 100.0), n_a, DECIDED_MOST, aim);
  known[step].n_a = n_a;
  known[step].margin = aim->margin;
  known[step].power = aim->power;
  return known[step].n;
}

/* One re-run: n_figures figures whose sessions vary by sd, of which the first has truly changed by the factor exp(shift). The rule of
 * verify/decision.h. */
struct question {
  double sd, margin;
  size_t n_a, n_figures; /* sealed sessions; figures that are decided together */
  bool estimated;        /* the plan knows sd only from the sealed sessions */
};

static int decide_once(struct generator *g, const struct question *q, size_t n_b, double shift) {
  size_t n_a = q->n_a, n_figures = q->n_figures;
  double sd = q->sd;
  bool estimated = q->estimated;
  double confidence = 0.95, paid = 1 - 0.05 / (double)n_figures;
  const struct plan_aim aim = {q->margin, confidence, paid, 1 - 0.1 / (double)n_figures};
  bool all_same = true, beyond = false;
  double a[DECIDED_MOST], b[DECIDED_MOST];
  for (size_t f = 0; f < n_figures; f++) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < n_a; i++) {
      double x = sd * generate_normal(g);
      a[i] = exp(x);
      mean += x / (double)n_a;
      square += x * x;
    }
    size_t n = n_b;
    if (estimated)
      n = plan_of(compare_deviation_bound(sqrt((square - (double)n_a * mean * mean) / (double)(n_a - 1)), n_a, 0.8), n_a, &aim);
    if (n == 0) return -1;             /* said beforehand: the sealed result has too few sessions */
    if (estimated && n < n_a) n = n_a; /* the contract's sessions, as for the sealed result, are run in any case */
    for (size_t i = 0; i < n; i++) b[i] = exp((f == 0 ? shift : 0) + sd * generate_normal(g));
    struct comparison same = compare_sessions(b, n, a, n_a, false, q->margin, confidence),
                      far = compare_sessions(b, n, a, n_a, false, q->margin, paid);
    all_same = all_same && (same.verdict == VERDICT_SAME || same.verdict == VERDICT_DIFFERENT_WITHIN);
    beyond = beyond || far.verdict == VERDICT_DIFFERENT_BEYOND;
  }
  return beyond ? 1 : all_same ? 0 : 2;
}

/* Decisions on an unchanged executor, and on one that changed by 2.5 margins, at the planned number of sessions. False: no plan decides. */
static bool study_decision(const struct question *q, int replications) {
  size_t n_a = q->n_a, n_figures = q->n_figures;
  double sd = q->sd;
  bool estimated = q->estimated;
  struct generator g;
  const struct plan_aim aim = {q->margin, 0.95, 1 - 0.05 / (double)n_figures, 1 - 0.1 / (double)n_figures};
  size_t n_b = compare_plan(sd, n_a, DECIDED_MOST, &aim);
  if (n_b == 0 && !estimated) {
    (void)printf("  sessions vary by %4.1f %%, %2zu sealed, %zu figure%s: no re-run would decide, and the plan says so\n", 100 * sd, n_a,
                 n_figures, n_figures == 1 ? " " : "s");
    return false;
  }
  double share[2][3] = {{0}}, n_refused = 0;
  generator_seed(&g, 4242 + n_a * 10 + n_figures);
  for (int changed = 0; changed < 2; changed++) {
    int n_given = 0, counts[3] = {0};
    for (int r = 0; r < replications; r++) {
      int found = decide_once(&g, q, n_b, changed ? log(1 + 2.5 * q->margin) : 0);
      if (found >= 0) counts[found]++, n_given++;
      else n_refused++;
    }
    for (int k = 0; k < 3; k++) share[changed][k] = n_given > 0 ? (double)counts[k] / n_given : NAN;
  }
  bool good = at_least(share[0][0], 0.9, replications) && at_least(1 - share[0][1], 0.95, replications) &&
              at_least(share[1][1], 0.9, replications) && at_least(1 - share[1][0], 0.95, replications);
  (void)printf("  sessions vary by %4.1f %%, %2zu sealed, %2zu again, %zu figure%s: unchanged: reproduced %.3f, not %.3f; changed by 2.5 "
               "margins: not reproduced "
               "%.3f, reproduced %.3f  ",
               100 * sd, n_a, n_b, n_figures, n_figures == 1 ? " " : "s", share[0][0], share[0][1], share[1][1], share[1][0]);
  if (!estimated) (void)printf("%s\n", verdict(good));
  else (void)printf("(planned from the sealed sessions' own variance; refused beforehand %.1f %%)\n", 50 * n_refused / replications);
  return true;
}

/* --- steady state --- */

static void study_steady(int replications) {
  static const enum steady_class wanted[COURSE_COUNT] = {
      [COURSE_FLAT] = STEADY_YES,      [COURSE_STEP] = STEADY_YES,        [COURSE_DECAY] = STEADY_YES,
      [COURSE_RISING] = STEADY_RISING, [COURSE_FALLING] = STEADY_FALLING, [COURSE_CYCLIC] = STEADY_CYCLIC,
      [COURSE_ERRATIC] = STEADY_NONE,  [COURSE_LATE_CHANGE] = STEADY_NONE};
  const struct steady_rule rule = {.tolerance = 0.1, .confidence = 0.95, .least = 45};
  double x[100];
  int n_false = 0, n_moving = 0;
  for (int course = 0; course < COURSE_COUNT; course++) {
    struct generator g;
    int n_right = 0, counts[6] = {0};
    generator_seed(&g, 400 + (uint64_t)course);
    for (int r = 0; r < replications; r++) {
      generate_course(&g, (enum course)course, x, 100);
      enum steady_class found = steady_classify(x, 100, &rule).class;
      counts[found]++;
      bool late = course == COURSE_LATE_CHANGE && (found == STEADY_RISING || found == STEADY_FALLING); /* which way it changed */
      n_right += found == wanted[course] || late;
      n_moving += wanted[course] != STEADY_YES;
      n_false += wanted[course] != STEADY_YES && found == STEADY_YES;
    }
    double share = (double)n_right / replications;
    (void)printf("  %-24s right %.3f   (steady %d, rising %d, falling %d, cyclic %d, none %d, short %d)  %s\n",
                 course_name((enum course)course), share, counts[0], counts[1], counts[2], counts[3], counts[4], counts[5],
                 verdict(at_least(share, 0.95, replications)));
  }
  double share = (double)n_false / n_moving;
  (void)printf("  «steady» of what is not: %.4f (at most 0.02)  %s\n", share, verdict(at_least(1 - share, 0.98, n_moving)));
}

/* --- comparisons: what neighbours do, and several figures at once --- */

/* Unchanged executors whose throughput is bound by processors, of which others took `others` beside A and `more` beyond that beside B. */
static void study_neighbours(double margin, int replications) {
  static const double more[] = {0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3}, taken[] = {0, 0.2};
  enum { SESSIONS = 10 };
  double a[SESSIONS], b[SESSIONS];
  (void)printf(
      "\nUnchanged executors, %d sessions a side that vary by 1 %%, margin %.0f %%; others take a share beside A, and more beside B\n",
      SESSIONS, 100 * margin);
  for (size_t t = 0; t < sizeof taken / sizeof taken[0]; t++)
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
      struct generator g;
      int n_beyond = 0, n_same = 0;
      generator_seed(&g, 8100 + t * 10 + i);
      for (int r = 0; r < replications; r++) {
        for (int k = 0; k < SESSIONS; k++) {
          a[k] = (1 - taken[t]) * exp(0.01 * generate_normal(&g));
          b[k] = (1 - taken[t] - more[i]) * exp(0.01 * generate_normal(&g));
        }
        enum verdict found = compare_sessions(a, SESSIONS, b, SESSIONS, false, margin, 0.95).verdict;
        n_beyond += found == VERDICT_DIFFERENT_BEYOND;
        n_same += found == VERDICT_SAME || found == VERDICT_DIFFERENT_WITHIN;
      }
      (void)printf("  others %.2f, %.2f more: the same within the margin %.3f, different beyond it %.3f\n", taken[t], more[i],
                   (double)n_same / replications, (double)n_beyond / replications);
    }
}

/* Executors that differ by exactly the margin in every figure: how often is any of them called beyond it? Figures of one session go
 * together (a slow session is slow in all of them) by the correlation. */
static void study_several(size_t n_figures, double correlation, int replications) {
  enum { SESSIONS = 10, FIGURES_MAX = 7 };
  static const double margin = 0.05;
  struct generator g;
  int n_plain = 0, n_paid = 0;
  double a[FIGURES_MAX][SESSIONS], b[FIGURES_MAX][SESSIONS], own = sqrt(1 - correlation * correlation);
  generator_seed(&g, 8300 + n_figures + (uint64_t)(100 * correlation));
  for (int r = 0; r < replications; r++) {
    for (int k = 0; k < SESSIONS; k++) {
      double of_a = generate_normal(&g), of_b = generate_normal(&g);
      for (size_t f = 0; f < n_figures; f++) {
        a[f][k] = (1 + margin) * exp(0.02 * (correlation * of_a + own * generate_normal(&g)));
        b[f][k] = exp(0.02 * (correlation * of_b + own * generate_normal(&g)));
      }
    }
    bool plain = false, paid = false;
    for (size_t f = 0; f < n_figures; f++) {
      double shared = look_confidence(0.95, n_figures);
      plain = plain || compare_sessions(a[f], SESSIONS, b[f], SESSIONS, false, margin, 0.95).verdict == VERDICT_DIFFERENT_BEYOND;
      paid = paid || compare_sessions(a[f], SESSIONS, b[f], SESSIONS, false, margin, shared).verdict == VERDICT_DIFFERENT_BEYOND;
    }
    n_plain += plain;
    n_paid += paid;
  }
  double share = (double)n_paid / replications;
  (void)printf("  %zu figures, correlation %.1f: any «beyond» %.3f (at most 0.050); each at 95 %% by itself %.3f  %s\n", n_figures,
               correlation, share, (double)n_plain / replications, verdict(at_least(1 - share, 0.95, replications)));
}

int main(int argc, char **argv) {
  quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  if (argc > 2 && strcmp(argv[2], "perturbation") == 0) return study_perturbation(quick) == 0 ? 0 : 1;
  if (argc > 2 && strcmp(argv[2], "bisection") == 0) return study_bisection(quick) == 0 ? 0 : 1;
  if (argc > 2 && strcmp(argv[2], "history") == 0) return study_history(quick) == 0 ? 0 : 1;
  if (argc > 2 && strcmp(argv[2], "felt") == 0) return study_felt(quick) == 0 ? 0 : 1;
  if (argc > 2 && strcmp(argv[2], "search") == 0) return study_search(quick) == 0 ? 0 : 1;
  if (argc > 2 && strcmp(argv[2], "gate") == 0) return study_gate(quick) == 0 ? 0 : 1;
  int many = quick ? 200 : 2000;
  n_broken += generate_check();
  (void)printf("\nIntervals at 95 %%: share that holds the true figure, of those given (%d replications)\n", many);
  for (int kind = 0; kind < SERIES_COUNT; kind++) {
    study_intervals((enum series_kind)kind, 5, 60, many);
    study_intervals((enum series_kind)kind, 5, 1500, many);
    if (!quick) study_intervals((enum series_kind)kind, 5, 20000, many);
    if (!quick) study_intervals((enum series_kind)kind, 10, 2000, many);
  }
  (void)printf("\nObjectives at exactly the true quantile\n");
  for (int kind = 0; kind < SERIES_COUNT; kind++) study_objectives((enum series_kind)kind, 5, 1500, many);
  (void)printf("\nRatios\n");
  for (size_t k = 3; k <= 10; k += k == 3 ? 2 : 5)
    for (int paired = 0; paired < 2; paired++) study_ratio(k, paired == 1, many * 2);
  study_equivalence(many * 2);
  (void)printf("\nVerification: margin 5 %%, confidence 95 %%, planned for 90 %%\n");
  static const double deviations[] = {0.005, 0.01, 0.02, 0.03, 0.05};
  for (size_t i = 0; i < sizeof deviations / sizeof deviations[0]; i++)
    for (size_t n_a = 5; n_a <= 20; n_a *= 2)
      for (size_t n_figures = 1; n_figures <= 3; n_figures += 2)
        (void)study_decision(&(struct question){deviations[i], 0.05, n_a, n_figures, false}, many * 2);
  for (size_t n_a = 5; n_a <= 20; n_a *= 2) (void)study_decision(&(struct question){0.02, 0.05, n_a, 1, true}, many * 2);
  /* bench/variance.py, docs/method.md#verification: throughputs in closed loops, then latencies at p50 and p99, of five executors */
  static const double measured[] = {0.0109, 0.0155, 0.0294, 0.0309, 0.0618, 0.1222, 0.2193, 0.2391, 0.3709, 0.4549, 0.6909};
  static const double margins[] = {0.05, 0.25};
  for (size_t k = 0; k < 2; k++) {
    (void)printf("\nVerification at the variance of real executors: margin %.0f %%\n", 100 * margins[k]);
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++)
      for (size_t n_a = 10; n_a <= 20; n_a *= 2)
        if (study_decision(&(struct question){measured[i], margins[k], n_a, 1, false}, many * 2))
          (void)study_decision(&(struct question){measured[i], margins[k], n_a, 1, true}, many * 2);
  }
  (void)printf("\nSteady state: 100 bins, 4 %% noise, tolerance 10 %%, at least 45 bins\n");
  study_steady(many);
  n_broken += study_search(quick);
  study_neighbours(0.05, many);
  n_broken += study_felt(quick);
  (void)printf("\nSeveral figures of one comparison, all exactly on the margin\n");
  for (size_t n = 1; n <= 7; n += 3)
    for (int k = 0; k < 2; k++) study_several(n, 0.8 * k, many);
  (void)printf("\n");
  n_broken += study_perturbation(quick);
  n_broken += study_bisection(quick);
  n_broken += study_history(quick);
  n_broken += study_gate(quick);
  (void)printf("\n%d figures are not what is promised\n", n_broken);
  return n_broken == 0 ? 0 : 1;
}
