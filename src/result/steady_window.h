/* result/steady_window.h: from when on each session of a precision is steady: what is counted of it. Fills in `steady` of its complete
 * sessions and of the precision. rows[i] is that of sessions[i]. */
#ifndef RESULT_STEADY_WINDOW_H
#define RESULT_STEADY_WINDOW_H

#include "result/figures.h"

enum lynx_status steady_window_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                     const struct bundle_session *const *rows, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
