/* serve/adding.h: entries that are brought at about the same time, added to a served ledger together: one transaction and one checkpoint.
 *
 * A thread of its own takes whatever waits, up to ADDED_AT_ONCE. Where one of them is refused each is added alone, so that nobody's entry
 * suffers from another's.
 * Errors   as ledger_add and quota_allows give them, for each entry
 * Threads  any may put; `done` is called from the thread that adds, without the ledger's lock */
#ifndef SERVE_ADDING_H
#define SERVE_ADDING_H

#include <pthread.h>

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

/* The lock is held while the ledger is used. It first counts what the ledger's teams have brought; entries wait for that. LIMIT: no thread */
enum lynx_status adding_start(struct ledger *ledger, pthread_mutex_t *lock, struct adding **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* After adding_stop has begun it is refused: done is called at once. */
void adding_put(struct adding *adding, struct added *entry);
void adding_stop(struct adding *adding);  /* once what waits was added; accepts NULL */
void adding_close(struct adding *adding); /* accepts NULL */

#endif
