/* measure/sampling.h: the samplers of a run, on a thread of their own: what they deliver waits there until it is taken.
 * Threads  sampling_* are the caller's; the samplers run on the sampling thread alone, from sampling_begin to sampling_end
 * Cost     measured: series sampling.cpu_ratio, the share of all processors' time that the sampling thread used; where it exceeds what the
 *          contract allows, looks and samples are made half as often, down to one in 2 s, and again more often below a quarter of it */
#ifndef MEASURE_SAMPLING_H
#define MEASURE_SAMPLING_H

#include "base/clock.h"
#include "telemetry/sampler.h"

struct sampling;

/* at_most: the share of all processors' time that it may take; 0: only what a run is judged by. */
struct sampling *sampling_open(const struct root *root, const struct lynx_clock *clock, double at_most);
/* zero_ns: of the session. pid: the serving process; 0: not known here. */
void sampling_begin(struct sampling *sampling, int64_t zero_ns, int64_t pid);

/* Whom what was delivered goes to; times after the session's zero. */
struct sampling_taker {
  void *context;
  void (*value)(void *context, int64_t at_ns, const char *series, double value);
  void (*name)(void *context, const struct thread_name *name);
  void (*activity)(void *context, const struct thread_activity *activity);
};
void sampling_take(struct sampling *sampling, const struct sampling_taker *taker);
void sampling_end(struct sampling *sampling); /* then sampling_take once more */
void sampling_close(struct sampling *sampling);

#endif
