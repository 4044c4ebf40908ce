/* One rank makes the others wait. */
#include <stdio.h>

#include "attribute/rule.h"

#define ALONE 1.5 /* times what they wait for the next one: else ranks are late by turns */

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct collectives *c = e->collectives;
  if (c == NULL || c->n_ranks < 2 || c->all.n_matched < 10) return false;
  const struct rank_wait *last = collectives_latest(c, NULL), *second = collectives_latest(c, last);
  if (last->n_last < 10 || c->all.wait_ns <= 0) return false;
  double share = (double)last->caused_ns / (double)c->all.wait_ns, fair = last->by_chance / (double)last->n_matched;
  double others = (double)last->n_kept / (double)last->n_last; /* of its group */
  /* What each of these waits, on average, of what the trace shows of the device. */
  int64_t whole_ns = e->account->device_total_ns > e->account->wall_ns ? e->account->device_total_ns : e->account->wall_ns;
  ret->share = whole_ns > 0 ? (double)last->caused_ns / others / (double)whole_ns : 0;
  if (ret->share > 1) ret->share = 1; /* collectives of several streams wait at once */
  if (share < 0.5 || share < 1.5 * fair || (double)last->caused_ns < ALONE * (double)second->caused_ns || ret->share < 0.02) return false;
  ret->bounded = true;
  ret->bound = ret->share;
  ret->bound_holds = "of the time of the ranks that wait for it, if what all of them do stays as it is";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "rank %lld alone comes last in %lld of its %lld collectives; %.0f %% of what the ranks wait for one another they wait in "
                 "these (by chance %.0f %%), each of %.0f there %.1f us on average",
                 (long long)last->rank, (long long)last->n_last, (long long)last->n_matched, 100 * share, 100 * fair, others,
                 (double)last->caused_ns / 1e3 / (double)last->n_kept);
  return true;
}

const struct rule rule_straggler;
const struct rule rule_straggler = {
    .name = "straggler",
    .summary = "one rank makes the others wait",
    .threshold = "half of what the ranks wait for one another, and half as much again as by chance, is in collectives in which one rank is "
                 "last alone, half as "
                 "much again as for the next one, and takes 2 % of the window of those who wait: our choice",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {.rung = RUNG_ACCOUNTED,
              .title = "waits for one rank",
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_FACILITY) | LAYER_BIT(LAYER_SYSTEM) |
                              LAYER_BIT(LAYER_APPLICATION),
              .open = "whether that rank has more to do, or does the same more slowly (clocks, temperature, its host)",
              .next = "compare that rank's account with another's (--against); capture both hosts and diff them",
              .confirm = "move the rank to another device: if the place moves with the device, it is the device"}};
