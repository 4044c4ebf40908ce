/* The wire between client and server: the round trip that this process's own connections measured, and what was sent again.
 * Series   wire.round_trip_s: the least of all of them, as the kernel keeps it (TCP_INFO's min_rtt): what no load explains
 *          wire.sent_again_per_s: segments that this machine sent again (/proc/net/snmp), of all connections
 *          wire.held: connections at whose other end bytes wait until this process's kernel acknowledges those before them: Nagle's
 *          algorithm (RFC 9293, 3.7.4). Where the other end is in this network namespace: by netlink's sock_diag
 * Limits   a proxy ends a connection: what is behind it is not seen */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/sampler.h"
#include "telemetry/socket_diag.h"

enum { DESCRIPTORS_MAX = 4096, ENDS_MAX = 256 };

struct wire {
  const struct root *root;
  int64_t last_ns;
  double sent_again;     /* as last read; -1: not yet */
  double least_s;        /* of the descriptors that are being looked at */
  int asks;              /* netlink; -1: it does not answer */
  size_t n_ends, n_held; /* of their other ends: that were seen, that hold bytes back */
};

static bool wire_open(const struct root *root, void **ret_state) {
  struct wire *w = xalloc(1, sizeof *w);
  w->root = root;
  w->sent_again = -1;
  *ret_state = w;
  return root->path[0] == 0; /* descriptors are this process's own: of a recorded machine there are none */
}

static void wire_watch(void *state, int64_t pid) {
  struct wire *w = state;
  (void)pid;
  w->last_ns = 0;
}

static void name_end(const struct sockaddr_storage *address, __be16 *ret_port, __be32 *ret_address) {
  if (address->ss_family == AF_INET) {
    struct sockaddr_in four;
    (void)memcpy(&four, address, sizeof four);
    *ret_port = four.sin_port;
    (void)memcpy(ret_address, &four.sin_addr, sizeof four.sin_addr);
  } else {
    struct sockaddr_in6 six;
    (void)memcpy(&six, address, sizeof six);
    *ret_port = six.sin6_port;
    (void)memcpy(ret_address, &six.sin6_addr, sizeof six.sin6_addr);
  }
}

/* Does that end of the connection hold bytes back? */
static void look_at_other_end(struct wire *w, int fd, const struct sockaddr_storage *peer) {
  struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
  struct tcp_info info = {.tcpi_unacked = 0};
  struct inet_diag_sockid id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
  socklen_t n = sizeof own;
  if (w->asks < 0 || w->n_ends >= ENDS_MAX || getsockname(fd, (struct sockaddr *)&own, &n) != 0 || own.ss_family != peer->ss_family) return;
  name_end(peer, &id.idiag_sport, id.idiag_src);
  name_end(&own, &id.idiag_dport, id.idiag_dst);
  if (!socket_diag_one(w->asks, (unsigned char)peer->ss_family, &id, &info)) return;
  w->n_ends++;
  w->n_held += socket_holds_back(&info);
}

static void look_at(void *context, const char *name) {
  struct wire *w = context;
  int64_t fd;
  struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
  struct tcp_info info = {.tcpi_min_rtt = 0};
  socklen_t n_peer = sizeof peer, n_info = sizeof info;
  if (!number_int64(name, strlen(name), &fd) || fd < 0 || fd > INT32_MAX) return;
  if (getpeername((int)fd, (struct sockaddr *)&peer, &n_peer) != 0 || (peer.ss_family != AF_INET && peer.ss_family != AF_INET6)) return;
  if (getsockopt((int)fd, IPPROTO_TCP, TCP_INFO, &info, &n_info) != 0) return;
  look_at_other_end(w, (int)fd, &peer);
  bool told = n_info >= offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt;
  if (!told || info.tcpi_min_rtt == 0 || info.tcpi_min_rtt == UINT32_MAX) return; /* microseconds; all ones: none yet */
  double s = (double)info.tcpi_min_rtt / 1e6;
  if (w->least_s < 0 || s < w->least_s) w->least_s = s;
}

static void wire_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct wire *w = state;
  double sent_again = kernel_counter(w->root, "/proc/net/snmp", "Tcp: ", "RetransSegs"), before = w->sent_again;
  int64_t span_ns = w->last_ns > 0 ? now_ns - w->last_ns : 0;
  w->least_s = -1;
  w->n_ends = w->n_held = 0;
  w->asks = socket_diag_open();
  (void)root_list(w->root, "/proc/self/fd", DESCRIPTORS_MAX, look_at, w);
  if (w->asks >= 0) (void)close(w->asks); /* only read */
  if (w->least_s > 0) sink->value(sink->context, "wire.round_trip_s", w->least_s);
  if (w->n_ends > 0) sink->value(sink->context, "wire.held", (double)w->n_held);
  if (span_ns > 0 && before >= 0 && sent_again >= before)
    sink->value(sink->context, "wire.sent_again_per_s", (sent_again - before) / ((double)span_ns / 1e9));
  w->sent_again = sent_again;
  w->last_ns = now_ns;
}

const struct sampler sampler_wire;
const struct sampler sampler_wire = {.name = "wire",
                                     .summary = "round trips of the client's connections, segments sent again",
                                     .open = wire_open,
                                     .watch = wire_watch,
                                     .sample = wire_sample,
                                     .close = free};
