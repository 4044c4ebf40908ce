/* telemetry/cupti_socket.h: the way to inject/cupti.c, which the CUDA driver loads into a server that asks for it: it listens at an abstract
 * socket of the name of its process.
 * Trust    only a socket that this process itself holds is taken: such names are anybody's */
#ifndef TELEMETRY_CUPTI_SOCKET_H
#define TELEMETRY_CUPTI_SOCKET_H

#include "base/root.h"

/* The socket, non-blocking, with that line sent; -1: no such library listens in that process. */
int cupti_socket_ask(const struct root *root, int64_t pid, const char *line);

#endif
