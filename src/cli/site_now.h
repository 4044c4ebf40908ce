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
  uint64_t seen;                   /* the folder and its logs, when they were read, */
  int64_t read_ns;                 /* and when that was */
  char **names;                    /* of the logs */
  size_t n_names;
};

/* Reads the schedules' logs, where it is time to: now and then, from one thread. True: they say something new. */
bool site_now_look(struct site_now *now, pthread_mutex_t *lock);
/* False: it is none of them. */
bool site_now_get(struct site_now *now, pthread_mutex_t *lock, struct pages *pages, const char *address, struct served_page *ret);
void site_now_release(struct site_now *now);

#endif
