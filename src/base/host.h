/* base/host.h: what this host is called, and how far its kernel says that its clock may be off.
 * Units    microseconds; -1: the kernel does not say. One boot has one clock: two files of one boot need not ask */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include "base/json.h"

struct host {
  char name[128], boot[64]; /* "": not told */
  bool clock_synchronised;
  int64_t clock_off_at_most_us;
};

void host_read(struct host *ret);
/* As members of the object that is open. */
void host_write(const struct host *host, struct json_writer *json);
/* Of text that anybody may have written: sanitised, bounded. */
void host_from_json(const json_t *object, struct host *ret);

#endif
