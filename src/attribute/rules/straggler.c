/* One rank makes the others wait. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct collectives *c = e->collectives;
  if (c == NULL || c->n_ranks < 2 || c->n_matched < 10) return false;
  const struct rank_wait *last = &c->ranks[0];
  int64_t waiting = 0;
  for (size_t i = 0; i < c->n_ranks; i++) {
    if (c->ranks[i].n_last > last->n_last) last = &c->ranks[i];
    waiting += c->ranks[i].wait_ns;
  }
  double share = (double)last->n_last / (double)c->n_matched, fair = 1.0 / (double)c->n_ranks;
  double mean_wait = (double)waiting / (double)(c->n_ranks * (size_t)(c->n_matched));
  /* What the others wait, on average, of what the trace shows of the device. */
  int64_t whole_ns = e->account->device_total_ns > e->account->wall_ns ? e->account->device_total_ns : e->account->wall_ns;
  ret->share = whole_ns > 0 ? (double)waiting / (double)(c->n_ranks - 1) / (double)whole_ns : 0;
  if (ret->share > 1) ret->share = 1; /* collectives of several streams wait at once */
  if (share < 0.5 || share < 1.5 * fair || ret->share < 0.02) return false;
  ret->bounded = true;
  ret->bound = ret->share;
  ret->bound_holds = "of the time: what the other ranks wait, if what all of them do stays as it is";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "rank %lld comes last in %lld of %lld collectives (%.0f %%; by chance %.0f %%); the ranks wait %.1f us on average in each",
                 (long long)last->rank, (long long)last->n_last, (long long)c->n_matched, 100 * share, 100 * fair, mean_wait / 1e3);
  return true;
}

const struct rule rule_straggler;
const struct rule rule_straggler = {
    .name = "straggler",
    .summary = "one rank makes the others wait",
    .threshold =
        "one rank is last in half of the collectives and half as often again as by chance, and waiting takes 2 % of the window: our choice",
    .apply = apply,
    .found = {.title = "waits for one rank",
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_ACCELERATOR) | LAYER_BIT(LAYER_FACILITY) | LAYER_BIT(LAYER_SYSTEM) |
                              LAYER_BIT(LAYER_APPLICATION),
              .open = "whether that rank has more to do, or does the same more slowly (clocks, temperature, its host)",
              .next = "compare that rank's account with another's (--against); capture both hosts and diff them",
              .confirm = "move the rank to another device: if the place moves with the device, it is the device"}};
