/* base/clock.h: time, handed in so that tests can replace it.
 * Units    nanoseconds; monotonic for everything measured, realtime only to say when it was and to read kernel stamps */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct lynx_clock {
  int64_t (*monotonic_ns)(void *context);
  int64_t (*realtime_ns)(void *context);
  void *context;
};

extern const struct lynx_clock clock_system;

static inline int64_t clock_now(const struct lynx_clock *clock) {
  return clock->monotonic_ns(clock->context);
}

/* Whole seconds since 1970, by the wall clock. */
static inline int64_t clock_realtime_s(const struct lynx_clock *clock) {
  return clock->realtime_ns(clock->context) / 1000000000;
}

/* realtime - monotonic, from the tightest of five readings; *ret_uncertainty_ns is half that reading's width. */
int64_t clock_offset(const struct lynx_clock *clock, int64_t *ret_uncertainty_ns);

/* "2026-11-20T19:03:31Z"; text holds at least 32 bytes. */
char *clock_text(char *text, int64_t realtime_ns);

#endif
