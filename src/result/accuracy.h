/* result/accuracy.h: accuracy beside each precision: what was recorded, against the reference, and the gate. Every precision at once: they
 * are compared with one another. */
#ifndef RESULT_ACCURACY_H
#define RESULT_ACCURACY_H

#include "result/figures.h"

enum lynx_status accuracy_judge(struct bundle *bundle, struct result *result, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
