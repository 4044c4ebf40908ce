/* telemetry/wait_call.h: in which system call a thread waits, and for what, by /proc/PID/task/TID/syscall and wchan.
 * Rights   those of a debugger for the first
 * Limits   numbers of this machine's own system calls */
#ifndef TELEMETRY_WAIT_CALL_H
#define TELEMETRY_WAIT_CALL_H

#include "base/activity.h"
#include "base/root.h"

struct wait_call {
  bool waits; /* false: it runs, or waits in no call */
  long number;
  char line[256];                                  /* as the kernel wrote it */
  unsigned long long arguments[6], stack, address; /* its stack pointer; the instruction behind the call */
};

/* Of the call's number; of the kernel's function that it sleeps in. */
enum wait_kind wait_kind_of_call(long number);
enum wait_kind wait_kind_of_place(const char *place);

/* Of a call that reads or writes by a descriptor: by what that is, a socket, a pipe or a file; WAIT_OTHER: not known. */
enum wait_kind wait_kind_of_file(const struct root *root, int64_t process, long number, unsigned long long descriptor);

/* False: it may not be read, or the thread is gone. */
bool wait_call_read(const struct root *root, int64_t process, int64_t thread, struct wait_call *ret);
/* After how many milliseconds epoll or poll returns though nothing came; -1: never, or another call. */
int64_t wait_call_poll_ms(const struct wait_call *call);

#endif
