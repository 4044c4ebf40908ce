/* measure/idle.h: has the executor finished with the window before? A window that begins in another's backlog measures that one.
 * Method   in this order: the executor was started for this session; its own counts of running and waiting requests are what they were
 *          before anything was sent; a probe request is answered within twice the slowest of three that were sent before anything else
 * Result   what was seen, for the session's record; how long that took
 * Limits   a server that works on in secret, and answers probes meanwhile as usual, is not found out. An executor on which nothing was
 *          ever seen idle is taken as it is, and the record says so */
#ifndef MEASURE_IDLE_H
#define MEASURE_IDLE_H

#include "measure/run_record.h"

/* Before anything is sent to an executor that runs already: what idle looks like there. */
/* How long one request takes alone, in ns: asked once, of an executor on which nothing runs; infinite: it failed. */
double idle_answer_ns(struct run *run);
void idle_learn(struct run *run, bool by_probes); /* or by its own counts only, which sends it nothing */

/* Waits until it is idle, at most for the contract's time-out or ten seconds. */
enum session_began idle_wait(struct run *run, double *ret_waited_s, const char **ret_why);

#endif
