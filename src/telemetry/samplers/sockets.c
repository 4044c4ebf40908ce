/* The sockets that the serving processes listen at: connections that wait to be accepted, and those that were dropped for it.
 * Series   server.accept_queue: connections that are made and not accepted yet, of the listening socket with the most
 *          server.dropped_per_s: connections that the kernel dropped since such a queue was full
 * Source   /proc/PID/fd, /proc/PID/net/tcp and tcp6 (a listening socket's receive queue; its lines come first), /proc/PID/net/netstat
 * Limits   dropped: of all listening sockets in that network namespace */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { SOCKETS_MAX = 4096, DESCRIPTORS_MAX = 16384, HEAD_MAX = 32768, NETSTAT_MAX = 65536, LISTENS = 10, FIELDS_MAX = 256 };

struct sockets {
  const struct root *root;
  int64_t pid, last_ns;
  double dropped; /* as last read; -1: not known */
  char folder[64];
  unsigned long long inodes[SOCKETS_MAX];
  size_t n;
};

static bool sockets_open(const struct root *root, void **ret_state) {
  struct sockets *s = xalloc(1, sizeof *s);
  s->root = root;
  *ret_state = s;
  return true;
}

static void take_descriptor(void *context, const char *name) {
  struct sockets *s = context;
  char path[128], target[128];
  (void)snprintf(path, sizeof path, "%s/%.20s", s->folder, name);
  if (s->n < SOCKETS_MAX && root_read_link(s->root, path, target, sizeof target) && sscanf(target, "socket:[%llu]", &s->inodes[s->n]) == 1)
    s->n++;
}

static void sockets_watch(void *state, int64_t pid) {
  struct sockets *s = state;
  struct process_tree tree;
  s->pid = pid;
  s->last_ns = 0;
  s->n = 0;
  process_tree_read(s->root, pid, &tree);
  for (size_t i = 0; i < tree.n; i++) {
    (void)snprintf(s->folder, sizeof s->folder, "/proc/%lld/fd", (long long)tree.pids[i]);
    (void)root_list(s->root, s->folder, DESCRIPTORS_MAX, take_descriptor, s);
  }
}

static bool is_theirs(const struct sockets *s, unsigned long long inode) {
  for (size_t i = 0; i < s->n; i++)
    if (s->inodes[i] == inode) return true;
  return false;
}

/* The beginning of a file that may be long; 0: nothing. */
static size_t read_head(const struct sockets *s, const char *path, char text[HEAD_MAX]) {
  int fd = root_open(s->root, path);
  size_t n = 0;
  if (fd < 0) return 0;
  for (ssize_t got = 1; got != 0 && n<HEAD_MAX - 1; n += got> 0 ? (size_t)got : 0) {
    got = read(fd, text + n, HEAD_MAX - 1 - n);
    if (got < 0 && errno != EINTR) break;
  }
  (void)close(fd);
  text[n] = 0;
  return n;
}

/* -1: none of theirs listens there. */
static long long waiting_at(const struct sockets *s, const char *file) {
  char path[64], text[HEAD_MAX], *rest = text;
  long long most = -1;
  (void)snprintf(path, sizeof path, "/proc/%lld/net/%s", (long long)s->pid, file);
  if (read_head(s, path, text) == 0) return -1;
  for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
    unsigned status, queue;
    unsigned long long inode;
    /* sl local remote st tx:rx tr:when retrnsmt uid timeout inode */
    if (sscanf(line, "%*d: %*39[0-9A-Fa-f:] %*39[0-9A-Fa-f:] %x %*[0-9A-Fa-f]:%x %*s %*s %*u %*d %llu", &status, &queue, &inode) != 3)
      continue;
    if (status != LISTENS) break; /* all that listen have gone before */
    if (is_theirs(s, inode) && (long long)queue > most) most = (long long)queue;
  }
  return most;
}

/* "TcpExt: ... ListenOverflows ListenDrops ..." and below it the numbers. A drop counts the overflow that caused it, too. */
static double read_dropped(const struct sockets *s) {
  char path[64];
  struct buffer text;
  double found = -1;
  buffer_init(&text, NETSTAT_MAX);
  (void)snprintf(path, sizeof path, "/proc/%lld/net/netstat", (long long)s->pid);
  char *names = root_read(s->root, path, &text, NULL) == LYNX_OK ? strstr(text.data, "TcpExt: ") : NULL,
       *values = names != NULL ? strstr(names + 8, "\nTcpExt: ") : NULL;
  if (values != NULL) {
    *values = 0;
    char *name_rest = names + 8, *value_rest = values + 9;
    for (int i = 0; i < FIELDS_MAX && found < 0; i++) {
      const char *name = strsep(&name_rest, " "), *value = strsep(&value_rest, " \n");
      if (name == NULL || value == NULL) break;
      if (strcmp(name, "ListenDrops") == 0) found = strtod(value, NULL);
    }
  }
  buffer_release(&text);
  return found;
}

static void sockets_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct sockets *s = state;
  if (s->pid <= 0) return;
  double dropped = read_dropped(s), before = s->dropped;
  int64_t span_ns = s->last_ns > 0 ? now_ns - s->last_ns : 0;
  long long waiting = s->n > 0 ? waiting_at(s, "tcp") : -1, waiting6 = s->n > 0 ? waiting_at(s, "tcp6") : -1;
  if (waiting6 > waiting) waiting = waiting6;
  if (waiting >= 0) sink->value(sink->context, "server.accept_queue", (double)waiting);
  if (span_ns > 0 && before >= 0 && dropped >= before)
    sink->value(sink->context, "server.dropped_per_s", (dropped - before) / ((double)span_ns / 1e9));
  s->dropped = dropped;
  s->last_ns = now_ns;
}

const struct sampler sampler_sockets;
const struct sampler sampler_sockets = {.name = "sockets",
                                        .summary = "connections that wait to be accepted, or were dropped",
                                        .open = sockets_open,
                                        .watch = sockets_watch,
                                        .sample = sockets_sample,
                                        .close = free};
