/* history/gate.h: is a fresh run no worse than those before it? For figures of which it is known which way is better.
 *
 * Shapes   base[k], k >= GATE_BASE_LEAST, and fresh[m]: one value for each run, all positive
 * Baseline the newest level of the runs before of which a claim can be made. A level that is worse than the best one before it
 *          by more than the margin is no baseline, nor is a run that would have failed against those before it (at a tenth of
 *          false_alarms): what was not mended does not become the norm. Of it the last runs
 * Decision on ln, by how much the fresh runs are worse: fails where the lower limit is beyond the margin, passes where the
 *          upper one is within it; else inconclusive, with how many fresh runs would decide it at this variance. A run varies
 *          as the baseline's runs do, but no less than its own sessions say
 * Machine  where its own speed was measured around the runs (lynx.machine_speed.1), a figure that fails is inconclusive if the
 *          machine's memory or arithmetic fails by the same test and may be as much worse: nothing slows more than in proportion
 * Error    a run that is worse by the margin or less fails with at most `false_alarms`, all figures together (Bonferroni); one
 *          that is worse by the margin or more passes with at most that. t distribution with k - 1 degrees of freedom
 * Source   docs/method.md#gate */
#ifndef HISTORY_GATE_H
#define HISTORY_GATE_H

#include "history/history.h"

enum { GATE_BASE_LEAST = 3, GATE_RUNS_MAX = 50 };

enum gate_verdict { GATE_PASSES, GATE_FAILS, GATE_INCONCLUSIVE };
const char *gate_verdict_text(enum gate_verdict verdict);

struct gate_plan {
  double margin, false_alarms;
  size_t last; /* runs of the baseline, at most */
};

struct gate_decision {
  enum gate_verdict verdict;
  double worse, low, high; /* ln: > 0 is worse; low and high are one-sided limits */
  double deviation;        /* of ln, from run to run */
  size_t needed;           /* fresh runs in all, for a decision; 0: no number up to GATE_RUNS_MAX is enough */
};

/* own: the standard error of ln that the fresh runs' sessions show; 0: not known. n_figures: that share the error. */
struct gate_decision gate_decide(const double *base, size_t k, const double *fresh, size_t m, bool more_is_better, double own,
                                 size_t n_figures, const struct gate_plan *plan);

struct gate_figure {
  const struct history_series *series; /* the baseline's; NULL: it has none of this figure */
  const char *figure, *unit;
  enum better better;
  size_t n_base;                      /* of the series' values */
  size_t n_unclaimed;                 /* of its level's values that are no baseline, since their runs support no claim */
  const char *why_unclaimed;          /* the newest of those; NULL */
  const struct history_value *newest; /* of them; NULL: there is none */
  double base, fresh;                 /* geometric means */
  struct gate_decision decision;
  const char *why;                   /* why nothing was decided; NULL: it was */
  const struct gate_figure *machine; /* it is worse, and so is the machine itself, by as much perhaps: inconclusive; NULL */
};

struct gate {
  struct arena arena;
  struct gate_figure *figures;
  size_t n_figures;
  enum gate_verdict verdict; /* of all: one that fails, else one that is inconclusive, else passes. Without any figure: inconclusive */
  const struct gate_figure *leading; /* the first one that has that verdict; NULL: there is none */
  const struct history_run *last;    /* the newest run of its baseline; NULL: there is none */
  /* A/A: runs of one executor, that of the baseline's newest, each judged by those of it before; how many there are, and how many fail */
  size_t n_again, n_again_fail;
};

struct gate_wanted {
  const char *figure, *unit;
  enum better better;
  bool required;   /* what the contract limits: inconclusive where nobody has it; else such a figure is none */
  const char *why; /* why it cannot be compared at all; NULL */
};

/* fresh[m]: runs of one precision of one contract. history: of that contract, searched; it and the summaries are borrowed. */
struct gate_question {
  const struct history *history;
  const struct summary_precision *const *fresh;
  size_t m;
  const struct gate_wanted *wanted;
  size_t n_wanted;
};
void gate_judge(const struct gate_question *question, const struct gate_plan *plan, struct gate *ret);
void gate_release(struct gate *gate);

#endif
