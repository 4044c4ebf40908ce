/* measure/observe_counters.h: an observation by the service's own counters alone: they are asked for once a second, and say what it does for
 * others.
 * Errors   UNSUPPORTED: the server gives no metrics; IO: it stopped giving them */
#ifndef MEASURE_OBSERVE_COUNTERS_H
#define MEASURE_OBSERVE_COUNTERS_H

#include "measure/run_record.h"

enum lynx_status run_observe_counters(struct run *run);

#endif
