#include "executor/probe_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXTS = 4, TEXT_MAX = 4096, FACTS_MAX = 100000 };
static const rlim_t MEMORY_MAX = (rlim_t)4 << 30;

/* What travels through the pipe: the number of the probe that begins, or a fact, whose four texts follow. */
struct message {
  enum { MESSAGE_BEGINS = 1, MESSAGE_FACT, MESSAGE_END } type;
  uint32_t probe, layer, kind, status;
  int64_t at_ns;
  uint32_t length[TEXTS];
};

/* --- the child --- */

static void send_all(int fd, const void *data, size_t n) {
  const char *at = data;
  while (n > 0) {
    ssize_t written = write(fd, at, n);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1); /* nobody listens any more */
    at += written;
    n -= (size_t)written;
  }
}

static void send_fact(void *context, const struct fact *fact) {
  const char *texts[TEXTS] = {fact->key, fact->value, fact->unit, fact->source};
  struct message message = {.type = MESSAGE_FACT,
                            .layer = (uint32_t)fact->layer,
                            .kind = (uint32_t)fact->kind,
                            .status = (uint32_t)fact->status,
                            .at_ns = fact->at_ns};
  char whole[sizeof message + TEXTS * TEXT_MAX]; /* one write: a fact is there whole or not at all */
  size_t n = sizeof message;
  for (int i = 0; i < TEXTS; i++) {
    message.length[i] = (uint32_t)strlen(texts[i]);
    memcpy(whole + n, texts[i], message.length[i]);
    n += message.length[i];
  }
  memcpy(whole, &message, sizeof message);
  send_all(*(int *)context, whole, n);
}

/* As much as we had when we forked (a model that runs in our process is in it), and MEMORY_MAX more: a probe that runs away is ended by
 * what it is refused, and not the server by the kernel. */
static void limit_memory(void) {
  const struct root here = {""};
  char line[200];
  unsigned long long pages = 0;
  /* size resident shared text lib data dirty */
  if (!root_read_line(&here, "/proc/self/statm", line, sizeof line) || sscanf(line, "%*u %*u %*u %*u %*u %llu", &pages) != 1) return;
  rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MAX;
  (void)setrlimit(RLIMIT_DATA, &(struct rlimit){most, most});
}

static _Noreturn void probe_all(const struct probe *const *probes, size_t first, const struct probe_target *target, int fd,
                                struct fact_list *facts) {
  static const int caught[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGPIPE};
  for (size_t i = 0; i < LYNX_COUNT(caught); i++) (void)signal(caught[i], SIG_DFL);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  limit_memory();
  (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* what a library prints must not stand among our data */
  facts->added = send_fact;
  facts->context = &fd;
  for (size_t i = first; probes[i] != NULL; i++) {
    struct message begins = {.type = MESSAGE_BEGINS, .probe = (uint32_t)i};
    send_all(fd, &begins, sizeof begins);
    const char *why_not = probes[i]->applies(target);
    char key[80];
    (void)snprintf(key, sizeof key, "probe.%s", probes[i]->name);
    if (why_not == NULL) probes[i]->collect(target, facts);
    else probe_missing(target, facts, probes[i]->layer, FACT_STATE, key, FACT_UNSUPPORTED, why_not, probes[i]->reads);
  }
  send_all(fd, &(struct message){.type = MESSAGE_END}, sizeof(struct message));
  _exit(0);
}

/* --- the parent --- */

enum outcome { OUTCOME_ENDED, OUTCOME_LATE, OUTCOME_BROKEN };

/* False at the deadline or the end of the pipe; *ret tells which. */
static bool receive(int fd, void *data, size_t n, int64_t until_ns, enum outcome *ret) {
  char *at = data;
  while (n > 0) {
    int64_t left = until_ns - clock_now(&clock_system);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = left <= 0 ? 0 : poll(&wait, 1, (int)(left / 1000000 + 1));
    if (ready < 0 && errno == EINTR) continue;
    *ret = ready == 0 ? OUTCOME_LATE : OUTCOME_BROKEN;
    if (ready <= 0) return false;
    ssize_t got = read(fd, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

/* What a crashing library may have written into the pipe is not believed. */
static bool is_sound(const struct message *m) {
  for (int i = 0; i < TEXTS; i++)
    if (m->length[i] > TEXT_MAX) return false;
  return m->layer < LAYER_COUNT && m->kind < FACT_KIND_COUNT && m->status < FACT_STATUS_COUNT;
}

/* Receives facts until the child has ended or the probe that it is at is late. *ret_at: the last probe that began. */
static enum outcome receive_facts(int fd, size_t n_probes, int64_t deadline_ns, struct fact_list *facts, size_t *ret_at) {
  int64_t until_ns = clock_now(&clock_system) + deadline_ns;
  enum outcome outcome;
  struct message message;
  while (receive(fd, &message, sizeof message, until_ns, &outcome)) {
    char text[TEXTS][TEXT_MAX + 1];
    if (message.type == MESSAGE_END) return OUTCOME_ENDED;
    if (message.type == MESSAGE_BEGINS) {
      if (message.probe < *ret_at || message.probe >= n_probes) return OUTCOME_BROKEN;
      *ret_at = message.probe;
      until_ns = clock_now(&clock_system) + deadline_ns;
      continue;
    }
    if (message.type != MESSAGE_FACT || !is_sound(&message) || facts->n_items >= FACTS_MAX) return OUTCOME_BROKEN;
    for (int i = 0; i < TEXTS; i++) {
      if (!receive(fd, text[i], message.length[i], until_ns, &outcome)) return outcome;
      text[i][message.length[i]] = 0;
    }
    fact_add(facts, &(struct fact){.layer = (enum layer)message.layer,
                                   .kind = (enum fact_kind)message.kind,
                                   .status = (enum fact_status)message.status,
                                   .key = text[0],
                                   .value = text[1],
                                   .unit = text[2],
                                   .source = text[3],
                                   .at_ns = message.at_ns});
  }
  return outcome;
}

/* A child that hangs in the kernel cannot be ended at once: it is left to die when the kernel lets it. */
static int end_child(pid_t pid, bool kill_it) {
  const struct timespec step = {.tv_nsec = 2000000};
  int status = 0;
  if (kill_it) (void)kill(pid, SIGKILL);
  for (int i = 0; i < 250; i++) {
    if (waitpid(pid, &status, WNOHANG) != 0) return status;
    (void)nanosleep(&step, NULL);
  }
  return status;
}

void probes_run(const struct probe *const *probes, const struct probe_target *target, int64_t deadline_ns, struct fact_list *ret) {
  size_t n_probes = 0;
  while (probes[n_probes] != NULL) n_probes++;
  for (size_t first = 0; first < n_probes;) {
    int ends[2];
    char key[80], why[160], whole[400];
    pid_t pid = -1;
    bool piped = pipe(ends) == 0;
    if (piped) pid = fork();
    if (pid == 0) {
      (void)close(ends[0]);
      probe_all(probes, first, target, ends[1], ret);
    }
    if (piped) (void)close(ends[1]);
    size_t at = first;
    enum outcome outcome = OUTCOME_BROKEN;
    int status = 0;
    if (pid > 0) {
      outcome = receive_facts(ends[0], n_probes, deadline_ns, ret, &at);
      status = end_child(pid, outcome != OUTCOME_ENDED && outcome != OUTCOME_BROKEN);
      if (outcome == OUTCOME_BROKEN && !WIFSIGNALED(status)) (void)end_child(pid, true);
    }
    if (piped) (void)close(ends[0]);
    if (outcome == OUTCOME_ENDED) return;
    const struct probe *probe = probes[at];
    if (pid < 0) (void)snprintf(why, sizeof why, "no process could be started to ask it: %s", strerror(errno));
    else if (outcome == OUTCOME_LATE)
      (void)snprintf(why, sizeof why, "did not end within %g s, and was given up; what it had read by then is kept",
                     (double)deadline_ns / 1e9);
    else
      (void)snprintf(why, sizeof why, "ended by signal %d while it was asked; what it had read by then is kept",
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    (void)snprintf(key, sizeof key, "probe.%s", probe->name);
    probe_missing(target, ret, probe->layer, FACT_STATE, key, FACT_UNSUPPORTED, why, probe->reads);
    /* What it would have read is not known: a claim has to say so. */
    (void)snprintf(key, sizeof key, "hole.probe.%s", probe->name);
    (void)snprintf(whole, sizeof whole, "what the probe '%s' reads (%s): it %s", probe->name, probe->summary, why);
    probe_missing(target, ret, probe->layer, FACT_IDENTITY, key, FACT_UNSUPPORTED, whole, probe->reads);
    first = at + 1;
  }
}
