/* Collectives that no computing hides. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  ret->share = state_share(a, STATE_COMMUNICATION, STATE_COMMUNICATION);
  if (ret->share < 0.05) return false;
  ret->bounded = true;
  ret->bound = ret->share;
  ret->bound_holds = "of this window, if what the host does stays as it is: hidden communication costs nothing";
  int n = snprintf(ret->evidence, sizeof ret->evidence,
                   "communication kernels run for %.2f ms in the whole trace; for %.1f %% of the window nothing computes beside them",
                   (double)a->class_busy_ns[WORK_COMMUNICATION] / 1e6, 100 * ret->share);
  if (e->collectives != NULL && e->collectives->all.n_matched > 0)
    (void)snprintf(ret->evidence + n, sizeof ret->evidence - (size_t)n,
                   "; over the ranks %.2f ms are transfer, the rest is waiting for one another",
                   (double)e->collectives->all.transfer_ns / 1e6);
  return true;
}

const struct rule rule_communication;
const struct rule rule_communication = {
    .name = "communication",
    .summary = "collectives that no computing hides",
    .threshold = "5 % of the window: our choice",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {
        .rung = RUNG_ACCOUNTED,
        .title = "communicates in the open",
        .symptom = LAYER_RUNTIME,
        .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_PROCUREMENT),
        .open = "from one rank alone: how much of it is transfer and how much waiting for a late rank (--ranks, with the traces of all)",
        .next = "overlap it with computing; look at the links and at the collective library's choice of algorithm",
        .confirm = "run the collectives alone at the same sizes"}};
