/* bench/measuring.h: what the benchmarks in C share: a clock in seconds, and an end with the reason where a step fails. */
#ifndef BENCH_MEASURING_H
#define BENCH_MEASURING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"

static inline double seconds(clockid_t clock) {
  struct timespec t;
  (void)clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void must(enum lynx_status status, const struct lynx_error *error) {
  if (status == LYNX_OK) return;
  (void)fprintf(stderr, "%s: %s: %s\n", error->file, error->field, error->message);
  exit(1);
}

#endif
