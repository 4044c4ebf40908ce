/* result/arrivals.h: the arrivals that a contract's regime fixes for a session, from the session's own numbers: a run makes them from it,
 * and an audit makes them again.
 * Limits   replayed and offline arrivals come out of the inputs, closed loops have none: those are not made here */
#ifndef RESULT_ARRIVALS_H
#define RESULT_ARRIVALS_H

#include "contract/contract.h"
#include "load/schedule.h"

struct arrivals_session {
  enum load_kind load;
  double rate_per_s;
  int64_t warm_up_ns, counted_ns, seed;
};

/* False: of those that are not made here; kind is then SCHEDULE_CLOSED, and the length is set. */
bool arrivals_plan(const struct contract *contract, const struct arrivals_session *session, struct schedule_plan *ret);

#endif
