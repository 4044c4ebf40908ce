#include "experiment/perturber.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"

#define STEP_NS INT64_C(50000000)

void perturber_sleep(int64_t until_ns) {
  const struct timespec at = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
  (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

bool perturber_wait(const struct perturbing *request, int64_t until_ns) {
  for (int64_t now; (now = clock_now(&clock_system)) < until_ns;) {
    perturber_sleep(now + STEP_NS < until_ns ? now + STEP_NS : until_ns);
    undo_beat(request->undo);
    if (atomic_load(request->stop)) return false;
  }
  return true;
}

bool perturber_of_system(const char *what, enum layer *ret) {
  (void)what;
  *ret = LAYER_SYSTEM;
  return true;
}

void target_name(struct target *ret, const char *perturber, const char *what) {
  (void)snprintf(ret->name, sizeof ret->name, "%s: %s", perturber, what);
}
