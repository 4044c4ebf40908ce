/* stats/bisection.h: which of the facts that two executors, A and B, differ in carry the difference between them.
 *
 * Facts are bits of a set: the executor of a set has B's facts where a bit is set, and A's elsewhere. Nothing is assumed to add up: a fact
 * that acts only together with another is found with it.
 *
 * Shapes   measure gives ln of a figure of one session. A question compares up to 8 executors, round by round, each once in a round and in
 *          random order, so that drift from round to round reaches no difference
 * Method   A against B; then the way from A to B, fact by fact, is halved where a half changes the figure by more than noise, down to
 *          single facts; then A with what was found against B: where the rest still changes it, the way from there to B is searched again;
 *          then each part that was found is left out in turn (up to three: every combination), and what is not needed goes
 * Decision a difference is found where its interval leaves out zero and it is `least` at least; none where it is shown to be less than
 *          `least`. No decision falls before two rounds that agree in sign
 * Error    each test has the confidence 1 - (1 - confidence) / sessions_at_most (Bonferroni: no session brings more than one test), by the
 *          t distribution with the residual variance of all rounds so far, and no less than counting alone gives
 * Result   1-minimal as far as was measured: leaving out any one part changes the figure. Parts of several facts were not told apart
 * Assumed  sessions of all executors have one variance and are about normal: where one setting alone makes them noisy, the error is not
 *          held. A figure that drifts within a round is not modelled
 * Source   the idea of narrowing a set of changes: Zeller and Hildebrandt 2002; docs/method.md#bisect
 * Limits   two halves that cancel each other out within noise are set aside together, and seen only if the rest is */
#ifndef STATS_BISECTION_H
#define STATS_BISECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/rounds.h"

enum { BISECTION_FACTS_MAX = 60, BISECTION_PARTS_MAX = 7 };

struct bisection_plan {
  size_t n_facts;
  double least;      /* ln: a smaller difference counts as none; of a step on the way, one of less than its half */
  double confidence; /* of everything that is said together */
  int64_t sessions_at_most;
  uint64_t seed;
  measure_facts *measure;
  void *context;
};

struct bisection_effect {
  double estimate, low, high; /* ln */
  bool bounded;
};

struct bisection_part {
  uint64_t facts;
  struct bisection_effect alone; /* A with it, against A; only where all combinations were run */
  struct bisection_effect last;  /* all parts, against all but this one */
};

enum bisection_verdict { BISECTION_NONE, BISECTION_FOUND, BISECTION_INCONCLUSIVE };

struct bisection {
  enum bisection_verdict verdict;
  struct bisection_effect whole; /* B against A */
  struct bisection_part parts[BISECTION_PARTS_MAX];
  size_t n_parts;
  struct bisection_effect carried; /* A with all parts, against A: the whole less the rest */
  struct bisection_effect rest;    /* B against A with all parts: what all other facts change together */
  /* Of two parts: how much more both change together than one by one, on the scale of ln; mean over the third part's two states. */
  struct bisection_effect interaction[3][3]; /* [i][j], i < j < n_parts */
  bool rest_is_none;                         /* within `least` */
  bool told_apart;                           /* no part of several facts */
  bool minimal;                              /* every part was left out, and was missed */
  bool ran_out;                              /* of sessions */
  int64_t n_sessions, n_rounds;
  double deviation; /* of ln of the figure, from session to session within a round */
};

/* Of all parts. */
uint64_t bisection_facts(const struct bisection *found);

void bisection_run(const struct bisection_plan *plan, struct bisection *ret);

#endif
