/* The calls by which a server hands work to its NVIDIA GPU are lengthened in proportion to their own time, by inject/cupti.c within it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/perturber.h"
#include "telemetry/cupti_socket.h"

enum { LIBRARIES_MAX = 16, ANSWER_MS = 5000 };

/* Each process that has the library times its launches as long as its socket is open, disturbed or not: what that costs is in every block. */
struct launching {
  struct perturbing request;
  int asked[LIBRARIES_MAX];
  size_t n;
};

/* A line of an answer; false: none came in time. */
static bool hear(int fd, int64_t until_ns, char *line, size_t size) {
  for (size_t n = 0; n + 1 < size;) {
    int64_t left = (until_ns - clock_now(&clock_system)) / 1000000;
    int ready = left < 0 ? 0 : poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)left + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || read(fd, &line[n], 1) != 1) return false;
    line[n + 1] = 0;
    if (line[n++] == '\n') return true;
  }
  return false;
}

static size_t launches_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct launching *s = xalloc(1, sizeof *s);
  char line[200];
  s->request = *request;
  *ret_state = s;
  (void)snprintf(why, size,
                 "launches: CUPTI's library listens in no process of the server; it takes CUDA_INJECTION64_PATH in its environment");
  for (size_t i = 0; i < request->n_processes && s->n < LIBRARIES_MAX && most > 0; i++) {
    int fd = cupti_socket_ask(request->root, request->processes[i].pid, "slow\n");
    if (fd < 0) continue;
    if (hear(fd, clock_now(&clock_system) + ANSWER_MS * INT64_C(1000000), line, sizeof line) && strcmp(line, "ok\n") == 0) {
      s->asked[s->n++] = fd;
      continue;
    }
    (void)close(fd);
    (void)snprintf(why, size, "launches: CUPTI's library in %s (pid %lld) does not slow them: another profiler may be at work",
                   request->processes[i].name, (long long)request->processes[i].pid);
  }
  if (s->n > 0) target_name(ret, "launches", "launch calls");
  return s->n > 0;
}

/* Of all of them together: what they took, and what was added to it. */
static double launches_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  const struct launching *s = state;
  char line[200];
  double own = 0, added = 0;
  (void)target;
  int n = snprintf(line, sizeof line, "%d %lld\n", (int)(1000 * slowness + 0.5),
                   (long long)((until_ns - clock_now(&clock_system)) / 1000000));
  for (size_t i = 0; i < s->n; i++)
    if (n <= 0 || send(s->asked[i], line, (size_t)n, MSG_NOSIGNAL) != n) return 1;
  if (!perturber_wait(&s->request, until_ns)) return 1; /* they are closed next, which ends it */
  for (size_t i = 0; i < s->n; i++) {
    double calls, one, more;
    if (!hear(s->asked[i], until_ns + ANSWER_MS * INT64_C(1000000), line, sizeof line) ||
        sscanf(line, "%lf %lf %lf", &calls, &one, &more) != 3)
      return 1;
    own += one;
    added += more;
  }
  /* Of what a server says of itself: no more is believed than could have been asked. */
  return own > 0 && added > 0 && added < 100 * own ? 1 + added / own : 1;
}

static void launches_close(void *state) {
  struct launching *s = state;
  for (size_t i = 0; i < s->n; i++) (void)close(s->asked[i]);
  free(s);
}

const struct perturber perturber_launches;
const struct perturber perturber_launches = {.name = "launches",
                                             .summary = "the calls that hand work to a GPU, in proportion to their own time",
                                             .does = "lengthens each of them, by the library that the CUDA driver loaded into the server",
                                             .levels = {2, 4},
                                             .open = launches_open,
                                             .hold = launches_hold,
                                             .close = launches_close,
                                             .whose = perturber_of_system};
