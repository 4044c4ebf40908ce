/* base/activity.h: what a thread did in a stretch of time, as the kernel counts it.
 * Units    nanoseconds; looks: a number of looks at the thread
 * Identity running + ready + waiting = the stretch; waiting is divided by what the looks at the thread found it waiting for */
#ifndef BASE_ACTIVITY_H
#define BASE_ACTIVITY_H

#include "base/status.h"

enum wait_kind {
  WAIT_TIMER,   /* a sleep */
  WAIT_LOCK,    /* a futex: a lock, a condition, an interpreter's lock */
  WAIT_NETWORK, /* a socket, or the event loop's call */
  WAIT_DISK,
  WAIT_OTHER,   /* another system call */
  WAIT_UNKNOWN, /* asleep, and the kernel does not say in what */
  WAIT_COUNT
};

const char *wait_kind_text(enum wait_kind kind); /* "timer", "lock", "network", "disk", "other", "unknown" */

struct thread_activity {
  int64_t process, thread;
  int64_t at_ns, span_ns;        /* the stretch's end and length */
  int64_t running_ns, system_ns; /* on a processor; of it, in the kernel (counted in ticks) */
  int64_t ready_ns;              /* runnable, and waiting for a processor */
  int64_t looks[WAIT_COUNT];     /* those that found it waiting */
  int64_t processor;             /* the last one; -1: not known */
};

struct thread_name {
  int64_t process, thread;
  const char *program, *name; /* of the process and of the thread, as the kernel has them */
  int64_t n_processors;       /* that it may run on; 0: not known */
};

#endif
