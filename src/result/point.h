/* result/point.h: one load of a search, from the rows of its sessions: is it sustained? Used while a search runs, and afterwards from the
 * sealed bundle: the decision is the same.
 * Errors   INPUT: rows that are not what the format holds */
#ifndef RESULT_POINT_H
#define RESULT_POINT_H

#include "result/figures.h"

/* final: no more windows will be run at this load. n_looks: how many there can be (they are paid for). */
enum lynx_status point_measure(struct bundle *bundle, const struct contract *contract, const struct bundle_session *const *sessions,
                               size_t n_sessions, bool final, struct result_point *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
