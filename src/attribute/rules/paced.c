/* Tokens or requests come at a pace that no work sets, and the place is known in which the server waits for it. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_pace.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { LEAST_LOOKS = 8 };
#define DELAYED_LEAST_NS 39e6 /* Linux delays an acknowledgement by 40 ms (TCP_DELACK_MIN) */
#define DELAYED_MOST_NS 50e6
#define TIMER_SEEN 0.3 /* of the looks at waits of a loop */
#define TIMER_MOST 0.5
#define TIMER_OF_PACE 1.3

/* The event loop's own timer is due no later than that: then what it wakes may set the pace. */
static bool loop_has_timer(const struct live_lane *l, double least, double most_ns) {
  return l->polls >= least && l->poll_ms <= most_ns / 1e6 + 1;
}

/* A goroutine that sleeps for long, as one that refreshes something, sets no pace: the runtime's timer says for how long. */
static bool by_task(const struct live *live, double most_ns, struct finding *ret) {
  const struct live_place *task = &live->tasks[WAIT_TIMER];
  bool soon = false;
  for (size_t i = 0; i < live->at.n_lanes; i++) soon = soon || loop_has_timer(&live->at.lanes[i], TIMER_SEEN, most_ns);
  if (task->n < LEAST_LOOKS || !soon) return false;
  live_name_place(task, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence, "a goroutine sleeps in %.120s, in %lld looks", ret->named, (long long)task->n);
  return true;
}

static bool by_loop(const struct live *live, double pace_ns, struct finding *ret) {
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if (!loop_has_timer(l, TIMER_MOST, TIMER_OF_PACE * pace_ns)) continue;
    (void)snprintf(ret->named, sizeof ret->named, "a timer of %.0f ms in %.60s's event loop", l->poll_ms, l->program);
    (void)snprintf(ret->process, sizeof ret->process, "%s", l->program);
    (void)snprintf(ret->evidence, sizeof ret->evidence,
                   "%.40s's event loop waits with a timer of its own that is due in %.0f ms (median), in %.0f %% of the looks at it",
                   l->program, l->poll_ms, 100 * l->polls);
    return true;
  }
  return false;
}

/* Threads of requests wait in the same function for the other end of a connection: not for the next request, which is asked for elsewhere. */
static bool by_peer(const struct live *live, double pace_ns, struct finding *ret) {
  const struct live_lane *best = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    bool asks = l->waiting[WAIT_NETWORK].n >= LEAST_LOOKS && l->waiting[WAIT_NETWORK].share >= 0.5 && l->polls < TIMER_SEEN;
    if (asks && (best == NULL || l->waiting[WAIT_NETWORK].n > best->waiting[WAIT_NETWORK].n)) best = l;
  }
  if (best == NULL) return false;
  const struct live_place *at = &best->waiting[WAIT_NETWORK];
  bool delayed = pace_ns >= DELAYED_LEAST_NS && pace_ns <= DELAYED_MOST_NS;
  (void)snprintf(ret->process, sizeof ret->process, "%s", best->program);
  live_name_place(at, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "the threads of %.40s wait for the other end of a connection, most in %.160s, by %.0f %% of the looks at such waits%s",
                 best->program, ret->named, 100 * at->share,
                 delayed ? "; 40 ms and a little is what Linux's delayed acknowledgement takes where small writes follow one another "
                           "(Nagle's algorithm, TCP_NODELAY not set)"
                         : "");
  (void)snprintf(ret->confirm, sizeof ret->confirm, "%s",
                 delayed ? "set TCP_NODELAY there and measure again" : "answer that call from memory and measure again");
  (void)snprintf(ret->next, sizeof ret->next, "%s",
                 delayed ? "set TCP_NODELAY at both ends of that connection, or write what belongs together at once"
                         : "look at what that function asks, and how long it takes there");
  return true;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_pace pace = live_pace_of(live);
  if (!pace.fixed && !pace.in_turn) return false;
  double busiest = live_busiest(&live->at)->busiest;
  ret->share = fmin(1, fmax(0, 1 - busiest));
  double most_ns = pace.fixed ? TIMER_OF_PACE * pace.alone_ns : live->life_ns;
  return by_task(live, most_ns, ret) || by_loop(live, pace.alone_ns, ret) || by_peer(live, pace.alone_ns, ret);
}

const struct rule rule_paced;
const struct rule rule_paced = {
    .name = "paced",
    .summary = "a pace that a timer or another service sets",
    .threshold =
        "tokens at a fixed pace or requests at a fixed rate (live_pace.h), and 8 looks that found a goroutine asleep in a function of "
        "the program's own; or half of the looks at an event loop that found its timer due no later than the next token; or half of "
        "those at threads of requests that found them waiting for a connection in one function",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "A timer or another service sets the pace",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SERVING,
              .contributing = LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_APPLICATION),
              .open = "whether that pace is wanted: a limit that was agreed looks the same",
              .next = "take the timer out or halve it, or wait for the event itself",
              .confirm = "halve the timer and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
