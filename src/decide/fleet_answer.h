/* decide/fleet_answer.h: how many executors a load needs, and what the number rests on: each assumption changed by itself.
 * Time     about ten searches of some simulations each: seconds */
#ifndef DECIDE_FLEET_ANSWER_H
#define DECIDE_FLEET_ANSWER_H

#include "decide/fleet.h"

enum { FLEET_VARIANTS_MAX = 10 };

struct fleet_variant {
  const char *what; /* "the load 10 % higher" */
  size_t needed;    /* without the spare; 0: no number is enough */
};

struct fleet_answer {
  size_t needed;                   /* without the spare; 0: no number is enough */
  struct fleet_times times, fewer; /* of that number; of one less (not steady where there is none) */
  double alone;                    /* the percentile of requests that share with nobody, seconds: no number of executors is faster */
  struct fleet_variant variants[FLEET_VARIANTS_MAX];
  size_t n_variants;
};

void fleet_answer(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_answer *ret);

#endif
