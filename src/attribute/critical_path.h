/* attribute/critical_path.h: what would have had to end sooner for the window to end sooner, as far as the trace shows what waited for
 * what.
 * Method   backwards from the window's end, each time to what came last before it could begin: on the device to the span before on its
 *          stream, or to the launch call where that came later; on the host to the device span that a synchronising call waited for
 * Source   the dependencies are those of HolisticTraceAnalysis's critical path (nesting, launch, stream order, synchronisation); walked
 *          back along the last to arrive, as CRISP does for requests, in place of the longest path of a graph
 * Limits   waits between streams are guessed from who ended last; locks and queues between host threads are not in a trace. A shorter
 *          path does not shorten the window by as much: another path may then be the critical one */
#ifndef ATTRIBUTE_CRITICAL_PATH_H
#define ATTRIBUTE_CRITICAL_PATH_H

#include "attribute/account_shape.h"

struct critical_path {
  struct host_stretch {
    int64_t from_ns, to_ns;
  } * host; /* later ones first; what the host did then is for the account to say */
  size_t n_host, room;
};

/* account: its device, window and threshold are set; the device's part of the path is added to its path_ns. */
void critical_path_find(const struct timeline *timeline, struct account *account, enum orphan_policy orphans, struct critical_path *ret);
void critical_path_release(struct critical_path *path);

#endif
