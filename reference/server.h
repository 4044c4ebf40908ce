/* reference/server.h: the HTTP/1.1 server of lynxbench-ref: one thread, one epoll loop, loopback by default.
 * Limits   64 KiB of head, 4 MiB of body, 4096 connections; one request at a time on a connection
 * Log      with a log file every write is a line: request, kind, planned, before, after (CLOCK_MONOTONIC ns), bytes */
#ifndef REFERENCE_SERVER_H
#define REFERENCE_SERVER_H

#include <stdatomic.h>

#include "reference/backend.h"
#include "reference/options.h"

struct server;

/* Binds and listens; the port that was given (or chosen, for 0) is in *ret_port. IO if it cannot. */
enum lynx_status server_open(const struct options *options, const struct backend *backend, void *backend_state, struct server **ret,
                             int *ret_port, struct lynx_error *error) LYNX_MUST_CHECK;
/* Serves until *stop is not 0. */
void server_run(struct server *server, const atomic_int *stop);
void server_close(struct server *server);

#endif
