/* attribute/live.h: the account of a live run (attribute/live_shape.h), read from its bundle. */
#ifndef ATTRIBUTE_LIVE_H
#define ATTRIBUTE_LIVE_H

#include "attribute/live_shape.h"

/* False: no window was complete, or rows that no run can have written. Where no thread was seen, live->at has no lanes, and no profile
 * divides anything; the figures and a request's life are there. result: computed from the bundle. */
bool live_read(struct bundle *bundle, const struct result *result, struct live *ret);
void live_release(struct live *live);

#endif
