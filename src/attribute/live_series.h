/* attribute/live_series.h: what the busiest threads did over the whole run, and around them the machine: for looking at.
 * Shapes   LIVE_BINS bins of equal length from the first session's start to the last's end
 * Order    live_series_begin with the sessions in order, the account being finished; live_series_add for each */
#ifndef ATTRIBUTE_LIVE_SERIES_H
#define ATTRIBUTE_LIVE_SERIES_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

/* False: their times make no line of time. */
bool live_series_begin(struct live *live, const struct bundle_session *sessions, size_t n);
void live_series_add(struct live *live, struct bundle *bundle, const struct bundle_session *session);

#endif
