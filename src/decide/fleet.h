/* decide/fleet.h: how many executors a load needs, from the curve of one.
 *
 * Curve     requests answered each second with n in flight, from a climb. Between measured n a straight line, which is on the safe side
 *           of a concave curve; beyond the greatest nothing was measured, so that no more are served at once: they wait, first come first
 *           served
 * Model     each executor is a flow-equivalent server (Chandy, Herzog and Woo 1975): the n that it serves share its rate(n) evenly. Exact
 *           for closed product-form networks; close for continuous batching. A request's work is drawn from what requests alone took
 * Arrivals  Poisson; burstier, of coefficient of variation c > 1, hyperexponential of two phases with balanced means (Whitt 1982)
 * Routing   random; in turn; the better of two at random (Mitzenmacher 2001); the least in flight. Ties by lot. What is in flight is known
 *           at once
 * Result    times in the system, from a simulation with a seed: the same numbers give the same times. Intervals are Student's over ten
 *           batches: of the simulation alone, not of the curve
 * Limits    no prefix caches, no failures, no cold starts; one mix of requests; the network between takes no time
 * Units     requests/s, seconds */
#ifndef DECIDE_FLEET_H
#define DECIDE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_BUSY_MOST 0.95 /* of what an executor gives when it is full: closer to it, times are those of the moment, and no forecast */
enum { FLEET_POINTS_MAX = 64, FLEET_IN_FLIGHT_MAX = 4096, FLEET_MOST = 1024 };

struct fleet_curve {
  size_t n;
  double in_flight[FLEET_POINTS_MAX], rate[FLEET_POINTS_MAX]; /* ascending; above 0 */
};

enum fleet_routing { FLEET_RANDOM, FLEET_IN_TURN, FLEET_TWO_CHOICES, FLEET_LEAST, FLEET_ROUTINGS };
const char *fleet_routing_text(enum fleet_routing routing);

struct fleet_load {
  double rate_per_s, burstiness; /* coefficient of variation of the times between arrivals: 1 or more */
  enum fleet_routing routing;
  const double *work; /* of single requests, in any unit; its mean is taken for 1 */
  size_t n_work;
  double percentile; /* of the times: between 0 and 1 */
  uint64_t seed;
  size_t
      n_arrivals; /* that count, at least (bursts, and executors that are nearly full, take ten times as many); a tenth more come before */
};

struct fleet_figure {
  double estimate, low, high;
};

struct fleet_times {
  bool steady; /* false: more came than are answered, or nearly; nothing else is said */
  struct fleet_figure mean, quantile;
  double in_flight; /* of one executor, on average */
  double waiting;   /* share of requests that found their executor full, and waited */
};

/* Answers each second with so many in flight. */
double fleet_rate(const struct fleet_curve *curve, double in_flight);
double fleet_capacity(const struct fleet_curve *curve); /* the greatest rate of one executor */

struct fleet_times fleet_simulate(const struct fleet_curve *curve, const struct fleet_load *load, size_t n_executors);
/* The fewest executors of which the quantile's interval lies at or below the limit. 0: none of up to FLEET_MOST. */
size_t fleet_least(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_times *ret);

/* One executor by Poisson arrivals, exactly: pi(n) in proportion to the product of load / rate(i). mean: NAN where it is not steady. */
struct fleet_exact {
  double mean, wait, waiting; /* in the system; before it is served; share of requests that wait */
};
struct fleet_exact fleet_exact(const struct fleet_curve *curve, double rate_per_s);

#endif
