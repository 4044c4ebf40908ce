/* result/executor_verdicts.h: what the captured executor is to the contract: holes, departures, changes between start and end. */
#ifndef RESULT_EXECUTOR_VERDICTS_H
#define RESULT_EXECUTOR_VERDICTS_H

#include "result/figures.h"

enum lynx_status executor_verdicts_judge(struct bundle *bundle, struct result *result, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
