/* result/points.h: the loads of a search for saturation, lowest first, and the certificate that they amount to. */
#ifndef RESULT_POINTS_H
#define RESULT_POINTS_H

#include "result/figures.h"

enum lynx_status points_judge(struct bundle *bundle, struct result *result, struct result_precision *p, const struct session_list *sessions,
                              struct lynx_error *error) LYNX_MUST_CHECK;

/* A saturation point is known to the resolution of its search alone, however little its windows vary: what lies within that of each other
 * cannot be distinguished. As a logarithm; 0: no search; infinite: no certificate, or the search's range ended first. */
double result_search_slack(const struct result *result);

#endif
