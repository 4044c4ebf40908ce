/* For benchmarks of clients: what any client of sockets pays at least. It asks like them and reads what comes, by epoll and recvmsg, and
 * looks at nothing but whether an answer is over. sse_floor PORT STREAMS SECONDS EVENTS-PER-ANSWER; prints how many events came. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STREAMS_MAX = 20000, EVENTS = 512 };

static const char request[] =
    "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
static const char over[] = "0\r\n\r\n";

static double now_s(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ask(int fd) {
  if (write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1) exit(1);
}

static int open_stream(int port) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) exit(1);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  static int fds[STREAMS_MAX];
  static char data[65536];
  int port = atoi(argv[1]), n = atoi(argv[2]), epoll = epoll_create1(0);
  if (n < 1 || n > STREAMS_MAX || epoll < 0) return 2;
  for (int i = 0; i < n; i++) {
    fds[i] = open_stream(port);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &(struct epoll_event){.events = EPOLLIN, .data.u32 = (uint32_t)i}) != 0) return 1;
    ask(fds[i]);
  }
  int64_t bytes = 0, of_first = 0, answer = 0; /* how long an answer is: all are alike */
  double until = now_s() + atof(argv[3]);
  struct epoll_event events[EVENTS];
  while (now_s() < until) {
    int ready = epoll_wait(epoll, events, EVENTS, 1000);
    for (int i = 0; i < ready; i++) {
      int fd = fds[events[i].data.u32];
      struct iovec room = {data, sizeof data};
      struct msghdr message = {.msg_iov = &room, .msg_iovlen = 1};
      ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) return 1;
      bytes += got;
      bool ended = got >= 5 && memcmp(data + got - 5, over, 5) == 0;
      if (events[i].data.u32 == 0 && answer == 0) {
        of_first += got;
        answer = ended ? of_first : 0;
      }
      if (ended) ask(fd);
    }
  }
  if (answer == 0) return 1;
  (void)printf("%.0f\n", (double)bytes / (double)answer * atof(argv[4]));
  return 0;
}
