/* attribute/live_bound.h: what taking a cause out can gain at most.
 * Formula  utilisation law (Denning and Buzen 1978): the work that remains for each token, on all processors at once, is as fast as it can
 *          be. Of R processors that the server used, W that the cause took of them, and C that it uses whatever is asked, of N:
 *          gain = 1 - X / X' <= 1 - (R - W - C) / (N - C). Of a lane that is one thread the same, with N = 1: the least of these holds
 * Shapes   W with the looks' own error: twice the root of how many found it
 * Limits   it holds where throughput is free to grow (closed loops), where what runs is work (nothing is said of a server that spins), and
 *          where the remaining work takes as long as before: a neighbour on the same core, larger batches, or a sleep that lets caches grow
 *          cold change that, so rules of such causes have no bound */
#ifndef ATTRIBUTE_LIVE_BOUND_H
#define ATTRIBUTE_LIVE_BOUND_H

#include "attribute/live_shape.h"

struct live_work {
  double processors;            /* running time: 1 is one processor all the time */
  double lanes[LIVE_LANES_MAX]; /* of it, in each lane of live->at */
  int64_t looks;                /* that found it */
};

/* Of all parts that are such, and of what Python functions that are such call. */
struct live_work live_work_of(const struct live *live, bool (*is)(const struct live_part *part));
/* Of that Python function, and of what it calls. */
struct live_work live_work_of_function(const struct live *live, const char *what, const char *where);

/* Of functions of libraries whose name tells so. */
struct live_work live_work_of_kernels(const struct live *live, enum live_kernel_kind kind);

/* A cause that is only waited for takes no work. Leaves ret as it is where nothing useful can be said. */
void live_bound(const struct live *live, const struct live_work *work, struct finding *ret);

#endif
