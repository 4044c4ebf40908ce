/* measure/search.h: the sessions of a search for saturation, for one precision: loads are tried until one passes and one just above it
 * fails; then both are measured again, and a verdict that does not hold sends the search on from there. */
#ifndef MEASURE_SEARCH_H
#define MEASURE_SEARCH_H

#include "measure/run_record.h"

enum lynx_status run_search(struct run *run, size_t precision);

#endif
