/* attribute/live_change.h: what changed between two live runs: latencies, waits, and the processor time that each part takes per request.
 * Units    seconds per request: a part's share of the window over the requests per second. Differences are B's to A's: after less before
 * Limits   it accounts: what grew is not thereby the cause. Runs at other numbers in flight or of other lengths are not compared */
#ifndef ATTRIBUTE_LIVE_CHANGE_H
#define ATTRIBUTE_LIVE_CHANGE_H

#include "attribute/live_shape.h"

enum { LIVE_CHANGES_MAX = 64 };

struct live_change_part {
  const char *what, *where;
  bool attributed;
  enum layer layer;
  double before_s, after_s; /* per request */
};

struct live_change {
  const struct live *before, *after; /* borrowed */
  bool abstained;
  const char *why;                                                       /* of abstaining */
  const char *sentence;                                                  /* "TPOT +3.6 ms, TTFT the same: work per token" */
  double first_before_ns, first_after_ns, each_before_ns, each_after_ns; /* medians */
  double rate_before, rate_after;                                        /* requests per second */
  struct {
    const char *state;
    double before_s, after_s;
  } states[8]; /* of all threads, per request */
  size_t n_states;
  struct live_change_part parts[LIVE_CHANGES_MAX]; /* the greatest change first */
  size_t n_parts;
};

void live_change_find(const struct live *before, const struct live *after, struct arena *arena, struct live_change *ret);

#endif
