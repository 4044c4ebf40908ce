#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool set_limit(int which, int64_t most) {
  const struct rlimit limit = {(rlim_t)most, (rlim_t)most};
  return setrlimit((__rlimit_resource_t)which, &limit) == 0;
}

/* Limits first: who runs as another may not raise them. */
static bool bound(const struct child_bounds *b) {
  if (!set_limit(RLIMIT_AS, b->memory_bytes) || !set_limit(RLIMIT_CPU, b->processor_s) || !set_limit(RLIMIT_CORE, 0) ||
      !set_limit(RLIMIT_FSIZE, b->file_bytes))
    return false;
  return !b->as_other || (setgroups(0, NULL) == 0 && setresgid(b->group, b->group, b->group) == 0 &&
                          setresuid(b->user, b->user, b->user) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
}

/* in_fd, out_fd: -1: files of the request. */
static _Noreturn void become(const struct child_request *r, int in_fd, int out_fd, int report_fd) {
  (void)setpgid(0, 0);
  /* What a load thread set for itself is not the program's: it gets what the process has, and the usual timer slack. */
  cpu_set_t processors;
  if (r->stays && sched_getaffinity(getppid(), sizeof processors, &processors) == 0)
    (void)sched_setaffinity(0, sizeof processors, &processors);
  if (r->stays) (void)prctl(PR_SET_TIMERSLACK, 0UL);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)signal(SIGINT, SIG_DFL);
  int in = in_fd >= 0 ? in_fd : open(r->input_path != NULL ? r->input_path : "/dev/null", O_RDONLY);
  int log = open(r->output_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600), out = out_fd >= 0 ? out_fd : log;
  bool good = in >= 0 && log >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(log, 2) >= 0 && (r->bounds == NULL || bound(r->bounds));
  /* If we are killed, what we started must not stay behind. After the change of user: that clears it. */
  if (!r->stays) (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  char *const *arguments = (char *const *)(uintptr_t)r->arguments, *const *environment = (char *const *)(uintptr_t)r->environment;
  if (good && r->users) (void)execvpe(arguments[0], arguments, environment);
  else if (good) (void)execve(arguments[0], arguments, environment);
  int reason = errno;
  ssize_t written = write(report_fd, &reason, sizeof reason);
  (void)written; /* the parent then sees an exit code of 127 */
  _exit(127);
}

static enum lynx_status start(struct child *child, const struct child_request *request, int in_fd, int out_fd, struct lynx_error *error) {
  int report[2];
  lynx_assert(request->users || request->arguments[0][0] == '/');
  if (pipe2(report, O_CLOEXEC) != 0) return lynx_fail(error, LYNX_IO, "no pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0) become(request, in_fd, out_fd, report[1]);
  (void)close(report[1]);
  int reason = 0;
  bool failed = pid < 0;
  if (failed) reason = errno;
  else failed = read(report[0], &reason, sizeof reason) == (ssize_t)sizeof reason; /* end of file once exec succeeded */
  (void)close(report[0]);
  if (failed) {
    if (pid > 0) (void)waitpid(pid, NULL, 0);
    return lynx_fail(error, reason == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "'%s' cannot be started: %s", request->arguments[0],
                     strerror(reason));
  }
  *child = (struct child){.pid = pid};
  return LYNX_OK;
}

enum lynx_status child_start(struct child *child, const struct child_request *request, struct lynx_error *error) {
  return start(child, request, -1, -1, error);
}

enum lynx_status child_start_piped(struct child *child, const struct child_request *request, int *ret_to_fd, int *ret_from_fd,
                                   struct lynx_error *error) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) return lynx_fail(error, LYNX_IO, "no pipe: %s", strerror(errno));
  if (pipe2(from, O_CLOEXEC) != 0) {
    (void)close(to[0]), (void)close(to[1]);
    return lynx_fail(error, LYNX_IO, "no pipe: %s", strerror(errno));
  }
  enum lynx_status status = start(child, request, to[0], from[1], error);
  (void)close(to[0]), (void)close(from[1]);
  if (status == LYNX_OK && (fcntl(to[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(from[0], F_SETFL, O_NONBLOCK) != 0)) {
    child_stop(child, 0);
    status = lynx_fail(error, LYNX_IO, "a pipe cannot be made non-blocking: %s", strerror(errno));
  }
  if (status != LYNX_OK) {
    (void)close(to[1]), (void)close(from[0]);
    return status;
  }
  *ret_to_fd = to[1];
  *ret_from_fd = from[0];
  return LYNX_OK;
}

bool child_running(struct child *child) {
  if (child->pid <= 0 || child->exited) return false;
  int status;
  pid_t got = waitpid(child->pid, &status, WNOHANG);
  if (got == 0) return true;
  child->exited = true;
  child->exit_code = got < 0 ? 127 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return false;
}

bool child_wait(struct child *child, int64_t within_ns, const atomic_int *stop) {
  const struct timespec step = {.tv_nsec = 5000000};
  for (int64_t waited = 0; child_running(child); waited += step.tv_nsec) {
    if (waited >= within_ns || (stop != NULL && atomic_load(stop) != 0)) return false;
    (void)nanosleep(&step, NULL);
  }
  return true;
}

void child_stop(struct child *child, int64_t within_ns) {
  if (child->pid <= 0) return;
  if (child_running(child)) {
    (void)kill(-child->pid, SIGTERM);
    if (!child_wait(child, within_ns, NULL)) {
      (void)kill(-child->pid, SIGKILL);
      (void)child_wait(child, INT64_MAX, NULL);
    }
  }
  (void)kill(-child->pid, SIGKILL); /* what it may have left in its group */
  child->pid = 0;
}
