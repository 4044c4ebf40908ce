/* measure/executor_session.h: one session with the executor around it: started, captured, loaded, asked for accuracy, stopped. */
#ifndef MEASURE_EXECUTOR_SESSION_H
#define MEASURE_EXECUTOR_SESSION_H

#include "measure/session.h"

/* What the contract's regime asks for, for the session of that number. */
struct session_plan run_plan(struct run *run, size_t precision, enum purpose purpose, int64_t number);

/* Another rate than the contract's, as a search has. */
void run_plan_rate(struct run *run, struct session_plan *plan, double rate_per_s);

/* *ret_complete: all of the load was run. */
/* How long its load warms up: of a search's windows longer than the contract says where an answer takes longer than that, since its first
 * answers would be left to the counted window, in which the backlog then seems to grow. */
int64_t run_warm_up_ns(struct run *run, const struct session_plan *plan);
enum lynx_status run_session(struct run *run, const struct session_plan *plan, bool *ret_complete);

/* A counted session, and after it one in which profilers run, where the contract wants that for this number. knee: requests in flight of
 * a climb; 0: as the contract says. last: of the run. */
enum lynx_status run_counted(struct run *run, size_t precision, int64_t knee, int64_t number, bool last);

/* One session of each precision, by the contract's regime. last: of the run. */
enum lynx_status run_each_precision(struct run *run, int64_t number, bool last);

#endif
