/* telemetry/mappings.h: what a process has mapped to be executed, by /proc/PID/maps.
 * Errors   none: of a process that is gone, or not to be looked at, there is nothing
 * Limits   the text of MAPPINGS_BYTES_MAX: of one that is larger nothing is known; paths are the process's own words */
#ifndef TELEMETRY_MAPPINGS_H
#define TELEMETRY_MAPPINGS_H

#include "base/root.h"

enum { MAPPINGS_BYTES_MAX = 16 << 20 };

struct mapping {
  uint64_t from, to, offset;
  const char *path; /* in the text; "" where it is of no file */
};

struct mappings {
  struct buffer text;
  struct mapping *items; /* by address */
  size_t n, room;
};

void mappings_read(const struct root *root, int64_t process, struct mappings *ret);
/* NULL: nothing is mapped there. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);
void mappings_release(struct mappings *mappings);

#endif
