/* serve/adding.h: entries that are brought at about the same time, added to a served ledger together: one transaction and one checkpoint.
 *
 * A thread of its own, with a handle of its own, takes whatever waits, up to ADDED_AT_ONCE: neither those who bring entries nor those who
 * read wait for one another. Where one of a batch is refused each is added alone, so that nobody's entry suffers from another's; for a
 * while after that an entry must be a team's own to be part of a batch.
 * Store    where it cannot be written to (another writer has it for a minute, no connection) all that waits is refused with that reason
 * Errors   as ledger_add gives them, and LIMIT of a team's quota (serve/quota.h), for each entry
 * Threads  any may put; `done` is called from the thread that adds */
#ifndef SERVE_ADDING_H
#define SERVE_ADDING_H

#include "ledger/ledger.h"

enum { ADDED_AT_ONCE = 32 };

struct added {
  struct bytes envelope; /* lives until done is called */
  void (*done)(void *context);
  void *context;
  enum lynx_status status; /* from here on: what came of it */
  struct lynx_error error;
  uint64_t index;
  struct added *next;
};

struct adding;

/* The ledger is this one's alone. It first counts what the ledger's teams have brought; entries wait for that. counted: a file in which
 * that is remembered; lives as long; NULL: it is not. LIMIT: no thread */
enum lynx_status adding_start(struct ledger *ledger, const char *counted, struct adding **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* After adding_stop has begun it is refused: done is called at once. */
void adding_put(struct adding *adding, struct added *entry);
/* Once what is being added is; what waits is refused. Accepts NULL. */
void adding_stop(struct adding *adding);
void adding_close(struct adding *adding); /* accepts NULL */

#endif
