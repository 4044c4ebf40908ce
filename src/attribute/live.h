/* attribute/live.h: the account of a live run (attribute/live_shape.h), read from its bundle. */
#ifndef ATTRIBUTE_LIVE_H
#define ATTRIBUTE_LIVE_H

#include "attribute/live_shape.h"

/* False: the bundle holds no activity of threads. result: computed from it. */
bool live_read(struct bundle *bundle, const struct result *result, struct live *ret);
void live_release(struct live *live);

#endif
