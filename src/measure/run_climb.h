/* measure/run_climb.h: a climb to the knee of a closed loop, and the sessions that count there. */
#ifndef MEASURE_RUN_CLIMB_H
#define MEASURE_RUN_CLIMB_H

#include "measure/run_record.h"

enum lynx_status run_climb(struct run *run, size_t precision);

#endif
