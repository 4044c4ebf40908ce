#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where its three standard files come from: descriptors, or paths to open. */
struct standard_files {
  const char *input_path, *output_path; /* output_path: errors too, and output where there is no pipe for it */
  int input_fd, output_fd;              /* -1: none */
  bool stays;                           /* started by a thread that ends before it should: the kernel would end it with that thread */
};

static _Noreturn void become(const char *const *arguments, const char *const *environment, const struct standard_files *files,
                             int report_fd) {
  (void)setpgid(0, 0);
  if (!files->stays) (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* if we are killed, the executor that we started must not stay behind */
  /* What a load thread set for itself is not the program's: it gets what the process has, and the usual timer slack. */
  cpu_set_t processors;
  if (files->stays && sched_getaffinity(getppid(), sizeof processors, &processors) == 0)
    (void)sched_setaffinity(0, sizeof processors, &processors);
  if (files->stays) (void)prctl(PR_SET_TIMERSLACK, 0UL);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)signal(SIGINT, SIG_DFL);
  int in = files->input_fd >= 0 ? files->input_fd : open(files->input_path != NULL ? files->input_path : "/dev/null", O_RDONLY);
  int log = open(files->output_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600),
      out = files->output_fd >= 0 ? files->output_fd : log;
  if (in >= 0 && log >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(log, 2) >= 0)
    (void)execvpe(arguments[0], (char *const *)(uintptr_t)arguments, (char *const *)(uintptr_t)environment);
  int reason = errno;
  ssize_t written = write(report_fd, &reason, sizeof reason);
  (void)written; /* the parent then sees an exit code of 127 */
  _exit(127);
}

static enum lynx_status start(struct child *child, const char *const *arguments, const char *const *environment,
                              const struct standard_files *files, struct lynx_error *error) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return lynx_fail(error, LYNX_IO, "no pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0) become(arguments, environment, files, report[1]);
  (void)close(report[1]);
  int reason = 0;
  bool failed = pid < 0;
  if (failed) reason = errno;
  else failed = read(report[0], &reason, sizeof reason) == (ssize_t)sizeof reason; /* end of file once exec succeeded */
  (void)close(report[0]);
  if (failed) {
    if (pid > 0) (void)waitpid(pid, NULL, 0);
    return lynx_fail(error, reason == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "'%s' cannot be started: %s", arguments[0], strerror(reason));
  }
  *child = (struct child){.pid = pid};
  return LYNX_OK;
}

enum lynx_status child_start(struct child *child, const char *const *arguments, const char *const *environment, const char *input_path,
                             const char *output_path, struct lynx_error *error) {
  const struct standard_files files = {.input_path = input_path, .output_path = output_path, .input_fd = -1, .output_fd = -1};
  return start(child, arguments, environment, &files, error);
}

enum lynx_status child_start_piped(struct child *child, const char *const *arguments, const char *const *environment, const char *log_path,
                                   bool stays, int *ret_to_fd, int *ret_from_fd, struct lynx_error *error) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) return lynx_fail(error, LYNX_IO, "no pipe: %s", strerror(errno));
  if (pipe2(from, O_CLOEXEC) != 0) {
    (void)close(to[0]), (void)close(to[1]);
    return lynx_fail(error, LYNX_IO, "no pipe: %s", strerror(errno));
  }
  const struct standard_files files = {.output_path = log_path, .input_fd = to[0], .output_fd = from[1], .stays = stays};
  enum lynx_status status = start(child, arguments, environment, &files, error);
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
