/* stats/compare.h: are two figures the same within a margin that was declared beforehand?
 *
 * Shapes   one figure > 0 per session and side, a[n_a] and b[n_b]; paired: a[i] and b[i] were measured side by side
 * Result   on the log-ratio ln(a / b): estimate and interval as ratios, and one of four verdicts: the same; different, but within
 *          the margin (both established); different beyond the margin (the interval lies wholly outside); inconclusive, with the
 *          sessions per side that it would take at this variance
 * Errors   bounded is false for fewer than 2 sessions a side, or figures that are not positive and finite
 * Source   two one-sided tests (Schuirmann 1987) with Welch's degrees of freedom (Welch 1947), or paired; docs/method.md#compare */
#ifndef STATS_COMPARE_H
#define STATS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

enum verdict { VERDICT_SAME, VERDICT_DIFFERENT_WITHIN, VERDICT_DIFFERENT_BEYOND, VERDICT_INCONCLUSIVE };
/* Within the margin, whether a difference was established or not. */
bool verdict_is_same(enum verdict verdict);
const char *verdict_text(enum verdict verdict);

struct comparison {
  double ratio, low, high;      /* at the confidence */
  double inner_low, inner_high; /* at 2 * confidence - 1: what equivalence is read from */
  double error, freedom;        /* of the log-ratio */
  double p_difference, p_equivalence;
  double needed_per_side; /* sessions for a decision at 80 % power, at this variance; infinity where the estimate lies on the margin */
  enum verdict verdict;
  bool bounded;
};

/* Intervals, both tests and the verdict, of a log-ratio d whose c->error and c->freedom are known. */
void compare_judge(struct comparison *c, double d, double margin, double confidence);

/* An interval is no narrower than what the figures are known to: `reach` on the log-ratio to each side (infinite: nothing is known). It
 * is then judged again. */
void compare_not_finer(struct comparison *c, double reach, double margin, double confidence);

struct comparison compare_sessions(const double *a, size_t n_a, const double *b, size_t n_b, bool paired, double margin, double confidence);

/* The shift of a against b that fits best, and its exact interval: the median of all differences, and the order statistics of them
 * that Mann-Whitney's distribution gives (Hodges and Lehmann 1963). n_a * n_b at most 1,000,000; above 50 values a side the normal
 * approximation. */
struct shift {
  double estimate, low, high, coverage, u;
  bool bounded;
};

struct shift compare_shift(const double *a, size_t n_a, const double *b, size_t n_b, double confidence);

/* Components of a nested experiment (Kalibera and Jones 2013): x[r3][r2][r1] flat, level 1 the innermost.
 * s2: observed variances per level; t2: the level's own. */
struct nested {
  double s2[3], t2[3], mean;
};

struct nested nested_components(const double *x, size_t r3, size_t r2, size_t r1);
/* Repetitions of a level for the least cost: sqrt(c_above / c_own * t2_own / t2_above) (their eq. 4). */
double nested_repetitions(double t2_own, double t2_above, double cost_own, double cost_above);

/* MLPerf LoadGen's early stopping: the least number of requests of which t may be over the latency and still the share p is shown
 * at that confidence (d = 0). */
long early_stopping_least(double p, long t, double confidence);

/* What a comparison of n_a and n_b sessions can decide, where ln figures vary from session to session with standard deviation `sd` and
 * the sides truly differ by the factor exp(shift): the probability of «the same» (either kind), and of «beyond».
 * Source   the tests' normal numerator and chi-square variance, integrated over the latter (Phillips 1990 for two one-sided tests) */
struct power {
  double same, beyond;
};
struct power compare_power(double sd, size_t n_a, size_t n_b, double shift, double margin, double confidence);

/* The standard deviation that n values which showed `sd` do not exceed with that confidence: a plan that takes the estimate itself is too
 * short half of the time.
 * Source   chi-square by Wilson and Hilferty 1931; 80 % for plans from pilot samples: Browne 1995 */
double compare_deviation_bound(double sd, size_t n, double confidence);

/* Of every plan for a re-run: how sure a decision is to come, by a deviation that sessions pass so seldom, and how many sessions at most. */
#define PLAN_POWER 0.9
#define PLAN_DEVIATION 0.8
enum { PLAN_SESSIONS_MAX = 100 };

/* What a plan is to be held to. The tests' confidences may differ: several figures that are decided together are paid for in the latter. */
struct plan_aim {
  double margin, same_confidence, beyond_confidence, power;
};

/* Are unchanged sides found the same, and sides that differ by 2.5 margins found beyond, each with that probability at least? */
bool compare_decides(double sd, size_t n_a, size_t n_b, const struct plan_aim *aim);
/* The least n_b from 3 (two sessions' variance is no ground for a decision), at most `most`, with which n_a sessions that are there
 * already decide. 0: not even with `most`. */
size_t compare_plan(double sd, size_t n_a, size_t most, const struct plan_aim *aim);

/* One of K looks at accumulating data, two-sided at `confidence` overall: the confidence of each (Bonferroni: never too high). */
double look_confidence(double confidence, size_t n_looks);

#endif
