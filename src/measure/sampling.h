/* measure/sampling.h: the samplers of a run, on a thread of their own: what they deliver waits there until it is put into the record.
 * Threads  sampling_* are the caller's; the samplers run on the sampling thread alone, from sampling_begin to sampling_end
 * Cost     measured: series sampling.cpu_ratio, the share of all processors' time that the sampling thread used; where it exceeds what the
 *          contract allows, looks and samples are made half as often, down to one in 2 s, and again more often below a quarter of it */
#ifndef MEASURE_SAMPLING_H
#define MEASURE_SAMPLING_H

#include "base/clock.h"
#include "record/bundle.h"
#include "telemetry/sampler.h"

struct sampling;

/* at_most: the share of all processors' time that it may take; 0: only what a run is judged by. */
struct sampling *sampling_open(const struct root *root, const struct lynx_clock *clock, double at_most);
/* zero_ns: of the session. pid: the serving process; 0: not known here. */
void sampling_begin(struct sampling *sampling, int64_t zero_ns, int64_t pid);

typedef void sampling_value(void *context, int64_t at_ns, const char *series, double value);
/* Puts what was delivered into the record; each value is shown to `value` as well. */
void sampling_put(struct sampling *sampling, struct bundle *bundle, int64_t session, sampling_value *value, void *context);
void sampling_end(struct sampling *sampling); /* then sampling_put once more */
void sampling_close(struct sampling *sampling);

#endif
