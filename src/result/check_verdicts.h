/* result/check_verdicts.h: was the workload really run? The verdicts of the contract's checks on one precision. */
#ifndef RESULT_CHECK_VERDICTS_H
#define RESULT_CHECK_VERDICTS_H

#include "result/figures.h"

enum lynx_status check_verdicts_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                      const struct session_list *sessions, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
