/* result/conditions.h: what surrounded a run and was no part of it: other processes, the hypervisor, a quota, pressure.
 * Shapes   means over the counted windows of a precision's complete sessions
 * Units    shares of the machine's processor time; throttled: of the serving process's time
 * Limits   of the machine that lynxbench runs on: of an executor elsewhere they are not known
 * Source   docs/method.md#conditions; the default bound is explained there by simulation */
#ifndef RESULT_CONDITIONS_H
#define RESULT_CONDITIONS_H

#include "result/figures.h"

/* Fills in p->conditions. rows[i] is that of sessions[i]. */
enum lynx_status conditions_judge(struct bundle *bundle, struct result_precision *p, const struct bundle_session *const *rows,
                                  struct lynx_error *error) LYNX_MUST_CHECK;

/* Can a sampler have read this value, if it is one of those shares? A little beyond none or all of it, where two clocks were read in turn.
 */
bool conditions_share_is_possible(const char *series, double value);

/* "neighbours used 21 % of the processors; steal 0 %; ..." */
const char *conditions_text(const struct result_conditions *conditions, struct arena *arena);

/* "a processor's package was slowed for heat 3 times": what was measured then is not sustained. NULL: nothing is known to be slowed. */
const char *conditions_slowed_text(const struct result_conditions *conditions, struct arena *arena);

/* Are two sides' conditions unlike by more than the contract's bound, or known of one side only? What differs, whose it is and what to do;
 * NULL: they are alike, as far as they are known. */
const char *conditions_differ(const struct contract *contract, const struct result_conditions *a, const struct result_conditions *b,
                              struct arena *arena);

#endif
