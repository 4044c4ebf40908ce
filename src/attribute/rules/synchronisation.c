/* The host waits for the device where it need not, and the device then waits for the host. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  ret->share = state_share(a, STATE_SYNC, STATE_SYNC);
  double per_kernel = a->kernels.n > 0 ? (double)a->n_sync_calls / (double)a->kernels.n : 0;
  if (a->device < 0 || ret->share < 0.03) return false;
  ret->bound_holds = "none: what the host could do in the meantime is not in the trace";
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "the device is idle while the host is in a synchronising call: %.1f %% of the window; %lld such calls, %.2f for each kernel",
      100 * ret->share, (long long)a->n_sync_calls, per_kernel);
  if (10 * a->copied[COPY_WAY_TO_HOST].n < a->n_sync_calls) { /* almost nothing is read back */
    (void)snprintf(ret->open, sizeof ret->open, "what the host waits for each time: almost nothing is read back from the device");
    (void)snprintf(ret->next, sizeof ret->next,
                   "find who waits after each call (cudaStreamSynchronize behind a copy or a launch); wait once for many of them");
    (void)snprintf(ret->confirm, sizeof ret->confirm, "leave out one such wait per step and measure again");
  }
  return true;
}

const struct rule rule_synchronisation;
const struct rule rule_synchronisation = {
    .name = "synchronisation",
    .summary = "the host waits for an idle device",
    .threshold = "3 % of the window: our choice",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {.rung = RUNG_ACCOUNTED,
              .title = "synchronises while the device is idle",
              .symptom = LAYER_ACCELERATOR,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_SYSTEM),
              .open = "which tensor's value was asked for, and how long the wake-up of the waiting thread takes",
              .next = "find what reads values back (.item(), .cpu(), printing); let the host run ahead",
              .confirm = "remove one such read-back per step and measure again"}};
