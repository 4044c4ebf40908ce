/* measure/check_sessions.h: the sessions that the contract's checks ask for, for one precision. */
#ifndef MEASURE_CHECK_SESSIONS_H
#define MEASURE_CHECK_SESSIONS_H

#include "measure/run_record.h"

enum lynx_status run_checks(struct run *run, size_t precision);

#endif
