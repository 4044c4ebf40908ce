#include "serve/adding.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "serve/quota.h"

enum { COUNTED_AT_ONCE = 220 }; /* some 10 ms */

struct adding {
  struct ledger *ledger;
  pthread_mutex_t *ledger_lock;
  struct quota quota;
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t wake;
  struct added *first, **last;
  bool runs;
  atomic_bool stopping;
};

/* Before the first entry, which waits for it: a large ledger takes minutes, in which it is read. */
static void count_first(struct adding *a) {
  const struct timespec pause = {.tv_nsec = 100000};
  struct lynx_error ignored = {0}; /* whoever adds is told */
  bool all = false;
  enum lynx_status status = LYNX_OK;
  while (!all && status == LYNX_OK && !atomic_load(&a->stopping)) {
    (void)pthread_mutex_lock(a->ledger_lock);
    status = quota_count(&a->quota, a->ledger, COUNTED_AT_ONCE, &all, &ignored);
    (void)pthread_mutex_unlock(a->ledger_lock);
    (void)nanosleep(&pause, NULL); /* who waits for the lock has it */
  }
}

static void add_alone(struct adding *a, struct added *x) {
  (void)pthread_mutex_lock(a->ledger_lock);
  x->status = quota_count(&a->quota, a->ledger, UINT64_MAX, NULL, &x->error);
  if (x->status == LYNX_OK) x->status = quota_allows(&a->quota, a->ledger, x->envelope, &x->error);
  if (x->status == LYNX_OK) x->status = ledger_add(a->ledger, &x->envelope, 1, &x->index, &x->error);
  if (x->status == LYNX_OK) quota_added(&a->quota, x->index, x->envelope);
  (void)pthread_mutex_unlock(a->ledger_lock);
}

/* false: not all of them are good, and none was added. */
static bool add_together(struct adding *a, struct added *const *batch, size_t n) {
  struct bytes envelopes[ADDED_AT_ONCE];
  uint64_t indices[ADDED_AT_ONCE];
  struct lynx_error ignored = {0};
  (void)pthread_mutex_lock(a->ledger_lock);
  bool good = quota_count(&a->quota, a->ledger, UINT64_MAX, NULL, &ignored) == LYNX_OK;
  for (size_t i = 0; i < n && good; i++) {
    envelopes[i] = batch[i]->envelope;
    good = quota_allows(&a->quota, a->ledger, envelopes[i], &ignored) == LYNX_OK;
  }
  good = good && ledger_add(a->ledger, envelopes, n, indices, &ignored) == LYNX_OK;
  for (size_t i = 0; i < n && good; i++) quota_added(&a->quota, indices[i], envelopes[i]);
  (void)pthread_mutex_unlock(a->ledger_lock);
  for (size_t i = 0; i < n && good; i++) batch[i]->status = LYNX_OK, batch[i]->index = indices[i];
  return good;
}

static void add_batch(struct adding *a, struct added *const *batch, size_t n) {
  bool together = n > 1 && add_together(a, batch, n);
  for (size_t i = 0; i < n; i++) {
    if (!together) add_alone(a, batch[i]);
    batch[i]->done(batch[i]->context); /* it may be gone after that */
  }
}

static void *keep_adding(void *context) {
  struct adding *a = context;
  struct added *batch[ADDED_AT_ONCE];
  count_first(a);
  for (;;) {
    size_t n = 0;
    (void)pthread_mutex_lock(&a->lock);
    while (a->first == NULL && !atomic_load(&a->stopping)) (void)pthread_cond_wait(&a->wake, &a->lock);
    for (; a->first != NULL && n < ADDED_AT_ONCE; a->first = a->first->next) batch[n++] = a->first;
    if (a->first == NULL) a->last = &a->first;
    (void)pthread_mutex_unlock(&a->lock);
    if (n == 0) return NULL;
    add_batch(a, batch, n);
  }
}

enum lynx_status adding_start(struct ledger *ledger, pthread_mutex_t *lock, struct adding **ret, struct lynx_error *error) {
  struct adding *a = xalloc(1, sizeof *a);
  a->ledger = ledger, a->ledger_lock = lock, a->last = &a->first;
  (void)pthread_mutex_init(&a->lock, NULL);
  (void)pthread_cond_init(&a->wake, NULL);
  a->runs = pthread_create(&a->thread, NULL, keep_adding, a) == 0;
  if (a->runs) {
    *ret = a;
    return LYNX_OK;
  }
  adding_close(a);
  return lynx_fail(error, LYNX_LIMIT, "no thread for a server");
}

void adding_put(struct adding *adding, struct added *entry) {
  entry->next = NULL;
  (void)pthread_mutex_lock(&adding->lock);
  bool late = atomic_load(&adding->stopping);
  if (!late) {
    *adding->last = entry;
    adding->last = &entry->next;
    (void)pthread_cond_signal(&adding->wake);
  }
  (void)pthread_mutex_unlock(&adding->lock);
  if (!late) return;
  entry->status = lynx_fail(&entry->error, LYNX_IO, "the server stops: bring the entry again when it is back");
  entry->done(entry->context);
}

void adding_stop(struct adding *adding) {
  if (adding == NULL || !adding->runs) return;
  (void)pthread_mutex_lock(&adding->lock);
  atomic_store(&adding->stopping, true);
  (void)pthread_cond_signal(&adding->wake);
  (void)pthread_mutex_unlock(&adding->lock);
  (void)pthread_join(adding->thread, NULL);
  adding->runs = false;
}

void adding_close(struct adding *adding) {
  if (adding == NULL) return;
  adding_stop(adding);
  quota_release(&adding->quota);
  (void)pthread_mutex_destroy(&adding->lock);
  (void)pthread_cond_destroy(&adding->wake);
  free(adding);
}
