/* A quota of the control group stops the serving processes. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double throttled = live->precision->conditions.throttled;
  if (!(throttled >= 0.02)) return false;
  const char *quota = live_fact(live, LAYER_SYSTEM, "cgroup.cpu-quota"), *period = live_fact(live, LAYER_SYSTEM, "cgroup.cpu-period");
  ret->share = fmin(1, throttled);
  (void)snprintf(ret->named, sizeof ret->named, "cgroup.cpu-quota %.40s of %.40s us", quota != NULL ? quota : "(not read)",
                 period != NULL ? period : "(not read)");
  (void)snprintf(ret->evidence, sizeof ret->evidence, "its control group was throttled %.0f %% of the time; %.100s", 100 * throttled,
                 ret->named);
  live_bound(live, &(struct live_work){.processors = 0}, ret);
  return true;
}

const struct rule rule_throttled;
const struct rule rule_throttled = {.name = "throttled",
                                    .summary = "throttled by a quota",
                                    .threshold = "2 % of the time: what the kernel counts (throttled_time)",
                                    .needs = NEEDS_THREADS,
                                    .apply = apply,
                                    .found = {.title = "A processor quota stops the server",
                                              .perturber = "quota",
                                              .rung = RUNG_ACCOUNTED,
                                              .symptom = LAYER_SYSTEM,
                                              .contributing = LAYER_BIT(LAYER_SYSTEM),
                                              .open = "whether more processors are available",
                                              .next = "raise the quota (cpu.max; cpu.cfs_quota_us of version 1; limits.cpu of a container)",
                                              .confirm = "raise the quota and measure again",
                                              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
