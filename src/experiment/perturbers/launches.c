/* The calls by which a server hands work to its NVIDIA GPU are lengthened in proportion to their own time, by inject/cupti.c within it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/perturber.h"
#include "telemetry/cupti_socket.h"

enum { LIBRARIES_MAX = 16, ANSWER_MS = 2000, LATE_MS = 1000 };

/* Each process that has the library times its launches as long as its socket is open, disturbed or not: what that costs is in every block. */
struct launching {
  struct perturbing request;
  int asked[LIBRARIES_MAX];
  size_t n; /* 0 also once one of them did not answer as it should: nothing is believed from then on */
};

static void give_up(struct launching *s) {
  for (size_t i = 0; i < s->n; i++) (void)close(s->asked[i]); /* which ends what they were told */
  s->n = 0;
}

static size_t launches_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct launching *s = xalloc(1, sizeof *s);
  char line[200];
  size_t n = 0;
  s->request = *request;
  *ret_state = s;
  (void)snprintf(why, size,
                 "launches: CUPTI's library listens in no process of the server; it takes CUDA_INJECTION64_PATH in its environment");
  for (size_t i = 0; i < request->n_processes && s->n < LIBRARIES_MAX && most > 0; i++) {
    int fd = cupti_socket_ask(request->root, request->processes[i].pid, "slow\n");
    if (fd >= 0) s->asked[s->n++] = fd;
  }
  int64_t until = clock_now(&clock_system) + ANSWER_MS * INT64_C(1000000); /* for all of them together */
  for (size_t i = 0; i < s->n; i++) {
    bool good = perturber_hear(&s->request, s->asked[i], until, line, sizeof line) && strcmp(line, "ok") == 0;
    if (good) s->asked[n++] = s->asked[i];
    else (void)close(s->asked[i]);
  }
  if (n == 0 && s->n > 0)
    (void)snprintf(why, size, "launches: CUPTI's library did not answer, or does not slow them: another profiler may be at work");
  s->n = n;
  if (n > 0) target_name(ret, "launches", "launch calls");
  return n > 0;
}

/* Of all of them together: what they took, and what was added to it. Of what a server says of itself no more is believed than was asked. */
static double launches_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct launching *s = state;
  char line[200];
  double own = 0, added = 0;
  int64_t ms = (until_ns - clock_now(&clock_system)) / 1000000;
  bool good = true;
  (void)target;
  if (ms < 1) return 1;
  int n = snprintf(line, sizeof line, "%d %lld\n", (int)(1000 * slowness + 0.5), (long long)ms);
  for (size_t i = 0; i < s->n && good; i++) good = n > 0 && send(s->asked[i], line, (size_t)n, MSG_NOSIGNAL) == n;
  good = good && perturber_wait(&s->request, until_ns);
  for (size_t i = 0; i < s->n && good; i++) {
    double calls, one, more;
    good = perturber_hear(&s->request, s->asked[i], until_ns + LATE_MS * INT64_C(1000000), line, sizeof line) &&
           sscanf(line, "%lf %lf %lf", &calls, &one, &more) == 3 && one >= 0 && one < 1e15 && more >= 0 &&
           more <= 2 * (slowness - 1) * one + 1e6;
    own += good ? one : 0;
    added += good ? more : 0;
  }
  if (!good) give_up(s);
  return good && own > 0 && added > 0 ? 1 + added / own : 1;
}

static void launches_close(void *state) {
  give_up(state);
  free(state);
}

const struct perturber perturber_launches;
const struct perturber perturber_launches = {.name = "launches",
                                             .summary = "the calls that hand work to a GPU, in proportion to their own time",
                                             .does = "lengthens each of them, by the library that the CUDA driver loaded into the server",
                                             .levels = {2, 4},
                                             .of_share = true,
                                             .device = "/dev/nvidiactl",
                                             .open = launches_open,
                                             .hold = launches_hold,
                                             .close = launches_close,
                                             .whose = perturber_of_system};
