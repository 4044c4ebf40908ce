/* Who else on this machine the serving processes wait for: a database, a cache, a gateway. What such a process feels of its neighbours is in
 * no wait of the server's own threads.
 * Series   server.local_peers: sockets of theirs that lead to another process of this machine: connections that they made over TCP, and
 *          streams of the Unix domain, standard streams not counted
 *          server.held: of their TCP connections to one another and to other processes of this machine, those of which an end of theirs
 *          holds bytes back (socket_holds_back); server.held_port: the port of one of these that somebody listens on
 * Source   /proc/PID/fd, /proc/PID/ns/net, netlink's sock_diag
 * Cost     a dump of the machine's connections, every 2 s; at each sample a question for each of 64 connections at most
 * Limits   nothing where theirs is another network namespace or their descriptors may not be read; pipes and shared memory are not seen */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/process_sockets.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"
#include "telemetry/socket_diag.h"

enum { SOCKETS_MAX = 4096, ENDS_MAX = 4096, INNER_MAX = 64, ESTABLISHED = 1, LISTENS = 10, STANDARD_STREAMS = 3 };
#define EVERY_NS INT64_C(2000000000)

/* One end of a connection of theirs. */
struct end {
  unsigned short port, peer_port;
  bool listens, is_local;
  unsigned char family;
  struct inet_diag_sockid id;
};

struct peers {
  const struct root *root;
  int64_t pid, last_ns;
  unsigned long long inodes[SOCKETS_MAX];
  size_t n, n_streams; /* n_streams: to other processes, of the Unix domain */
  struct end ends[ENDS_MAX];
  size_t n_ends;
  struct end inner[INNER_MAX]; /* of connections within the server, and to those whom it asks */
  size_t n_inner;
};

static bool peers_open(const struct root *root, void **ret_state) {
  struct peers *p = xalloc(1, sizeof *p);
  p->root = root;
  *ret_state = p;
  return true;
}

static void peers_watch(void *state, int64_t pid) {
  struct peers *p = state;
  p->pid = pid;
  p->last_ns = 0;
  p->n_inner = 0;
}

static bool is_theirs(const struct peers *p, unsigned long long inode) {
  for (size_t i = 0; i < p->n; i++)
    if (p->inodes[i] == inode) return true;
  return false;
}

/* --- whose sockets --- */

static void leave_out(struct peers *p, unsigned long long inode) {
  for (size_t i = 0; i < p->n; i++)
    if (p->inodes[i] == inode) p->inodes[i--] = p->inodes[--p->n];
}

/* A service manager's log is where standard output goes: nobody waits for an answer there. */
static void leave_out_streams(struct peers *p, int64_t pid) {
  for (int i = 0; i < STANDARD_STREAMS; i++) {
    char path[64], link[64];
    unsigned long long inode;
    (void)snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)pid, i);
    if (root_read_link(p->root, path, link, sizeof link) && sscanf(link, "socket:[%llu]", &inode) == 1) leave_out(p, inode);
  }
}

static bool read_sockets(struct peers *p) {
  struct process_tree tree;
  char path[64], theirs[64], ours[64];
  (void)snprintf(path, sizeof path, "/proc/%lld/ns/net", (long long)p->pid);
  if (!root_read_link(p->root, path, theirs, sizeof theirs) || !root_read_link(p->root, "/proc/self/ns/net", ours, sizeof ours) ||
      strcmp(theirs, ours) != 0)
    return false;
  p->n = 0;
  process_tree_read(p->root, p->pid, &tree);
  for (size_t i = 0; i < tree.n; i++) /* but not us, where the server started us */
    if (tree.pids[i] != (int64_t)getpid()) p->n = process_sockets(p->root, tree.pids[i], p->inodes, p->n, SOCKETS_MAX);
  bool all = p->n > 0 && p->n < SOCKETS_MAX;
  for (size_t i = 0; i < tree.n; i++) leave_out_streams(p, tree.pids[i]);
  return all;
}

/* --- where they lead --- */

static bool is_loopback(const struct inet_diag_msg *m) {
  static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  unsigned char to[16];
  (void)memcpy(to, m->id.idiag_dst, sizeof to);
  if (m->idiag_family == AF_INET) return to[0] == 127;
  if (memcmp(to, mapped, sizeof mapped) == 0) return to[12] == 127;
  return memcmp(to, &in6addr_loopback, sizeof to) == 0;
}

/* This machine's own: the loopback, or the address that it has itself. */
static bool is_local(const struct inet_diag_msg *m) {
  return is_loopback(m) || memcmp(m->id.idiag_src, m->id.idiag_dst, m->idiag_family == AF_INET ? 4 : 16) == 0;
}

static void take_connection(void *context, const char *bytes, size_t n) {
  struct peers *p = context;
  struct inet_diag_msg m;
  if (n < sizeof m) return;
  (void)memcpy(&m, bytes, sizeof m);
  if (p->n_ends == ENDS_MAX || !is_theirs(p, m.idiag_inode)) return;
  p->ends[p->n_ends++] = (struct end){.port = ntohs(m.id.idiag_sport),
                                      .peer_port = ntohs(m.id.idiag_dport),
                                      .listens = m.idiag_state == LISTENS,
                                      .is_local = is_local(&m),
                                      .family = m.idiag_family,
                                      .id = m.id};
}

static void take_stream(void *context, const char *bytes, size_t n) {
  struct peers *p = context;
  struct unix_diag_msg m;
  if (n < sizeof m) return;
  (void)memcpy(&m, bytes, sizeof m);
  if (m.udiag_type == SOCK_DGRAM || !is_theirs(p, m.udiag_ino)) return;
  for (size_t at = NLMSG_ALIGN(sizeof m); at + sizeof(struct rtattr) <= n;) {
    struct rtattr head;
    unsigned peer;
    (void)memcpy(&head, bytes + at, sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > n - at) return;
    if (head.rta_type == UNIX_DIAG_PEER && head.rta_len >= RTA_LENGTH(sizeof peer)) {
      (void)memcpy(&peer, bytes + at + RTA_LENGTH(0), sizeof peer);
      p->n_streams += peer != 0 && !is_theirs(p, peer);
    }
    at += RTA_ALIGN(head.rta_len);
  }
}

/* --- samples --- */

/* A connection that they made: from no port where they listen, and to no other end of theirs. */
static bool leads_away(const struct peers *p, const struct end *e) {
  if (e->listens || !e->is_local) return false;
  for (size_t i = 0; i < p->n_ends; i++) {
    const struct end *x = &p->ends[i];
    if (x->listens ? x->port == e->port : x->port == e->peer_port && x->peer_port == e->port) return false;
  }
  return true;
}

static bool is_within(const struct peers *p, const struct end *e) {
  for (size_t i = 0; i < p->n_ends; i++)
    if (!p->ends[i].listens && p->ends[i].port == e->peer_port && p->ends[i].peer_port == e->port) return true;
  return false;
}

static void keep_inner(struct peers *p) {
  p->n_inner = 0;
  for (size_t i = 0; i < p->n_ends && p->n_inner < INNER_MAX; i++) {
    const struct end *e = &p->ends[i];
    if (!e->listens && e->is_local && (is_within(p, e) || leads_away(p, e))) p->inner[p->n_inner++] = *e;
  }
}

static unsigned short port_of(const struct peers *p, const struct end *e) {
  for (size_t i = 0; i < p->n_ends; i++)
    if (p->ends[i].listens && p->ends[i].port == e->port) return e->port;
  return e->peer_port;
}

static void look_at_inner(const struct peers *p, const struct sampler_sink *sink) {
  size_t n_seen = 0, n_held = 0;
  unsigned short port = 0;
  int asks = p->n_inner > 0 ? socket_diag_open() : -1;
  for (size_t i = 0; i < p->n_inner && asks >= 0; i++) {
    struct tcp_info info = {.tcpi_unacked = 0};
    if (!socket_diag_one(asks, p->inner[i].family, &p->inner[i].id, &info)) continue;
    n_seen++;
    if (!socket_holds_back(&info)) continue;
    n_held++;
    port = port_of(p, &p->inner[i]);
  }
  if (asks >= 0) (void)close(asks); /* only read */
  if (n_seen > 0) sink->value(sink->context, "server.held", (double)n_held);
  if (n_held > 0) sink->value(sink->context, "server.held_port", (double)port);
}

static void peers_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct peers *p = state;
  if (p->pid > 0) look_at_inner(p, sink);
  if (p->pid <= 0 || (p->last_ns != 0 && now_ns - p->last_ns < EVERY_NS)) return;
  p->last_ns = now_ns;
  p->n_ends = p->n_streams = 0;
  static const unsigned states = 1U << LISTENS | 1U << ESTABLISHED;
  bool told = read_sockets(p) && socket_diag_connections(AF_INET, states, take_connection, p) &&
              socket_diag_connections(AF_INET6, states, take_connection, p) && socket_diag_streams(take_stream, p);
  if (!told || p->n_ends == ENDS_MAX) return;
  size_t n = p->n_streams;
  for (size_t i = 0; i < p->n_ends; i++) n += leads_away(p, &p->ends[i]);
  sink->value(sink->context, "server.local_peers", (double)n);
  keep_inner(p);
}

const struct sampler sampler_peers;
const struct sampler sampler_peers = {.name = "peers",
                                      .summary = "connections to other processes of this machine that the server may wait for",
                                      .open = peers_open,
                                      .watch = peers_watch,
                                      .sample = peers_sample,
                                      .close = free};
