/* serve/log_server.h: a ledger over HTTP: what `lynxbench pull` and other logs' clients read, and a door for signed entries.
 *
 * serve answers requests; it decides nothing: what may be added is for the ledger's policy to say, and nothing else is asked for.
 *
 * Routes   GET checkpoint, tile/..., blob/DIGEST (ledger/tile.h); POST add: an envelope; PUT blob/DIGEST: the file that a bundle's entry
 * names; POST cosign: a checkpoint with a witness's cosignature. What is refused is answered with {"error": ...} Limits   64 connections,
 * 30 s without a byte, an envelope of ENVELOPE_MAX bytes, a file of SERVER_BLOB_MAX; loopback unless told otherwise Errors   IO: the
 * address cannot be had Threads  one thread of its own, to which the ledger belongs from start to stop */
#ifndef SERVE_LOG_SERVER_H
#define SERVE_LOG_SERVER_H

#include "ledger/ledger.h"

#define SERVER_BLOB_MAX ((int64_t)2 << 30)

struct log_server;

/* address: "127.0.0.1"; port 0: any that is free, told in ret_port. */
enum lynx_status log_server_start(struct ledger *ledger, const char *address, int port, int *ret_port, struct log_server **ret,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
void log_server_stop(struct log_server *server); /* accepts NULL */

#endif
