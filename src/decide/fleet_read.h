/* decide/fleet_read.h: the curve of one executor, and the work of its requests, from a run that climbed.
 *
 * Curve    of each step that answered: its tokens each second, divided by the tokens of an answer; without tokens, answers each second
 * Work     end-to-end times of the requests that were alone, where there are FLEET_WORK_ALONE; else of all of the climb, each divided by
 *          the mean of its step: what requests of one step waited for one another is in it, and they seem less alike than they are
 * Errors   INPUT: the run did not climb, or fewer than FLEET_STEPS_LEAST of its steps tell anything; what to do is said */
#ifndef DECIDE_FLEET_READ_H
#define DECIDE_FLEET_READ_H

#include "decide/fleet.h"
#include "result/result.h"

enum { FLEET_WORK_ALONE = 30, FLEET_WORK_MAX = 20000, FLEET_STEPS_LEAST = 3, FLEET_WORK_LEAST = 20 };

struct fleet_measured {
  struct fleet_curve curve;
  double *work; /* seconds; to be freed */
  size_t n_work;
  double alone; /* in flight, while that work was measured */
};

enum lynx_status fleet_read(struct bundle *bundle, const struct result *result, struct fleet_measured *ret,
                            struct lynx_error *error) LYNX_MUST_CHECK;

#endif
