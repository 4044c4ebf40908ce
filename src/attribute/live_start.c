#include "attribute/live_start.h"

#include <math.h>
#include <stdlib.h>

enum { REQUESTS_MAX = 1 << 20, PARTS_MOST = 10, PARTS_FEW = 5, LEAST = 30, MANY = 50, FIRST_PARTS = 3, SESSIONS_MAX = 10000 };

struct live_starting {
  double *took_ns;
  size_t n, room;
  size_t *ends; /* of each session's requests */
  size_t n_sessions, sessions_room;
};

struct live_starting *live_start_new(void) {
  return xalloc(1, sizeof(struct live_starting));
}

static enum lynx_status take(void *context, const struct bundle_request *r) {
  struct live_starting *s = context;
  if (r->phase != PHASE_COUNTED || r->outcome != OUTCOME_OK || r->end_ns <= r->issued_ns || s->n == REQUESTS_MAX) return LYNX_OK;
  s->took_ns = xroom(s->took_ns, s->n, &s->room, sizeof *s->took_ns);
  s->took_ns[s->n++] = (double)(r->end_ns - r->issued_ns);
  return LYNX_OK;
}

bool live_start_add(struct live_starting *s, struct bundle *bundle, const struct bundle_session *session) {
  if (bundle_each_request(bundle, session->id, take, s, NULL) != LYNX_OK) return false;
  if (s->n_sessions == SESSIONS_MAX) return true;
  s->ends = xroom(s->ends, s->n_sessions, &s->sessions_room, sizeof *s->ends);
  s->ends[s->n_sessions++] = s->n;
  return true;
}

/* Parts of several runs of requests, each divided alike: the k-th parts together. */
static struct live_start judge(const struct live_starting *s, const size_t *ends, size_t n_ends) {
  double sum[PARTS_MOST] = {0}, all = 0, later = 0, first = 0;
  size_t n[PARTS_MOST] = {0}, parts = s->n >= MANY * n_ends ? PARTS_MOST : PARTS_FEW, begin = parts == PARTS_MOST ? FIRST_PARTS : 2;
  struct live_start ret = {.n = (int64_t)s->n, .n_sessions = (int64_t)n_ends};
  if (n_ends == 0 || s->n < LEAST * n_ends) return ret;
  for (size_t j = 0, from = 0; j < n_ends; from = ends[j++])
    for (size_t i = from; i < ends[j]; i++) {
      size_t k = (i - from) * parts / (ends[j] - from);
      sum[k] += s->took_ns[i];
      n[k]++;
    }
  for (size_t k = 0; k < parts; k++) {
    double mean = n[k] > 0 ? sum[k] / (double)n[k] : 0, counted = mean * (double)s->n / (double)parts;
    all += counted;
    if (k < begin) first += counted;
    else {
      later += counted / (double)(parts - begin);
      ret.most_later_ns = fmax(ret.most_later_ns, mean);
      ret.later_ns += mean / (double)(parts - begin);
    }
    if (k == 0) ret.first_ns = mean;
  }
  ret.n_first = (int64_t)n[0];
  ret.excess = all > 0 ? fmax(0, first - (double)begin * later) / all : 0;
  return ret;
}

/* Once, in the first session; or in each of them, where the server was started for each or has forgotten in between. */
void live_start_finish(struct live_starting *s, struct live_start *ret) {
  *ret = judge(s, &s->n, 1);
  if (s->n_sessions > 1) {
    struct live_start each = judge(s, s->ends, s->n_sessions);
    if (!live_start_is_cold(ret) && live_start_is_cold(&each)) *ret = each;
  }
  free(s->took_ns);
  free(s->ends);
  free(s);
}

bool live_start_is_cold(const struct live_start *s) {
  return s->n_first > 0 && s->first_ns >= 1.5 * s->most_later_ns && s->excess >= 0.03;
}
