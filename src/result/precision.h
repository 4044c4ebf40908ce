/* result/precision.h: the figures of one precision, from the rows of its sessions. */
#ifndef RESULT_PRECISION_H
#define RESULT_PRECISION_H

#include "result/figures.h"

enum lynx_status precision_compute(struct bundle *bundle, struct result *result, const struct session_list *sessions, const char *name,
                                   struct result_precision *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
