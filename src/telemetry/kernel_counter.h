/* telemetry/kernel_counter.h: a number of /proc/net/snmp or netstat: a line of names, and below it one of values, both with one beginning.
 */
#ifndef TELEMETRY_KERNEL_COUNTER_H
#define TELEMETRY_KERNEL_COUNTER_H

#include "base/root.h"

/* group: "Tcp: "; -1: it is not there. */
double kernel_counter(const struct root *root, const char *path, const char *group, const char *name);

#endif
