/* executor/probe_run.h: runs probes so that none can fail, hang or slow a capture.
 * They run in a child process, one after the other, and hand each fact over as soon as they have it. A probe that does not end by its
 * deadline, or whose library crashes, is ended with the child; what it had read by then is kept, a fact `probe.NAME` says what
 * happened, and a new child goes on with the next.
 * Threads  may be called in a program that has others: the child only runs probes and never returns */
#ifndef EXECUTOR_PROBE_RUN_H
#define EXECUTOR_PROBE_RUN_H

#include "executor/probe.h"

/* probes ends in NULL. Facts are added to ret, unsorted. */
void probes_run(const struct probe *const *probes, const struct probe_target *target, int64_t deadline_ns, struct fact_list *ret);

#endif
