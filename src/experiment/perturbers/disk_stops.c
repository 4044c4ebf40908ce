/* What the server's control group reads from disks is kept back for a part of the time, by the kernel's own limit of reading: a limit of a
 * few bytes a second, for some milliseconds, then the one that was there. It takes no processor, as rivals that read would.
 * Slowness  how much longer some thread waits for a disk for each byte that is read, by the kernel's pressure figure of the group (version
 *           2), or of the machine. Stops come as often as it takes for what is asked: each hold corrects the next one
 * Limits    threads that wait at the same time count once; a read that is under way is not stopped; disks over the network have no such limit
 * Source    kernel: admin-guide/cgroup-v2 (io.max), cgroup-v1/blkio-controller (blkio.throttle), accounting/psi */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/perturber.h"
#include "telemetry/control_group.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/process_tree.h"

enum { DISKS_MAX = 128, LIMITS_MAX = 4, LIST_MAX = 1 << 18, LEAST_LIMIT = 2 /* bytes a second; version 2 takes no less */ };
#define WATCHED_NS INT64_C(1500000000)
#define STOP_NS INT64_C(5000000) /* several ticks of the kernel's timer: what waits is let go on at one */
#define LEAST_SHARE 0.001
#define MOST_SHARE 0.6 /* of the time */

struct disk_reads {
  char number[24]; /* "254:0" */
  unsigned long long sectors;
};

struct disk_limit {
  struct undo_step before, stopped;
};

/* Where a tree and its disks stand, or what came between two of these. */
struct reading {
  double stalled_s;
  unsigned long long bytes;
  int64_t at_ns;
};

struct disk {
  struct perturbing request;
  struct control_group group;
  char limits[CONTROL_GROUP_PATH + 40], pressure[CONTROL_GROUP_PATH + 40];
  struct disk_limit all[LIMITS_MAX];
  size_t n;
  struct reading from;  /* of the undisturbed block that runs */
  struct reading plain; /* what came in all of them; at_ns: how long they were */
  double push;          /* how much more than by the arithmetic */
};

static bool take_group(void *context, const struct control_group *group) {
  struct disk *d = context;
  d->group = *group;
  (void)snprintf(d->limits, sizeof d->limits, "%s/%s", group->path, group->unified ? "io.max" : "blkio.throttle.read_bps_device");
  (void)snprintf(d->pressure, sizeof d->pressure, "%s/io.pressure", group->path);
  double unused;
  if (!group->unified || !kernel_stalled(d->request.root, d->pressure, &unused))
    (void)snprintf(d->pressure, sizeof d->pressure, "/proc/pressure/io");
  struct buffer text;
  buffer_init(&text, LIST_MAX);
  bool there = strlen(d->limits) < UNDO_PATH && root_read(d->request.root, d->limits, &text, NULL) == LYNX_OK;
  buffer_release(&text);
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

/* lynxbench itself, or else the first one; 0: only the server, and what started it and waits. */
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
    bool stranger = found == 0 && pid > 0 && !process_tree_holds(&tree, pid) && !started_the_server(d, pid);
    if (pid == getpid() || stranger) found = pid;
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
static void read_limit(const struct disk *d, const char *number, char *ret, size_t size) {
  struct buffer text;
  size_t length = strlen(number);
  buffer_init(&text, LIST_MAX);
  (void)snprintf(ret, size, "%s", d->group.unified ? "max" : "0");
  char *rest = root_read(d->request.root, d->limits, &text, NULL) == LYNX_OK ? text.data : NULL;
  for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
    if (strncmp(line, number, length) != 0 || line[length] != ' ') continue;
    const char *at = d->group.unified ? strstr(line, " rbps=") : line + length;
    if (at != NULL) (void)sscanf(at + (d->group.unified ? 6 : 1), "%23s", ret);
  }
  buffer_release(&text);
}

/* False: it cannot be written. A part of a disk has no limit of its own. */
static bool add_disk(struct disk *d, const char *number) {
  struct disk_limit *l = &d->all[d->n];
  char now[24];
  const char *key = d->group.unified ? "rbps=" : "";
  read_limit(d, number, now, sizeof now);
  *l = (struct disk_limit){.before = {.kind = UNDO_FILE}, .stopped = {.kind = UNDO_FILE}};
  (void)snprintf(l->before.path, sizeof l->before.path, "%.250s", d->limits);
  (void)snprintf(l->stopped.path, sizeof l->stopped.path, "%.250s", d->limits);
  (void)snprintf(l->before.text, sizeof l->before.text, "%.23s %s%.23s", number, key, now);
  (void)snprintf(l->stopped.text, sizeof l->stopped.text, "%.23s %s%d", number, key, LEAST_LIMIT);
  if (!undo_write_setting(&l->before)) return false;
  undo_add(d->request.undo, &l->before);
  d->n++;
  return true;
}

static bool read_now(const struct disk *d, struct reading *ret) {
  struct process_tree tree;
  process_tree_read(d->request.root, d->request.processes[0].pid, &tree);
  ret->at_ns = clock_now(&clock_system);
  return kernel_stalled(d->request.root, d->pressure, &ret->stalled_s) && process_tree_read_bytes(d->request.root, &tree, &ret->bytes);
}

static void disk_plain_begins(void *state) {
  struct disk *d = state;
  if (!read_now(d, &d->from)) d->from.at_ns = 0;
}

static void disk_plain_ends(void *state) {
  struct disk *d = state;
  struct reading to;
  if (d->from.at_ns == 0 || !read_now(d, &to) || to.bytes < d->from.bytes) return;
  d->plain.stalled_s += to.stalled_s - d->from.stalled_s;
  d->plain.bytes += to.bytes - d->from.bytes;
  d->plain.at_ns += to.at_ns - d->from.at_ns;
}

/* The share of the time in which some thread waits for a disk while nothing is slowed. */
static double waited(const struct disk *d) {
  return d->plain.at_ns > 0 ? d->plain.stalled_s / ((double)d->plain.at_ns / 1e9) : 0;
}

/* What is read while nothing is slowed, and from where. False: nothing could be slowed, and why. */
static bool watch(struct disk *d, char *why, size_t size) {
  struct disk_reads *before = xalloc(DISKS_MAX, sizeof *before), *after = xalloc(DISKS_MAX, sizeof *after);
  size_t n = list_disks(d, before);
  disk_plain_begins(d);
  (void)perturber_wait(&d->request, clock_now(&clock_system) + WATCHED_NS);
  disk_plain_ends(d);
  size_t n_after = list_disks(d, after);
  bool read = d->plain.at_ns > 0, waits = d->plain.bytes > 0 && waited(d) >= LEAST_SHARE;
  for (size_t i = 0; read && waits && i < n_after && d->n < LIMITS_MAX; i++)
    for (size_t k = 0; k < n; k++)
      if (strcmp(after[i].number, before[k].number) == 0 && after[i].sectors > before[k].sectors) (void)add_disk(d, after[i].number);
  free(before);
  free(after);
  if (!read)
    (void)snprintf(why, size,
                   "disk: the kernel does not say what the server reads, and how long that is waited for (/proc/PID/io as root; "
                   "/proc/pressure/io, which the boot option psi=1 turns on)");
  else if (!waits)
    (void)snprintf(why, size,
                   "disk: under this load the server reads %.3g MB/s from disks, and they are waited for %.2f %% of the time: "
                   "there is nothing to slow",
                   (double)d->plain.bytes / 1e6 / ((double)d->plain.at_ns / 1e9), 100 * waited(d));
  else if (d->n == 0)
    (void)snprintf(why, size, "disk: %.150s takes no limit for the disks that are read (root; no disk over the network)", d->limits);
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
  if ((stranger = a_stranger(d)) > 0) {
    (void)snprintf(why, size,
                   "disk: the server shares its control group with %s%lld, which would read as slowly: start it in one of its own "
                   "(a container, or systemd-run -p IOAccounting=yes)",
                   stranger == getpid() ? "lynxbench itself, process " : "process ", (long long)stranger);
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

/* More of it, or less, in the holds that follow: stops while nothing would have been read cost nothing. */
static void correct(struct disk *d, double asked, double given) {
  double wanted = given > 1 ? (asked - 1) / (given - 1) : 2;
  d->push = fmin(fmax(d->push * fmin(fmax(wanted, 0.5), 2), 0.1), 100);
}

static double disk_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct disk *d = state;
  struct reading from, to;
  bool stopped = true;
  int64_t begun = clock_now(&clock_system), length = STOP_NS;
  (void)target;
  /* Work that waits for disks a share w of its time, with stops for a share f of it, waits 1 + f / (w (1 - f)) times as long. */
  double more = waited(d) * (slowness - 1) * d->push, share = fmin(more / (1 + more), MOST_SHARE);
  int64_t period = (int64_t)fmin((double)length / share, (double)(until_ns - begun) / 2);
  if (period < length + length / 4 || !read_now(d, &from) || !undo_hold(d->request.undo)) return 1;
  for (int64_t at = begun; at + period <= until_ns && !atomic_load(d->request.stop); at += period) {
    if (!perturber_wait(&d->request, at + (int64_t)random_below(d->request.random, (uint64_t)(period - length)))) break;
    int64_t end = clock_now(&clock_system) + length;
    stopped = write_all(d, true) && stopped;
    perturber_sleep(end);
    (void)write_all(d, false);
    undo_beat(d->request.undo);
  }
  undo_release(d->request.undo);
  (void)perturber_wait(&d->request, until_ns);
  if (!stopped || !read_now(d, &to) || to.bytes <= from.bytes) return 1;
  double given = (to.stalled_s - from.stalled_s) / (double)(to.bytes - from.bytes) / (d->plain.stalled_s / (double)d->plain.bytes);
  correct(d, slowness, given);
  return given;
}

const struct perturber perturber_disk_stops;
const struct perturber perturber_disk_stops = {.name = "disk",
                                               .summary = "what is read from disks",
                                               .does = "limits what its control group may read to nearly nothing for some milliseconds, "
                                                       "again and again, then writes the limit that was there",
                                               .levels = {1.3, 2},
                                               .open = disk_open,
                                               .plain_begins = disk_plain_begins,
                                               .plain_ends = disk_plain_ends,
                                               .hold = disk_hold,
                                               .close = free,
                                               .whose = perturber_of_system};
