/* attribute/live_waits.h: where native code waits, and who wants the work that it does beside a model's, from whole stacks.
 * Source   rows "waits" and "calls" of the profilers: "outermost (file);...;innermost (file)"
 * Rule     of a wait: the innermost function that is the program's own, not the language's or a library's that serves its caller; of work:
 *          the outermost function that is of a kind (code_kind.h), and the innermost of the program's own outside of it
 * Limits   LIVE_WAITS_MAX places of a run; stacks that pass through an interpreter are Python's, whose looks say more */
#ifndef ATTRIBUTE_LIVE_WAITS_H
#define ATTRIBUTE_LIVE_WAITS_H

#include "attribute/live_shape.h"

struct live_waits;

struct live_waits *live_waits_new(struct live *live);
/* frames: sanitised; cut. */
void live_waits_add(struct live_waits *waits, size_t lane, char *frames, int64_t n);
void live_waits_add_running(struct live_waits *waits, size_t lane, char *frames, int64_t n);
/* Fills in what lanes, tasks and natives say; what is parked becomes a wait of its own kind (WAIT_OTHER). Frees. */
void live_waits_finish(struct live_waits *take_waits);
/* So many of that lane's threads, which wait so, have nothing to do. */
void live_waits_park(struct live *live, struct live_lane *lane, enum wait_kind kind, double share);

#endif
