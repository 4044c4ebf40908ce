/* What taking a cause out can gain, by the utilisation law, on accounts whose answer is known. */
#include "attribute/live_bound.h"

#include <stdlib.h>

#include "base/arena.h"
#include "tests/check.h"

struct made {
  struct result result;
  struct result_precision precision;
  struct result_step steps[2];
  struct live live;
};

/* Two processors; 100 tokens a second with 1 in flight, 500 with 8; the server runs as much for each token in both. */
static struct made *make(double running, double running_alone) {
  struct made *m = xalloc(1, sizeof *m);
  m->result.contract.regime.load = LOAD_CLIMB;
  m->precision.steps = m->steps;
  m->precision.n_steps = 2;
  m->precision.steps[0].concurrency = 1;
  m->precision.steps[0].throughput = 100;
  m->precision.steps[1].concurrency = 8;
  m->precision.steps[1].throughput = 500;
  m->live.result = &m->result;
  m->live.precision = &m->precision;
  m->live.n_processors = 2;
  m->live.at.concurrency = 8;
  m->live.at.running = running;
  m->live.at.n_lanes = 1;
  m->live.at.lanes[0].n_threads = 4;
  m->live.at.lanes[0].running = running;
  m->live.alone.running = running_alone;
  m->live.alone.n_lanes = 1;
  return m;
}

static void check_bound(struct made *m, double processors, int64_t looks, bool bounded, double bound) {
  struct finding f = {.bounded = false};
  struct live_work work = {.processors = processors, .lanes = {processors}, .looks = looks};
  live_bound(&m->live, &work, &f);
  CHECK_INT(f.bounded, bounded);
  if (bounded) CHECK_NEAR(f.bound, bound, 1e-9);
  free(m);
}

int main(void) {
  check_bound(make(1.8, 0.36), 0.5, 0, true, 1 - (1.8 - 0.5) / 2);
  check_bound(make(1.8, 0.36), 0.5, 100, true, 1 - (1.8 - 0.5 * 1.2) / 2);       /* with the looks' error */
  check_bound(make(1.8, 0.76), 0.5, 0, true, 1 - (1.8 - 0.5 - 0.5) / (2 - 0.5)); /* half a processor runs whatever is asked */
  check_bound(make(2.1, 0.42), 0.05, 0, true, 0.025); /* no more runs than there is: never below the cause's own */
  check_bound(make(1.8, 0.36), 1.5, 0, false, 0);     /* most of it: 85 % would say little */
  struct made *m = make(0.9, 0.18);
  m->live.at.lanes[0] = (struct live_lane){.n_threads = 1, .running = 0.9};
  check_bound(m, 0.3, 0, true, 1 - (0.9 - 0.3)); /* one thread, which cannot run twice at once */
  m = make(1.8, 0.36);
  m->precision.steps[1].throughput = 120;
  check_bound(m, 0.5, 0, false, 0); /* it hardly grows: what runs all the same is not told apart */
  m = make(1.8, 0.36);
  m->result.contract.regime.load = LOAD_POISSON;
  check_bound(m, 0.5, 0, false, 0);
  m = make(1.8, 0.36);
  struct live_part spinning = {.kind = LIVE_LIBRARY, .share = 0.2, .spins = true};
  m->live.at.lanes[0].parts = &spinning;
  m->live.at.lanes[0].n_parts = 1;
  check_bound(m, 0.5, 0, false, 0); /* its time is no work */
  return check_end();
}
