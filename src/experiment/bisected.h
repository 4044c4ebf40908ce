/* experiment/bisected.h: a bisection as it is in a bundle: what the two executors differ in, and one session after the other, each with
 * the facts that it had of B.
 *
 * Result   a pure function of the bundle: the search is run again on the recorded figures, in their order
 * Errors   INPUT: the bundle is no bisection, or its plan is broken */
#ifndef EXPERIMENT_BISECTED_H
#define EXPERIMENT_BISECTED_H

#include "experiment/mixtures.h"
#include "experiment/swap.h"
#include "stats/bisection.h"

struct bisected {
  struct arena arena;
  struct swap_list swaps; /* without their units */
  struct bisection_plan plan;
  struct bisection found;
  double level_a, level_b; /* tokens (or answers) each second, or seconds: the mean (of ln) of the sessions of A, and of B */
  struct mixtures_seen seen;
};

/* The plan, to be kept with the run under this key. */
extern const char bisected_key[];
bool bisected_write_plan(const struct swap_list *swaps, const struct bisection_plan *plan, struct buffer *ret);

bool bisected_is(struct bundle *bundle);
/* The most sessions of its plan, which its error is divided among; 0: it is no such search. */
int64_t bisected_sessions(struct bundle *bundle);
enum lynx_status bisected_read(struct bundle *bundle, const struct contract *contract, struct bisected *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;
void bisected_release(struct bisected *bisected);

#endif
