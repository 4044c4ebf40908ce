#include "attribute/live_bound.h"

#include <math.h>
#include <string.h>

#define SPINS_LITTLE 0.02 /* of what runs */
#define TELLS_BELOW 0.7   /* a greater one says little, and small errors of what runs change it much */
#define GROWS 1.3         /* from 1 in flight, or what runs all the same is not told apart */

static struct live_work work_of(const struct live *live, bool (*is)(const struct live_part *part), const char *what, const char *where) {
  struct live_work sum = {.processors = 0};
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    for (size_t k = 0; k < l->n_parts; k++) {
      const struct live_part *p = &l->parts[k];
      if (is != NULL ? !is(p) : p->kind != LIVE_PYTHON || strcmp(p->what, what) != 0 || strcmp(p->where, where) != 0) continue;
      sum.lanes[i] += p->share;
      sum.looks += p->n;
    }
    for (size_t k = 0; k < l->n_callers; k++) {
      const struct live_caller *c = &l->callers[k];
      const struct live_part as_part = {.kind = LIVE_PYTHON, .what = c->what, .where = c->where, .would = "", .inside = ""};
      if (is != NULL ? !is(&as_part) : strcmp(c->what, what) != 0 || strcmp(c->where, where) != 0) continue;
      sum.lanes[i] += c->share;
      sum.looks += c->n;
    }
    sum.processors += sum.lanes[i];
  }
  return sum;
}

struct live_work live_work_of(const struct live *live, bool (*is)(const struct live_part *part)) {
  return work_of(live, is, "", "");
}

struct live_work live_work_of_function(const struct live *live, const char *what, const char *where) {
  return work_of(live, NULL, what, where);
}

struct live_work live_work_of_kernels(const struct live *live, enum live_kernel_kind kind) {
  struct live_work sum = {.processors = 0};
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_kernels *k = &live->at.lanes[i].kernels[kind];
    sum.lanes[i] = k->share;
    sum.processors += k->share;
    sum.looks += k->n;
  }
  return sum;
}

/* What runs whatever is asked, by the line through 1 in flight and the knee: a refresher, a poller, a heartbeat. A server that batches has
 * less work for each token at the knee, which counts as such too, and makes the bound larger. NaN: not told apart. */
static double constant_work(const struct live *live) {
  const struct result_precision *p = live->precision;
  double alone = live->alone.running, at = live->at.running, rate_alone = 0, rate = 0;
  for (size_t i = 0; i < p->n_steps; i++) {
    if (p->steps[i].concurrency == 1) rate_alone = p->steps[i].throughput;
    if (p->steps[i].concurrency == live->at.concurrency) rate = p->steps[i].throughput;
  }
  if (live->alone.n_lanes == 0 || live->at.concurrency < 2 || !(rate_alone > 0) || !(rate >= GROWS * rate_alone)) return NAN;
  return fmin(at, fmax(0, alone - (at - alone) / (rate / rate_alone - 1)));
}

void live_bound(const struct live *live, const struct live_work *work, struct finding *ret) {
  double n = (double)live->n_processors, running = fmin(live->at.running, n); /* counts of two clocks may say a little more than all */
  double error = work->looks > 0 ? 1 + 2 / sqrt((double)work->looks) : 1;
  bool grows = load_is_closed((enum load_kind)live->result->contract.regime.load),
       works = live_spinning_processors(live) <= SPINS_LITTLE * running;
  if (!grows || !works || live->n_processors < 1 || !(running > 0)) return;
  double constant = constant_work(live);
  if (!(constant < n)) return; /* not told apart, too */
  double bound = 1 - fmax(0, running - error * work->processors - constant) / (n - constant);
  const char *why = "of the time of each token: what else the server does for it cannot run on more than all processors at once";
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    double of_thread = constant < 1 ? 1 - fmax(0, fmin(1, l->running) - error * work->lanes[i] - constant) / (1 - constant) : 1;
    if (l->n_threads != 1 || of_thread >= bound) continue;
    bound = of_thread;
    why = "of the time of each token: what else its busiest thread does for it stays in one thread";
  }
  if (bound >= TELLS_BELOW) return;
  ret->bounded = true;
  ret->bound = bound;
  ret->bound_holds = why;
}
