#include "load/schedule.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "stats/draw.h"

static int64_t constant_at(size_t k, uint64_t rate_micro) {
  return (int64_t)((unsigned __int128)k * 1000000000u * 1000000u / rate_micro);
}

/* Expected arrivals until t, in 1e-9 of one. */
static uint64_t ramp_expected(const struct schedule_plan *plan, int64_t t) {
  uint64_t ramp = (uint64_t)(t < plan->ramp_ns ? t : plan->ramp_ns), after = (uint64_t)t - ramp;
  unsigned __int128 first = (unsigned __int128)plan->rate_micro * ramp / 1000000u,
                    last = (unsigned __int128)plan->to_rate_micro * ramp / 1000000u;
  unsigned __int128 length = 2 * (unsigned __int128)(uint64_t)plan->ramp_ns;
  unsigned __int128 sum = first; /* r0 t + (r1 - r0) t^2 / 2T */
  if (last >= first) sum += (last - first) * ramp / length;
  else sum -= (first - last) * ramp / length;
  return (uint64_t)(sum + (unsigned __int128)plan->to_rate_micro * after / 1000000u);
}

static int64_t ramp_at(const struct schedule_plan *plan, uint64_t expected, int64_t not_before) {
  int64_t low = not_before, high = plan->length_ns;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (ramp_expected(plan, middle) >= expected) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* What the next arrival follows from. */
struct drawing {
  const struct schedule_plan *plan;
  struct random_stream random;
  int64_t mean_ns, at_ns;
  uint64_t expected; /* ramp */
  size_t n;
};

static int64_t next_arrival(struct drawing *d) {
  const struct schedule_plan *plan = d->plan;
  size_t k = d->n++;
  switch (plan->kind) {
    case SCHEDULE_CONSTANT: return constant_at(k, plan->rate_micro);
    case SCHEDULE_POISSON: return d->at_ns += random_exponential_ns(&d->random, d->mean_ns);
    case SCHEDULE_GAMMA: {
      double gap = (double)d->mean_ns * draw_gamma(&d->random, plan->shape) / plan->shape;
      return d->at_ns += gap < 1e18 ? (int64_t)gap : (int64_t)1e18;
    }
    case SCHEDULE_RAMP:
      d->expected += (uint64_t)random_exponential_ns(&d->random, 1000000000);
      return d->at_ns = ramp_at(plan, d->expected, d->at_ns);
    case SCHEDULE_GIVEN: return k < plan->n_given ? plan->given[k] : plan->length_ns;
    default: return plan->length_ns; /* closed: none */
  }
}

enum lynx_status schedule_make(struct schedule *ret, const struct schedule_plan *plan, struct lynx_error *error) {
  *ret = (struct schedule){.kind = plan->kind};
  bool rated = plan->kind != SCHEDULE_CLOSED && plan->kind != SCHEDULE_GIVEN;
  if (rated && plan->rate_micro == 0) return lynx_fail(error, LYNX_INPUT, "a rate of 0 requests/s; give a rate above 0");
  struct drawing d = {.plan = plan};
  random_init(&d.random, plan->seed, "arrivals");
  if (rated) d.mean_ns = (int64_t)(((unsigned __int128)1000000000u * 1000000u + plan->rate_micro / 2) / plan->rate_micro);
  size_t room = 0;
  for (int64_t at = next_arrival(&d); at < plan->length_ns; at = next_arrival(&d)) {
    if (ret->n_arrivals == SCHEDULE_MAX) {
      schedule_release(ret);
      return lynx_fail(error, LYNX_LIMIT, "more than %d arrivals in one session; shorten the windows or lower the rate", SCHEDULE_MAX);
    }
    ret->at_ns = xroom(ret->at_ns, ret->n_arrivals, &room, sizeof *ret->at_ns);
    ret->at_ns[ret->n_arrivals++] = at;
  }
  return LYNX_OK;
}

void schedule_release(struct schedule *schedule) {
  free(schedule->at_ns);
  *schedule = (struct schedule){0};
}

char *schedule_digest(const struct schedule *schedule, char *text) {
  struct digest digest = {{0}};
  uint8_t bytes[8], result[DIGEST_BYTES];
  digest_init(&digest);
  for (size_t i = 0; i < schedule->n_arrivals; i++) {
    for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)((uint64_t)schedule->at_ns[i] >> (56 - 8 * k));
    digest_update(&digest, bytes, sizeof bytes);
  }
  digest_final(&digest, result);
  return digest_hex(result, text);
}
