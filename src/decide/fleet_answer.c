#include "decide/fleet_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "stats/quantile.h"

#define MORE 1.1 /* of a figure that is known to a tenth, or so */
#define FEWER 0.9

static void add_variant(struct fleet_answer *a, const char *what, size_t needed) {
  if (a->n_variants < FLEET_VARIANTS_MAX) a->variants[a->n_variants++] = (struct fleet_variant){what, needed};
}

static void vary_load(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_answer *a) {
  struct fleet_times times;
  struct fleet_load other = *load;
  other.rate_per_s = load->rate_per_s * MORE;
  add_variant(a, "10 % more requests", fleet_least(curve, &other, limit_s, &times));
  other.rate_per_s = load->rate_per_s * FEWER;
  add_variant(a, "10 % fewer requests", fleet_least(curve, &other, limit_s, &times));
  other = *load;
  other.burstiness = 2 * load->burstiness;
  add_variant(a, "twice as bursty", fleet_least(curve, &other, limit_s, &times));
}

static void vary_curve(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_answer *a) {
  struct fleet_times times;
  struct fleet_curve slower = *curve;
  for (size_t i = 0; i < slower.n; i++) slower.rate[i] *= FEWER;
  add_variant(a, "each executor 10 % slower", fleet_least(&slower, load, limit_s, &times));
}

static void vary_routing(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_answer *a) {
  static const char *const words[FLEET_ROUTINGS] = {"routed at random", "routed in turn", "routed to the better of two",
                                                    "routed to the least busy"};
  struct fleet_times times;
  struct fleet_load other = *load;
  for (int k = 0; k < FLEET_ROUTINGS; k++) {
    if (k == (int)load->routing) continue;
    other.routing = (enum fleet_routing)k;
    add_variant(a, words[k], fleet_least(curve, &other, limit_s, &times));
  }
}

/* With one in flight a request gets all of its executor: its work, divided by what one alone gets. */
static double alone(const struct fleet_curve *curve, const struct fleet_load *load) {
  double *sorted = xalloc(load->n_work, sizeof *sorted), mean = quantile_plain_mean(load->work, load->n_work);
  memcpy(sorted, load->work, load->n_work * sizeof *sorted);
  quantile_sort(sorted, load->n_work);
  double ret = quantile_of(sorted, load->n_work, load->percentile) / mean / fleet_rate(curve, 1);
  free(sorted);
  return ret;
}

void fleet_answer(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_answer *ret) {
  *ret = (struct fleet_answer){.alone = alone(curve, load)};
  if (ret->alone > limit_s) return; /* then no number is enough */
  ret->needed = fleet_least(curve, load, limit_s, &ret->times);
  if (ret->needed > 1) ret->fewer = fleet_simulate(curve, load, ret->needed - 1);
  vary_load(curve, load, limit_s, ret);
  vary_curve(curve, load, limit_s, ret);
  if (ret->needed != 1) vary_routing(curve, load, limit_s, ret);
}
