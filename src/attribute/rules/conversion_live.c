/* Numbers are converted from one type to another, in calls whose function says so. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool converts(const char *name) {
  static const char *const words[] = {"cast", "convert", "quant", "dtype", "to_float", "to_half", "upcast"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcasestr(name, words[i]) != NULL) return true;
  return false;
}

static bool is_conversion(const struct live_part *p) {
  return p->kind == LIVE_PYTHON && converts(p->what);
}

/* Of who called them, looks tell only whose calls run most. */
static void say_callers(const struct live *live, struct finding *ret) {
  const struct live_caller *most = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_callers && live->at.lanes[i].kernels[LIVE_CONVERTING].share > 0; k++)
      if (most == NULL || live->at.lanes[i].callers[k].share > most->share) most = &live->at.lanes[i].callers[k];
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "kernels that copy numbers into another type run %.0f %% of the server's running time, most of it %.160s%s%.60s%s%.100s%s",
                 100 * ret->share, ret->named, most != NULL ? "; the calls that run most are from " : "", most != NULL ? most->what : "",
                 most != NULL ? " (" : "", most != NULL ? most->where : "", most != NULL ? ")" : "");
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
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
  bool by_function = sum >= 0.05 && sum >= 0.1 * live->at.running;
  if (!by_function && (live_kernels_of(live, LIVE_CONVERTING).share < 0.05 || !live_finds_kernels(live, LIVE_CONVERTING, 0.1, ret)))
    return false;
  const struct live_work work = by_function ? live_work_of(live, is_conversion) : live_work_of_kernels(live, LIVE_CONVERTING);
  if (by_function) {
    ret->share = fmin(1, sum / live->at.running);
    (void)snprintf(ret->evidence, sizeof ret->evidence,
                   "calls from functions whose names say so run %.0f %% of the server's running time, most of it from %.200s",
                   100 * ret->share, ret->named);
  } else say_callers(live, ret);
  live_bound(live, &work, ret);
  return true;
}

const struct rule rule_conversion_live;
const struct rule rule_conversion_live = {
    .name = "conversion",
    .summary = "conversions between types of numbers",
    .threshold = "5 % of the window and 10 % of the running time, in calls from functions whose names hold cast, convert, quant or dtype, "
                 "or in kernels of PyTorch and NumPy that copy into another type",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Numbers are converted into another type again and again",
              .perturber = "function",
              .otherwise = "processor",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_FRAMEWORK,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK),
              .open = "which of the two types is needed: the profile does not say what computes in each",
              .next = "convert them once, and keep them in the type that is computed in",
              .confirm = "convert them once before, and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
