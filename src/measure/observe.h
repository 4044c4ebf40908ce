/* measure/observe.h: an observation: the service goes about its work, and what that is is read from the network's packets, or, where those
 * may not be read and the request wants it, from its own counters.
 * Errors   those of observe_packets.h and observe_counters.h */
#ifndef MEASURE_OBSERVE_H
#define MEASURE_OBSERVE_H

#include "measure/run_record.h"

/* Before the record is begun. */
enum lynx_status observe_open(struct run *run);
enum lynx_status run_observe(struct run *run);

#endif
