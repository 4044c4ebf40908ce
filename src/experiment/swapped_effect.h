/* experiment/swapped_effect.h: what one fact does, by an experiment or a search in which it was swapped among others.
 *
 * Effect   ln of the figure with B's fact, less with A's: of a factorial experiment, the mean over the others' states; of a search, beside the
 *          other facts that were found, or, where it is not among them, what all the others change together
 * Errors   INPUT: the bundle is neither, or has no such fact */
#ifndef EXPERIMENT_SWAPPED_EFFECT_H
#define EXPERIMENT_SWAPPED_EFFECT_H

#include "contract/contract.h"
#include "experiment/sensitivity.h"
#include "result/finding.h"

struct swapped_effect {
  const char *fact, *a, *b; /* its name and levels, in the arena */
  enum rung rung;           /* factorial, or swapped back */
  struct slope effect;      /* bounded: it has an interval */
  bool told_apart;          /* else the estimate is also of other facts, or of two together */
  enum response response;
};

/* Fact: its name. NULL: the one whose name stands before "=" in `named`, as a finding names a variable. */
enum lynx_status swapped_effect_read(struct bundle *bundle, const struct contract *contract, const char *fact, const char *named,
                                     struct arena *arena, struct swapped_effect *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
