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

/* States in which a value is read back from a GPU: the host waits, is in a copy call, or the copy runs; ends in NULL. */
extern const char *const live_read_back_states[];

/* The process in whose trace these states take most together, and at least something; NULL: none. states: the account's
 * (exposed.copy_to_device, idle.launch ...), ends in NULL; what a GPU did is only in traces of a process that uses one. */
const struct live_traced *live_traced_with(const struct live *live, const char *const *states);
/* The state's share of that process's window; the states' together. */
double live_traced_share(const struct live_traced *traced, const char *state);
double live_traced_sum(const struct live_traced *traced, const char *const *states);
/* Names the Python function that makes most of that process's calls which run outside of the interpreter's lock, where they take half of the
 * share at least. */
void live_traced_name(const struct live *live, const struct live_traced *traced, double share, struct finding *ret);

#endif
