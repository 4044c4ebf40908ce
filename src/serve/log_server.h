/* serve/log_server.h: a ledger over HTTP: what `lynxbench ledger pull` and other logs' clients read, and a door for signed entries.
 *
 * serve answers requests; it decides nothing: what may be added is for the ledger's policy to say, and nothing else is asked for.
 *
 * Routes   GET and HEAD checkpoint, tile/..., blob/DIGEST (ledger/tile.h; a blob also by Range); POST add: an envelope; PUT blob/DIGEST:
 *          the file that a bundle's entry names; POST cosign: a checkpoint with a witness's cosignature. What is refused is answered with
 *          {"error": ...}. Every other GET and HEAD is a page, from who hands them in
 *          POST running/begin, running/update: what runs tell while they go on (ledger/running.h)
 * Files    POST look.html, a form with a file, from whoever may read: a page of it for them alone; it is kept nowhere
 * Pages    with an ETag, so that what did not change is not sent again; with a policy that lets a browser load nothing from elsewhere and
 *          run no script but the site's own file
 * Readers  where they are given, every GET and HEAD but the site's own files needs a token: Authorization: Bearer, a cookie, or once
 *          ?token= in a browser, which is given the cookie. What is added is signed, and needs none
 * Limits   serve/door.h's; an envelope of ENVELOPE_MAX bytes, a file of SERVER_BLOB_MAX; loopback unless told otherwise
 * Errors   INPUT: no address; IO: it cannot be had
 * Threads  some of its own, to which both ledgers belong from start to stop */
#ifndef SERVE_LOG_SERVER_H
#define SERVE_LOG_SERVER_H

#include <stdatomic.h>

#include "ledger/blob.h"
#include "ledger/ledger.h"
#include "ledger/running.h"
#include "serve/readers.h"

#define SERVER_BLOB_MAX BLOB_SENT_MAX
#define SERVER_LOOKED_MAX ((int64_t)256 << 20)

struct log_server;

enum { SERVED_TAG_MAX = 40 };

/* What a page is answered with; the body belongs to who asked. */
struct served_page {
  unsigned status; /* as HTTP's */
  const char *type;
  bool compressed;          /* by gzip */
  bool again;               /* not yet: a browser asks again by itself */
  char tag[SERVED_TAG_MAX]; /* as HTTP's ETag, quotes and all: another one where the bytes are others */
  struct buffer body;
};

/* Pages beside the ledger's own routes. */
struct page_source {
  /* By several threads at once. False: no page has such an address. */
  bool (*get)(void *context, const char *address, bool compressed, struct served_page *ret);
  /* A file that somebody brings to be looked at: the page of it, for them alone. By several threads at once. */
  void (*look)(void *context, int fd, const char *name, const atomic_int *stop, struct served_page *ret); /* stop not 0: give it up */
  void *context;
};

struct log_server_at {
  const char *address; /* "127.0.0.1" */
  int port;            /* 0: any that is free */
  const char *spool;   /* a folder, for files while they come */
  const char *counted; /* a file: what teams have brought, as it was counted last; NULL: it is counted each time */
  const char *const *names;
  size_t n_names;                        /* by which it is called, besides addresses and localhost */
  const char *certificate, *private_key; /* PEM; NULL: plain HTTP */
  struct page_source pages;              /* get NULL: none */
  struct running *running;               /* runs that go on; NULL: none may tell of itself */
  struct readers *readers;               /* who may read; NULL: everybody */
  const char *proxy, *identity_header;   /* whoever a proxy at that IP address names in that header may read, too; NULL: none */
  bool read_only;                        /* entries, cosignatures and files are refused */
};

/* One ledger, opened three times: who reads waits neither for who adds nor for who brings files. */
struct served_ledger {
  struct ledger *reads, *adds, *files;
};

/* ret_port: where it listens. */
enum lynx_status log_server_start(const struct served_ledger *ledger, const struct log_server_at *at, int *ret_port,
                                  struct log_server **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Who is inside may finish, for some seconds. */
void log_server_stop(struct log_server *server); /* accepts NULL */

#endif
