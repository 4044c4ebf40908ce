/* cli/site_now.h: pages that are of now, whatever the ledger holds: runs in progress, and schedules. They are made when they are asked for,
 * and never kept.
 * Threads  any, several at once; lock: of the pages' board, and of this */
#ifndef CLI_SITE_NOW_H
#define CLI_SITE_NOW_H

#include <pthread.h>

#include "page/pages.h"
#include "serve/log_server.h"

struct site_now {
  struct running *running;         /* NULL: none tell of themselves */
  struct page_schedules schedules; /* folder NULL: none is looked at */
  int64_t schedules_ns;            /* when they were read */
};

/* False: it is none of them. */
bool site_now_get(struct site_now *now, pthread_mutex_t *lock, struct pages *pages, const char *address, struct served_page *ret);
void site_now_release(struct site_now *now);

#endif
