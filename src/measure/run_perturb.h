/* measure/run_perturb.h: sessions in which somebody else slows the executor's resources, block by block. */
#ifndef MEASURE_RUN_PERTURB_H
#define MEASURE_RUN_PERTURB_H

#include "measure/run_record.h"

enum lynx_status run_perturb(struct run *run);

#endif
