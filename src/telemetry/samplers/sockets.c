/* The sockets that the serving processes listen at: connections that wait to be accepted, and those that were dropped for it.
 * Series   server.accept_queue: connections that are made and not accepted yet, of the listening socket with the most
 *          server.accept_full_ratio: 1 where that queue, or another of theirs, is full
 *          server.dropped_per_s: connections that the kernel dropped since such a queue was full
 * Source   /proc/PID/fd, netlink's sock_diag (a listening socket's receive queue), /proc/PID/net/netstat
 * Limits   dropped: of all listening sockets in that network namespace. accept_queue: where that is this process's own namespace */
#include <linux/inet_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/process_sockets.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"
#include "telemetry/socket_diag.h"

enum { SOCKETS_MAX = 4096, LISTENS = 10 /* TCP_LISTEN */ };

struct sockets {
  const struct root *root;
  int64_t pid, last_ns;
  double dropped; /* as last read; -1: not known */
  unsigned long long inodes[SOCKETS_MAX];
  size_t n;
};

/* What waits at their listening sockets; most -1: none of theirs listens in this network namespace. */
struct look {
  const struct sockets *sockets;
  struct waiting {
    long long most;
    bool full;
  } waiting;
};

static bool sockets_open(const struct root *root, void **ret_state) {
  struct sockets *s = xalloc(1, sizeof *s);
  s->root = root;
  *ret_state = s;
  return true;
}

static void sockets_watch(void *state, int64_t pid) {
  struct sockets *s = state;
  struct process_tree tree;
  s->pid = pid;
  s->last_ns = 0;
  s->n = 0;
  process_tree_read(s->root, pid, &tree);
  for (size_t i = 0; i < tree.n; i++) s->n = process_sockets(s->root, tree.pids[i], s->inodes, s->n, SOCKETS_MAX);
}

static bool is_theirs(const struct sockets *s, unsigned long long inode) {
  for (size_t i = 0; i < s->n; i++)
    if (s->inodes[i] == inode) return true;
  return false;
}

static void take_listening(void *context, const char *bytes, size_t n) {
  struct look *look = context;
  struct inet_diag_msg found;
  if (n < sizeof found) return;
  (void)memcpy(&found, bytes, sizeof found);
  if (!is_theirs(look->sockets, found.idiag_inode)) return;
  if ((long long)found.idiag_rqueue > look->waiting.most) look->waiting.most = (long long)found.idiag_rqueue;
  if (found.idiag_rqueue > found.idiag_wqueue) look->waiting.full = true; /* as the kernel judges it: beyond the backlog */
}

/* A drop counts the overflow that caused it, too. */
static double read_dropped(const struct sockets *s) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%lld/net/netstat", (long long)s->pid);
  return kernel_counter(s->root, path, "TcpExt: ", "ListenDrops");
}

static void sockets_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct sockets *s = state;
  if (s->pid <= 0) return;
  double dropped = read_dropped(s), before = s->dropped;
  int64_t span_ns = s->last_ns > 0 ? now_ns - s->last_ns : 0;
  struct look look = {s, {.most = -1}};
  for (int i = 0; s->n > 0 && i < 2; i++) /* what was told counts, all or not */
    (void)socket_diag_connections(i == 0 ? AF_INET : AF_INET6, 1U << LISTENS, take_listening, &look);
  if (look.waiting.most >= 0) {
    sink->value(sink->context, "server.accept_queue", (double)look.waiting.most);
    sink->value(sink->context, "server.accept_full_ratio", look.waiting.full);
  }
  if (span_ns > 0 && before >= 0 && dropped >= before)
    sink->value(sink->context, "server.dropped_per_s", (dropped - before) / ((double)span_ns / 1e9));
  s->dropped = dropped;
  s->last_ns = now_ns;
}

const struct sampler sampler_sockets;
const struct sampler sampler_sockets = {.name = "sockets",
                                        .summary = "connections that wait to be accepted, or were dropped",
                                        .open = sockets_open,
                                        .watch = sockets_watch,
                                        .sample = sockets_sample,
                                        .close = free};
