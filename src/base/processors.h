/* base/processors.h: a list of processors, "0,2-3", as taskset and /sys write it.
 * Errors   INPUT: not so written, or a number beyond CPU_SETSIZE */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

#include <sched.h>

#include "base/status.h"

enum lynx_status processors_parse(const char *text, cpu_set_t *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
