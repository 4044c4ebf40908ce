/* result/plausibility.h: can a run have written these rows? The one check of rows that every command uses.
 *
 * Result   counts of requests that no run can have written (result/rows.h), of sessions whose requests are not those that the contract
 *          and the seed fix (rows are missing, were added or moved), of closed loops that lack ids, of sessions before the run's intent
 * Limits   a row that is possible may still be invented: that is what signatures, ledgers and re-runs are for. Sessions that overlap by
 *          the wall clock are counted, and are no verdict: it may have been set back */
#ifndef RESULT_PLAUSIBILITY_H
#define RESULT_PLAUSIBILITY_H

#include "result/figures.h"

/* Fills in result->plausibility; needs its contract. */
enum lynx_status plausibility_judge(struct bundle *bundle, struct result *result, const struct session_list *sessions,
                                    struct lynx_error *error) LYNX_MUST_CHECK;

#endif
