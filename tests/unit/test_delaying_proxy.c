/* The proxy that lengthens a wire, before a server in this program: what comes through, how late, and what a server says before it hangs
 * up. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/check.h"
#include "experiment/delaying_proxy.h"

enum { LARGE = 3 << 20 };
#define MS INT64_C(1000000)

static int listener, server_port;

/* "e...": the same back, whole; "g": says something without reading on, and hangs up; which resets. */
static void *serve_one(void *context) {
  int fd = *(int *)context;
  static const char refusal[] = "no";
  char *text = malloc(LARGE);
  ssize_t n, length = 0;
  free(context);
  if (recv(fd, text, 1, 0) != 1) length = -1;
  else if (text[0] == 'g') (void)send(fd, refusal, 2, MSG_NOSIGNAL);
  else
    for (length = 1; (n = recv(fd, text + length, (size_t)(LARGE - length), 0)) > 0;) length += n;
  for (ssize_t at = 0; at < length && (n = send(fd, text + at, (size_t)(length - at), MSG_NOSIGNAL)) > 0;) at += n;
  free(text);
  (void)close(fd);
  return NULL;
}

static void *serve(void *unused) {
  for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
    pthread_t thread;
    int *own = malloc(sizeof *own);
    *own = fd;
    if (pthread_create(&thread, NULL, serve_one, own) == 0) (void)pthread_detach(thread);
  }
  return unused;
}

static int connected(int port) {
  const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_INT(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
  return fd;
}

struct sending {
  int fd;
  const char *text;
  ssize_t length;
};

static void *send_all(void *context) {
  const struct sending *s = context;
  ssize_t n;
  for (ssize_t at = 0; at < s->length && (n = send(s->fd, s->text + at, (size_t)(s->length - at), MSG_NOSIGNAL)) > 0;) at += n;
  (void)shutdown(s->fd, SHUT_WR);
  return NULL;
}

/* Sends it, says that nothing more comes, and reads what comes back. */
static void check_echo(int port, ssize_t length, int64_t at_least_ns) {
  char *sent = malloc((size_t)length), *got = malloc((size_t)length + 1);
  struct sending sending = {connected(port), sent, length};
  pthread_t thread;
  ssize_t n, received = 0;
  for (ssize_t i = 0; i < length; i++) sent[i] = (char)(i % 251 ^ i >> 12);
  sent[0] = 'e';
  int64_t from = clock_now(&clock_system);
  CHECK_INT(pthread_create(&thread, NULL, send_all, &sending), 0);
  while ((n = recv(sending.fd, got + received, (size_t)(length + 1 - received), 0)) > 0) received += n;
  (void)pthread_join(thread, NULL);
  CHECK(clock_now(&clock_system) - from >= at_least_ns);
  CHECK_INT(received, length);
  CHECK(received == length && memcmp(sent, got, (size_t)length) == 0);
  (void)close(sending.fd);
  free(sent);
  free(got);
}

/* What a server says before it resets the connection arrives. */
static void check_refusal(int port) {
  char text[4] = "", more[20000] = "g";
  int fd = connected(port);
  ssize_t n, received = 0;
  CHECK(send(fd, more, sizeof more, MSG_NOSIGNAL) > 0);
  while (received < 2 && (n = recv(fd, text + received, sizeof text - 1 - (size_t)received, 0)) > 0) received += n;
  CHECK_TEXT(text, "no");
  (void)close(fd);
}

int main(void) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof here;
  struct wire *wire = NULL;
  pthread_t thread;
  char url[64], why[300] = "";
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_INT(bind(listener, (struct sockaddr *)&here, sizeof here), 0);
  CHECK_INT(listen(listener, 64), 0);
  CHECK_INT(getsockname(listener, (struct sockaddr *)&here, &size), 0);
  server_port = ntohs(here.sin_port);
  CHECK_INT(pthread_create(&thread, NULL, serve, NULL), 0);
  (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", server_port);
  CHECK(!wire_open(url, 3600 * 1000 * MS, &wire, why, sizeof why) && wire == NULL);
  CHECK_CONTAINS(why, "there is no wire that could be lengthened");
  CHECK(!wire_open("http://unix:/nowhere", 0, &wire, why, sizeof why) && wire == NULL);
  CHECK(wire_open(url, 0, &wire, why, sizeof why));
  CHECK(wire_round_trip_ns(wire) > 0);
  check_echo(wire_port(wire), 1000, 0);
  check_echo(wire_port(wire), LARGE - 1, 0);
  wire_delay(wire, 30 * MS);
  check_echo(wire_port(wire), 1000, 60 * MS);
  check_echo(wire_port(wire), LARGE - 1, 60 * MS);
  for (int i = 0; i < 20; i++) check_refusal(wire_port(wire));
  wire_delay(wire, 0);
  for (int i = 0; i < 20; i++) check_refusal(wire_port(wire));
  int open_still = connected(wire_port(wire));
  wire_close(wire);
  (void)close(open_still);
  return check_end();
}
