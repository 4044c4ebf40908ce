#include "measure/latencies.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "stats/quantile.h"

enum { SLEEPS = 300, SLEEP_NS = 1000000, STARTS = 300, RATES = 5, CHUNK = 256 << 10, WARM = 20 };

void latency_summary(double *values, size_t n, double *ret_low, double *ret_median, double *ret_high) {
  quantile_sort(values, n);
  *ret_low = quantile_of(values, n, 0.01);
  *ret_median = quantile_of(values, n, 0.5);
  *ret_high = quantile_of(values, n, 0.99);
}

static void pin(int processor) {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  (void)pthread_setaffinity_np(pthread_self(), sizeof own, &own);
}

/* --- echo: what one end gets it sends back, until the other end is done --- */

struct echo {
  int from, to;
  int processor;
  size_t unit;
  atomic_bool done;
};

static bool pass(int fd, bool sends, char *bytes, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t got = sends ? write(fd, bytes + done, n - done) : read(fd, bytes + done, n - done);
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static void *echo_main(void *context) {
  const struct echo *e = context;
  char bytes[8];
  pin(e->processor);
  while (pass(e->from, false, bytes, e->unit) && !atomic_load(&e->done) && pass(e->to, true, bytes, e->unit)) {}
  return NULL;
}

/* Half of a round trip between two threads, each woken by the other; `whole`: all of it. */
static size_t ping(struct echo *other, int to, int from, int processor, bool whole, double values[LATENCY_SAMPLES]) {
  pthread_t thread;
  cpu_set_t before;
  char bytes[8] = {1};
  size_t n = 0;
  if (pthread_getaffinity_np(pthread_self(), sizeof before, &before) != 0 || pthread_create(&thread, NULL, echo_main, other) != 0) return 0;
  pin(processor);
  for (int i = 0; i < LATENCY_SAMPLES + WARM; i++) {
    int64_t begun_ns = clock_now(&clock_system);
    if (!pass(to, true, bytes, other->unit) || !pass(from, false, bytes, other->unit)) break;
    if (i >= WARM) values[n++] = (double)(clock_now(&clock_system) - begun_ns) / (whole ? 1e9 : 2e9);
  }
  (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  atomic_store(&other->done, true);
  if (!pass(to, true, bytes, other->unit)) (void)shutdown(to, SHUT_RDWR); /* of a socket: then its reading ends */
  (void)pthread_join(thread, NULL);
  return n;
}

static size_t wake_thread(const int *processors, int n, double values[LATENCY_SAMPLES]) {
  int there = eventfd(0, EFD_CLOEXEC), back = eventfd(0, EFD_CLOEXEC);
  struct echo other = {.from = there, .to = back, .processor = processors[n > 1 ? 1 : 0], .unit = 8};
  size_t got = there >= 0 && back >= 0 ? ping(&other, there, back, processors[0], false, values) : 0;
  if (there >= 0) (void)close(there);
  if (back >= 0) (void)close(back);
  return got;
}

/* --- loopback --- */

/* Two ends of a TCP connection on this machine. */
static bool connect_loopback(int ends[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ends[0] = ends[1] = -1;
  bool good = listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
              getsockname(listener, (struct sockaddr *)&address, &size) == 0;
  if (good) ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  good = good && ends[0] >= 0 && connect(ends[0], (struct sockaddr *)&address, size) == 0;
  if (good) ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (listener >= 0) (void)close(listener);
  for (int i = 0; i < 2 && good && ends[1] >= 0; i++) (void)setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (good && ends[1] >= 0) return true;
  if (ends[0] >= 0) (void)close(ends[0]);
  return false;
}

static size_t loopback_trip(const int *processors, int n, double values[LATENCY_SAMPLES]) {
  int ends[2];
  if (!connect_loopback(ends)) return 0;
  struct echo other = {.from = ends[1], .to = ends[1], .processor = processors[n > 1 ? 1 : 0], .unit = 1};
  size_t got = ping(&other, ends[0], ends[0], processors[0], true, values);
  (void)close(ends[0]);
  (void)close(ends[1]);
  return got;
}

static void *drain_main(void *context) {
  static char bytes[CHUNK];
  const struct echo *e = context;
  pin(e->processor);
  while (read(e->from, bytes, sizeof bytes) > 0) {}
  return NULL;
}

static size_t loopback_rate(const int *processors, int n, double values[LATENCY_SAMPLES]) {
  static char bytes[CHUNK];
  int ends[2];
  size_t got = 0;
  pthread_t thread;
  if (!connect_loopback(ends)) return 0;
  struct echo other = {.from = ends[1], .to = -1, .processor = processors[n > 1 ? 1 : 0], .unit = CHUNK};
  bool begun = pthread_create(&thread, NULL, drain_main, &other) == 0, good = begun;
  for (int k = 0; k < RATES && good; k++) {
    double sent = 0;
    int64_t begun_ns = clock_now(&clock_system), passed_ns = 0;
    for (; passed_ns < 100000000 && good; passed_ns = clock_now(&clock_system) - begun_ns) {
      good = pass(ends[0], true, bytes, CHUNK);
      sent += CHUNK;
    }
    if (good) values[got++] = sent / ((double)passed_ns / 1e9);
  }
  (void)close(ends[0]); /* its end is the reader's */
  if (begun) (void)pthread_join(thread, NULL);
  (void)close(ends[1]);
  return got;
}

/* --- appointments, and new threads --- */

static size_t wake_timer(const int *processors, int n, double values[LATENCY_SAMPLES]) {
  const struct timespec sleep = {.tv_nsec = SLEEP_NS};
  (void)processors, (void)n;
  for (int i = 0; i < SLEEPS; i++) {
    int64_t before = clock_now(&clock_system);
    (void)nanosleep(&sleep, NULL); /* ended early by a signal it is early, and counts so */
    values[i] = (double)(clock_now(&clock_system) - before - SLEEP_NS) / 1e9;
  }
  return SLEEPS;
}

static void *nothing(void *context) {
  return context;
}

static size_t start_thread(const int *processors, int n, double values[LATENCY_SAMPLES]) {
  (void)processors, (void)n;
  for (int i = 0; i < STARTS; i++) {
    pthread_t thread;
    int64_t before = clock_now(&clock_system);
    if (pthread_create(&thread, NULL, nothing, NULL) != 0) return 0;
    (void)pthread_join(thread, NULL);
    values[i] = (double)(clock_now(&clock_system) - before) / 1e9;
  }
  return STARTS;
}

const struct latency latencies_all[] = {{"wake_up.thread", "an eventfd, between two processors", 2, false, wake_thread},
                                        {"wake_up.timer", "beyond a sleep of 1 ms", 1, false, wake_timer},
                                        {"launch.thread", "made and joined", 1, false, start_thread},
                                        {"loopback.round_trip", "one byte by TCP", 2, false, loopback_trip},
                                        {"loopback.rate", "256 KiB at a time by TCP", 2, true, loopback_rate},
                                        {NULL, NULL, 0, false, NULL}};
