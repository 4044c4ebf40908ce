#include "watch/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "watch/watch_parser.h"
#include "watch/watch_record.h"

enum { PIPE_BYTES = 1 << 20, READ_BYTES = 65536, READS_AT_ONCE = 256, READY_WITHIN_MS = 5000, ENDS_WITHIN_MS = 10000, REFUSED_MAX = 1000 };

struct watcher {
  pid_t pid;
  int from, stop; /* records; closed to end the parser */
  struct buffer bytes;
  char *scratch;
  int64_t n_refused;
};

static void stop(struct watcher *w) {
  if (w->stop >= 0) (void)close(w->stop);
  w->stop = -1;
}

void watcher_close(struct watcher *w) {
  if (w == NULL) return;
  stop(w);
  if (w->from >= 0) (void)close(w->from);
  if (w->pid > 0) {
    (void)kill(w->pid, SIGKILL); /* it has ended, or is not waited for any longer */
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {}
  }
  buffer_release(&w->bytes);
  free(w->scratch);
  free(w);
}

static enum lynx_status fail_of(const struct watcher_request *request, const char *data, size_t length, struct lynx_error *error) {
  struct watch_failed f = {.failure = FAILED_KERNEL};
  if (length == sizeof f) memcpy(&f, data, sizeof f);
  switch (f.failure) {
    case FAILED_NAMESPACE:
      return lynx_fail(
          error, LYNX_UNSUPPORTED,
          "the network of process %lld cannot be entered: %s; accepted: as root of the host (CAP_SYS_ADMIN and CAP_SYS_PTRACE)",
          (long long)request->pid, strerror(f.number));
    case FAILED_RIGHTS:
      return lynx_fail(error, LYNX_UNSUPPORTED,
                       "packets may not be read: %s; accepted: as root, or with CAP_NET_RAW (`setcap cap_net_raw+ep` on lynxbench, NET_RAW "
                       "in a container)",
                       strerror(f.number));
    case FAILED_INTERFACE:
      return lynx_fail(error, LYNX_INPUT,
                       "--interface: found '%.15s'; accepted: the name of a network interface that is up, as `ip link` lists them",
                       request->interface != NULL ? request->interface : "");
    case FAILED_ADDRESS:
      return lynx_fail(error, LYNX_INPUT, "%s is no address of this machine; accepted: the server's own, on the host where it runs",
                       request->endpoint->host);
    default:
      return lynx_fail(error, LYNX_UNSUPPORTED, "this kernel gives no packets: %s",
                       f.number != 0 ? strerror(f.number) : "the reading process ended");
  }
}

/* The first record's bytes, once they are there; NULL: none came. */
static const char *first_record(struct watcher *w, struct watch_head *ret) {
  for (int waited = 0; waited < READY_WITHIN_MS; waited += 10) {
    ssize_t n = read(w->from, w->scratch, READ_BYTES);
    if (n > 0 && !buffer_append(&w->bytes, w->scratch, (size_t)n)) return NULL;
    if (w->bytes.length >= sizeof *ret) {
      memcpy(ret, w->bytes.data, sizeof *ret);
      if (ret->length > WATCH_RECORD_MAX) return NULL;
      if (w->bytes.length >= sizeof *ret + ret->length) return w->bytes.data + sizeof *ret;
    }
    if (n == 0) return NULL;
    const struct timespec step = {.tv_nsec = 10000000};
    if (n < 0) (void)nanosleep(&step, NULL);
  }
  return NULL;
}

enum lynx_status watcher_open(const struct watcher_request *request, struct watcher **ret, struct lynx_error *error) {
  int records[2], halt[2];
  if (request->endpoint->tls)
    return lynx_fail(
        error, LYNX_UNSUPPORTED,
        "https: what is encrypted cannot be read here; accepted: the address behind whatever ends TLS (a sidecar, the gateway's "
        "own hop to the server), as http://");
  if (request->endpoint->socket_path[0] != 0)
    return lynx_fail(error, LYNX_UNSUPPORTED,
                     "a Unix socket has no packets; accepted: the address of whatever is in front of it, as http://HOST:PORT");
  if (pipe2(records, O_CLOEXEC) != 0) return lynx_fail(error, LYNX_IO, "a pipe: %s", strerror(errno));
  if (pipe2(halt, O_CLOEXEC) != 0) {
    (void)close(records[0]), (void)close(records[1]);
    return lynx_fail(error, LYNX_IO, "a pipe: %s", strerror(errno));
  }
  struct watcher *w = xalloc(1, sizeof *w);
  buffer_init(&w->bytes, WATCH_RECORD_MAX + sizeof(struct watch_head) + READ_BYTES);
  w->scratch = xalloc(READ_BYTES, 1);
  (void)fcntl(records[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does, too */
  pid_t parent = getpid();
  w->pid = fork();
  if (w->pid == 0) {
    (void)close(records[0]), (void)close(halt[1]);
    watch_parser_main(request, parent, records[1], halt[0]);
  }
  (void)close(records[1]), (void)close(halt[0]);
  w->from = records[0];
  w->stop = halt[1];
  struct watch_head head = {0};
  const char *first = w->pid > 0 && fcntl(w->from, F_SETFL, O_NONBLOCK) == 0 ? first_record(w, &head) : NULL;
  if (first == NULL || head.kind != RECORD_READY) {
    enum lynx_status status = fail_of(request, first, first != NULL && head.kind == RECORD_FAILED ? head.length : 0, error);
    watcher_close(w);
    return status;
  }
  buffer_drop_front(&w->bytes, sizeof head + head.length);
  *ret = w;
  return LYNX_OK;
}

/* False: no parser writes this. */
static bool take_record(struct watcher *w, const struct watch_head *head, const char *data, const struct watcher_visit *visit) {
  struct watched_request request;
  struct watch_state state;
  if (head->kind == RECORD_REQUEST) {
    /* One that cannot be is left out; whoever writes many of them was taken over. */
    if (watch_record_request(data, head->length, &request)) visit->request(visit->context, &request);
    else w->n_refused++;
    return w->n_refused <= REFUSED_MAX;
  }
  if (head->kind != RECORD_STATE || !watch_record_state(data, head->length, &state)) return false;
  visit->state(visit->context, &state);
  return true;
}

static bool take_records(struct watcher *w, const struct watcher_visit *visit) {
  size_t at = 0;
  struct watch_head head;
  bool good = true;
  while (good && w->bytes.length - at >= sizeof head) {
    memcpy(&head, w->bytes.data + at, sizeof head);
    good = head.length <= WATCH_RECORD_MAX;
    if (!good || w->bytes.length - at < sizeof head + head.length) break;
    good = take_record(w, &head, w->bytes.data + at + sizeof head, visit);
    at += sizeof head + head.length;
  }
  if (at > 0) buffer_drop_front(&w->bytes, at);
  return good;
}

bool watcher_take(struct watcher *w, const struct watcher_visit *visit) {
  for (int i = 0; i < READS_AT_ONCE; i++) {
    ssize_t n = read(w->from, w->scratch, READ_BYTES);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    if (!buffer_append(&w->bytes, w->scratch, (size_t)n) || !take_records(w, visit))
      return false; /* it was taken over: nothing of it is believed */
  }
  return true;
}

int64_t watcher_refused(const struct watcher *w) {
  return w->n_refused;
}

bool watcher_end(struct watcher *w, const struct watcher_visit *visit) {
  const struct timespec step = {.tv_nsec = 10000000};
  stop(w);
  for (int waited = 0; waited < ENDS_WITHIN_MS; waited += 10) {
    if (!watcher_take(w, visit)) return true;
    (void)nanosleep(&step, NULL);
  }
  return false;
}
