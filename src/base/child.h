/* base/child.h: a child process, started from an argument vector (never a shell string) in a process group of its own, its
 * output kept in a file. It gets the variables that it is given, and no others: what our own environment holds may be secret.
 * Shapes   environment: "NAME=VALUE", ends in NULL
 * Errors   NOT_FOUND / IO if it cannot be started (with the program's name); the child's own failure is in its exit code */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/status.h"

struct child {
  pid_t pid; /* 0: none */
  bool exited;
  int exit_code; /* 128 + signal if a signal ended it */
};

/* input_path NULL: nothing to read. */
enum lynx_status child_start(struct child *child, const char *const *arguments, const char *const *environment, const char *input_path,
                             const char *output_path, struct lynx_error *error) LYNX_MUST_CHECK;
/* The same with pipes: *ret_to_fd writes to its input, *ret_from_fd reads from its output (both non-blocking, closed by the caller); what
 * it prints as errors goes to the file. stays: it is started by a thread that may end before it. */
enum lynx_status child_start_piped(struct child *child, const char *const *arguments, const char *const *environment, const char *log_path,
                                   bool stays, int *ret_to_fd, int *ret_from_fd, struct lynx_error *error) LYNX_MUST_CHECK;
bool child_running(struct child *child); /* reaps it if it has ended */
/* Until it has ended, for that long at most, or until stop is not 0 (NULL: nothing stops it). False: it runs. */
bool child_wait(struct child *child, int64_t within_ns, const atomic_int *stop);
/* SIGTERM to the group, then SIGKILL after that long; returns once it has ended. */
void child_stop(struct child *child, int64_t within_ns);

#endif
