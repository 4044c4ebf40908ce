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

/* The state's share of the window, of the process that has most of it; 0: no trace has it. States are the account's (exposed.copy_to_device,
 * idle.launch ...); what a GPU did is only in traces of a server that uses one. */
double live_traced_share(const struct live *live, const char *state);
/* Names the Python function that makes most of the calls which run outside of the interpreter's lock, where they take half of the share at
 * least. */
void live_traced_name(const struct live *live, double share, struct finding *ret);

#endif
