/* measure/looks.h: sessions until the contract's precision is reached. Looks at accumulating data are scheduled ahead and paid for: every
 * interval of such a result is computed at the confidence of one of all the looks. */
#ifndef MEASURE_LOOKS_H
#define MEASURE_LOOKS_H

#include "measure/run_record.h"

enum lynx_status run_to_precision(struct run *run);

#endif
