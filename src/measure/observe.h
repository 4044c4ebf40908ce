/* measure/observe.h: an observation: the service goes about its work, and its own metrics say what that is over the counted window.
 * Nothing is sent but the readings.
 * Errors   UNSUPPORTED: the server gives no metrics; IO: it stopped giving them */
#ifndef MEASURE_OBSERVE_H
#define MEASURE_OBSERVE_H

#include "measure/run_record.h"

enum lynx_status run_observe(struct run *run);

#endif
