/* The wire between client and server: the round trip that this process's own connections measured, and what was sent again.
 * Series   wire.round_trip_s: the least of all of them, as the kernel keeps it (TCP_INFO's min_rtt): what no load explains
 *          wire.sent_again_per_s: segments that this machine sent again (/proc/net/snmp), of all connections
 * Limits   a proxy ends a connection: what is behind it is not seen */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/sampler.h"

enum { DESCRIPTORS_MAX = 4096 };

struct wire {
  const struct root *root;
  int64_t last_ns;
  double sent_again; /* as last read; -1: not yet */
  double least_s;    /* of the descriptors that are being looked at */
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

static void look_at(void *context, const char *name) {
  struct wire *w = context;
  int64_t fd;
  struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
  struct tcp_info info = {.tcpi_min_rtt = 0};
  socklen_t n_peer = sizeof peer, n_info = sizeof info;
  if (!number_int64(name, strlen(name), &fd) || fd < 0 || fd > INT32_MAX) return;
  if (getpeername((int)fd, (struct sockaddr *)&peer, &n_peer) != 0 || (peer.ss_family != AF_INET && peer.ss_family != AF_INET6)) return;
  if (getsockopt((int)fd, IPPROTO_TCP, TCP_INFO, &info, &n_info) != 0) return;
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
  (void)root_list(w->root, "/proc/self/fd", DESCRIPTORS_MAX, look_at, w);
  if (w->least_s > 0) sink->value(sink->context, "wire.round_trip_s", w->least_s);
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
