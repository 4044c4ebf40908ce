/* Requests are computed one at a time: two in flight give no more than one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { LEAST_LOOKS = 8 };
#define ALONE 1.3 /* requests that are worked on at once */

/* How many of those in flight are worked on, by the time that the server says they queue; NaN: it does not say. */
static double worked_on(const struct live *live) {
  double queue_ns = 0;
  bool told = false;
  for (size_t i = 0; i < live->n_phases && live->phases_of_server; i++) {
    told = told || strcmp(live->phases[i].name, "prefill") == 0 || strcmp(live->phases[i].name, "decode") == 0;
    if (strcmp(live->phases[i].name, "queue") == 0) queue_ns = live->phases[i].mean_ns;
  }
  return told && live->life_ns > 0 ? (double)live->at.concurrency * (1 - queue_ns / live->life_ns) : NAN;
}

static bool by_queue(const struct live *live, struct finding *ret) {
  double at_once = worked_on(live), free = live_idle_processors(live) + live_spinning_processors(live);
  if (live->at.n_lanes == 0 || live->at.concurrency < 2 || !(at_once <= ALONE) || !(free >= 0.4)) return false;
  ret->share = fmin(1, 1 - at_once / (double)live->at.concurrency);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "of %lld in flight %.2f are worked on, by the time that the server says its requests queue (%.0f %% of their life), and %.1f "
      "processors are idle or only spin",
      (long long)live->at.concurrency, at_once, 100 * ret->share, free);
  return true;
}

static bool by_growth(const struct live *live, struct finding *ret) {
  const struct result_precision *p = live->precision;
  if (p->n_steps < 2 || p->steps[0].concurrency != 1 || p->steps[1].concurrency != 2 || !live_one_at_a_time(live)) return false;
  const struct result_point *one = &p->steps[0].point, *two = &p->steps[1].point;
  double grown = two->time_to_first_token_p50 - one->time_to_first_token_p50;
  bool waits = grown >= 0.3 * one->end_to_end_p50, same_pace = two->tokens_per_s_per_user >= one->tokens_per_s_per_user / 1.4;
  if (!waits || !same_pace) return false;
  ret->share = fmin(1, grown / two->end_to_end_p50);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "from 1 to 2 in flight throughput goes from %.4g to %.4g, the first token from %.3g to %.3g ms, tokens come at the same "
                 "pace (%.3g and %.3g/s for each): the second waits for the first",
                 p->steps[0].throughput, p->steps[1].throughput, one->time_to_first_token_p50 / 1e6, two->time_to_first_token_p50 / 1e6,
                 one->tokens_per_s_per_user, two->tokens_per_s_per_user);
  return true;
}

/* Where the others wait meanwhile: in Go at a channel or a condition, in native code at a lock. */
static void name_queue(const struct live *live, struct finding *ret) {
  const struct live_place *place = &live->tasks[WAIT_OTHER];
  for (size_t i = 0; i < live->at.n_lanes && place->n == 0; i++)
    if (live->at.lanes[i].waiting[WAIT_LOCK].n > 0) place = &live->at.lanes[i].waiting[WAIT_LOCK];
  if (place->n < LEAST_LOOKS) return;
  live_name_place(place, ret);
  size_t n = strlen(ret->evidence);
  (void)snprintf(ret->evidence + n, sizeof ret->evidence - n, "; what waits does so most in %.120s", ret->named);
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  if (!by_growth(live, ret) && !by_queue(live, ret)) return false;
  name_queue(live, ret);
  return true;
}

const struct rule rule_one_at_a_time;
const struct rule rule_one_at_a_time = {
    .name = "one_at_a_time",
    .summary = "two in flight give no more than one",
    .threshold = "throughput grows by less than 10 % from 1 to 2 in flight, the first token waits 30 % of a whole request longer, the pace "
                 "of tokens falls by less than 30 %; or, by the server's own queue, at most 1.3 of those in flight are worked on, and 0.4 "
                 "of a processor is idle or spins",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "Requests are computed one at a time",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING),
              .open = "whether the model would gain from a batch",
              .next = "raise the largest batch, or start more workers",
              .confirm = "set the largest batch to 2 and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
