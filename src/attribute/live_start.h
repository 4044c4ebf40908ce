/* attribute/live_start.h: were the first counted requests slower than all later ones?
 * Order    live_start_new; live_start_add for each counted session, in order; live_start_finish, which fills and frees
 * Method   the good requests in the order of their ids, in ten parts of equal number (five where they are few); a tail that comes at any
 *          time is in the later parts too, and no start */
#ifndef ATTRIBUTE_LIVE_START_H
#define ATTRIBUTE_LIVE_START_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

struct live_starting;

struct live_starting *live_start_new(void);
bool live_start_add(struct live_starting *starting, struct bundle *bundle, const struct bundle_session *session);
void live_start_finish(struct live_starting *starting, struct live_start *ret);
bool live_start_is_cold(const struct live_start *start); /* by the thresholds of the rule `cold_start` */

#endif
