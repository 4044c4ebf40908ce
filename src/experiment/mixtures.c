#include "experiment/mixtures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/swap.h"
#include "result/rows.h"
#include "stats/special.h"

struct mixture_session {
  struct session_load load;
  bool complete;
  const char *why; /* it failed */
};

/* 60 numbers would not fit: sixteen hexadecimal digits beyond ten facts. */
void mixture_target(uint64_t facts, char ret[TARGET_NAME]) {
  ret[0] = 0;
  if (facts == 0) return;
  if (__builtin_popcountll(facts) > 10) {
    (void)snprintf(ret, TARGET_NAME, "facts: 0x%llx", (unsigned long long)facts);
    return;
  }
  size_t length = (size_t)snprintf(ret, TARGET_NAME, "facts:");
  for (int i = 0; i < SWAPS_MAX; i++)
    if (facts >> i & 1) length += (size_t)snprintf(ret + length, TARGET_NAME - length, " %d", i + 1);
}

/* A window that holds n answers begins and ends somewhere between two: the difference of two uniform variables has the variance 1/6.
 * Requests in flight may answer in step, all at once. */
struct session_figure mixture_figure(const struct session_response *r) {
  if (!r->found) return (struct session_figure){NAN, 0};
  if (r->open_load) return (struct session_figure){-r->y[RESPONSE_END_TO_END], 0};
  return (struct session_figure){r->y[RESPONSE_THROUGHPUT], r->answers > 0 ? sqrt(1.0 / 6) * r->in_flight / r->answers : 0};
}

double mixture_level(enum response response, double figure) {
  double ln = response == RESPONSE_END_TO_END ? -figure - 9 * special_log(10) : figure; /* of nanoseconds */
  return fabs(ln) < 600 ? special_exp(ln) : NAN;
}

static enum lynx_status keep_session(void *context, const struct bundle_session *s) {
  struct mixtures *m = context;
  if (s->purpose != PURPOSE_PERTURB || m->n == MIXTURE_SESSIONS_MAX) return LYNX_OK;
  m->sessions = xroom(m->sessions, m->n, &m->room, sizeof *m->sessions);
  struct mixture_session session = {{s->id, s->rate_per_s, s->concurrency}, s->end == SESSION_COMPLETE, "its session did not end"};
  if (session.complete) m->seen.seconds += (double)s->counted_ns / 1e9;
  if (s->end == SESSION_FAILED) {
    char why[600];
    (void)text_sanitise(why, sizeof why, s->why, strlen(s->why));
    session.why = arena_copy(m->arena, why);
  }
  m->sessions[m->n++] = session;
  return LYNX_OK;
}

enum lynx_status mixtures_open(struct bundle *bundle, const struct contract *contract, struct arena *arena, struct mixtures *ret,
                               struct lynx_error *error) {
  *ret = (struct mixtures){.bundle = bundle, .contract = contract, .arena = arena};
  ret->seen.tokens = row_terms_of(bundle, contract).holds_tokens;
  return bundle_each_session(bundle, keep_session, ret, error);
}

void mixtures_until(struct mixtures *mixtures, int64_t last) {
  while (mixtures->n > 0 && mixtures->sessions[mixtures->n - 1].load.id > last) mixtures->n--;
}

void mixtures_close(struct mixtures *mixtures) {
  free(mixtures->sessions);
  mixtures->sessions = NULL;
}

static void keep_failed(struct mixtures *m, uint64_t facts, const char *why) {
  if (m->seen.failed != NULL) return;
  m->seen.failed = why;
  m->seen.failed_facts = facts;
}

/* One that failed was tried a second time before it counted as one that cannot run. */
enum measured mixtures_next(void *context, uint64_t facts, int64_t round, struct session_figure *ret) {
  struct mixtures *m = context;
  struct session_response response;
  char target[TARGET_NAME];
  const char *why = NULL;
  (void)round;
  mixture_target(facts, target);
  for (int attempt = 0; attempt < 2; attempt++) {
    if (m->at == m->n) {
      if (why != NULL) keep_failed(m, facts, why);
      return MEASURED_NO_MORE;
    }
    const struct mixture_session *s = &m->sessions[m->at++];
    why = s->why;
    if (!s->complete) continue;
    if (session_response_read(m->bundle, m->contract, &s->load, &response, NULL) != LYNX_OK || strcmp(response.target, target) != 0)
      return MEASURED_NO_MORE;
    m->seen.response = response.open_load ? RESPONSE_END_TO_END : RESPONSE_THROUGHPUT;
    *ret = mixture_figure(&response);
    if (isfinite(ret->ln)) return MEASURED;
    why = "it ran, and no request was answered";
  }
  keep_failed(m, facts, why);
  return MEASURED_CANNOT_RUN;
}
