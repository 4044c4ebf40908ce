/* experiment/swapped_effect.h: what one fact does, by an experiment or a search in which it was swapped among others.
 *
 * Effect   ln of the figure with B's fact, less with A's. Of a whole factorial experiment: with all the other facts at the run's side, from
 *          the two mixtures that differ in it alone. Of a fraction, the mean over the others' states, which says as much only where no
 *          interaction of it is established. Of a search, beside the other facts that were found; of one that is not among them nothing
 *          is known by itself: it may be undone by another
 * Errors   INPUT: the bundle is neither, or has no such fact */
#ifndef EXPERIMENT_SWAPPED_EFFECT_H
#define EXPERIMENT_SWAPPED_EFFECT_H

#include "contract/contract.h"
#include "experiment/sensitivity.h"
#include "result/finding.h"

struct swapped_effect {
  const char *fact, *a, *b; /* its name and levels, in the arena */
  bool by_plan;             /* a plan may have changed its first level, too: a contract does not say which side is its own */
  enum rung rung;           /* factorial, or swapped back */
  struct slope at_a, at_b;  /* the effect, for a run that is A, or B; bounded: it has an interval */
  bool told_apart;          /* else the estimate is also of other facts, or of two together */
  enum response response;
};

/* Fact: its name. NULL: the one whose name stands before "=" in `named`, as a finding names a variable. */
enum lynx_status swapped_effect_read(struct bundle *bundle, const struct contract *contract, const char *fact, const char *named,
                                     struct arena *arena, struct swapped_effect *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
