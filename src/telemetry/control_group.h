/* telemetry/control_group.h: where the control group is that limits a process's processor time, or what it reads from disks. */
#ifndef TELEMETRY_CONTROL_GROUP_H
#define TELEMETRY_CONTROL_GROUP_H

#include "base/root.h"

enum { CONTROL_GROUP_PATH = 480 };

struct control_group {
  char path[CONTROL_GROUP_PATH]; /* below /sys/fs/cgroup, which it begins with */
  bool unified;                  /* version 2 */
};

/* Visits the groups that may be it, the most likely first, until one is taken. controller: as version 1 names it, "cpu" or "blkio". False:
 * none was. */
bool control_group_find(const struct root *root, int64_t pid, const char *controller,
                        bool (*take)(void *context, const struct control_group *group), void *context);

#endif
