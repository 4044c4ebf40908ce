/* stats/changes.h: where the level of a series changes, by how much, and how sure that is.
 *
 * Shapes   x[n] in the order of time; a change `at` i means that x[i] is the first value of the new level
 * Method   a value's score is its distance from the segment's median, in the noise's standard deviations, cut at 4. Candidates
 *          are splits of the segment, splits of intervals in it (seeded: each length 1/√2 of the one before) and intervals that
 *          differ from all else, by the standardised difference of mean scores, less √(ln(segment / interval) / 2). The greatest
 *          counts if it is greater than in a random order of the segment's blocks, drawn up to 999 times; then both sides are
 *          searched alike. Last, each change is tested again between its two neighbours and moved to the best place there; the
 *          weakest that fails goes and both its neighbours are tested again, until all hold
 * Blocks   so long that a series in which one value resembles the next keeps that in every random order: by the lag-1 correlation that
 *          differences at lag 1 and 2 show (their greatest fifth left out, so that steps do not count)
 * Error    a series without a change shows one with at most the probability `false_alarms` where the values are independent;
 *          docs/method.md#changes has what simulation shows where they are not. Each time that a series is looked at is one test
 * Result   size: the Hodges-Lehmann shift between both neighbouring segments, as a ratio where all values are positive, and its interval,
 *          widened for correlated values; values between places that fit as well are left out
 * Errors   none; fewer than 2 * least values have no change. Values are finite, their squares too
 * Source   seeded intervals: Kovács et al. 2023; against all else: Olshen et al. 2004; correlation by differences: Chakar et al. 2017;
 *          stopping early: Besag and Clifford 1991; places that are as good: Siegmund 1988; docs/method.md#changes
 * Limits   changes of level only, not of trend, period or noise; none in the first and last `least` values */
#ifndef STATS_CHANGES_H
#define STATS_CHANGES_H

#include "base/arena.h"

enum { CHANGES_MAX = 200, CHANGES_VALUES_MAX = 100000 };

struct change_plan {
  double false_alarms; /* of a series without change; 0.05 */
  size_t least;        /* values in a segment; 4 */
  size_t settled;      /* values after a change, from which on it is no longer provisional; 8 */
  size_t orders;       /* drawn in the first test, at least: for a small p; 0: as many as are usual */
  uint64_t seed;
  bool independent; /* no value is taken to resemble its neighbours: in a drift more is named, and in noise that wanders */
};

struct change {
  size_t at;
  size_t first, last;   /* places that fit as well, at about 95 % */
  double p;             /* of this change, between its neighbours */
  double before, after; /* medians of the neighbouring segments */
  bool ratio;           /* else the size is a difference */
  double size, low, high;
  bool bounded;     /* the interval is */
  bool provisional; /* few values follow */
};

struct changes {
  struct change *items;
  size_t n_items;      /* at most CHANGES_MAX */
  double p;            /* that a series without any change shows as much; 1 where it is too short */
  bool none_showed_it; /* no random order showed as much: p is as small as their number lets it be */
  double correlation;  /* of a value with the next, steps apart; whatever was taken for it */
  size_t block;
};

extern const struct change_plan change_plan_usual;

/* ret->items live in the arena. */
void changes_find(const double *x, size_t n, const struct change_plan *plan, struct arena *arena, struct changes *ret);

/* Which of m series show a change at all, where the share of falsely named ones is at most `rate` (Benjamini and Hochberg 1995):
 * p[i] is series i's. Returns the threshold: those with p at most this; 0: none. */
double changes_discovery(const double *p, size_t m, double rate);

#endif
