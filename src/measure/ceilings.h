/* measure/ceilings.h: what this machine's processors, memory and kernel do at best: no workload's performance, context for one.
 * Units    bytes/s, operations/s, seconds, as each ceiling says
 * Method   threads pinned to the processors that this process may run on; each rate is the greatest of its repeats (as STREAM's is),
 *          each latency the median, with the range beside it
 * Source   McCalpin's STREAM for triad and copy: 24 and 16 bytes an element of 8 bytes, arrays four times the last caches, written
 *          first by the thread that uses them. Triad's stores go through the cache, so that the memory moves a third more than is
 *          counted, as in STREAM compiled so; copies are the C library's, whose stores may pass it by
 * Limits   other processes lower them: how much these used is in `others`
 */
#ifndef MEASURE_CEILINGS_H
#define MEASURE_CEILINGS_H

#include <stdatomic.h>

#include "base/root.h"

enum { CEILINGS_MAX = 96, CEILING_NAME = 64 };

enum ceiling_unit { CEILING_BYTES, CEILING_OPERATIONS, CEILING_SECONDS };

struct ceiling {
  char name[CEILING_NAME]; /* "memory.triad", "memory.triad.node0", "arithmetic.bf16.one_thread", "wake_up.thread" */
  const char *with;        /* by what: instructions, size; "" */
  enum ceiling_unit unit;
  double value, least, greatest; /* least and greatest of the repeats; of latencies the 1st and 99th percentile */
  int threads;
  int64_t n; /* repeats */
};

struct ceilings {
  struct ceiling items[CEILINGS_MAX];
  size_t n;
  double others; /* share of the processors that other processes used meanwhile; NaN: not known */
};

const char *ceiling_unit_text(enum ceiling_unit unit); /* "bytes/s" */

/* Takes some ten seconds. stop: not 0 ends it early, false. progress: what is measured next. */
bool ceilings_measure(const struct root *root, const atomic_int *stop, void (*progress)(void *context, const char *name), void *context,
                      struct ceilings *ret);

/* Memory, single-precision arithmetic and waking a thread alone, in about a second: enough to see whether this machine drifted. */
bool ceilings_measure_few(const struct root *root, const atomic_int *stop, struct ceilings *ret);

#endif
