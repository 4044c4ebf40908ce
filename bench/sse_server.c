/* For benchmarks of clients: streams the same event to everybody who asks, and does as little as it can beside. Prints nothing; ends with a
 * signal. Not a model of a server: lynxbench-ref is.
 * usage: sse_server PORT EVENTS GAP_US [FIRST_US LOG [STALL_AT_MS STALL_MS]]
 * LOG: a line for each answer, in ns: when its request had arrived (the kernel's stamp of the last segment), before the first write of an
 * event, before the last. A stall: so long after the first request nothing is read or written for STALL_MS. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 20000, EVENTS = 256 };

static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static const char event_text[] =
    "data: {\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\" word\","
    "\"finish_reason\":null}]}\n\n";
static const char last_format[] =
    "data: {\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":{"
    "\"prompt_tokens\":9,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n";

struct client {
  int fd, left; /* events still to send; 0: idle */
  int64_t due_ns;
  size_t needed; /* bytes of the request's body that are still to come; only while it is read */
  int64_t arrived_ns, first_ns;
};

static int64_t now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* As read, and when the kernel had it: its stamps are of the wall clock. */
static ssize_t receive(int fd, char *to, size_t size, int64_t *ret_arrived_ns) {
  union {
    char bytes[256];
    struct cmsghdr aligned;
  } control;
  struct iovec part = {to, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t got = recvmsg(fd, &message, 0);
  struct timespec wall;
  *ret_arrived_ns = now_ns();
  (void)clock_gettime(CLOCK_REALTIME, &wall);
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); got > 0 && c != NULL; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
    struct timespec stamp;
    memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
    *ret_arrived_ns -= (int64_t)(wall.tv_sec - stamp.tv_sec) * 1000000000 + wall.tv_nsec - stamp.tv_nsec;
  }
  return got;
}

static size_t chunk(char *to, const char *text) {
  return (size_t)sprintf(to, "%zx\r\n%s\r\n", strlen(text), text);
}

int main(int argc, char **argv) {
  int port = argc > 1 ? atoi(argv[1]) : 8703, n_events = argc > 2 ? atoi(argv[2]) : 200, on = 1;
  int64_t gap_ns = argc > 3 ? atoll(argv[3]) * 1000 : 20000000, first_ns = argc > 4 ? atoll(argv[4]) * 1000 : gap_ns;
  FILE *log = argc > 5 ? fopen(argv[5], "w") : NULL;
  int64_t stall_at_ns = argc > 7 ? atoll(argv[6]) * 1000000 : -1, stall_ns = argc > 7 ? atoll(argv[7]) * 1000000 : 0, begun_ns = -1;
  struct rlimit files = {65536, 65536};
  (void)signal(SIGPIPE, SIG_IGN); /* clients leave in the middle of an answer */
  (void)setrlimit(RLIMIT_NOFILE, &files);
  char event[512], last[512], text[512];
  size_t n_event = chunk(event, event_text);
  (void)snprintf(text, sizeof text, last_format, n_events, n_events + 9);
  size_t n_last = chunk(last, text);
  n_last += (size_t)sprintf(last + n_last, "0\r\n\r\n");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), poll_fd = epoll_create1(0);
  struct epoll_event watch = {.events = EPOLLIN, .data.u32 = CLIENTS_MAX};
  if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0 ||
      epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &watch) != 0) {
    perror("sse_server");
    return 1;
  }
  struct client *clients = calloc(CLIENTS_MAX, sizeof *clients);
  int n_clients = 0;
  for (;;) {
    struct epoll_event events[EVENTS];
    int64_t next = INT64_MAX, now = now_ns();
    if (stall_at_ns >= 0 && begun_ns >= 0 && now >= begun_ns + stall_at_ns) {
      struct timespec nothing = {.tv_sec = stall_ns / 1000000000, .tv_nsec = stall_ns % 1000000000};
      (void)nanosleep(&nothing, NULL);
      stall_at_ns = -1;
      now = now_ns();
    }
    for (int i = 0; i < n_clients; i++) { /* who is due gets one event */
      struct client *c = &clients[i];
      if (c->left == 0) continue;
      if (c->due_ns <= now) {
        bool ends = --c->left == 0;
        int64_t before_ns = now_ns();
        if (c->left == n_events - 1) c->first_ns = before_ns;
        if (log != NULL && ends)
          (void)fprintf(log, "%lld %lld %lld\n", (long long)c->arrived_ns, (long long)c->first_ns, (long long)before_ns);
        if (log != NULL && ends) (void)fflush(log);
        if (write(c->fd, event, n_event) < 0 && errno != EAGAIN) c->left = 0;
        else if (ends && write(c->fd, last, n_last) < 0) c->left = 0;
        c->due_ns += gap_ns;
      }
      if (c->left > 0 && c->due_ns < next) next = c->due_ns;
    }
    int64_t wait_ns = next == INT64_MAX ? 100000000 : next - now_ns();
    struct timespec timeout = {.tv_nsec = wait_ns > 0 ? wait_ns % 1000000000 : 0, .tv_sec = wait_ns > 0 ? wait_ns / 1000000000 : 0};
    int n = epoll_pwait2(poll_fd, events, EVENTS, &timeout, NULL);
    for (int i = 0; i < n; i++) {
      if (events[i].data.u32 == CLIENTS_MAX) {
        int fd;
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
          int at = 0;
          while (at < n_clients && clients[at].fd >= 0) at++;
          if (at == CLIENTS_MAX) {
            (void)close(fd);
            continue;
          }
          if (at == n_clients) n_clients++;
          clients[at] = (struct client){.fd = fd};
          watch.data.u32 = (uint32_t)at;
          (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
          (void)epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &watch);
        }
        continue;
      }
      struct client *c = &clients[events[i].data.u32];
      char request[65536];
      int64_t arrived_ns;
      ssize_t got = receive(c->fd, request, sizeof request - 1, &arrived_ns);
      if (got <= 0) {
        if (got < 0 && errno == EAGAIN) continue;
        (void)close(c->fd);
        *c = (struct client){.fd = -1};
        continue;
      }
      request[got] = 0;
      if (c->needed > 0) c->needed = (size_t)got < c->needed ? c->needed - (size_t)got : 0;
      else {
        const char *end = strstr(request, "\r\n\r\n"), *length = strcasestr(request, "content-length:");
        size_t body = length != NULL ? (size_t)atoll(length + 15) : 0, have = end != NULL ? (size_t)(request + got - end - 4) : 0;
        if (strncmp(request, "GET", 3) == 0) {
          static const char models[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
                                       "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"m\"}]}";
          (void)!write(c->fd, models, sizeof models - 1);
          continue;
        }
        c->needed = body > have ? body - have : 0;
      }
      if (c->needed > 0) continue;
      if (write(c->fd, head, sizeof head - 1) < 0) continue;
      c->left = n_events;
      c->arrived_ns = arrived_ns;
      if (begun_ns < 0) begun_ns = arrived_ns;
      c->due_ns = now_ns() + first_ns;
    }
  }
}
