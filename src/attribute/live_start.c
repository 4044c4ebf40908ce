#include "attribute/live_start.h"

#include <math.h>
#include <stdlib.h>

enum { REQUESTS_MAX = 1 << 20, PARTS_MOST = 10, PARTS_FEW = 5, LEAST = 30, MANY = 50, FIRST_PARTS = 3 };

struct live_starting {
  double *took_ns;
  size_t n, room;
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
  return bundle_each_request(bundle, session->id, take, s, NULL) == LYNX_OK;
}

void live_start_finish(struct live_starting *s, struct live_start *ret) {
  double part[PARTS_MOST] = {0}, all = 0, later = 0, first = 0;
  size_t parts = s->n >= MANY ? PARTS_MOST : PARTS_FEW, begin = parts == PARTS_MOST ? FIRST_PARTS : 2;
  *ret = (struct live_start){.n = (int64_t)s->n};
  for (size_t k = 0; k < parts && s->n >= LEAST; k++) {
    size_t from = k * s->n / parts, to = (k + 1) * s->n / parts;
    for (size_t i = from; i < to; i++) part[k] += s->took_ns[i] / (double)(to - from);
    all += part[k];
    if (k == 0) ret->n_first = (int64_t)(to - from);
    if (k < begin) first += part[k];
    else {
      later += part[k] / (double)(parts - begin);
      ret->most_later_ns = fmax(ret->most_later_ns, part[k]);
    }
  }
  ret->first_ns = part[0];
  ret->later_ns = later;
  ret->excess = all > 0 ? fmax(0, first - (double)begin * later) / all : 0;
  free(s->took_ns);
  free(s);
}
