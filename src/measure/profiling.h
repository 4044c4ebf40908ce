/* measure/profiling.h: the profilers of one session that counts into no figure. */
#ifndef MEASURE_PROFILING_H
#define MEASURE_PROFILING_H

#include "measure/run_record.h"

struct profiling;

/* Does "native_stacks,py_spy", or "none", name profilers that there are? NULL: yes; else the first that is none. */
const char *profiling_unknown(const char *names, char *word, size_t size);
/* "native_stacks, py_spy" */
const char *profiling_names(char *text, size_t size);

/* Starts every profiler that can run here, for that long; why the others cannot is an event of the run. */
struct profiling *profiling_begin(struct run *run, int64_t session, int64_t pid, int64_t duration_ns);
void profiling_end(struct profiling *profiling); /* puts what they saw into the record; accepts NULL */

#endif
