/* All answers in flight stop at once, again and again: what makes the tail, and what no mean shows. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "attribute/live_stops.h"
#include "base/arena.h"

#define FILLED 0.9 /* of the processors */

/* What its threads' state in the stops says to do, and of whom. */
static const struct advice {
  int state;
  unsigned contributing;
  const char *next;
} advice[] = {
    {STOPPED_RUNNING, 0,
     "look at what that thread runs then: garbage collection (gc.freeze(), gc.get_stats()), compilation for a new shape, a refresh, "
     "writing logs; a profiler that keeps the time of its looks shows it"},
    {STOPPED_READY, LAYER_BIT(LAYER_SYSTEM),
     "give it processors of its own, or a higher priority: something else runs on its processor then"},
    {STOPPED_WAIT + WAIT_DISK, LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_APPLICATION), "keep what it reads or writes then off its path"},
    {STOPPED_WAIT + WAIT_LOCK, 0, "find who holds that lock then: another thread's work under it stops all"},
    {STOPPED_WAIT + WAIT_TIMER, 0, "find the sleep in its loop: it stops all, as nothing else can go on meanwhile"},
    {STOPPED_WAIT + WAIT_NETWORK, 0, "find whom it asks then: an answer that it waits for in its loop stops all"},
};

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_stops *s = &live->stops;
  struct arena arena = {0};
  if (!live_stops_matter(s)) return false;
  /* Where its own threads fill the processors they take turns there: nothing else stops them. */
  if (s->thread.program != NULL && s->thread.state == STOPPED_READY && live->at.running >= FILLED * (double)live->n_processors)
    return false;
  ret->share = fmin(1, s->share);
  if (s->at_first >= LIVE_STOPS_OF_PROMPTS) {
    ret->contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_DEMAND);
    (void)snprintf(ret->next, sizeof ret->next,
                   "a new prompt is worked on while the other answers wait: divide it (chunked prefill), or do it elsewhere");
  } else
    for (size_t i = 0; s->thread.program != NULL && i < LYNX_COUNT(advice); i++) {
      if (advice[i].state != s->thread.state) continue;
      ret->contributing = advice[i].contributing;
      (void)snprintf(ret->next, sizeof ret->next, "%s", advice[i].next);
    }
  (void)snprintf(ret->evidence, sizeof ret->evidence, "%s", live_stops_text(live, &arena));
  arena_release(&arena);
  return true;
}

const struct rule rule_stops;
const struct rule rule_stops = {
    .name = "stops",
    .summary = "all answers in flight stop at once, again and again",
    .threshold = "five stops, and 5 % of the time; or 2 %, half of the longest thousandth of the gaps between tokens, and a tenth of an "
                 "answer's p99",
    .needs = NEEDS_REQUESTS,
    .apply = apply,
    .found = {.title = "All answers stop at once, again and again",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .open = "what is done in the stops: samples of threads are half a second long, stops often shorter",
              .next = "look at what the server does at these times (its log, garbage collection, compilation, a timer)",
              .confirm = "leave out what runs at these times, or do it twice as often, and see whether the stops follow",
              .bound_holds = "no bound: what was stopped is done afterwards"}};
