/* Another process, which the operator named, is stopped: does the server gain? */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "experiment/perturber.h"
#include "telemetry/process_tree.h"

struct neighbour {
  struct perturbing request;
  int fd;
};

static size_t neighbour_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct neighbour *n = xalloc(1, sizeof *n);
  struct process_stat stat;
  long long pid = request->neighbour;
  *n = (struct neighbour){*request, -1};
  *ret_state = n;
  if (most == 0 || pid <= 1) {
    (void)snprintf(why, size, "neighbour: stopping another's process is the operator's decision: --may-stop PID says which");
    return 0;
  }
  for (size_t i = 0; i < request->n_processes; i++)
    if (request->processes[i].pid == pid) {
      (void)snprintf(why, size, "neighbour: process %lld is the server's own", pid);
      return 0;
    }
  n->fd = pidfd_open((pid_t)pid, 0);
  bool there = n->fd >= 0 && process_read(request->root, pid, &stat), may = there && pidfd_send_signal(n->fd, 0, NULL, 0) == 0;
  if (!may || pid == (long long)getpid() || stat.terminal != 0 || stat.state == 'T') {
    (void)snprintf(why, size, "neighbour: process %lld %s", pid,
                   !there                       ? "is not there"
                   : !may                       ? "may be stopped by its own user or root only"
                   : pid == (long long)getpid() ? "is lynxbench"
                   : stat.state == 'T'          ? "is stopped already"
                                                : "has a terminal, whose shell would take a stop for Ctrl-Z");
    return 0;
  }
  undo_add(request->undo, &(struct undo_step){.kind = UNDO_CONTINUE, .process = pid, .started_ticks = stat.started_ticks});
  target_name(ret, "neighbour", stat.name);
  return 1;
}

static double neighbour_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct neighbour *n = state;
  (void)target;
  if (!undo_hold(n->request.undo)) return 1;
  bool done = pidfd_send_signal(n->fd, SIGSTOP, NULL, 0) == 0;
  (void)perturber_wait(&n->request, until_ns);
  (void)pidfd_send_signal(n->fd, SIGCONT, NULL, 0);
  undo_release(n->request.undo);
  return done ? slowness : 1;
}

static void neighbour_close(void *state) {
  struct neighbour *n = state;
  if (n->fd >= 0) (void)close(n->fd);
  free(n);
}

const struct perturber perturber_neighbour;
const struct perturber perturber_neighbour = {.name = "neighbour",
                                              .summary = "another process, which the operator names, taken away",
                                              .does = "stops it by SIGSTOP for a block, then lets it go on",
                                              .levels = {2},
                                              .takes_away = true,
                                              .open = neighbour_open,
                                              .hold = neighbour_hold,
                                              .close = neighbour_close,
                                              .whose = perturber_of_system};
