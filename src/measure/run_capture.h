/* measure/run_capture.h: the executor's facts as a run finds them, with those of its other hosts and what the contract declares. */
#ifndef MEASURE_RUN_CAPTURE_H
#define MEASURE_RUN_CAPTURE_H

#include "measure/run_record.h"

/* moment: "start" or "end". */
enum lynx_status run_capture(struct run *run, const char *moment, const char *precision);

#endif
