/* attribute/live_workers.h: processes of the server that are alike, and how evenly requests reach them.
 * Source   rows "python_all" of py-spy: looks at all threads, idle ones too
 * Rule     two processes are alike where the functions of their own that all looks at their main threads have in common, from the outermost
 *          on, are two at least, and those of one are the first of the other's: what waits for work waits in the function that works
 *          What multiprocessing forked begins there; what a function defines in itself is a part of it
 * Limits   Python alone; 64 processes, 8 functions each */
#ifndef ATTRIBUTE_LIVE_WORKERS_H
#define ATTRIBUTE_LIVE_WORKERS_H

#include "attribute/live_shape.h"

struct live_workers;

struct live_workers *live_workers_new(struct live *live);
/* A look at a main thread: "outermost (file:line);...;innermost (file:line)". */
void live_workers_add(struct live_workers *workers, int64_t process, const char *frames);
/* Fills live->workers, once the lanes are there. */
void live_workers_finish(struct live_workers *take_workers);

#endif
