/* experiment/factored.h: a factorial experiment as it is in a bundle: the facts of its design, and the figure of every session.
 *
 * Result   a pure function of the bundle; a round that is not whole is left out
 * Errors   INPUT: the bundle is no such experiment, or its plan is broken */
#ifndef EXPERIMENT_FACTORED_H
#define EXPERIMENT_FACTORED_H

#include "experiment/mixtures.h"
#include "experiment/swap.h"
#include "stats/factorial.h"

enum { FACTORED_ROUNDS_MAX = 1000 };

struct factored_plan {
  size_t n_facts, n_runs, n_rounds;
  double confidence;
  uint64_t seed;
  uint64_t hard; /* facts that are hard to change */
  bool by_plan;  /* its facts are factors of a plan, and not what two contracts differ in */
};

struct factored {
  struct arena arena;
  struct swap_list swaps; /* without their units */
  struct factored_plan plan;
  struct factorial_design design;
  struct factorial found; /* where one round at least is whole */
  size_t n_rounds;
  struct mixtures_seen seen;
};

/* The plan, to be kept with the run under this key. */
extern const char factored_key[];
bool factored_write_plan(const struct swap_list *swaps, const struct factored_plan *plan, struct buffer *ret);

bool factored_is(struct bundle *bundle);
enum lynx_status factored_read(struct bundle *bundle, const struct contract *contract, struct factored *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;
void factored_release(struct factored *factored);

#endif
