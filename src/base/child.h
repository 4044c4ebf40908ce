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

/* What a program of ours may use, and as whom it runs. */
struct child_bounds {
  int64_t memory_bytes, processor_s, file_bytes;
  bool as_other;        /* without root's rights and groups, and what it starts can get none */
  unsigned user, group; /* as_other: of whom */
};

struct child_request {
  const char *const *arguments;   /* ends in NULL */
  const char *const *environment; /* "NAME=VALUE"; ends in NULL */
  bool users;              /* the user named this program: it is found in the user's PATH. Else the first argument is an absolute path */
  const char *input_path;  /* NULL: nothing to read */
  const char *output_path; /* errors, and output where there is no pipe for it */
  bool stays;              /* it is started by a thread that may end before it */
  const struct child_bounds *bounds; /* NULL: none */
};

enum lynx_status child_start(struct child *child, const struct child_request *request, struct lynx_error *error) LYNX_MUST_CHECK;
/* The same with pipes: *ret_to_fd writes to its input, *ret_from_fd reads from its output (both non-blocking, closed by the caller). */
enum lynx_status child_start_piped(struct child *child, const struct child_request *request, int *ret_to_fd, int *ret_from_fd,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
bool child_running(struct child *child); /* reaps it if it has ended */
/* Until it has ended, for that long at most, or until stop is not 0 (NULL: nothing stops it). False: it runs. */
bool child_wait(struct child *child, int64_t within_ns, const atomic_int *stop);
/* SIGTERM to the group, then SIGKILL after that long; returns once it has ended. */
void child_stop(struct child *child, int64_t within_ns);

#endif
