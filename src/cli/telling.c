#include "cli/telling.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/control.h"
#include "base/random.h"
#include "telemetry/process_tree.h"

enum { SECRET_BYTES = 32, BODY_MAX = 4096, FAILURES_SOON = 3, SOON_S = 1, LATER_S = 10 };
#define TELL_TIMEOUT_NS (2 * INT64_C(1000000000))

/* What the run's own thread leaves for the one that tells. */
struct state {
  struct run_progress progress;
  char step[40], precision[80];
};

struct telling {
  char url[4200], intent[DIGEST_HEX], secret[2 * SECRET_BYTES + 1];
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct state state;
  bool any, over;
  /* of the thread */
  struct run_progress before;
  int64_t before_ns;
  struct machine_ticks ticks;
  int n_failures; /* one after another */
  const struct ledger_file *ledger;
  const struct signer *signer;
};

/* HTTP's status; 0: there was no answer. */
static int post(const struct telling *t, const char *what, const char *body) {
  char where[4300];
  struct buffer answer;
  struct lynx_error ignored = {0};
  int http_status = 0;
  (void)snprintf(where, sizeof where, "%s%srunning/%s", t->url, t->url[strlen(t->url) - 1] == '/' ? "" : "/", what);
  buffer_init(&answer, 65536);
  const struct control_request request = {
      .url = where, .json_body = body, .ca_file = getenv("LYNXBENCH_CA_FILE"), .timeout_ns = TELL_TIMEOUT_NS};
  if (control_fetch(&request, &answer, &http_status, &ignored) != LYNX_OK) http_status = 0;
  buffer_release(&answer);
  return http_status;
}

/* --- the first word --- */

static bool introduce(struct telling *t) {
  uint8_t bytes[SECRET_BYTES], digest[DIGEST_BYTES];
  char hex[DIGEST_HEX], now[40];
  struct buffer envelope;
  struct lynx_error ignored = {0};
  if (!random_salt(bytes, sizeof bytes)) return false;
  (void)hex_encode(bytes, sizeof bytes, t->secret);
  digest_of(t->secret, strlen(t->secret), digest);
  struct entry entry = {.kind = "progress", .ledger = ledger_policy(t->ledger->ledger)->origin};
  entry_subject_hex(&entry, "intent", t->intent);
  entry_member(&entry, "secret", digest_hex(digest, hex));
  buffer_init(&envelope, ENVELOPE_MAX);
  const char *time = clock_text(now, clock_system.realtime_ns(clock_system.context));
  bool good = entry_sign(&entry, time, t->signer, &envelope, &ignored) == LYNX_OK && buffer_text(&envelope, "") &&
              post(t, "begin", envelope.data) == 200;
  buffer_release(&envelope);
  return good;
}

/* --- once a second --- */

static double mean(int64_t sum, int64_t n) {
  return n > 0 ? (double)sum / (double)n : NAN;
}

static void put_known(struct json_writer *json, const char *key, double value) {
  if (isfinite(value)) json_put_double(json, key, value);
}

/* Over the time since the last word, of the same session. */
static void put_rates(struct telling *t, const struct run_progress *p, struct json_writer *json) {
  const struct run_progress *b = &t->before;
  int64_t now = clock_now(&clock_system);
  double seconds = (double)(now - t->before_ns) / 1e9;
  if (t->before_ns > 0 && b->session == p->session && seconds > 0 && p->n_done >= b->n_done) {
    put_known(json, "requests_per_s", (double)(p->n_done - b->n_done) / seconds);
    if (p->n_tokens > 0) put_known(json, "tokens_per_s", (double)(p->n_tokens - b->n_tokens) / seconds);
    put_known(json, "time_to_first_token_ns", mean(p->time_to_first_token_ns - b->time_to_first_token_ns, p->n_ok - b->n_ok));
    put_known(json, "end_to_end_ns", mean(p->end_to_end_ns - b->end_to_end_ns, p->n_ok - b->n_ok));
  }
  t->before = *p;
  t->before_ns = now;
}

static void put_conditions(struct telling *t, struct json_writer *json) {
  static const struct root root = {""};
  struct machine_ticks now;
  if (!machine_ticks_read(&root, &now)) return;
  double total = (double)(now.total - t->ticks.total);
  if (t->ticks.total > 0 && total > 0) {
    put_known(json, "steal", (double)(now.steal - t->ticks.steal) / total);
    put_known(json, "idle", 1 - (double)(now.busy - t->ticks.busy) / total);
  }
  t->ticks = now;
}

static int tell(struct telling *t, const struct state *s, bool over) {
  const struct run_progress *p = &s->progress;
  struct buffer body;
  struct json_writer json;
  buffer_init(&body, BODY_MAX);
  json_begin_object(&json, &body);
  json_put_text(&json, "intent", t->intent);
  json_put_text(&json, "secret", t->secret);
  json_put_bool(&json, "over", over);
  json_put_text(&json, "step", s->step);
  json_put_text(&json, "precision", s->precision);
  json_put_text(&json, "purpose", purpose_text(p->purpose));
  json_put_int(&json, "session", p->session);
  json_put_int(&json, "sessions", p->n_sessions);
  put_known(&json, "elapsed_s", p->elapsed_s);
  put_known(&json, "total_s", p->total_s);
  json_put_int(&json, "in_flight", p->in_flight);
  json_put_int(&json, "done", p->n_done);
  json_put_int(&json, "failed", p->n_failed);
  put_rates(t, p, &json);
  put_conditions(t, &json);
  json_close(&json);
  int status = json_finish(&json) ? post(t, "update", body.data) : 0;
  buffer_release(&body);
  return status;
}

static void *keep_telling(void *context) {
  struct telling *t = context;
  bool over = false;
  while (!over) {
    struct timespec until;
    struct state now;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += t->n_failures < FAILURES_SOON ? SOON_S : LATER_S;
    (void)pthread_mutex_lock(&t->lock);
    while (!t->over && pthread_cond_timedwait(&t->changed, &t->lock, &until) == 0) continue;
    over = t->over;
    bool any = t->any;
    now = t->state;
    (void)pthread_mutex_unlock(&t->lock);
    int status = any || over ? tell(t, &now, over) : 200;
    if (status == 400 && !over && introduce(t)) status = 200; /* a server that was started again knows of nothing */
    t->n_failures = status == 200 ? 0 : t->n_failures + 1;
  }
  return NULL;
}

struct telling *telling_begin(const struct ledger_file *ledger, const struct signer *signer, const char *intent) {
  pthread_condattr_t how;
  if (!ledger->remote || strlen(ledger->real) >= sizeof((struct telling *)0)->url) return NULL;
  struct telling *t = xalloc(1, sizeof *t);
  (void)snprintf(t->url, sizeof t->url, "%s", ledger->real);
  (void)snprintf(t->intent, sizeof t->intent, "%s", intent);
  (void)pthread_mutex_init(&t->lock, NULL);
  (void)pthread_condattr_init(&how);
  (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&t->changed, &how);
  (void)pthread_condattr_destroy(&how);
  t->ledger = ledger;
  t->signer = signer;
  if (introduce(t) && pthread_create(&t->thread, NULL, keep_telling, t) == 0) return t;
  (void)pthread_mutex_destroy(&t->lock);
  (void)pthread_cond_destroy(&t->changed);
  free(t);
  return NULL;
}

void telling_take(struct telling *t, const struct run_progress *p) {
  if (t == NULL || pthread_mutex_trylock(&t->lock) != 0) return; /* the next one comes soon */
  t->state.progress = *p;
  (void)snprintf(t->state.step, sizeof t->state.step, "%s", p->step);
  (void)snprintf(t->state.precision, sizeof t->state.precision, "%s", p->precision != NULL ? p->precision : "");
  t->state.progress.step = t->state.progress.precision = NULL;
  t->any = true;
  (void)pthread_mutex_unlock(&t->lock);
}

void telling_end(struct telling *t) {
  if (t == NULL) return;
  (void)pthread_mutex_lock(&t->lock);
  t->over = true;
  (void)pthread_cond_signal(&t->changed);
  (void)pthread_mutex_unlock(&t->lock);
  (void)pthread_join(t->thread, NULL);
  (void)pthread_mutex_destroy(&t->lock);
  (void)pthread_cond_destroy(&t->changed);
  explicit_bzero(t->secret, sizeof t->secret);
  free(t);
}
