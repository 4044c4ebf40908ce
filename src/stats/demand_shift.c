#include "stats/demand_shift.h"

struct demand_shift demand_shift(const struct stratum *strata, size_t n) {
  struct demand_shift s = {0, 0, 0, 0};
  for (size_t i = 0; i < n; i++) {
    const struct stratum *k = &strata[i];
    double before = k->weight[0] > 0 ? k->mean[0] : k->mean[1], after = k->weight[1] > 0 ? k->mean[1] : k->mean[0];
    if (!(k->weight[0] > 0) && !(k->weight[1] > 0)) continue;
    s.before += k->weight[0] * before;
    s.after += k->weight[1] * after;
    s.demand += (k->weight[1] - k->weight[0]) * (before + after) / 2;
    s.system += (k->weight[0] + k->weight[1]) / 2 * (after - before);
  }
  return s;
}
