#include "experiment/perturber.h"

#include <stdio.h>
#include <time.h>

#define STEP_NS INT64_C(50000000)

int64_t perturber_now_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

bool perturber_wait(const struct perturbing *request, int64_t until_ns) {
  for (int64_t now; (now = perturber_now_ns()) < until_ns;) {
    int64_t next = now + STEP_NS < until_ns ? now + STEP_NS : until_ns;
    const struct timespec at = {.tv_sec = (time_t)(next / 1000000000), .tv_nsec = (long)(next % 1000000000)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    undo_beat(request->undo);
    if (atomic_load(request->stop)) return false;
  }
  return true;
}

void target_name(struct target *ret, const char *perturber, const char *what) {
  (void)snprintf(ret->name, sizeof ret->name, "%s: %s", perturber, what);
}
