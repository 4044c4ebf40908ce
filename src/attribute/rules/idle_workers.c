/* Requests reach some of the processes that are there for them, and others like them have nothing to do. */
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_alike *a = &live->workers;
  if (!live_workers_idle(live)) return false;
  ret->share = 1 - a->idle;
  (void)snprintf(ret->named, sizeof ret->named, "%.200s", a->where);
  (void)snprintf(ret->process, sizeof ret->process, "%s", a->program);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%zu processes are in %.160s; at %lld in flight %zu of them run%s for %.2f of a processor at most, and %lld for %.2f",
                 a->n, a->where, (long long)a->concurrency, a->n_idle, a->n_idle == 1 ? "s" : "", a->idle, (long long)a->process,
                 a->busiest);
  return true;
}

const struct rule rule_idle_workers;
const struct rule rule_idle_workers = {
    .name = "idle_workers",
    .summary = "processes that are alike, of which some have nothing to do",
    .threshold = "processes whose main threads are in the same functions of their own (two at least); one runs for a fifth of a processor, "
                 "another for a twentieth of that; and fewer work than there are requests in flight",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {
        .title = "Requests reach some of its workers only",
        .rung = RUNG_ACCOUNTED,
        .symptom = LAYER_SERVING,
        .contributing = LAYER_BIT(LAYER_SERVING),
        .open = "whether the others are there for the same requests (not another model or tenant), and who chooses among them",
        .next = "look at what the choice of a worker goes by (a name, a hash, a connection that is kept): all of these requests look alike "
                "to it; workers of another model are idle by right",
        .confirm = "give each request to the next worker in turn, and measure again",
        .bound_holds = "no bound: the other workers may need what this one uses"}};
