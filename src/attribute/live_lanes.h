/* attribute/live_lanes.h: threads gathered to lanes, and the shares of what they did. */
#ifndef ATTRIBUTE_LIVE_LANES_H
#define ATTRIBUTE_LIVE_LANES_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

/* The lane of a thread of that name, made where there is none yet; NULL: there are too many. */
struct live_lane *live_lane_of(struct arena *arena, struct live_account *account, const struct thread_name *name, bool make);

/* Adds one session's counted window to the account. False: rows that no run can have written. */
bool live_lanes_add(struct arena *arena, struct bundle *bundle, const struct bundle_session *session, struct live_account *account);
void live_lanes_finish(struct live_account *account); /* sums to shares; sorts */

#endif
