/* measure/session.h: the load of one session: engines on their threads, rows from them to the record, and whatever must be watched
 * meanwhile.
 * Threads  the engines have their own; rows are written on the caller's */
#ifndef MEASURE_SESSION_H
#define MEASURE_SESSION_H

#include "measure/run_record.h"

/* Fills in the session's row; *ret_aborted: the abort SLO was broken. */
enum lynx_status run_load(struct run *run, const struct session_plan *plan, struct bundle_session *row, bool *ret_aborted);

/* The serving process; 0: it is not on this machine, or not known. */
int64_t run_serving(const struct run *run);

#endif
