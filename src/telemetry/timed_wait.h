/* telemetry/timed_wait.h: is a wait that has a deadline a sleep? glibc waits for conditions, semaphores and timed locks in a futex with an
 * absolute deadline: Event.wait(0.05) and Queue.get(timeout=1) stand in the same call as a lock.
 *
 * Method   what is left until the deadline, at looks at random: where waits end by their deadlines it is even between nothing and the
 *          whole, half of it on average; where somebody wakes them sooner, near the whole. A sleep: eight looks or more that found a
 *          deadline, the most of which is left is more than CPython's own (5 ms, for which threads wait for its lock again and again),
 *          and on average less than 0.7 of the most
 * Units    nanoseconds
 * Errors   NaN: no wait with an absolute deadline, or it may not be read. Needs the rights of a debugger, as /proc/PID/task/TID/syscall does
 * Limits   relative deadlines (Go's and Rust's own) do not say when they began: such waits stay what they were */
#ifndef TELEMETRY_TIMED_WAIT_H
#define TELEMETRY_TIMED_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct timed_wait {
  double n, sum_ns, most_ns;
};

/* line: of /proc/PID/task/TID/syscall. */
double timed_wait_left_ns(int64_t process, const char *line);
void timed_wait_add(struct timed_wait *wait, double left_ns);
bool timed_wait_is_sleep(const struct timed_wait *wait);

#endif
