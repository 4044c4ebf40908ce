#include "attribute/live_asks.h"

enum { LEAST_SAMPLES = 4 };
#define OWN_WORK 0.3  /* of a processor */
#define POOL_FULL 0.8 /* of its connections wait for an answer */
#define IDLE 0.4      /* of the processors */

bool live_asks_others(const struct live *live, const struct live_lane **ret) {
  double works = 0;
  *ret = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if ((double)l->process != live->around.asks_pid) continue;
    works += l->running + l->ready;
    *ret = l;
  }
  return live->around.asks_looks >= LEAST_SAMPLES && live->in_flight > 0 && works < OWN_WORK;
}

bool live_pool_full(const struct live *live) {
  const struct live_around *a = &live->around;
  const struct live_lane *own;
  bool full = a->asks_lasting >= 0.9 && a->asks_lasting_open >= POOL_FULL * a->asks_lasting && a->asks_lasting + 0.5 < live->in_flight;
  return full && live_asks_others(live, &own) && live_idle_processors(live) >= IDLE * (double)live->n_processors;
}
