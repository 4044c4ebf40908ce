/* drivers/wait.h: waits for sockets or pipes until a time on the monotonic clock.
 * Result   as epoll_wait; to the nanosecond where the kernel can (Linux 5.11), else to the millisecond, and the lag shows it */
#ifndef DRIVERS_WAIT_H
#define DRIVERS_WAIT_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "base/clock.h"

struct waiter {
  int epoll;
  bool coarse; /* no nanosecond waits on this kernel */
};

int wait_until(struct waiter *waiter, const struct lynx_clock *clock, int64_t deadline_ns, struct epoll_event *events, int n);

#endif
