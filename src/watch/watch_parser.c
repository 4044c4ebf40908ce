#include "watch/watch_parser.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cage.h"
#include "base/random.h"
#include "watch/connections.h"
#include "watch/tap.h"
#include "watch/watch_record.h"

enum { LOOK_MS = 100, NOBODY = 65534 };
#define STATE_EVERY_NS INT64_C(1000000000)

struct watch_parser {
  const struct watcher_request *request;
  pid_t parent;
  int records, stop;
  struct tap tap;
  struct connections *connections;
  int64_t last_state_ns;
};

static _Noreturn void end(int code) {
  _exit(code);
}

/* The reader is gone, or does not want it: there is nobody to watch for. */
static void write_all(const struct watch_parser *p, const void *data, size_t length) {
  const char *at = data;
  while (length > 0) {
    ssize_t n = write(p->records, at, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) end(1);
    at += n;
    length -= (size_t)n;
  }
}

static void write_record(const struct watch_parser *p, enum watch_record_kind kind, const void *data, size_t length, const void *more,
                         size_t n_more) {
  const struct watch_head head = {.kind = (uint32_t)kind, .length = (uint32_t)(length + n_more)};
  write_all(p, &head, sizeof head);
  write_all(p, data, length);
  if (n_more > 0) write_all(p, more, n_more);
}

static _Noreturn void fail(const struct watch_parser *p, enum watch_failure failure, int number) {
  const struct watch_failed failed = {.failure = failure, .number = number};
  write_record(p, RECORD_FAILED, &failed, sizeof failed, NULL, 0);
  end(1);
}

static void on_request(void *context, const struct watched_request *request) {
  struct watched_request flat = *request;
  flat.events = NULL;
  write_record(context, RECORD_REQUEST, &flat, sizeof flat, request->events, request->events_length);
}

/* --- where to listen --- */

static void enter_network(const struct watch_parser *p) {
  char path[64];
  if (p->request->pid <= 0) return;
  (void)snprintf(path, sizeof path, "/proc/%lld/ns/net", (long long)p->request->pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) fail(p, FAILED_NAMESPACE, errno);
  (void)close(fd);
}

static bool address_of(const struct sockaddr *from, uint8_t ret[16], bool *ret_v6) {
  memset(ret, 0, 16);
  if (from != NULL && from->sa_family == AF_INET) memcpy(ret, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
  else if (from != NULL && from->sa_family == AF_INET6) memcpy(ret, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
  else return false;
  *ret_v6 = from->sa_family == AF_INET6;
  return true;
}

static bool is_any(const uint8_t address[16]) {
  static const uint8_t any[16];
  return memcmp(address, any, sizeof any) == 0;
}

/* Who gets what is sent to that address: the kernel takes the listener that says it most exactly. NULL: nobody. */
static const struct watcher_listener *listener_at(const struct watch_parser *p, const uint8_t address[16], bool is_v6) {
  const struct watcher_listener *ret = NULL;
  for (size_t i = 0; i < p->request->n_listeners; i++) {
    const struct watcher_listener *l = &p->request->listeners[i];
    if (l->is_v6 == is_v6 && memcmp(l->address, address, 16) == 0) return l;
    /* One of IPv6 for all addresses has those of IPv4, too, unless somebody has these. */
    bool better = ret == NULL || (ret->is_v6 != is_v6 && l->is_v6 == is_v6);
    if (is_any(l->address) && (l->is_v6 == is_v6 || l->is_v6) && better) ret = l;
  }
  return ret;
}

/* Is the endpoint's host one of these addresses? One that stands for all is. A name is looked up in files and by the system's resolver. */
static bool is_ours(const struct watch_parser *p, const struct ifaddrs *all, const struct watcher_listener **ret_listener) {
  struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
  bool ours = false;
  if (getaddrinfo(p->request->endpoint->host, NULL, &hints, &found) != 0) return false;
  for (const struct addrinfo *f = found; f != NULL && !ours; f = f->ai_next) {
    uint8_t wanted[16], there[16];
    bool v6, there_v6;
    if (!address_of(f->ai_addr, wanted, &v6)) continue;
    ours = is_any(wanted);
    for (const struct ifaddrs *i = all; i != NULL && !ours; i = i->ifa_next)
      ours = address_of(i->ifa_addr, there, &there_v6) && v6 == there_v6 && memcmp(wanted, there, 16) == 0;
    ours = ours || (!v6 && wanted[0] == 127); /* all of 127.0.0.0/8 is here */
    *ret_listener = ours ? listener_at(p, wanted, v6) : NULL;
    if (ours && *ret_listener == NULL && f->ai_next != NULL) ours = false; /* of a name's two addresses it may listen at the other one */
  }
  freeaddrinfo(found);
  return ours;
}

static bool is_on_loopback(const struct watcher_listener *l) {
  return !l->is_v6 && l->address[0] == 127;
}

static void watch_loopback(const struct watch_parser *p, const struct watcher_listener *watched) {
  static const uint8_t some[16] = {127, 0, 0, 1};
  bool shared = false; /* somebody has one of its addresses for himself */
  for (size_t i = 0; i < p->request->n_listeners; i++) shared = shared || is_on_loopback(&p->request->listeners[i]);
  if (watched != NULL && is_on_loopback(watched)) connections_address(p->connections, watched->address, false);
  else if (shared && listener_at(p, some, false) == watched) connections_address(p->connections, some, false);
  else if (!shared && listener_at(p, some, false) == watched) connections_loopback(p->connections);
}

/* Clients come by any interface, and the server is at those of our addresses at which its listener is the one that is asked. */
static void open_tap(struct watch_parser *p) {
  struct ifaddrs *all = NULL;
  const struct watcher_listener *watched = NULL;
  const char *name = p->request->interface;
  int number = 0, interface = name != NULL ? (int)if_nametoindex(name) : 0;
  if (name != NULL && interface == 0) fail(p, FAILED_INTERFACE, 0);
  if (getifaddrs(&all) != 0) fail(p, FAILED_KERNEL, errno);
  if (!is_ours(p, all, &watched)) fail(p, FAILED_ADDRESS, 0);
  for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
    uint8_t address[16];
    bool v6;
    if (address_of(i->ifa_addr, address, &v6) && (v6 || address[0] != 127) && listener_at(p, address, v6) == watched)
      connections_address(p->connections, address, v6);
  }
  freeifaddrs(all);
  watch_loopback(p, watched);
  if (!tap_open(interface, (uint16_t)p->request->endpoint->port, &p->tap, &number))
    fail(p, number == EPERM || number == EACCES ? FAILED_RIGHTS : FAILED_KERNEL, number);
}

/* --- alone with the packets --- */

/* Who is not root may have some of its own (`setcap` on the program). */
static void drop_capabilities(void) {
  struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
  const struct __user_cap_data_struct none[2] = {{0}, {0}};
  (void)syscall(SYS_capset, &head, none);
}

/* No rights, no other files: nothing is left but the ring and the pipe. */
static void give_up_rights(const struct watch_parser *p) {
  if (geteuid() == 0) {
    bool good = setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
    if (!good) fail(p, FAILED_KERNEL, errno);
  }
  drop_capabilities();
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user than before: the kernel has forgotten it */
  if (getppid() != p->parent) end(1);
  cage_enter(&(struct cage){.memory_bytes = INT64_C(1) << 31, .alone_with = p->records});
}

static int64_t now_of(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

static void tell_state(struct watch_parser *p, int64_t now_ns) {
  struct watch_state state;
  memset(&state, 0, sizeof state); /* padding, too */
  connections_age(p->connections, now_ns);
  state.at_ns = now_ns;
  state.counts = *connections_counts(p->connections);
  state.cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
  state.oldest_asked_ns = connections_oldest(p->connections);
  tap_statistics(&p->tap, &state.n_packets, &state.n_dropped);
  write_record(p, RECORD_STATE, &state, sizeof state, NULL, 0);
  p->last_state_ns = now_ns;
}

static void on_packet(void *context, int interface, enum packet_way way, const uint8_t *packet, size_t captured, size_t whole,
                      int64_t realtime_ns) {
  connections_packet(context, interface, way, packet, captured, whole, realtime_ns);
}

static _Noreturn void go_on(struct watch_parser *p) {
  struct pollfd fds[2] = {{.fd = p->stop}, {.fd = p->tap.fd, .events = POLLIN}};
  for (;;) {
    int n = poll(fds, LYNX_COUNT(fds), LOOK_MS);
    if (n < 0 && errno != EINTR) end(1);
    tap_take(&p->tap, on_packet, p->connections);
    int64_t now_ns = now_of(CLOCK_REALTIME);
    if (now_ns - p->last_state_ns >= STATE_EVERY_NS || now_ns < p->last_state_ns) tell_state(p, now_ns);
    if (n > 0 && fds[0].revents != 0) break;
  }
  /* What the kernel has not handed over yet, it does within the time of a block. */
  const struct timespec rest = {.tv_nsec = 2 * LOOK_MS * 1000000};
  (void)nanosleep(&rest, NULL);
  tap_take(&p->tap, on_packet, p->connections);
  tell_state(p, now_of(CLOCK_REALTIME));
  connections_close(p->connections, now_of(CLOCK_REALTIME));
  end(0);
}

_Noreturn void watch_parser_main(const struct watcher_request *request, pid_t parent, int records, int stop) {
  uint8_t seed[8] = {0};
  uint64_t order;
  struct watch_parser *p = xalloc(1, sizeof *p);
  *p = (struct watch_parser){.request = request, .parent = parent, .records = records, .stop = stop};
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGINT, SIG_IGN); /* a terminal's, which the reader gets, too: it says when to end */
  (void)signal(SIGTERM, SIG_IGN);
  if (getppid() != parent) end(1);
  (void)random_salt(seed, sizeof seed); /* without it the order is known, and the chains are longer for an attacker's sake */
  memcpy(&order, seed, sizeof order);
  p->connections = connections_open((uint16_t)request->endpoint->port, order, request->resolution_ns, on_request, p);
  enter_network(p);
  open_tap(p);
  give_up_rights(p);
  write_record(p, RECORD_READY, NULL, 0, NULL, 0);
  go_on(p);
}
