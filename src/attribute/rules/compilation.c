/* Compilation or loading of code inside the window: it was not warm. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  ret->share = state_share(a, STATE_COMPILE, STATE_COMPILE);
  if (ret->share < 0.01) return false;
  ret->bound_holds = "none: it is not part of the steady state, and the window should not hold it";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "for %.1f %% of the window the device does nothing, and the host compiles or loads code", 100 * ret->share);
  return true;
}

const struct rule rule_compilation;
const struct rule rule_compilation = {.name = "compilation",
                                      .summary = "compilation or code loading inside the window",
                                      .threshold = "1 % of the window: a window of the steady state holds none",
                                      .needs = NEEDS_TRACE,
                                      .apply = apply,
                                      .found = {.rung = RUNG_ACCOUNTED,
                                                .title = "compiles or loads code inside the window",
                                                .symptom = LAYER_FRAMEWORK,
                                                .contributing = LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_APPLICATION),
                                                .open = "whether it is the warm-up, or new shapes keep coming",
                                                .next = "trace later; if it recurs, fix or pad the shapes and keep the compiler's cache",
                                                .confirm = "trace a second window: what is still there is no warm-up"}};
