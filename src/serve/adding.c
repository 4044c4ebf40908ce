#include "serve/adding.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "ledger/admission.h"
#include "serve/quota.h"

enum { COUNTED_AT_ONCE = 2000, REMEMBERED_EVERY = 100000, WARY_BATCHES = 1000 };

struct adding {
  struct ledger *ledger;
  struct quota quota;
  const char *path;    /* of the file in which it is remembered; NULL: it is not */
  uint64_t remembered; /* entries */
  bool counted;        /* in the transaction that goes on */
  int wary;            /* batches for which a stranger's entry is kept out of them */
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t wake;
  struct added *first, **last;
  bool runs;
  atomic_bool stopping;
};

/* A ledger_allow. */
static enum lynx_status allow(void *context, struct ledger *ledger, struct bytes entry, struct lynx_error *error) {
  struct adding *a = context;
  enum lynx_status status = a->counted ? LYNX_OK : quota_count(&a->quota, ledger, UINT64_MAX, NULL, error);
  a->counted = status == LYNX_OK;
  return status == LYNX_OK ? quota_allows(&a->quota, ledger, entry, error) : status;
}

/* Where at least so many entries came since. */
static void remember(struct adding *a, uint64_t entries) {
  if (a->path == NULL || a->quota.next < a->remembered + entries) return;
  quota_remember(&a->quota, a->ledger, a->path);
  a->remembered = a->quota.next;
}

/* Before the first entry, which waits for it: of a large ledger it takes minutes. */
static void count_first(struct adding *a) {
  struct lynx_error ignored = {0}; /* the next entry finds it again */
  bool all = false;
  enum lynx_status status = LYNX_OK;
  if (a->path != NULL) quota_recall(&a->quota, a->ledger, a->path);
  a->remembered = a->quota.next;
  while (!all && status == LYNX_OK && !atomic_load(&a->stopping)) {
    status = quota_count(&a->quota, a->ledger, COUNTED_AT_ONCE, &all, &ignored);
    remember(a, REMEMBERED_EVERY);
  }
}

static enum lynx_status add(struct adding *a, const struct bytes *envelopes, size_t n, uint64_t *ret_index, struct lynx_error *error) {
  a->counted = false;
  enum lynx_status status = ledger_add(a->ledger, envelopes, n, ret_index, error);
  for (size_t i = 0; i < n && status == LYNX_OK; i++) quota_added(&a->quota, ret_index[i], envelopes[i]);
  return status;
}

/* Is it worth a transaction? A stranger's bytes are not: they are refused without one. */
static enum lynx_status look_at_signature(struct adding *a, struct bytes envelope, struct lynx_error *error) {
  struct arena arena = {0};
  struct admission admission = {.signer = NULL};
  enum lynx_status status = admission_signed(ledger_policy(a->ledger), envelope, &arena, &admission, error);
  statement_release(&admission.statement);
  arena_release(&arena);
  return status;
}

static void add_alone(struct adding *a, struct added *x) {
  x->status = ledger_refresh(a->ledger, &x->error);
  if (x->status == LYNX_OK) x->status = look_at_signature(a, x->envelope, &x->error);
  if (x->status == LYNX_OK) x->status = add(a, &x->envelope, 1, &x->index, &x->error);
}

/* Is it about an entry, rather than about the store? */
static bool is_of_entry(enum lynx_status status) {
  return status == LYNX_INPUT || status == LYNX_LIMIT || status == LYNX_NOT_FOUND || status == LYNX_UNSUPPORTED;
}

/* OK: all of them were added. */
static enum lynx_status add_together(struct adding *a, struct added *const *batch, size_t n, struct lynx_error *error) {
  struct bytes envelopes[ADDED_AT_ONCE];
  uint64_t indices[ADDED_AT_ONCE];
  for (size_t i = 0; i < n; i++) envelopes[i] = batch[i]->envelope;
  enum lynx_status status = add(a, envelopes, n, indices, error);
  for (size_t i = 0; i < n && status == LYNX_OK; i++) batch[i]->status = LYNX_OK, batch[i]->index = indices[i];
  return status;
}

static void tell(struct added *const *batch, size_t n) {
  for (size_t i = 0; i < n; i++) batch[i]->done(batch[i]->context); /* it may be gone after that */
}

static void refuse(struct added *x, enum lynx_status status, const struct lynx_error *error) {
  x->status = status;
  x->error = *error;
}

/* Each by itself, until the store is broken: what is left would wait as long for the same answer. */
static enum lynx_status add_each(struct adding *a, struct added *const *batch, size_t n, enum lynx_status status,
                                 struct lynx_error *error) {
  for (size_t i = 0; i < n; i++) {
    if (status != LYNX_OK) refuse(batch[i], status, error);
    else add_alone(a, batch[i]);
    if (status != LYNX_OK || batch[i]->status == LYNX_OK || is_of_entry(batch[i]->status)) continue;
    status = batch[i]->status;
    *error = batch[i]->error;
  }
  return status;
}

/* The batch's own entries first, then the strangers', which may be a team's since one of the batch. What is wrong with the store. */
static enum lynx_status add_batch(struct adding *a, struct added *const *batch, size_t n, struct lynx_error *error) {
  struct added *own[ADDED_AT_ONCE] = {NULL}, *strange[ADDED_AT_ONCE] = {NULL};
  size_t n_own = 0, n_strange = 0;
  struct lynx_error ignored = {0};
  for (size_t i = 0; i < n; i++)
    if (a->wary > 0 && n > 1 && look_at_signature(a, batch[i]->envelope, &ignored) != LYNX_OK) strange[n_strange++] = batch[i];
    else own[n_own++] = batch[i];
  if (a->wary > 0) a->wary--;
  enum lynx_status status = n_own > 1 ? add_together(a, own, n_own, error) : LYNX_OK;
  const bool refused = status != LYNX_OK && is_of_entry(status);
  if (refused) a->wary = WARY_BATCHES, status = LYNX_OK;
  if (n_own == 1 || refused || status != LYNX_OK) status = add_each(a, own, n_own, status, error);
  status = add_each(a, strange, n_strange, status, error);
  tell(own, n_own);
  tell(strange, n_strange);
  return status;
}

static size_t take(struct adding *a, struct added *batch[ADDED_AT_ONCE]) {
  size_t n = 0;
  (void)pthread_mutex_lock(&a->lock);
  while (a->first == NULL && !atomic_load(&a->stopping)) (void)pthread_cond_wait(&a->wake, &a->lock);
  for (; a->first != NULL && n < ADDED_AT_ONCE; a->first = a->first->next) batch[n++] = a->first;
  if (a->first == NULL) a->last = &a->first;
  (void)pthread_mutex_unlock(&a->lock);
  return n;
}

/* All that waits. */
static void refuse_all(struct adding *a, enum lynx_status status, const struct lynx_error *error) {
  (void)pthread_mutex_lock(&a->lock);
  struct added *next = a->first;
  a->first = NULL, a->last = &a->first;
  (void)pthread_mutex_unlock(&a->lock);
  while (next != NULL) {
    struct added *x = next;
    next = x->next;
    refuse(x, status, error);
    tell(&x, 1);
  }
}

static enum lynx_status stops(struct lynx_error *error) {
  return lynx_fail(error, LYNX_IO, "the server stops: bring the entry again when it is back");
}

static void *keep_adding(void *context) {
  struct adding *a = context;
  struct added *batch[ADDED_AT_ONCE];
  count_first(a);
  for (;;) {
    struct lynx_error error = {0};
    size_t n = atomic_load(&a->stopping) ? 0 : take(a, batch);
    remember(a, n == 0 ? 1 : REMEMBERED_EVERY);
    if (n == 0) {
      refuse_all(a, stops(&error), &error);
      return NULL;
    }
    enum lynx_status status = add_batch(a, batch, n, &error);
    if (status != LYNX_OK) refuse_all(a, status, &error); /* each of them would wait as long for the same answer */
  }
}

enum lynx_status adding_start(struct ledger *ledger, const char *counted, struct adding **ret, struct lynx_error *error) {
  struct adding *a = xalloc(1, sizeof *a);
  a->ledger = ledger, a->path = counted, a->last = &a->first;
  ledger_ask(ledger, allow, a);
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
  entry->status = stops(&entry->error);
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
  ledger_ask(adding->ledger, NULL, NULL);
  quota_release(&adding->quota);
  (void)pthread_mutex_destroy(&adding->lock);
  (void)pthread_cond_destroy(&adding->wake);
  free(adding);
}
