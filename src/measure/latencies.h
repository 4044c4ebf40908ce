/* measure/latencies.h: how long this kernel takes to wake a thread, to start one, to keep an appointment, and to pass bytes through the
 * loopback.
 * Units    seconds; of rates bytes/s */
#ifndef MEASURE_LATENCIES_H
#define MEASURE_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>

enum { LATENCY_SAMPLES = 1000 };

struct latency {
  const char *name, *with;
  int threads;
  bool is_rate;
  /* On the first two of these processors, or the only one. Returns how many values there are; 0: it could not be measured. */
  size_t (*measure)(const int *processors, int n, double values[LATENCY_SAMPLES]);
};

extern const struct latency latencies_all[]; /* ends in an entry without a name */

/* The 1st percentile, the median and the 99th percentile; sorts. */
void latency_summary(double *values, size_t n, double *ret_low, double *ret_median, double *ret_high);

#endif
