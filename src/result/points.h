/* result/points.h: the loads of a search for saturation, lowest first, and the certificate that they amount to. */
#ifndef RESULT_POINTS_H
#define RESULT_POINTS_H

#include "result/figures.h"

enum lynx_status points_judge(struct bundle *bundle, struct result *result, struct result_precision *p, const struct session_list *sessions,
                              struct lynx_error *error) LYNX_MUST_CHECK;

#endif
