#include "experiment/delaying_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/endpoint.h"

enum { PAIRS_MAX = 8192, EVENTS = 64, READ_BYTES = 64 << 10, WAITING_MAX = 1 << 20, CONNECT_MS = 5000, TRIES = 3 };
#define MS INT64_C(1000000)

/* Bytes under way. */
struct piece {
  struct piece *next;
  int64_t due_ns;
  size_t length, sent;
  char data[];
};

struct way {
  struct piece *first, *last;
  size_t waiting;
  bool ended, told; /* nothing more comes; the other side was told, or takes nothing any more */
};

struct pair {
  struct pair *next;
  int fd[2];                    /* the load's, the server's */
  struct way way[2];            /* of what was read from it */
  bool gone[2];                 /* its socket says nothing more: it was taken out of epoll, whose end would else wake us all the time */
  bool connected, broken, over; /* over: closed, and among those that are kept */
};

struct wire {
  struct sockaddr_storage server;
  socklen_t server_length;
  int listener, epoll, wake, port;
  int64_t round_trip_ns;
  _Atomic(int64_t) delay_ns;
  atomic_bool stop;
  pthread_t thread;
  bool running;
  struct pair *pairs, *closed; /* closed: kept until no event of theirs is left, lest another pair lie at the same address */
  size_t n_pairs;
  char scratch[READ_BYTES];
};

/* --- one connection --- */

static void close_pair(struct wire *w, struct pair *p) {
  struct pair **at = &w->pairs;
  while (*at != NULL && *at != p) at = &(*at)->next;
  *at = p->next;
  w->n_pairs--;
  for (int side = 0; side < 2; side++) {
    for (struct piece *piece = p->way[side].first, *next; piece != NULL; piece = next) {
      next = piece->next;
      free(piece);
    }
    (void)close(p->fd[side]);
  }
  p->over = true;
  p->next = w->closed;
  w->closed = p;
}

static void free_closed(struct wire *w) {
  for (struct pair *p = w->closed, *next; p != NULL; p = next) {
    next = p->next;
    free(p);
  }
  w->closed = NULL;
}

static void read_side(struct wire *w, struct pair *p, int side) {
  struct way *way = &p->way[side];
  while (!way->ended && way->waiting < WAITING_MAX) {
    ssize_t n = read(p->fd[side], w->scratch, sizeof w->scratch);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && !p->gone[side]) return;
    way->ended = n <= 0; /* a reset ends it, too: what came before is still under way */
    if (n <= 0) return;
    struct piece *piece = malloc(sizeof *piece + (size_t)n);
    p->broken = piece == NULL;
    if (piece == NULL) return;
    int64_t due = clock_now(&clock_system) + atomic_load(&w->delay_ns);
    *piece = (struct piece){.length = (size_t)n, .due_ns = way->last != NULL && way->last->due_ns > due ? way->last->due_ns : due};
    memcpy(piece->data, w->scratch, (size_t)n);
    if (way->last != NULL) way->last->next = piece;
    else way->first = piece;
    way->last = piece;
    way->waiting += (size_t)n;
  }
}

static void take_first(struct way *way) {
  struct piece *piece = way->first;
  way->first = piece->next;
  if (way->first == NULL) way->last = NULL;
  way->waiting -= piece->length;
  free(piece);
}

static void write_due(struct pair *p, int side, int64_t now) {
  struct way *way = &p->way[side];
  int to = p->fd[!side];
  if (side == 0 && !p->connected) return;
  while (way->first != NULL && way->first->due_ns <= now) {
    struct piece *piece = way->first;
    ssize_t n = way->told ? (ssize_t)(piece->length - piece->sent)
                          : send(to, piece->data + piece->sent, piece->length - piece->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) { /* it takes nothing more; what it sent before is still on its way to the other */
      way->told = true;
      p->broken = side == 1;
      continue;
    }
    piece->sent += (size_t)n;
    if (piece->sent < piece->length) return;
    take_first(way);
  }
  if (way->ended && way->first == NULL && !way->told) {
    way->told = true;
    (void)shutdown(to, SHUT_WR);
  }
}

/* What it wants to know of its sockets next. False: it is over. */
static bool watch(struct wire *w, struct pair *p, int64_t now) {
  bool answered = p->way[1].told && p->way[1].first == NULL;
  if (p->broken || (answered && (p->way[0].told || p->gone[1]))) return false;
  for (int side = 0; side < 2; side++) {
    const struct way *in = &p->way[side], *out = &p->way[!side];
    struct epoll_event event = {.data.u64 = (uint64_t)(uintptr_t)p | (unsigned)side};
    if (p->gone[side]) continue;
    if (!in->ended && in->waiting < WAITING_MAX && (side == 0 || p->connected)) event.events |= EPOLLIN;
    if ((side == 1 && !p->connected) || (out->first != NULL && out->first->due_ns <= now)) event.events |= EPOLLOUT;
    (void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, p->fd[side], &event);
  }
  return true;
}

static void serve_pair(struct wire *w, struct pair *p) {
  int code = 0;
  socklen_t length = sizeof code;
  struct pollfd ready = {.fd = p->fd[1], .events = POLLOUT};
  if (!p->connected && poll(&ready, 1, 0) == 1) {
    p->connected = getsockopt(p->fd[1], SOL_SOCKET, SO_ERROR, &code, &length) == 0 && code == 0;
    p->broken = !p->connected;
  }
  for (int side = 0; side < 2 && !p->broken; side++)
    if (side == 0 || p->connected) read_side(w, p, side);
  int64_t now = clock_now(&clock_system);
  for (int side = 0; side < 2 && !p->broken; side++) {
    write_due(p, side, now);
    while (p->gone[side] && !p->way[side].ended && p->way[side].waiting < WAITING_MAX &&
           !p->broken) { /* nothing else would wake us for it */
      read_side(w, p, side);
      write_due(p, side, now);
    }
  }
  if (!watch(w, p, now)) close_pair(w, p);
}

static int begin_connecting(const struct wire *w) {
  int fd = socket(w->server.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
  if (fd < 0) return -1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, (const struct sockaddr *)&w->server, w->server_length) == 0 || errno == EINPROGRESS) return fd;
  (void)close(fd);
  return -1;
}

static void take_connection(struct wire *w) {
  int near = accept4(w->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
  const struct timespec rest = {.tv_nsec = 10 * MS};
  if (near < 0) {
    if (errno == EMFILE || errno == ENFILE) (void)nanosleep(&rest, NULL); /* it goes on waiting, and would wake us all the time */
    return;
  }
  struct pair *p = w->n_pairs < PAIRS_MAX ? calloc(1, sizeof *p) : NULL;
  int far = p != NULL ? begin_connecting(w) : -1;
  if (far < 0) {
    (void)close(near);
    free(p);
    return;
  }
  (void)setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  *p = (struct pair){.next = w->pairs, .fd = {near, far}};
  w->pairs = p;
  w->n_pairs++;
  struct epoll_event event = {.events = EPOLLOUT, .data.u64 = (uint64_t)(uintptr_t)p | 1}, nothing = {.data.u64 = (uint64_t)(uintptr_t)p};
  if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, near, &nothing) != 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, far, &event) != 0) close_pair(w, p);
  else serve_pair(w, p);
}

/* --- the thread --- */

static bool is_due(const struct pair *p, int64_t now) {
  for (int side = 0; side < 2; side++)
    if (p->way[side].first != NULL && p->way[side].first->due_ns <= now) return true;
  return false;
}

/* Serves what is due. Returns how long until something else is; -1: nothing is under way. */
static int64_t serve_due(struct wire *w) {
  int64_t now = clock_now(&clock_system), next = INT64_MAX;
  for (struct pair *p = w->pairs, *following; p != NULL; p = following) {
    following = p->next;
    if (is_due(p, now)) serve_pair(w, p);
  }
  /* What is due still waits for its socket, which says when it is ready; what was read just now counts, too. */
  for (const struct pair *p = w->pairs; p != NULL; p = p->next)
    for (int side = 0; side < 2; side++)
      if (p->way[side].first != NULL && p->way[side].first->due_ns > now && p->way[side].first->due_ns < next)
        next = p->way[side].first->due_ns;
  return next == INT64_MAX ? -1 : next - now;
}

/* Beside addresses of pairs, the last bit of which says which socket of it. */
enum { WAKE = 0, LISTENER = 2 };

static struct pair *pair_of(const struct epoll_event *event) {
  return event->data.u64 == WAKE || event->data.u64 == LISTENER ? NULL : (struct pair *)(uintptr_t)(event->data.u64 & ~(uint64_t)1);
}

static void serve_event(struct wire *w, struct pair *p, const struct epoll_event *event) {
  int side = (int)(event->data.u64 & 1);
  if ((event->events & (EPOLLERR | EPOLLHUP)) != 0 && !p->gone[side]) {
    p->broken = p->broken || (side == 1 && !p->connected);
    p->gone[side] = true;
    (void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, p->fd[side], NULL);
  }
  serve_pair(w, p);
}

static void *carry(void *context) {
  struct wire *w = context;
  struct epoll_event events[EVENTS];
  while (!atomic_load(&w->stop)) {
    int64_t left = serve_due(w);
    const struct timespec wait = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
    int n = epoll_pwait2(w->epoll, events, EVENTS, left >= 0 ? &wait : NULL, NULL);
    if (n < 0 && errno == ENOSYS) n = epoll_wait(w->epoll, events, EVENTS, left >= 0 ? (int)((left + MS - 1) / MS) : -1);
    for (int i = 0; i < n; i++) {
      struct pair *p = pair_of(&events[i]);
      if (events[i].data.u64 == LISTENER) take_connection(w);
      else if (p != NULL && !p->over) serve_event(w, p, &events[i]); /* it has two sockets: the first event may have ended it */
    }
    free_closed(w);
  }
  while (w->pairs != NULL) close_pair(w, w->pairs);
  free_closed(w);
  return NULL;
}

/* --- opening --- */

/* By the handshakes of a few connections; -1: none was made. */
static int64_t round_trip(const struct wire *w) {
  int64_t least = -1;
  for (int i = 0; i < TRIES; i++) {
    int fd = begin_connecting(w), code = 1;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    struct tcp_info info = {0};
    socklen_t length = sizeof info, code_length = sizeof code;
    bool good = fd >= 0 && poll(&wait, 1, CONNECT_MS) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &code_length) == 0 && code == 0 &&
                getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
    int64_t ns = (int64_t)info.tcpi_rtt * 1000;
    if (good && ns > 0 && (least < 0 || ns < least)) least = ns;
    if (fd >= 0) (void)close(fd);
  }
  return least;
}

/* Of its addresses the first that answers. False: none does. */
static bool resolve(struct wire *w, const char *url) {
  struct endpoint endpoint;
  char port[16];
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
  w->round_trip_ns = -1;
  if (url == NULL || endpoint_parse(url, &endpoint, NULL) != LYNX_OK || endpoint.socket_path[0] != 0) return false;
  (void)snprintf(port, sizeof port, "%d", endpoint.port);
  if (getaddrinfo(endpoint.host, port, &hints, &found) != 0) return false;
  for (const struct addrinfo *a = found; a != NULL && w->round_trip_ns < 0; a = a->ai_next) {
    memcpy(&w->server, a->ai_addr, a->ai_addrlen);
    w->server_length = a->ai_addrlen;
    w->round_trip_ns = round_trip(w);
  }
  freeaddrinfo(found);
  return w->round_trip_ns >= 0;
}

static bool begin(struct wire *w) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof here;
  struct epoll_event listens = {.events = EPOLLIN, .data.u64 = LISTENER}, wakes = {.events = EPOLLIN, .data.u64 = WAKE};
  w->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  w->epoll = epoll_create1(EPOLL_CLOEXEC);
  w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  bool good = w->listener >= 0 && w->epoll >= 0 && w->wake >= 0 && bind(w->listener, (struct sockaddr *)&here, sizeof here) == 0 &&
              listen(w->listener, 1024) == 0 && getsockname(w->listener, (struct sockaddr *)&here, &length) == 0 &&
              epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->listener, &listens) == 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &wakes) == 0;
  w->port = ntohs(here.sin_port);
  w->running = good && pthread_create(&w->thread, NULL, carry, w) == 0;
  return w->running;
}

bool wire_open(const char *endpoint, int64_t least_ns, struct wire **ret, char *why, size_t size) {
  struct wire *w = xalloc(1, sizeof *w);
  w->listener = w->epoll = w->wake = -1;
  *ret = w;
  why[0] = 0;
  if (!resolve(w, endpoint)) (void)snprintf(why, size, "wire: how long a round trip takes is not known: no connection over TCP was made");
  else if (w->round_trip_ns < least_ns)
    (void)snprintf(why, size, "wire: a round trip takes %.2g ms: there is no wire that could be lengthened by a known part of itself",
                   (double)w->round_trip_ns / 1e6);
  else if (!begin(w)) (void)snprintf(why, size, "wire: no proxy can be opened on this machine: %s", strerror(errno));
  if (why[0] == 0) return true;
  wire_close(w);
  *ret = NULL;
  return false;
}

int wire_port(const struct wire *w) {
  return w->port;
}

int64_t wire_round_trip_ns(const struct wire *w) {
  return w->round_trip_ns;
}

void wire_delay(struct wire *w, int64_t each_way_ns) {
  atomic_store(&w->delay_ns, each_way_ns);
}

void wire_close(struct wire *w) {
  const uint64_t one = 1;
  if (w == NULL) return;
  atomic_store(&w->stop, true);
  if (w->running && write(w->wake, &one, sizeof one) == (ssize_t)sizeof one) (void)pthread_join(w->thread, NULL);
  const int fds[] = {w->listener, w->epoll, w->wake};
  for (size_t i = 0; i < LYNX_COUNT(fds); i++)
    if (fds[i] >= 0) (void)close(fds[i]);
  free(w);
}
