/* result/climb.h: a climb in a closed loop: requests in flight doubled while the throughput grows, and the knee of the curve. Used while it
 * goes on, and afterwards from the sealed bundle: the decision is the same.
 * Knee     the fewest requests in flight that reach CLIMB_KNEE of the greatest throughput of any step: beyond it, more requests in flight
 *          buy waiting time, not throughput. At least 2, where 2 were tried: one request by itself waits for nobody
 * End      two steps without growth, the cap, one that fails, or one whose window ends before as many requests as are in flight have: it
 *          holds the beginning of them alone
 * Limits   steps are a factor of 2 apart: the knee is one of them. A step is one window, so that noise of the steps' size moves it by one
 * Errors   INPUT: rows that are not what the format holds */
#ifndef RESULT_CLIMB_H
#define RESULT_CLIMB_H

#include "result/figures.h"

#define CLIMB_KNEE 0.95
#define CLIMB_GROWS 1.05 /* a step that reaches less than this times the best before it did not grow; two of them end the climb */

/* One window of a climb. */
enum lynx_status climb_measure(struct bundle *bundle, const struct contract *contract, const struct bundle_session *session,
                               struct result_step *ret, struct lynx_error *error) LYNX_MUST_CHECK;

/* The greatest throughput of steps that did not fail, with so many in flight at least; 0: none. */
double climb_best(const struct result_step *steps, size_t n, int64_t least);

/* How many requests in flight come next; 0: the climb is over. Steps in the order in which they ran. */
int64_t climb_next(const struct result_step *steps, size_t n, int64_t most);
/* Requests in flight at the knee; 0: no step answered. */
int64_t climb_knee(const struct result_step *steps, size_t n);

/* Fills in p->steps and p->knee. */
enum lynx_status climb_judge(struct bundle *bundle, struct result *result, struct result_precision *p, const struct session_list *sessions,
                             struct lynx_error *error) LYNX_MUST_CHECK;

#endif
