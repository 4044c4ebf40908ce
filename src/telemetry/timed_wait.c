#include "telemetry/timed_wait.h"

#include <linux/futex.h>
#include <math.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define LOOKS_LEAST 8
#define OWN_OF_PYTHON_NS 6e6 /* the interval of CPython's lock, and what comes late */
#define EVEN 0.7

double timed_wait_left_ns(int64_t process, const char *line) {
  long number;
  unsigned long long operation, deadline_at;
  struct timespec deadline, now;
  struct iovec here = {&deadline, sizeof deadline};
  if (sscanf(line, "%ld 0x%*x 0x%llx 0x%*x 0x%llx", &number, &operation, &deadline_at) != 3) return NAN;
  if (number != SYS_futex || (operation & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET || deadline_at == 0) return NAN;
  struct iovec there = {(void *)(uintptr_t)deadline_at, sizeof deadline}; // NOLINT(performance-no-int-to-ptr)
  if (process_vm_readv((pid_t)process, &here, 1, &there, 1, 0) != (ssize_t)sizeof deadline) return NAN;
  (void)clock_gettime((operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  double left = ((double)deadline.tv_sec - (double)now.tv_sec) * 1e9 + ((double)deadline.tv_nsec - (double)now.tv_nsec);
  return left >= 0 && left < 1e15 ? left : NAN; /* it is over, and what lies there may be something else by now */
}

void timed_wait_add(struct timed_wait *wait, double left_ns) {
  wait->n++;
  wait->sum_ns += left_ns;
  wait->most_ns = fmax(wait->most_ns, left_ns);
}

bool timed_wait_is_sleep(const struct timed_wait *wait) {
  return wait->n >= LOOKS_LEAST && wait->most_ns > OWN_OF_PYTHON_NS && wait->sum_ns < EVEN * wait->n * wait->most_ns;
}
