#include "cli/self_run.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output.h"

enum { WORDS_MAX = 64 };

static volatile sig_atomic_t running; /* the child; 0: none */

/* It seals what it has, and we say how it ended. */
static void pass_on(int signal_number) {
  if (running > 0) (void)kill((pid_t)running, signal_number);
}

/* Stopped by somebody; by a limit of the machine; or by what we did ourselves. */
static int code_of_signal(int signal_number) {
  switch (signal_number) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGKILL: return EXIT_INTERRUPTED;
    case SIGXFSZ:
    case SIGXCPU: return EXIT_CONDITIONS;
    default: return EXIT_OUR_BUG;
  }
}

static int wait_for(pid_t child) {
  struct sigaction ours = {.sa_handler = pass_on}, terminate, interrupt;
  struct sigaction ignored = {.sa_handler = SIG_IGN}; /* a terminal's interrupt goes to the child, too */
  int status = 0;
  running = child;
  (void)sigaction(SIGTERM, &ours, &terminate);
  (void)sigaction(SIGINT, &ignored, &interrupt);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  (void)sigaction(SIGTERM, &terminate, NULL);
  (void)sigaction(SIGINT, &interrupt, NULL);
  running = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : code_of_signal(WTERMSIG(status));
}

static int run_child(const char *command, const char *path, const char *const *words) {
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* a job that is cancelled leaves no load behind */
    if (getppid() != parent || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(EXIT_INTERRUPTED); /* ours is for the verdict */
    (void)execv(path, (char *const *)(uintptr_t)words);
    _exit(EXIT_CONDITIONS);
  }
  if (child < 0) complain("lynxbench %s: %s cannot be started: %s\n", command, words[0], strerror(errno));
  return child < 0 ? EXIT_CONDITIONS : wait_for(child);
}

/* name, then the words. */
static void with_name(const char *name, const char *const *words, const char *all[WORDS_MAX]) {
  size_t n = 1;
  all[0] = name;
  while (words[n - 1] != NULL && n + 1 < WORDS_MAX) {
    all[n] = words[n - 1];
    n++;
  }
  all[n] = NULL;
}

int self_run(const char *command, const char *const *words) {
  const char *all[WORDS_MAX];
  with_name("lynxbench", words, all);
  return run_child(command, "/proc/self/exe", all);
}

int program_run(const char *command, enum program_id program, const char *const *words) {
  static const struct root root = {""};
  const char *all[WORDS_MAX];
  char path[PATH_MAX], why[PATH_MAX + 300];
  if (!program_find(program, &root, NULL, path, why, sizeof why)) {
    complain("lynxbench %s: %s\n", command, why);
    return EXIT_CONDITIONS;
  }
  with_name(programs[program].name, words, all);
  return run_child(command, path, all);
}
