#include "telemetry/connected.h"

#include <linux/inet_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/process_sockets.h"
#include "telemetry/socket_diag.h"

enum { ESTABLISHED = 1, LISTENS = 10, OF_PROCESS_MAX = 512 };

struct end {
  unsigned long long inode;
  unsigned short port, peer_port;
  bool listens, theirs;
};

struct connected {
  struct end ends[CONNECTED_ENDS_MAX];
  size_t n;
  unsigned long long inodes[CONNECTED_SOCKETS_MAX];
  size_t n_inodes;
};

struct connected *connected_new(void) {
  return xalloc(1, sizeof(struct connected));
}

void connected_free(struct connected *c) {
  free(c);
}

static bool is_of(const struct connected *c, unsigned long long inode) {
  for (size_t i = 0; i < c->n_inodes; i++)
    if (c->inodes[i] == inode) return true;
  return false;
}

static void take_end(void *context, const char *bytes, size_t n) {
  struct connected *c = context;
  struct inet_diag_msg m;
  if (n < sizeof m || c->n == CONNECTED_ENDS_MAX) return;
  (void)memcpy(&m, bytes, sizeof m);
  c->ends[c->n++] = (struct end){.inode = m.idiag_inode,
                                 .port = m.id.idiag_sport,
                                 .peer_port = m.id.idiag_dport,
                                 .listens = m.idiag_state == LISTENS,
                                 .theirs = is_of(c, m.idiag_inode)};
}

void connected_read(struct connected *c, const struct root *root, const struct process_tree *tree) {
  static const unsigned states = 1U << LISTENS | 1U << ESTABLISHED;
  c->n = c->n_inodes = 0;
  for (size_t i = 0; i < tree->n; i++) c->n_inodes = process_sockets(root, tree->pids[i], c->inodes, c->n_inodes, CONNECTED_SOCKETS_MAX);
  bool whole = c->n_inodes > 0 && root->path[0] == 0 && socket_diag_connections(AF_INET, states, take_end, c) &&
               socket_diag_connections(AF_INET6, states, take_end, c);
  if (!whole || c->n == CONNECTED_ENDS_MAX) c->n = 0;
}

static bool is_served(const struct connected *c, unsigned short port) {
  for (size_t i = 0; i < c->n; i++)
    if (c->ends[i].listens && c->ends[i].theirs && c->ends[i].port == port) return true;
  return false;
}

void connected_with(struct connected *c, const struct root *root, int64_t pid, size_t *ret_asked, size_t *ret_asks) {
  *ret_asked = *ret_asks = 0;
  c->n_inodes = c->n > 0 ? process_sockets(root, pid, c->inodes, 0, OF_PROCESS_MAX) : 0;
  for (size_t i = 0; i < c->n && c->n_inodes > 0; i++) {
    const struct end *x = &c->ends[i];
    if (x->listens || x->theirs || !is_of(c, x->inode)) continue;
    size_t k = 0;
    while (k < c->n && !(c->ends[k].theirs && !c->ends[k].listens && c->ends[k].port == x->peer_port && c->ends[k].peer_port == x->port))
      k++;
    if (k == c->n) continue;
    if (is_served(c, x->peer_port)) (*ret_asks)++;
    else (*ret_asked)++;
  }
}
