/* history/when.h: when something was, as other programs write it.
 * Shapes   seconds, ms, µs or ns since 1970, told apart by their size; or a date with an optional time, fraction and zone (none: UTC)
 * Errors   false: it is no time from 1970 to 2255 */
#ifndef HISTORY_WHEN_H
#define HISTORY_WHEN_H

#include <stdbool.h>
#include <stdint.h>

bool when_read(const char *text, int64_t *ret_ns);

#endif
