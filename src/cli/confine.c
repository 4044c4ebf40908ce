#include "cli/confine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/file.h"
#include "base/number.h"
#include "base/state.h"

enum { PATH_BYTES = 4200 };
static const uint64_t PAGE_MAX = (uint64_t)512 << 20, BUNDLE_MAX = (uint64_t)2 << 30;
static volatile sig_atomic_t stopped;
static char scratch[PATH_BYTES];

const char *confine_scratch(void) {
  return scratch[0] != 0 ? scratch : NULL;
}

void confine_output(struct confinement *confinement, const char *path) {
  if (path == NULL || strcmp(path, "-") == 0) return;
  lynx_assert(confinement->n_outputs < CONFINE_OUTPUTS_MAX);
  confinement->outputs[confinement->n_outputs++] = path;
}

/* --- the keeper --- */

static bool receive(int fd, void *data, size_t n) {
  for (char *at = data; n > 0;) {
    ssize_t got = read(fd, at, n);
    if (got < 0 && errno == EINTR && stopped == 0) continue;
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

/* What comes is hostile: a number too high, more than there is memory for, the same file again and again. An import is a new file. */
static bool keep_one(int fd, const struct confinement *c, bool *written) {
  struct output_message message;
  if (!receive(fd, &message, sizeof message) || message.length > (c->makes_new ? BUNDLE_MAX : PAGE_MAX)) return false;
  message.path[sizeof message.path - 1] = 0;
  size_t i = 0;
  while (i < c->n_outputs && (written[i] || strcmp(c->outputs[i], message.path) != 0)) i++;
  char *data = i < c->n_outputs ? malloc(message.length + 1) : NULL;
  if (data == NULL || !receive(fd, data, message.length)) {
    free(data);
    return false;
  }
  int why = output_to_file(c->outputs[i], data, message.length, c->makes_new);
  written[i] = true;
  free(data);
  return file_write_all(fd, &why, sizeof why);
}

static void heed(void (*handler)(int)) {
  static const int which[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < LYNX_COUNT(which); i++) (void)sigaction(which[i], &(struct sigaction){.sa_handler = handler}, NULL);
}

static void stop(int which) {
  (void)which;
  stopped = 1;
}

static void remove_scratch(void) {
  char path[PATH_BYTES + 16];
  static const char *const left[] = {"new", "new-journal", "new-wal", "new-shm"};
  for (size_t i = 0; scratch[0] != 0 && i < LYNX_COUNT(left); i++) {
    (void)snprintf(path, sizeof path, "%s/%s", scratch, left[i]);
    (void)unlink(path);
  }
  if (scratch[0] != 0) (void)rmdir(scratch);
}

static int keep(pid_t child, int fd, const struct command *command, const struct confinement *c) {
  bool written[CONFINE_OUTPUTS_MAX] = {false};
  int status = 0;
  while (stopped == 0 && keep_one(fd, c, written))
    ;
  (void)close(fd);
  if (stopped != 0) (void)kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    if (stopped != 0) (void)kill(child, SIGKILL);
  remove_scratch();
  if (stopped != 0) return EXIT_INTERRUPTED;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM) return EXIT_INTERRUPTED;
  complain("lynxbench %s: what reads the file was ended by signal %d (%s): nothing more is written. Report the file that does it\n",
           command->name, WTERMSIG(status), strsignal(WTERMSIG(status)));
  return EXIT_OUR_BUG;
}

/* --- the caged one --- */

static void add_folder(struct cage *cage, const char *path) {
  lynx_assert(cage->n_folders < CAGE_FOLDERS_MAX);
  cage->folders[cage->n_folders++] = path;
}

/* That of the machine, or what whoever started this allows. */
static int64_t memory_at_most(void) {
  int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), least = (int64_t)64 << 20, wanted;
  const char *text = getenv("LYNXBENCH_MEMORY_AT_MOST");
  return text != NULL && number_int64(text, strlen(text), &wanted) && wanted >= least && wanted < all ? wanted : all;
}

static void enter(const struct confinement *c) {
  static char state[PATH_BYTES], beside[PATH_BYTES];
  bool is_remote = c->ledger != NULL && strstr(c->ledger, "://") != NULL;
  struct cage cage = {
      .memory_bytes = memory_at_most(), .file_bytes = (int64_t)16 << 30, .open_files = 256, .network = c->network || is_remote};
  if ((c->ledger != NULL || c->beside != NULL) && state_path("ledgers/", state, sizeof state)) {
    file_make_parents(state, 0700);
    *strrchr(state, '/') = 0;
    *strrchr(state, '/') = 0; /* copies of remote ledgers lie beside */
    add_folder(&cage, state);
  }
  if (c->beside != NULL) {
    const char *slash = strrchr(c->beside, '/');
    (void)snprintf(beside, sizeof beside, "%.*s",
                   slash == NULL        ? 1
                   : slash == c->beside ? 1
                                        : (int)(slash - c->beside),
                   slash != NULL ? c->beside : ".");
    add_folder(&cage, beside);
  }
  if (scratch[0] != 0) add_folder(&cage, scratch);
  cage_enter(&cage);
}

/* A page in place of the file that it is made of. */
static bool is_read(const struct arguments *arguments, const char *output) {
  struct stat one, other;
  if (stat(output, &one) != 0) return false;
  for (int i = 0; i < arguments->n_positional; i++)
    if (stat(arguments->positional[i], &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino && S_ISREG(one.st_mode))
      return true;
  return false;
}

bool confine_sound(const struct command *command, const struct arguments *arguments, const struct confinement *c) {
  for (size_t i = 0; i < c->n_outputs; i++) {
    if (is_read(arguments, c->outputs[i])) {
      complain("lynxbench %s: %s is the file that is read; name another for what is made of it\n", command->name, c->outputs[i]);
      return false;
    }
    if (!c->makes_new && file_is_record(c->outputs[i])) {
      complain("lynxbench %s: %s is a bundle or a ledger; name another file for what is made of it\n", command->name, c->outputs[i]);
      return false;
    }
  }
  return true;
}

int confine_run(const struct command *command, const struct arguments *arguments, const struct confinement *c) {
  int ends[2];
  if (c->n_outputs == 0 && !c->scratch) {
    enter(c);
    return command->run(arguments);
  }
  heed(stop);
  if (c->scratch && !make_folder(scratch, sizeof scratch)) return EXIT_CONDITIONS;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    remove_scratch();
    complain("lynxbench %s: no socket to write through: %s\n", command->name, strerror(errno));
    return EXIT_CONDITIONS;
  }
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    heed(SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_INTERRUPTED);
    (void)close(ends[0]);
    output_through(ends[1]);
    enter(c);
    return command->run(arguments); /* main ends this process */
  }
  (void)close(ends[1]);
  if (child > 0) return keep(child, ends[0], command, c);
  (void)close(ends[0]);
  remove_scratch();
  complain("lynxbench %s: no process to read in: %s\n", command->name, strerror(errno));
  return EXIT_CONDITIONS;
}
