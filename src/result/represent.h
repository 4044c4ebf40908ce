/* result/represent.h: how far what was run is from the profile in the record. */
#ifndef RESULT_REPRESENT_H
#define RESULT_REPRESENT_H

#include "result/figures.h"

enum lynx_status represent_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                 struct lynx_error *error) LYNX_MUST_CHECK;

#endif
