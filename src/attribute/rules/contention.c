/* Other processes take the processors while the server's threads are ready to run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

#define LEAST 0.05 /* of the time of the server's threads */

/* Neighbours of one program are one: the first whose processes together use half of what others use, or of what the five that were seen
 * at each look use, where that is a fifth of it at least; their number. */
static const struct live_neighbour *most_of_it(const struct live *live, double others, size_t *ret_n) {
  double listed = 0, all = others * (double)live->n_processors;
  for (size_t i = 0; i < live->n_neighbours; i++) listed += live->neighbours[i].asked > 0 ? 0 : live->neighbours[i].processors;
  for (size_t i = 0; i < live->n_neighbours; i++) {
    size_t length = live_program_length(live->neighbours[i].name);
    double sum = 0;
    if (live->neighbours[i].asked > 0) continue;
    *ret_n = 0;
    for (size_t k = 0; k < live->n_neighbours; k++) {
      if (live->neighbours[k].asked > 0 || live_program_length(live->neighbours[k].name) != length ||
          strncmp(live->neighbours[k].name, live->neighbours[i].name, length) != 0)
        continue;
      sum += live->neighbours[k].processors;
      (*ret_n)++;
    }
    if (sum >= 0.5 * all || (listed >= 0.2 * all && sum >= 0.5 * listed)) return &live->neighbours[i];
  }
  return NULL;
}

/* Processes of this machine that the server is connected with may be a part of it: the advice is not to move them. */
static bool has_local_peers(const struct live *live) {
  for (size_t i = 0; i < live->precision->n_sessions; i++)
    if (live->precision->sessions[i].felt.n_peers > 0) return true;
  return false;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double others = live->n_processors > 0 ? live_other_processors(live) / (double)live->n_processors : NAN, ready = live_ready_share(live);
  size_t n = 0;
  if (!(others >= 0.1) || ready < 0.1) return false;
  /* Who is ready waits for whatever runs: for the server's own threads, too. */
  double of_others = others * (double)live->n_processors / fmax(others * (double)live->n_processors + live->at.running, 1e-9);
  ret->share = ready * of_others;
  if (ret->share < LEAST) return false;
  const struct live_neighbour *most = most_of_it(live, others, &n);
  bool one = most != NULL, peers = has_local_peers(live) && live_asked(live) == NULL;
  if (peers) {
    ret->contributing = 0;
    (void)snprintf(ret->next, sizeof ret->next,
                   "see whether what runs there is a part of this server: it is connected with processes of this machine; else move it");
  }
  if (one && n == 1) (void)snprintf(ret->named, sizeof ret->named, "%.120s", most->name);
  else if (one)
    (void)snprintf(ret->named, sizeof ret->named, "%.*s, %zu processes", (int)fmin(120, (double)live_program_length(most->name)),
                   most->name, n);
  else if (!peers)
    (void)snprintf(ret->next, sizeof ret->next, "see what else runs there (top) and move it, or give the server processors of its own");
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "other processes use %.0f %% of the processors%s%.150s; the server's threads are ready and wait for a processor %.0f %% "
                 "of their time, for these others %.0f %%",
                 100 * others, one ? ", most of it " : ", no one program most of it", ret->named, 100 * ready, 100 * ret->share);
  return true;
}

const struct rule rule_contention;
const struct rule rule_contention = {
    .name = "contention",
    .summary = "other processes on the processors",
    .threshold = "10 % of the processors, and a tenth of the time of the server's working threads; half of that for these others",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Other processes take its processors",
              .perturber = "neighbour",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM),
              .open = "whose processes those are",
              .next = "move the process named elsewhere, or give the server processors of its own",
              .confirm = "stop the process named and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
