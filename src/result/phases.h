/* result/phases.h: the phases that answers tell of: how much of a request's life each took, and what none of them covers. */
#ifndef RESULT_PHASES_H
#define RESULT_PHASES_H

#include "result/figures.h"

enum lynx_status phases_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                              struct lynx_error *error) LYNX_MUST_CHECK;

#endif
