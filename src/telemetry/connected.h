/* telemetry/connected.h: which other processes of this machine the serving processes ask, and which ask them, by their TCP connections.
 * Source   /proc/PID/fd, netlink's sock_diag
 * Errors   none: where descriptors may not be read, or theirs is another network namespace, nothing is connected
 * Limits   TCP; CONNECTED_ENDS_MAX ends of connections of the machine, of which nothing is said where there are more */
#ifndef TELEMETRY_CONNECTED_H
#define TELEMETRY_CONNECTED_H

#include "telemetry/process_tree.h"

enum { CONNECTED_ENDS_MAX = 8192, CONNECTED_SOCKETS_MAX = 4096 };

struct connected;

struct connected *connected_new(void);
/* As it is now, of the processes of that tree. */
void connected_read(struct connected *connected, const struct root *root, const struct process_tree *tree);
/* Connections that they made to that process, and that it made to them. */
void connected_with(struct connected *connected, const struct root *root, int64_t pid, size_t *ret_asked, size_t *ret_asks);
void connected_free(struct connected *connected);

#endif
