/* decide/bound.h: what an upgrade can gain at most, by elasticities that were measured on the slow side.
 *
 * Gain      throughput after / before, at the same number of requests in flight (of a latency: before / after)
 * E         elasticity, of T(s) = T(1) (1 + E (s - 1)): stats/elasticity.h. Given as the upper end of its interval it bounds from above
 * Serial    1 / (1 - E (1 - 1/f)): Amdahl (1967) with E for the share. An upper bound where T is convex in s: stages one after another,
 *           fork and join, pipelines, of which the times are maxima of sums (Baccelli et al., Synchronization and Linearity, 1992)
 * Concave   1 + (f - 1) E s / (1 + E (s - 1)), by the chord to slowness s. An upper bound where throughput is concave in speed; never below
 *           the serial one. Of several resources the gains add up (a concave function lies below its tangent plane)
 * All       no more than the greatest factor: if all that matters were faster by f, throughput would be, by f (homogeneous of degree one)
 * Limits    none of them holds where something fits after the upgrade that did not before (a cache, the requests in flight), or where
 *           other code runs: docs/decide.md */
#ifndef DECIDE_BOUND_H
#define DECIDE_BOUND_H

#include <stddef.h>

struct resource_bound {
  double elasticity; /* 0 or more */
  double slowness;   /* above 1: up to which the elasticity was measured */
  double factor;     /* 1 or more */
};

double bound_serial(const struct resource_bound *of, size_t n);  /* INFINITY where the shares are all of the time, or more */
double bound_concave(const struct resource_bound *of, size_t n); /* each gain added up */
double bound_factor(const struct resource_bound *of, size_t n);  /* the greatest factor; 1 of none */
/* The elasticity at which the concave bound of one resource is `gain` > 1. NAN: at none up to 1. */
double bound_elasticity_at(double gain, double slowness, double factor);

#endif
