/* stats/stretches.h: when did everybody who was being answered wait at once?
 *
 * Shapes   an answer is under way from its first token to its last, and waited for from its sending to its first token; a gap is long by
 *          the caller's measure and lies within its answer
 * Result   the stretches in which at least two were under way or waited for, one at least was under way, and every one that was was in a
 *          long gap, of at least least_ns, in the order of time
 * Memory   24 bytes for each end of an answer or a gap while it works; *ret is the caller's to free
 * Source   our own: what stops one answer alone is its own, what stops all is the server's */
#ifndef STATS_STRETCHES_H
#define STATS_STRETCHES_H

#include <stddef.h>
#include <stdint.h>

struct stretch {
  int64_t from_ns, to_ns;
};

struct stops_wanted {
  const struct stretch *answers, *waits, *gaps;
  size_t n_answers, n_waits, n_gaps;
  int64_t least_ns;
};

size_t stops_find(const struct stops_wanted *wanted, struct stretch **ret);
/* How much of [from, to] they cover. stops: in the order of time, apart from one another. */
int64_t stops_within(const struct stretch *stops, size_t n, int64_t from_ns, int64_t to_ns);
/* The time from one begin to the next, where it is regular: at least six stops, half of the intervals within a tenth of their median, and
 * seven in ten within as much of a multiple of it (a stop that met nobody is not seen, one that met somebody late begins late). Begins at
 * random are so in about one case of a hundred. NaN: it is not. */
double stops_period(const struct stretch *stops, size_t n);

#endif
