#include "attribute/live_pace.h"

#include <math.h>

#define PACE_LEAST_NS 2e6 /* below it the client's own reading is part of it */
#define PACE_ALIKE 0.07
#define PACE_ALIKE_IDLE 0.4  /* where no thread runs a third of the time: its work takes a little longer, and hardly counts */
#define PACE_ALIKE_BUSY 0.03 /* where a thread runs much, and more than with 1 in flight: more work in the same time */
#define BUSY_MORE 1.5
#define IDLE_LEAST 0.5
#define HARDLY_RUNS 0.5 /* of one processor */

static double pace_at(const struct live *live, int64_t concurrency) {
  const struct result_precision *p = live->precision;
  for (size_t i = 0; i < p->n_steps; i++)
    if (p->steps[i].concurrency == concurrency && p->steps[i].point.tokens_per_s_per_user > 0)
      return 1e9 / p->steps[i].point.tokens_per_s_per_user;
  return NAN;
}

struct live_pace live_pace_of(const struct live *live) {
  struct live_pace pace = {.alone_ns = pace_at(live, 1), .loaded_ns = pace_at(live, live->at.concurrency)};
  if (live->at.n_lanes == 0) return pace;
  double busiest = live_busiest(&live->at)->busiest, alone = live->alone.n_lanes > 0 ? live_busiest(&live->alone)->busiest : INFINITY;
  double busy = busiest < LIVE_FULL && busiest >= BUSY_MORE * alone ? PACE_ALIKE_BUSY : 0;
  double alike = busiest < 0.3 ? PACE_ALIKE_IDLE : busiest < 0.5 ? PACE_ALIKE : busy;
  const struct live_account *loaded = live->beyond.n_lanes > 0 ? &live->beyond : &live->at;
  bool idle = live_idle_processors(live) >= IDLE_LEAST;
  pace.fixed = idle && live->n_processors > 1 && live->at.concurrency >= 2 && pace.alone_ns >= PACE_LEAST_NS &&
               fabs(pace.loaded_ns / pace.alone_ns - 1) <= alike;
  pace.in_turn = idle && live_one_at_a_time(live) && loaded->concurrency >= 2 && loaded->running < HARDLY_RUNS;
  return pace;
}
