/* The sockets that the serving processes listen at: connections that wait to be accepted, and those that were dropped for it.
 * Series   server.accept_queue: connections that are made and not accepted yet, of the listening socket with the most
 *          server.accept_full_ratio: 1 where that queue, or another of theirs, is full
 *          server.dropped_per_s: connections that the kernel dropped since such a queue was full
 * Source   /proc/PID/fd, netlink's sock_diag (a listening socket's receive queue), /proc/PID/net/netstat
 * Limits   dropped: of all listening sockets in that network namespace. accept_queue: where that is this process's own namespace */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/process_sockets.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { SOCKETS_MAX = 4096, ANSWERS_MAX = 256, LISTENS = 10 /* TCP_LISTEN */ };

struct sockets {
  const struct root *root;
  int64_t pid, last_ns;
  double dropped; /* as last read; -1: not known */
  unsigned long long inodes[SOCKETS_MAX];
  size_t n;
};

struct waiting {
  long long most; /* -1: not known */
  bool full;
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

static bool send_question(int fd, unsigned char family) {
  struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 question;
  } message = {.head = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .question = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << LISTENS}};
  return send(fd, &message, sizeof message, 0) == (ssize_t)sizeof message;
}

/* The most that waits at one of theirs among what was answered; true: more comes. */
static bool take_answer(const struct sockets *s, const char *bytes, size_t n, struct waiting *ret) {
  for (size_t at = 0; at + sizeof(struct nlmsghdr) <= n;) {
    struct nlmsghdr head;
    struct inet_diag_msg found;
    (void)memcpy(&head, bytes + at, sizeof head);
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR || head.nlmsg_len < sizeof head || head.nlmsg_len > n - at)
      return false;
    if (head.nlmsg_len >= NLMSG_HDRLEN + sizeof found) {
      (void)memcpy(&found, bytes + at + NLMSG_HDRLEN, sizeof found);
      bool theirs = is_theirs(s, found.idiag_inode);
      if (theirs && (long long)found.idiag_rqueue > ret->most) ret->most = (long long)found.idiag_rqueue;
      if (theirs && found.idiag_rqueue > found.idiag_wqueue) ret->full = true; /* as the kernel judges it: beyond the backlog */
    }
    at += NLMSG_ALIGN(head.nlmsg_len);
  }
  return true;
}

/* By netlink, of listening sockets alone: in /proc/net/tcp the kernel goes through all connections, milliseconds where there may be many.
 * Nothing is set where none of theirs listens in this network namespace. */
static void read_waiting(const struct sockets *s, unsigned char family, struct waiting *ret) {
  static const struct timeval patience = {.tv_usec = 100000};
  char bytes[16384];
  ssize_t got = 0;
  int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return;
  bool asked = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 && send_question(fd, family);
  for (int i = 0; asked && i < ANSWERS_MAX; i++) {
    got = recv(fd, bytes, sizeof bytes, 0);
    if (got <= 0 || !take_answer(s, bytes, (size_t)got, ret)) break;
  }
  (void)close(fd); /* only read */
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
  struct waiting waiting = {.most = -1};
  if (s->n > 0) {
    read_waiting(s, AF_INET, &waiting);
    read_waiting(s, AF_INET6, &waiting);
  }
  if (waiting.most >= 0) {
    sink->value(sink->context, "server.accept_queue", (double)waiting.most);
    sink->value(sink->context, "server.accept_full_ratio", waiting.full);
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
