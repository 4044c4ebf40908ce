#include "drivers/wait.h"

#include <errno.h>
#include <time.h>

int wait_until(struct waiter *waiter, const struct lynx_clock *clock, int64_t deadline_ns, struct epoll_event *events, int n) {
  int64_t left = deadline_ns - clock_now(clock);
  if (left < 0) left = 0;
  struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
  int got = waiter->coarse ? -1 : epoll_pwait2(waiter->epoll, events, n, &timeout, NULL);
  if (waiter->coarse || (got < 0 && (errno == ENOSYS || errno == EPERM))) {
    waiter->coarse = true;
    got = epoll_wait(waiter->epoll, events, n, (int)(left / 1000000));
  }
  return got;
}
