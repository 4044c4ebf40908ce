/* stats/saturation.h: which load is sustained, and the search for the greatest one.
 *
 * Sustained  completions keep up with arrivals: the backlog's growth, as a share of the arrivals, is not above zero. It is read
 *            from the backlog's changes over equal parts of the window: under overload the backlog is a random walk with
 *            drift, whose changes are independent of one another; below it they pull back, and the interval is on the safe side
 *            Not sustained: the whole interval is above an eighth of the resolution, or above zero with an estimate above half
 *            of it. Sustained: it is below half. Between the two more is measured, and at last the estimate decides
 * Search     doubling until a load fails (or `to` passes), halving below the first if that fails, then bisection by the geometric mean
 *            until failing / passing <= 1 + resolution. What is measured again later may correct it: it then goes on from there
 * Needs      arrivals_needed(resolution): a load of 1 + resolution times the capacity leaves resolution/2 above the threshold with
 *            98.75 % certainty where gaps and service times vary like exponential ones; more even traffic needs fewer
 * Limits     the passing and the failing load are measured, the capacity between them is not */
#ifndef STATS_SATURATION_H
#define STATS_SATURATION_H

#include <stdbool.h>
#include <stddef.h>

enum load_verdict { LOAD_SUSTAINED, LOAD_NOT_SUSTAINED, LOAD_UNDECIDED };

struct growth {
  double estimate, low, high; /* backlog growth as a share of the arrivals */
  size_t n_parts;
};

/* changes[n]: arrivals minus departures in each part of the window(s); n_arrivals: in all of them. */
struct growth growth_of(const double *changes, size_t n, double n_arrivals, double confidence);

/* final: no more will be measured, so an undecided load is decided by the estimate. */
enum load_verdict growth_verdict(const struct growth *growth, double resolution, bool final);

double saturation_arrivals_needed(double resolution);

enum search_end { SEARCH_GOES_ON, SEARCH_FOUND, SEARCH_NOT_SATURATED, SEARCH_NOTHING_SUSTAINED, SEARCH_TOO_LONG };

struct saturation_search {
  double from, to, resolution;
  double passing, failing; /* 0: none yet */
  size_t n_points;
};

enum { SEARCH_POINTS_MAX = 60 };

/* The load to measure next; *ret_end says why there is none. */
double saturation_next(const struct saturation_search *search, enum search_end *ret_end);
void saturation_tell(struct saturation_search *search, double load, bool sustained);

#endif
