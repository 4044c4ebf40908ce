/* attribute/live_traced.h: what the traces of the server's own profiler say, which a run asked for (source "trace" of a session's stacks):
 * of each process the window of its trace, divided by state and layer, with the names of functions and ranges where the trace has them.
 * Identity  the parts of one process sum to its window */
#ifndef ATTRIBUTE_LIVE_TRACED_H
#define ATTRIBUTE_LIVE_TRACED_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

/* Of every session that was traced; false: its rows cannot be read. */
bool live_traced_add(struct live *live, struct bundle *bundle, const struct bundle_session *session);
void live_traced_finish(struct live *live);

#endif
