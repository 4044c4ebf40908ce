/* serve/log_server.h: a ledger over HTTP: what `lynxbench pull` and other logs' clients read, and a door for signed entries.
 *
 * serve answers requests; it decides nothing: what may be added is for the ledger's policy to say, and nothing else is asked for.
 *
 * Routes   GET and HEAD checkpoint, tile/..., blob/DIGEST (ledger/tile.h; a blob also by Range); POST add: an envelope; PUT blob/DIGEST:
 *          the file that a bundle's entry names; POST cosign: a checkpoint with a witness's cosignature. What is refused is answered with
 *          {"error": ...}
 * Limits   serve/door.h's; an envelope of ENVELOPE_MAX bytes, a file of SERVER_BLOB_MAX; loopback unless told otherwise
 * Errors   INPUT: no address; IO: it cannot be had
 * Threads  some of its own, to which both ledgers belong from start to stop */
#ifndef SERVE_LOG_SERVER_H
#define SERVE_LOG_SERVER_H

#include "ledger/blob.h"
#include "ledger/ledger.h"

#define SERVER_BLOB_MAX BLOB_SENT_MAX

struct log_server;

struct log_server_at {
  const char *address; /* "127.0.0.1" */
  int port;            /* 0: any that is free */
  const char *spool;   /* a folder, for files while they come */
  const char *const *names;
  size_t n_names;                        /* by which it is called, besides addresses and localhost */
  const char *certificate, *private_key; /* PEM; NULL: plain HTTP */
};

/* ledger, files: the same one, opened twice. ret_port: where it listens. */
enum lynx_status log_server_start(struct ledger *ledger, struct ledger *files, const struct log_server_at *at, int *ret_port,
                                  struct log_server **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Who is inside may finish, for some seconds. */
void log_server_stop(struct log_server *server); /* accepts NULL */

#endif
