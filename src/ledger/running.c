#include "ledger/running.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ledger/admission.h"

enum { TOLD_MAX = 4096, SECRET_MAX = 200, OVER_MAX = 4096, DAY_S = 86400 };

struct known {
  struct running_run run;
  uint8_t secret[DIGEST_BYTES]; /* its digest */
  int64_t heard_ns;
};

struct running {
  pthread_mutex_t lock;
  struct known known[RUNNING_MAX]; /* in the order of their beginning */
  size_t n;
  char over[OVER_MAX][DIGEST_HEX]; /* intents of runs that said so: the newest */
  size_t n_over;
};

struct running *running_open(void) {
  struct running *r = xalloc(1, sizeof *r);
  (void)pthread_mutex_init(&r->lock, NULL);
  return r;
}

void running_close(struct running *r) {
  if (r == NULL) return;
  (void)pthread_mutex_destroy(&r->lock);
  free(r);
}

static void drop(struct running *r, size_t i) {
  memmove(&r->known[i], &r->known[i + 1], (--r->n - i) * sizeof *r->known);
}

static void forget_old(struct running *r, int64_t now) {
  for (size_t i = r->n; i > 0; i--)
    if (now - r->known[i - 1].heard_ns > (int64_t)RUNNING_S * 1000000000) drop(r, i - 1);
}

static struct known *find(struct running *r, const char *intent) {
  for (size_t i = 0; i < r->n; i++)
    if (strcmp(r->known[i].run.intent, intent) == 0) return &r->known[i];
  return NULL;
}

static void take_text(char *to, size_t size, const json_t *from, const char *key) {
  const char *text = json_get_text(from, key, "");
  (void)text_sanitise(to, size, text, strlen(text));
}

/* --- the first word --- */

/* The intent's own words: the contract that it is of. */
static enum lynx_status read_intent(struct ledger *ledger, const uint8_t *leaf, const char *by, struct known *ret,
                                    struct lynx_error *error) {
  struct arena arena = {0};
  struct ledger_entry entry = {.index = 0};
  uint64_t index;
  enum lynx_status status = ledger_find(ledger, leaf, &index, error);
  if (status == LYNX_OK) status = ledger_read_entry(ledger, index, &arena, &entry, error);
  if (status == LYNX_OK) {
    const uint8_t *contract = statement_subject_named(&entry.statement, "contract");
    if (strcmp(entry.statement.kind, "intent") != 0 || contract == NULL || strcmp(entry.signer, by) != 0)
      status = lynx_fail(error, LYNX_INPUT, "it is of no intent of %s", by);
    else {
      (void)digest_hex(contract, ret->run.contract);
      take_text(ret->run.name, sizeof ret->run.name, entry.statement.predicate, "name");
      take_text(ret->run.host, sizeof ret->run.host, entry.statement.predicate, "host");
    }
    statement_release(&entry.statement);
  }
  arena_release(&arena);
  return status;
}

/* By the signer's clock: a few minutes or hours off are no matter. */
static bool is_of_today(const struct statement *statement) {
  int64_t time_s;
  return statement_time(statement, &time_s) && llabs((long long)(time_s - clock_realtime_s(&clock_system))) < DAY_S;
}

static bool is_over(const struct running *r, const char *intent) {
  for (size_t i = 0; i < r->n_over && i < OVER_MAX; i++)
    if (strcmp(r->over[i], intent) == 0) return true;
  return false;
}

static enum lynx_status read_first(struct ledger *ledger, const struct admission *a, struct known *ret, struct lynx_error *error) {
  const uint8_t *intent = statement_subject_named(&a->statement, "intent");
  if (strcmp(a->statement.kind, "progress") != 0 || intent == NULL ||
      !hex_decode(json_get_text(a->statement.predicate, "secret", ""), ret->secret, DIGEST_BYTES))
    return lynx_fail(error, LYNX_INPUT, "found kind '%.40s'; accepted: progress, of an intent, with a secret's SHA-256", a->statement.kind);
  if (!is_of_today(&a->statement)) return lynx_fail(error, LYNX_INPUT, "it was signed another day, by the signer's clock");
  (void)digest_hex(intent, ret->run.intent);
  (void)snprintf(ret->run.by, sizeof ret->run.by, "%s", a->signer->key.name);
  (void)snprintf(ret->run.step, sizeof ret->run.step, "starting");
  ret->run.requests_per_s = ret->run.tokens_per_s = ret->run.time_to_first_token_ns = ret->run.end_to_end_ns = NAN;
  ret->run.steal = ret->run.idle = NAN;
  return read_intent(ledger, intent, ret->run.by, ret, error);
}

enum lynx_status running_begin(struct running *r, struct ledger *ledger, struct bytes envelope, struct lynx_error *error) {
  struct arena arena = {0};
  struct admission admission;
  struct known *new = xalloc(1, sizeof *new);
  enum lynx_status status = ledger_refresh(ledger, error);
  admission.statement = (struct statement){.whole = NULL};
  if (status == LYNX_OK) status = admission_signed(ledger_policy(ledger), envelope, &arena, &admission, error);
  if (status == LYNX_OK) status = read_first(ledger, &admission, new, error);
  statement_release(&admission.statement);
  arena_release(&arena);
  if (status == LYNX_OK) {
    (void)pthread_mutex_lock(&r->lock);
    new->heard_ns = clock_now(&clock_system);
    forget_old(r, new->heard_ns);
    struct known *known = find(r, new->run.intent);
    /* A second first word of one run is somebody's who has the first: that one goes on. */
    if (is_over(r, new->run.intent)) status = lynx_fail(error, LYNX_INPUT, "this run is over");
    else if (known != NULL) status = lynx_fail(error, LYNX_INPUT, "this run is known already");
    else if (r->n == RUNNING_MAX) status = lynx_fail(error, LYNX_LIMIT, "%d runs are going on: no more are shown", RUNNING_MAX);
    else r->known[r->n++] = *new;
    (void)pthread_mutex_unlock(&r->lock);
  }
  free(new);
  return status;
}

/* --- what it tells --- */

static double number(const json_t *from, const char *key, double most) {
  double value = json_get_double(from, key, NAN);
  return value >= 0 && value <= most ? value : NAN;
}

static int64_t count(const json_t *from, const char *key) {
  int64_t value = json_get_int(from, key, 0);
  return value > 0 ? value : 0;
}

static void take(const json_t *from, struct running_run *run) {
  take_text(run->step, sizeof run->step, from, "step");
  take_text(run->precision, sizeof run->precision, from, "precision");
  take_text(run->purpose, sizeof run->purpose, from, "purpose");
  run->session = count(from, "session");
  run->n_sessions = count(from, "sessions");
  run->in_flight = count(from, "in_flight");
  run->n_done = count(from, "done");
  run->n_failed = count(from, "failed");
  run->elapsed_s = number(from, "elapsed_s", 1e9);
  run->total_s = number(from, "total_s", 1e9);
  run->requests_per_s = number(from, "requests_per_s", 1e12);
  run->tokens_per_s = number(from, "tokens_per_s", 1e12);
  run->time_to_first_token_ns = number(from, "time_to_first_token_ns", 1e18);
  run->end_to_end_ns = number(from, "end_to_end_ns", 1e18);
  run->steal = number(from, "steal", 1);
  run->idle = number(from, "idle", 1);
}

enum lynx_status running_tell(struct running *r, struct bytes bytes, struct lynx_error *error) {
  uint8_t digest[DIGEST_BYTES];
  bool ends = false;
  if (bytes.length > TOLD_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d bytes", TOLD_MAX);
  json_t *told = json_parse(bytes.ptr, bytes.length, TOLD_MAX, error);
  if (told == NULL) return error->status;
  const char *secret = json_get_text(told, "secret", "");
  digest_of(secret, strnlen(secret, SECRET_MAX), digest);
  (void)pthread_mutex_lock(&r->lock);
  int64_t now = clock_now(&clock_system);
  forget_old(r, now);
  struct known *known = find(r, json_get_text(told, "intent", ""));
  bool good = known != NULL && memcmp(known->secret, digest, sizeof digest) == 0;
  if (good) {
    ends = json_get_bool(told, "over", false);
    known->heard_ns = now;
    take(told, &known->run);
    if (ends) {
      (void)snprintf(r->over[r->n_over++ % OVER_MAX], DIGEST_HEX, "%s", known->run.intent);
      drop(r, (size_t)(known - r->known));
    }
  }
  (void)pthread_mutex_unlock(&r->lock);
  json_decref(told);
  return good ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "no such run is going on, or that is not its secret");
}

size_t running_list(struct running *r, struct running_run ret[RUNNING_MAX]) {
  (void)pthread_mutex_lock(&r->lock);
  int64_t now = clock_now(&clock_system);
  forget_old(r, now);
  size_t n = r->n;
  for (size_t i = 0; i < n; i++) {
    const struct known *known = &r->known[n - 1 - i];
    ret[i] = known->run;
    ret[i].silent_s = (double)(now - known->heard_ns) / 1e9;
  }
  (void)pthread_mutex_unlock(&r->lock);
  return n;
}
