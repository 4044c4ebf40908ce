/* What the server's control group reads from disks is kept back for a part of the time, by the kernel's own limit of reading: a limit of a
 * few bytes a second, for some milliseconds, then the one that was there. It takes no processor, as rivals that read would.
 * Slowness  how much longer the threads that read are blocked for each byte that they read, by looks at random moments at who is (state D),
 *           against all undisturbed blocks so far. Stops come as often as it takes for what is asked: holds correct those that follow
 * Limits    what a thread that reads waits for while it writes counts too; a thread that begins within a block is not seen in it; a read
 *           that is under way is not stopped; disks over the network have no such limit. A limit that somebody else changes meanwhile is
 *           written over
 * Source    kernel: admin-guide/cgroup-v2 (io.max), cgroup-v1/blkio-controller (blkio.throttle) */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/perturber.h"
#include "telemetry/control_group.h"
#include "telemetry/process_tree.h"

enum {
  DISKS_MAX = 128,
  LIMITS_MAX = 16,
  READERS_MAX = 64,
  LIST_MAX = 1 << 18,
  LEAST_LIMIT = 2 /* bytes a second; version 2 takes no less */
};
#define WATCHED_NS INT64_C(1500000000)
#define STOP_NS INT64_C(5000000) /* several ticks of the kernel's timer: what waits is let go on at one */
#define LOOK_NS INT64_C(2000000) /* between two looks; of more than eight threads, longer */
#define LEAST_SHARE 0.002
#define MOST_SHARE 0.6 /* of the time */

struct disk_reads {
  char number[24]; /* "254:0" */
  unsigned long long sectors;
};

struct disk_limit {
  struct undo_step before, stopped;
};

/* What came in a stretch of time, or in several. */
struct tally {
  double blocked_s; /* of all threads */
  double bytes, span_s;
};

struct reader {
  int fd; /* its stat */
  bool blocked;
};

struct disk {
  struct perturbing request;
  struct control_group group;
  char limits[UNDO_PATH];
  bool too_long;
  struct disk_limit all[LIMITS_MAX];
  size_t n;
  /* The block that runs. */
  struct reader readers[READERS_MAX];
  size_t n_readers;
  int64_t process, begun_ns, next_look_ns;
  unsigned long long from_bytes;
  double looks, blocked; /* looks at all of them, and how many were blocked in these */
  struct tally plain, held[2];
  double waiting; /* threads that were seen blocked while nothing was slowed */
  double push;    /* how much more than by the arithmetic */
};

static bool take_group(void *context, const struct control_group *group) {
  struct disk *d = context;
  struct buffer text;
  char path[CONTROL_GROUP_PATH + 40];
  (void)snprintf(path, sizeof path, "%s/%s", group->path, group->unified ? "io.max" : "blkio.throttle.read_bps_device");
  buffer_init(&text, LIST_MAX);
  bool there = root_read(d->request.root, path, &text, NULL) == LYNX_OK;
  buffer_release(&text);
  d->group = *group;
  d->too_long = there && strlen(path) >= sizeof d->limits;
  (void)snprintf(d->limits, sizeof d->limits, "%.255s", path);
  return there;
}

/* --- who else is in the group --- */

static bool started_the_server(const struct disk *d, int64_t pid) {
  struct process_stat stat;
  int64_t at = d->request.processes[0].pid;
  for (int i = 0; i < PROCESS_TREE_MAX && at > 1 && process_read(d->request.root, at, &stat); i++) {
    at = stat.parent;
    if (at == pid) return true;
  }
  return false;
}

/* lynxbench itself, or else the first one; 0: only the server, and those that started it; -1: one that cannot be seen from here. */
static int64_t a_stranger(const struct disk *d) {
  char path[CONTROL_GROUP_PATH + 40];
  struct buffer text;
  struct process_tree tree;
  int64_t found = 0;
  (void)snprintf(path, sizeof path, "%s/cgroup.procs", d->group.path);
  process_tree_read(d->request.root, d->request.processes[0].pid, &tree);
  buffer_init(&text, LIST_MAX);
  char *rest = root_read(d->request.root, path, &text, NULL) == LYNX_OK ? text.data : NULL;
  for (const char *line = strsep(&rest, "\n"); line != NULL && found != getpid(); line = strsep(&rest, "\n")) {
    int64_t pid = atoll(line);
    bool stranger = line[0] != 0 && found == 0 && !process_tree_holds(&tree, pid) && !started_the_server(d, pid);
    if (pid == getpid() || stranger) found = pid > 0 ? pid : -1;
  }
  buffer_release(&text);
  return found;
}

/* --- the disks --- */

static size_t list_disks(const struct disk *d, struct disk_reads *ret) {
  struct buffer text;
  size_t n = 0;
  buffer_init(&text, LIST_MAX);
  char *rest = root_read(d->request.root, "/proc/diskstats", &text, NULL) == LYNX_OK ? text.data : NULL;
  for (const char *line = strsep(&rest, "\n"); line != NULL && n < DISKS_MAX; line = strsep(&rest, "\n")) {
    unsigned major, minor;
    if (sscanf(line, "%u %u %*s %*u %*u %llu", &major, &minor, &ret[n].sectors) != 3) continue;
    (void)snprintf(ret[n++].number, sizeof ret[0].number, "%u:%u", major, minor);
  }
  buffer_release(&text);
  return n;
}

/* The limit that a disk has now: "254:0 20971520", or "254:0 rbps=20971520 wbps=max ...". */
static bool read_limit(const struct disk *d, const char *number, char *ret, size_t size) {
  struct buffer text;
  size_t length = strlen(number);
  buffer_init(&text, LIST_MAX);
  (void)snprintf(ret, size, "%s", d->group.unified ? "max" : "0");
  bool read = root_read(d->request.root, d->limits, &text, NULL) == LYNX_OK;
  char *rest = read ? text.data : NULL;
  for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
    if (strncmp(line, number, length) != 0 || line[length] != ' ') continue;
    const char *at = d->group.unified ? strstr(line, " rbps=") : line + length;
    if (at != NULL) (void)sscanf(at + (d->group.unified ? 6 : 1), "%23s", ret);
  }
  buffer_release(&text);
  return read;
}

/* False: it cannot be written, or another run is at it. A part of a disk has no limit of its own. */
static bool add_disk(struct disk *d, const char *number) {
  struct disk_limit *l = &d->all[d->n];
  char now[24];
  const char *key = d->group.unified ? "rbps=" : "";
  if (!read_limit(d, number, now, sizeof now) || atoll(now) == LEAST_LIMIT) return false;
  *l = (struct disk_limit){.before = {.kind = UNDO_FILE}, .stopped = {.kind = UNDO_FILE}};
  (void)snprintf(l->before.path, sizeof l->before.path, "%s", d->limits);
  (void)snprintf(l->stopped.path, sizeof l->stopped.path, "%s", d->limits);
  (void)snprintf(l->before.text, sizeof l->before.text, "%.23s %s%.23s", number, key, now);
  (void)snprintf(l->stopped.text, sizeof l->stopped.text, "%.23s %s%d", number, key, LEAST_LIMIT);
  if (!undo_write_setting(&l->before)) return false;
  undo_add(d->request.undo, &l->before);
  d->n++;
  return true;
}

/* --- who is blocked --- */

/* A thread that has read from a disk at some time. */
static void take_reader(void *context, const char *name) {
  struct disk *d = context;
  char path[96], inner[4200];
  unsigned long long bytes;
  if (d->n_readers == READERS_MAX) return;
  (void)snprintf(path, sizeof path, "/proc/%lld/task/%.20s/io", (long long)d->process, name);
  if (!process_read_bytes(d->request.root, path, &bytes) || bytes == 0) return;
  (void)snprintf(path, sizeof path, "/proc/%lld/task/%.20s/stat", (long long)d->process, name);
  int fd = open(root_path(d->request.root, path, inner, sizeof inner), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) d->readers[d->n_readers++] = (struct reader){fd, false};
}

static void begin_block(struct disk *d) {
  struct process_tree tree;
  process_tree_read(d->request.root, d->request.processes[0].pid, &tree);
  for (size_t i = 0; i < tree.n; i++) {
    d->process = tree.pids[i];
    process_threads(d->request.root, d->process, take_reader, d);
  }
  d->looks = d->blocked = 0;
  d->begun_ns = d->next_look_ns = clock_now(&clock_system);
  if (!process_tree_read_bytes(d->request.root, &tree, &d->from_bytes)) d->from_bytes = ULLONG_MAX;
}

static struct tally end_block(struct disk *d, double *ret_waiting) {
  struct process_tree tree;
  unsigned long long bytes = 0;
  process_tree_read(d->request.root, d->request.processes[0].pid, &tree);
  bool read = process_tree_read_bytes(d->request.root, &tree, &bytes) && bytes >= d->from_bytes && d->looks > 0;
  struct tally t = {.span_s = (double)(clock_now(&clock_system) - d->begun_ns) / 1e9};
  *ret_waiting = 0;
  for (; d->n_readers > 0; d->n_readers--) {
    *ret_waiting += d->readers[d->n_readers - 1].blocked;
    (void)close(d->readers[d->n_readers - 1].fd);
  }
  if (!read) return (struct tally){0};
  t.bytes = (double)(bytes - d->from_bytes);
  t.blocked_s = d->blocked / d->looks * t.span_s;
  return t;
}

static void add_tally(struct tally *to, struct tally t) {
  to->blocked_s += t.blocked_s;
  to->bytes += t.bytes;
  to->span_s += t.span_s;
}

static void look(struct disk *d) {
  char text[256];
  d->looks++;
  for (size_t i = 0; i < d->n_readers; i++) {
    ssize_t n = pread(d->readers[i].fd, text, sizeof text - 1, 0);
    if (n <= 0) continue;
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    if (name_end == NULL || strncmp(name_end, ") D", 3) != 0) continue;
    d->readers[i].blocked = true;
    d->blocked++;
  }
}

/* Looks at moments that are in step with nothing. False: the run is stopped. */
static bool look_until(struct disk *d, int64_t until_ns) {
  int64_t gap = LOOK_NS * (int64_t)(1 + d->n_readers / 8), now;
  while ((now = clock_now(&clock_system)) < until_ns) {
    if (atomic_load(d->request.stop)) return false;
    if (now >= d->next_look_ns) {
      look(d);
      undo_beat(d->request.undo);
      d->next_look_ns = now + gap / 2 + (int64_t)random_below(d->request.random, (uint64_t)gap);
    }
    perturber_sleep(d->next_look_ns < until_ns ? d->next_look_ns : until_ns);
  }
  return true;
}

static void disk_plain(void *state, int64_t until_ns) {
  struct disk *d = state;
  double waiting;
  begin_block(d);
  (void)look_until(d, until_ns);
  add_tally(&d->plain, end_block(d, &waiting));
  d->waiting = fmax(d->waiting, waiting);
}

/* The share of the time in which its threads, taken together, are blocked while nothing is slowed. */
static double waited(const struct disk *d) {
  return d->plain.span_s > 0 ? d->plain.blocked_s / d->plain.span_s : 0;
}

/* --- as a perturber --- */

/* What is read while nothing is slowed, and from where. False: nothing could be slowed, and why. */
static bool watch(struct disk *d, char *why, size_t size) {
  struct disk_reads *before = xalloc(DISKS_MAX, sizeof *before), *after = xalloc(DISKS_MAX, sizeof *after);
  size_t n = list_disks(d, before);
  disk_plain(d, clock_now(&clock_system) + WATCHED_NS);
  size_t n_after = list_disks(d, after);
  bool read = d->plain.span_s > 0, waits = d->plain.bytes > 0 && waited(d) >= LEAST_SHARE;
  for (size_t i = 0; read && waits && i < n_after && d->n < LIMITS_MAX; i++)
    for (size_t k = 0; k < n; k++)
      if (strcmp(after[i].number, before[k].number) == 0 && after[i].sectors > before[k].sectors) (void)add_disk(d, after[i].number);
  free(before);
  free(after);
  if (!read) (void)snprintf(why, size, "disk: the kernel does not say what the server reads (/proc/PID/io): only root may see it");
  else if (!waits)
    (void)snprintf(why, size,
                   "disk: under this load the server reads %.3g MB/s from disks, and its threads wait for them %.2f %% of the time: "
                   "there is nothing to slow",
                   d->plain.bytes / 1e6 / d->plain.span_s, 100 * waited(d));
  else if (d->n == 0)
    (void)snprintf(why, size,
                   "disk: the disks that are read take no limit in %.150s: only root may set one, a disk over the network has none, and "
                   "what another run has set is left alone (perturb --restore)",
                   d->limits);
  return read && waits && d->n > 0;
}

static size_t disk_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct disk *d = xalloc(1, sizeof *d);
  int64_t stranger;
  d->request = *request;
  d->push = 1;
  *ret_state = d;
  if (most == 0 || request->n_processes == 0 || !control_group_find(request->root, request->processes[0].pid, "blkio", take_group, d)) {
    (void)snprintf(why, size,
                   "disk: the server is in no control group whose reading could be limited: start it in one of its own "
                   "(a container, or systemd-run -p IOAccounting=yes)");
    return 0;
  }
  if (d->too_long) {
    (void)snprintf(why, size, "disk: the path of the server's control group has more than %d characters", UNDO_PATH - 40);
    return 0;
  }
  if ((stranger = a_stranger(d)) != 0) {
    (void)snprintf(why, size,
                   "disk: the server shares its control group with %s %lld, which would read as slowly: start it in one of its own "
                   "(a container, or systemd-run -p IOAccounting=yes)",
                   stranger == getpid() ? "lynxbench itself, process"
                   : stranger < 0       ? "a process that is not seen from here,"
                                        : "process",
                   (long long)stranger);
    return 0;
  }
  if (!watch(d, why, size)) return 0;
  target_name(ret, "disk", "what is read");
  return 1;
}

static bool write_all(const struct disk *d, bool stopped) {
  bool good = true;
  for (size_t i = 0; i < d->n; i++) good = undo_write_setting(stopped ? &d->all[i].stopped : &d->all[i].before) && good;
  return good;
}

/* More of it, or less, in the holds that follow: stops while nothing would have been read cost nothing. What was measured of such holds
 * before is of other stops then. */
static void correct(struct disk *d, struct tally *held, double asked, double given) {
  double wanted = given > 1 ? fmin(fmax((asked - 1) / (given - 1), 0.5), 2) : 2;
  if (wanted > 0.7 && wanted < 1.4) return;
  d->push = fmin(fmax(d->push * wanted, 0.05), 20);
  *held = (struct tally){0};
}

/* False: something could not be written; of a group that is gone, too. */
static bool stop_again_and_again(struct disk *d, double share, int64_t begun, int64_t until_ns) {
  int64_t period = (int64_t)fmin((double)STOP_NS / share, (double)(until_ns - begun) / 2);
  bool good = period >= STOP_NS + STOP_NS / 4;
  for (int64_t at = begun; good && at + period <= until_ns; at += period) {
    if (!look_until(d, at + (int64_t)random_below(d->request.random, (uint64_t)(period - STOP_NS)))) break;
    int64_t end = clock_now(&clock_system) + STOP_NS;
    good = write_all(d, true) && access(d->limits, F_OK) == 0;
    (void)look_until(d, end);
    good = write_all(d, false) && good;
  }
  return good;
}

static double disk_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct disk *d = state;
  struct tally *held = &d->held[slowness > 1.6];
  double unused;
  (void)target;
  /* Threads that are blocked a share w of their time, with stops for a share f of it, are so 1 + f / (w (1 - f)) times as long. */
  double more = waited(d) / fmax(d->waiting, 1) * (slowness - 1) * d->push, share = fmin(more / (1 + more), MOST_SHARE);
  if (!undo_hold(d->request.undo)) return 1;
  begin_block(d);
  bool good = stop_again_and_again(d, share, d->begun_ns, until_ns);
  (void)look_until(d, until_ns);
  undo_release(d->request.undo);
  struct tally t = end_block(d, &unused);
  if (!good || t.bytes <= 0 || d->plain.bytes <= 0 || d->plain.blocked_s <= 0) return 1;
  add_tally(held, t);
  double given = held->blocked_s / held->bytes / (d->plain.blocked_s / d->plain.bytes);
  correct(d, held, slowness, given);
  return given;
}

const struct perturber perturber_disk_stops;
const struct perturber perturber_disk_stops = {.name = "disk",
                                               .summary = "what is read from disks",
                                               .does = "limits what its control group may read to nearly nothing for some milliseconds, "
                                                       "again and again, then writes the limit that was there",
                                               .levels = {1.3, 2},
                                               .of_share = true,
                                               .open = disk_open,
                                               .plain = disk_plain,
                                               .hold = disk_hold,
                                               .close = free,
                                               .whose = perturber_of_system};
