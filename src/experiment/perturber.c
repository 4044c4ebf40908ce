#include "experiment/perturber.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
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

bool perturber_hear(const struct perturbing *request, int fd, int64_t until_ns, char *line, size_t size) {
  for (size_t n = 0; n < size && !atomic_load(request->stop); n++) {
    int64_t left;
    int ready = 0;
    while (ready == 0 && !atomic_load(request->stop) && (left = until_ns - clock_now(&clock_system)) > 0) {
      ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)((left < STEP_NS ? left : STEP_NS) / 1000000 + 1));
      if (ready < 0 && errno == EINTR) ready = 0;
      undo_beat(request->undo);
    }
    if (ready <= 0 || read(fd, &line[n], 1) != 1) return false;
    if (line[n] != '\n') continue;
    line[n] = 0;
    return true;
  }
  return false;
}

void perturber_keep(const struct perturbing *request, void **ret_state) {
  struct perturbing *own = xalloc(1, sizeof *own);
  *own = *request;
  *ret_state = own;
}

bool perturber_bind(int processor, int policy) {
  const struct sched_param none = {.sched_priority = 0};
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET((size_t)processor, &own);
  bool there = sched_setaffinity(0, sizeof own, &own) == 0;
  (void)sched_setscheduler(0, policy, &none);
  return there;
}

bool perturber_of_system(const char *what, enum layer *ret) {
  (void)what;
  *ret = LAYER_SYSTEM;
  return true;
}

void target_name(struct target *ret, const char *perturber, const char *what) {
  (void)snprintf(ret->name, sizeof ret->name, "%s: %s", perturber, what);
}
