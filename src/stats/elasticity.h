/* stats/elasticity.h: how a response follows what was done to a resource, from blocks in random order.
 *
 * Elasticity  E in t = t0 (1 + E (s - 1)): how the time t of the whole follows the slowness s of one resource (1: undisturbed). At s = 1 it
 *             is d ln(t) / d ln(s); of what is done one after another it is the resource's share of t, whatever s was tried
 * Fit         of a time t: least squares of ln(t) within groups, by Gauss and Newton: near E, ln(1 + E (s - 1)) is a line in E. Of a rate
 *             1/t: Poisson pseudo-maximum likelihood with an effect of each group (Gourieroux, Monfort and Trognon 1984; Santos Silva and
 *             Tenreyro 2006), by reweighted least squares. It is of the mean rate, so that a block in which nothing was answered counts
 *             once, where its ln would outweigh all others. Of several maxima, the one nearest to no effect
 * Shapes      points in groups: the blocks of one cycle, in which every level was tried, are a group; a group of one point tells nothing
 * Result      the slope of y on x within groups (each group has its own level, so that drift between groups does not reach the slope), and
 *             its interval by the t distribution with n - 1 degrees of freedom. n: the groups; where they do not tell the same, the square
 *             of the sum of what they tell divided by the sum of its squares (as of unequal weights: Kish 1965)
 * Source      the within (fixed effects) estimator with a variance by groups (Liang and Zeger 1986; Arellano 1987), times n / (n - 1): it
 *             holds although the blocks of a group depend on one another. Where the groups' scores do so too (first autocorrelation r > 0),
 *             the variance is multiplied by (1 + r) / (1 - r) (Bartlett 1946, as for a first-order autoregression)
 * Limits      bounded is false for fewer than 3 groups that tell, for n below 2, or where x does not vary within any; docs/method.md#perturbation */
#ifndef STATS_ELASTICITY_H
#define STATS_ELASTICITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_point {
  int64_t group;
  double x, y, weight; /* weight: 0 or more; the least squares' own */
};

struct slope {
  double estimate, low, high;
  double error; /* its standard error */
  size_t n, n_groups;
  bool bounded;
};

/* Points of one group stand together; groups are numbers of cycles, 0 or more, in ascending order. */
struct slope slope_within(const struct block_point *points, size_t n, double confidence);

/* What x and y are, and so the slope. Weights do not matter. */
enum follows {
  LN_TIME_FOLLOWS_SLOWNESS, /* x > 0; y: ln of a time. The elasticity */
  RATE_FOLLOWS_SLOWNESS,    /* x > 0; y: a rate, 0 or more. The elasticity of the time */
  RATE_FOLLOWS_EXPONENT,    /* y: a rate, 0 or more. d ln(rate) / dx */
};

/* In place: to points whose slope, by slope_within or slope_sum, is that of the fit. False: the fit is at its bound, and tells nothing. */
bool elasticity_linearise(struct block_point *points, size_t n, enum follows follows);

/* Its negative. */
struct slope slope_turned(struct slope slope);

/* The sum of several slopes whose points share groups, and in them the blocks without any perturbation: what two slopes have in common
 * counts. */
struct slope slope_sum(const struct block_point *const *points, const size_t *n, size_t n_slopes, double confidence);

#endif
