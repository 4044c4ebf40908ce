#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id) {
  struct timespec t;
  (void)clock_gettime(id, &t); /* cannot fail for these two clocks */
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t system_monotonic(void *context) {
  (void)context;
  return read_clock(CLOCK_MONOTONIC);
}

static int64_t system_realtime(void *context) {
  (void)context;
  return read_clock(CLOCK_REALTIME);
}

const struct lynx_clock clock_system = {system_monotonic, system_realtime, NULL};

int64_t clock_offset(const struct lynx_clock *clock, int64_t *ret_uncertainty_ns) {
  int64_t best = INT64_MAX, offset = 0;
  for (int i = 0; i < 5; i++) {
    int64_t before = clock->monotonic_ns(clock->context);
    int64_t wall = clock->realtime_ns(clock->context);
    int64_t width = clock->monotonic_ns(clock->context) - before;
    if (width >= best) continue;
    best = width;
    offset = wall - (before + width / 2);
  }
  if (ret_uncertainty_ns != NULL) *ret_uncertainty_ns = best / 2;
  return offset;
}

char *clock_text(char *text, int64_t realtime_ns) {
  time_t seconds = (time_t)(realtime_ns / 1000000000);
  struct tm t;
  if (gmtime_r(&seconds, &t) == NULL) t = (struct tm){.tm_year = 70, .tm_mday = 1};
  (void)snprintf(text, 32, "%04d-%02d-%02dT%02d:%02d:%02dZ", (t.tm_year + 1900) % 10000, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min,
                 t.tm_sec);
  return text;
}
