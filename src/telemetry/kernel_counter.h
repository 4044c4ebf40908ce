/* telemetry/kernel_counter.h: numbers that the kernel prints: of /proc/net/snmp and netstat (a line of names, and below it one of values,
 * both with one beginning), and of /proc/pressure. */
#ifndef TELEMETRY_KERNEL_COUNTER_H
#define TELEMETRY_KERNEL_COUNTER_H

#include "base/root.h"

/* group: "Tcp: "; -1: it is not there. */
double kernel_counter(const struct root *root, const char *path, const char *group, const char *name);

/* "cpu", "memory", "io": the share of the last ten seconds, in percent, in which some task waited for it. False: the kernel does not say. */
bool kernel_pressure(const struct root *root, const char *what, double *ret_percent);

#endif
