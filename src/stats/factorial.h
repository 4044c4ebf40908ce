/* stats/factorial.h: two-level factorial designs, whole and fractional, and what they show.
 *
 * Shapes   runs are sets of facts: bit i of a run's set says that fact i has its second level. y[round][run]: ln of a figure; every
 *          run once in each round
 * Design   the first facts vary freely; each further one follows the parity of a chosen set of them. One further fact: of all of
 *          them. Where the facts are at most half of the runs, of odd sets, so that no effect is mixed with the interaction of two
 *          (resolution IV); else of any (III). The run without any fact is always there
 * Result   an effect of one fact: the mean with it less the mean without. Of two: how much more both change together than one by
 *          one. Those that a design cannot tell apart are one estimate, which carries all their names
 * Split    facts that are hard to change stay as they are over a whole plot: the runs of a round that have them alike follow one
 *          another, plots and the runs within each in random order. What differs between plots only has their error
 * Interval t distribution on the residual of rounds and runs: (rounds - 1)(plots - 1) degrees of freedom between plots, (rounds - 1)
 *          (runs - plots) within them; without hard facts a round is one plot, and they are (rounds - 1)(runs - 1). All estimates
 *          together hold at the confidence (Bonferroni over them)
 * Source   Box, Hunter and Hunter 2005, chapters 5, 6 and 9 (split plots); docs/method.md#factorial
 */
#ifndef STATS_FACTORIAL_H
#define STATS_FACTORIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/rounds.h"

enum { FACTORIAL_FACTS_MAX = 16, FACTORIAL_RUNS_MAX = 64, FACTORIAL_EFFECTS_MAX = 63, FACTORIAL_NAMES_MAX = 10 };

struct factorial_design {
  size_t n_facts, n_runs;
  uint64_t runs[FACTORIAL_RUNS_MAX];
  int resolution; /* 0: whole, nothing is mixed with anything */
  uint64_t hard;  /* facts that are changed as seldom as may be, once in a plot; 0: none */
};

/* False: n_runs is no power of two from 4 to 64, or is less than n_facts + 1, or n_facts is less than 2 or too many. More runs than there
 * are combinations make the whole design. */
bool factorial_design(size_t n_facts, size_t n_runs, struct factorial_design *ret);
/* Usual: up to six facts, so many that no effect of two is mixed with one of two; else that none of one is mixed with one of two. */
size_t factorial_runs(size_t n_facts);

/* Of one fact (second -1), or of two together. */
struct factorial_name {
  int first, second;
  bool negative; /* mixed in with the other sign */
};

struct factorial_effect {
  struct factorial_name names[FACTORIAL_NAMES_MAX]; /* the first one is what it is taken for */
  size_t n_names, n_unnamed;                        /* unnamed: further ones that it is mixed with */
  double estimate, low, high;
  bool between_plots; /* it is the same over each whole plot, and has the plots' error */
};

struct factorial {
  struct factorial_effect effects[FACTORIAL_EFFECTS_MAX];
  size_t n_effects;
  double means[FACTORIAL_RUNS_MAX];    /* of each run, over rounds */
  double deviation, freedom;           /* of a run, within its plot; NaN: a plot has one run */
  double plot_deviation, plot_freedom; /* of a plot's mean; NaN: there are no hard facts */
  size_t n_plots;
  bool bounded; /* two rounds or more */
};

/* Which plot each run of a round is in, numbered by the runs' order; returns how many there are. */
size_t factorial_plots(const struct factorial_design *design, size_t ret[FACTORIAL_RUNS_MAX]);

/* Measures every run once in each round, in random order plot by plot; returns how many rounds are whole. The measure says
 * MEASURED_NO_MORE where there is no more. */
size_t factorial_run(const struct factorial_design *design, size_t n_rounds, uint64_t seed, measure_facts *measure, void *context,
                     double *ret_y, double *ret_grain);

/* y: n_rounds times the design's runs. grain: the greatest of their sessions. */
void factorial_analyse(const struct factorial_design *design, const double *y, size_t n_rounds, double grain, double confidence,
                       struct factorial *ret);

#endif
