/* Questions that the serving processes have open: TCP connections that they made, on which what was sent last has no answer yet.
 * Series   server.asks: such connections, on average, to the port to which there are most; server.asks_port, server.asks_pid: that port; who
 *          of the serving processes listens there (0: somebody else)
 *          server.asks_lasting, server.asks_lasting_open: connections to it that were there for some looks, and how many of these have a
 *          question open: a pool whose connections always have one is full
 * Source   /proc/PID/fd, netlink's sock_diag with tcp_info (tcpi_last_data_sent and _recv, in milliseconds)
 * Cost     four times a second a dump of the machine's connections, and the descriptors of the serving processes
 * Limits   nothing where they have SOCKETS_MAX sockets or more, or another network namespace, or their descriptors may not be read. Where a
 *          question and its answer are sent in one millisecond, and in several segments, it counts for half */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/process_sockets.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"
#include "telemetry/socket_diag.h"

enum { SOCKETS_MAX = 256, LISTENING_MAX = 64, PORTS_MAX = 16, EACH = 5, ESTABLISHED = 1, LISTENS = 10 };
enum { LASTS = 3, NEVER_ANSWERED = 8 }; /* looks: from which on a connection is one that stays; is one that nobody answers at all */

struct connection {
  unsigned long long inode;
  unsigned short port, peer_port;
  double open;     /* 1, 0, or half */
  bool unanswered; /* so far nothing came */
  int n_looks;     /* that found it there */
};

struct port {
  unsigned short number;
  int64_t pid;
  double open, lasting, lasting_open; /* sums over looks */
};

struct questions {
  const struct root *root;
  int64_t pid;
  struct process_tree tree;
  unsigned long long inodes[SOCKETS_MAX];
  int64_t owners[SOCKETS_MAX];
  size_t n;
  struct connection now[SOCKETS_MAX], before[SOCKETS_MAX];
  size_t n_now, n_before;
  struct {
    unsigned short port;
    int64_t pid;
  } listening[LISTENING_MAX];
  size_t n_listening;
  struct port ports[PORTS_MAX];
  size_t n_ports;
  int64_t n_looks; /* of the sample */
  int skipped;
};

static bool asks_open(const struct root *root, void **ret_state) {
  struct questions *q = xalloc(1, sizeof *q);
  q->root = root;
  *ret_state = q;
  return root->path[0] == 0; /* of a recorded machine there are no sockets */
}

static void asks_watch(void *state, int64_t pid) {
  struct questions *q = state;
  q->pid = pid;
  q->n_before = q->n_ports = 0;
  q->n_looks = 0;
  if (pid > 0) process_tree_read(q->root, pid, &q->tree);
}

/* --- a look --- */

static bool read_sockets(struct questions *q) {
  q->n = 0;
  for (size_t i = 0; i < q->tree.n; i++) {
    if (q->tree.pids[i] == (int64_t)getpid()) continue; /* where the server started us */
    size_t from = q->n;
    q->n = process_sockets(q->root, q->tree.pids[i], q->inodes, q->n, SOCKETS_MAX);
    for (size_t k = from; k < q->n; k++) q->owners[k] = q->tree.pids[i];
  }
  return q->n > 0 && q->n < SOCKETS_MAX;
}

static int looks_before(const struct questions *q, unsigned long long inode) {
  for (size_t i = 0; i < q->n_before; i++)
    if (q->before[i].inode == inode) return q->before[i].n_looks;
  return 0;
}

static void take(void *context, const char *bytes, size_t n) {
  struct questions *q = context;
  struct inet_diag_msg m;
  struct tcp_info info;
  if (n < sizeof m) return;
  (void)memcpy(&m, bytes, sizeof m);
  size_t owner = 0;
  while (owner < q->n && q->inodes[owner] != m.idiag_inode) owner++;
  if (owner == q->n || m.idiag_inode == 0) return;
  if (m.idiag_state == LISTENS) {
    if (q->n_listening == LISTENING_MAX) return;
    q->listening[q->n_listening].port = ntohs(m.id.idiag_sport);
    q->listening[q->n_listening++].pid = q->owners[owner];
    return;
  }
  if (q->n_now == SOCKETS_MAX || !socket_diag_info(bytes, n, &info)) return;
  bool asked = info.tcpi_last_data_sent < info.tcpi_last_data_recv, same = info.tcpi_last_data_sent == info.tcpi_last_data_recv;
  /* In one millisecond: a question behind an answer, or the other way round. Where each is one segment their numbers tell. */
  int64_t ahead = (int64_t)info.tcpi_data_segs_out - (int64_t)info.tcpi_data_segs_in;
  if (same && (ahead == 0 || ahead == 1)) asked = ahead == 1, same = false;
  q->now[q->n_now++] = (struct connection){.inode = m.idiag_inode,
                                           .port = ntohs(m.id.idiag_sport),
                                           .peer_port = ntohs(m.id.idiag_dport),
                                           .open = asked  ? 1
                                                   : same ? 0.5
                                                          : 0,
                                           .unanswered = info.tcpi_bytes_received == 0,
                                           .n_looks = looks_before(q, m.idiag_inode) + 1};
}

static const int64_t *listener(const struct questions *q, unsigned short port) {
  for (size_t i = 0; i < q->n_listening; i++)
    if (q->listening[i].port == port) return &q->listening[i].pid;
  return NULL;
}

static struct port *port_of(struct questions *q, unsigned short number) {
  for (size_t i = 0; i < q->n_ports; i++)
    if (q->ports[i].number == number) return &q->ports[i];
  if (q->n_ports == PORTS_MAX) return NULL;
  const int64_t *pid = listener(q, number);
  q->ports[q->n_ports] = (struct port){.number = number, .pid = pid != NULL ? *pid : 0};
  return &q->ports[q->n_ports++];
}

static void asks_look(void *state) {
  struct questions *q = state;
  static const unsigned states = 1U << LISTENS | 1U << ESTABLISHED;
  if (q->pid <= 0 || ++q->skipped < EACH) return;
  q->skipped = 0;
  q->n_now = q->n_listening = 0;
  if (!read_sockets(q) || !socket_diag_connections_told(AF_INET, states, take, q) ||
      !socket_diag_connections_told(AF_INET6, states, take, q))
    return;
  q->n_looks++;
  for (size_t i = 0; i < q->n_now; i++) {
    const struct connection *c = &q->now[i];
    struct port *port = listener(q, c->port) == NULL && !(c->unanswered && c->n_looks >= NEVER_ANSWERED) ? port_of(q, c->peer_port) : NULL;
    if (port == NULL) continue;
    port->open += c->open;
    port->lasting += c->n_looks >= LASTS;
    port->lasting_open += c->n_looks >= LASTS ? c->open : 0;
  }
  (void)memcpy(q->before, q->now, q->n_now * sizeof q->now[0]);
  q->n_before = q->n_now;
}

/* --- samples --- */

static void asks_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct questions *q = state;
  const struct port *most = NULL;
  (void)now_ns;
  for (size_t i = 0; i < q->n_ports; i++)
    if (most == NULL || q->ports[i].open > most->open) most = &q->ports[i];
  if (q->n_looks > 0) sink->value(sink->context, "server.asks", most != NULL ? most->open / (double)q->n_looks : 0);
  if (q->n_looks > 0 && most != NULL) {
    sink->value(sink->context, "server.asks_lasting", most->lasting / (double)q->n_looks);
    sink->value(sink->context, "server.asks_lasting_open", most->lasting_open / (double)q->n_looks);
    sink->value(sink->context, "server.asks_port", most->number);
    sink->value(sink->context, "server.asks_pid", (double)most->pid);
  }
  q->n_ports = 0;
  q->n_looks = 0;
  if (q->pid > 0) process_tree_read(q->root, q->pid, &q->tree);
}

const struct sampler sampler_asks;
const struct sampler sampler_asks = {.name = "asks",
                                     .summary = "connections on which the server waits for somebody's answer",
                                     .open = asks_open,
                                     .watch = asks_watch,
                                     .look = asks_look,
                                     .sample = asks_sample,
                                     .close = free};
