/* result/watched_change.h: two watches of one service: how much of the change of a mean latency is other demand, and how much happened at
 * equal demand.
 * Shapes   strata by octaves of prompt tokens and of output tokens; never by what was in flight, which is an effect
 * Units    ns
 * Result   demand + system = after - before. The intervals are over the watches' windows, drawn again (a block is a window: requests of one
 *          stall are one event)
 * Errors   those of rows.h. known is false, and why says it, with fewer than WATCHED_ROWS_LEAST requests a side, fewer than two windows, or
 *          where a tenth and more of the requests after are of kinds that the side before hardly has
 * Source   stats/demand_shift.h; the bootstrap's percentile interval, Efron 1979 */
#ifndef RESULT_WATCHED_CHANGE_H
#define RESULT_WATCHED_CHANGE_H

#include "result/figures.h"
#include "stats/demand_shift.h"

enum { WATCHED_ROWS_LEAST = 200, WATCHED_STRATUM_LEAST = 30 };

struct watched_part {
  double estimate, low, high;
};

struct watched_figure {
  double before_ns, after_ns;
  struct watched_part demand, system;
};

struct watched_change {
  bool known;
  const char *why; /* of not known */
  int64_t n[2];
  double unseen;                      /* share of the requests after whose kind the side before hardly has */
  double prompt[2], output[2];        /* mean tokens; NaN: not known */
  double prompt_unknown[2];           /* share of requests of which nobody knows how long the prompt is */
  double rate[2];                     /* requests per second */
  struct watched_figure first, whole; /* TTFT; end to end */
};

enum lynx_status watched_change_find(struct bundle *before, const struct result *a, struct bundle *after, const struct result *b,
                                     struct arena *arena, struct watched_change *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
