/* result/result.h: the figures of a run, as a pure function of its bundle and the analysis version.
 * Result   result_write gives the same bytes on any machine: sums in row order, no libm, figures rounded to 7 digits
 * Errors   INPUT: the bundle's rows are not what its format says. Rows that can be computed of, but that no run can have written, are no
 *          error: result.plausibility says so, and no claim can be made */
#ifndef RESULT_RESULT_H
#define RESULT_RESULT_H

#include "result/figures.h"

enum lynx_status result_compute(struct bundle *bundle, const struct bundle_seal_info *seal, struct result *ret,
                                struct lynx_error *error) LYNX_MUST_CHECK;
bool result_write(struct result *result, struct buffer *ret);
void result_release(struct result *result);

#endif
