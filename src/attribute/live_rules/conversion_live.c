/* Values are converted from one type of number to another, and back, in calls whose function says so. */
#include <stdio.h>
#include <string.h>

#include "attribute/live_bound.h"
#include "attribute/live_rule.h"

static bool converts(const char *name) {
  static const char *const words[] = {"cast", "convert", "quant", "dtype", "to_float", "to_half", "upcast"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcasestr(name, words[i]) != NULL) return true;
  return false;
}

static bool is_conversion(const struct live_part *p) {
  return p->kind == LIVE_PYTHON && converts(p->what);
}

static bool apply(const struct live *live, struct finding *ret) {
  double sum = 0, most = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_callers; k++) {
      const struct live_caller *c = &live->at.lanes[i].callers[k];
      if (!converts(c->what)) continue;
      sum += c->share;
      if (c->share <= most) continue;
      most = c->share;
      (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", c->what, c->where);
      (void)snprintf(ret->process, sizeof ret->process, "%s", live->at.lanes[i].program);
    }
  if (sum < 0.05 || sum < 0.1 * live->at.running) return false;
  ret->share = sum / live->at.running;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "calls from functions whose names say so run %.0f %% of the server's running time, most of it from %.200s",
                 100 * ret->share, ret->named);
  const struct live_work work = live_work_of(live, is_conversion);
  live_bound(live, &work, ret);
  return true;
}

const struct live_rule live_rule_conversion_live;
const struct live_rule live_rule_conversion_live = {
    .name = "conversion",
    .summary = "conversions between types of numbers",
    .threshold = "5 % of the window and 10 % of the running time, in calls from functions whose names hold cast, convert, quant or dtype",
    .apply = apply,
    .found = {.title = "Values are converted back and forth",
              .perturber = "function",
              .otherwise = "processor",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_FRAMEWORK,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK),
              .open = "whether the narrower type is needed at all: what computes in it is not told apart",
              .next = "keep values in one type from end to end",
              .confirm = "run in the wider type throughout and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
