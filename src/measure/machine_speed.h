/* measure/machine_speed.h: how fast this machine itself is around a run, where the contract asks for it (method.machine_speed).
 * Result   bundle meta machine_speed_before and machine_speed_after: JSON, the figures of measure/ceilings.h
 * Limits   not of a part of a load, not of a perturbed run, and not where the executor is on another machine: that is noted */
#ifndef MEASURE_MACHINE_SPEED_H
#define MEASURE_MACHINE_SPEED_H

#include "measure/run_record.h"

void machine_speed_put(struct run *run, bool after);

#endif
