/* stats/demand_shift.h: how much of a change of a mean comes from another mix of demand, and how much from each kind of demand being served
 * otherwise.
 * Shapes   strata[n]: kinds of demand, such as lengths of prompts; of each side its weight in all, and the mean of what it got. The weights of
 *          a side sum to 1; a stratum that a side lacks has weight 0 there, and its mean is not looked at
 * Result   demand + system = after - before, exactly: each side's difference is taken at the other's average. A stratum that only one
 *          side has counts as demand, whole: nothing was there that could have been served otherwise
 * Source   Kitagawa 1955; Blinder 1973 and Oaxaca 1973, with the average of both sides as the standard
 * Limits   what is conditioned on must come from outside: lengths do, requests in flight are an effect */
#ifndef STATS_DEMAND_SHIFT_H
#define STATS_DEMAND_SHIFT_H

#include <stddef.h>

struct stratum {
  double weight[2], mean[2]; /* before, after */
};

struct demand_shift {
  double before, after, demand, system;
};

struct demand_shift demand_shift(const struct stratum *strata, size_t n);

#endif
