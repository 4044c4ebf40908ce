/* The device has nothing to do because the host has not got so far. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  double operators = state_share(a, STATE_OPERATOR, STATE_OPERATOR), python = state_share(a, STATE_PYTHON, STATE_RANGE),
         calls = state_share(a, STATE_ALLOCATE, STATE_CALL);
  if (a->device < 0 || operators + python + calls < 0.1) return false;
  ret->share = operators + python + calls;
  ret->bounded = true;
  ret->bound = ret->share;
  ret->bound_holds = "of this window, if what the device does stays as it is: these states would at best vanish";
  state_named(e, STATE_ALLOCATE, STATE_RANGE, ret);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "with nothing queued, the device waits while the host dispatches operators (%.1f %% of the window), runs Python outside them or "
      "code inside named ranges (%.1f %%), or is in allocation, copy and other calls (%.1f %%)%s%s",
      100 * operators, 100 * python, 100 * calls, ret->named[0] != 0 ? "; most of it in " : "", ret->named);
  return true;
}

const struct rule rule_host_bound;
const struct rule rule_host_bound = {
    .name = "host_bound",
    .summary = "the host is late: operators, Python, calls",
    .threshold = "these states claim 10 % of the window: our choice; the least that a meeting would call significant",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {
        .rung = RUNG_ACCOUNTED,
        .title = "bound by the host",
        .symptom = LAYER_ACCELERATOR,
        .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_SYSTEM),
        .open =
            "whether the processor is slow, shared or throttled, or the code does too much: a trace does not show the processor's state; "
            "and how much of it is the profiler, which slows the host and not the device",
        .next = "look at the call paths under the late launches (--folded); compile or capture graphs; move work off the launching thread",
        .confirm = "slow the host's cores by a known amount: throughput that follows confirms it; one that does not refutes it"}};
