/* The disks: what the serving processes read from them, and how busy the busiest one is.
 * Series   server.read_bytes_per_s: what they made the kernel fetch from disks, in calls or by touching a file's page
 *          disk.busy_ratio: time in which the busiest disk had something to do
 *          machine.disk_pressure_percent: time in which some thread waited for a disk
 * Source   /proc/PID/io (root, or the same user with the rights of a debugger), /proc/diskstats, /proc/pressure/io
 * Limits   a disk over the network has no line in diskstats; its reads count */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { DISKSTATS_MAX = 1 << 18, DISKS_MAX = 256, NAME_LENGTH = 32 };

struct one_disk {
  char name[NAME_LENGTH];
  unsigned long long busy_ms;
};

struct disk {
  const struct root *root;
  int64_t pid, last_ns;
  unsigned long long read_bytes;
  bool read_known;
  struct one_disk disks[DISKS_MAX];
  size_t n;
};

static bool disk_open(const struct root *root, void **ret_state) {
  struct disk *d = xalloc(1, sizeof *d);
  d->root = root;
  *ret_state = d;
  return true;
}

static void disk_watch(void *state, int64_t pid) {
  struct disk *d = state;
  d->pid = pid;
  d->last_ns = 0;
  d->n = 0;
}

/* The milliseconds that a disk was busy since it was last seen; -1: it is new. */
static double take_busy(struct disk *d, const char *name, unsigned long long busy_ms) {
  size_t i = 0;
  double rose = -1;
  while (i < d->n && strcmp(d->disks[i].name, name) != 0) i++;
  if (i == DISKS_MAX) return -1;
  if (i < d->n && busy_ms >= d->disks[i].busy_ms) rose = (double)(busy_ms - d->disks[i].busy_ms);
  if (i == d->n) d->n++;
  (void)snprintf(d->disks[i].name, sizeof d->disks[i].name, "%s", name);
  d->disks[i].busy_ms = busy_ms;
  return rose;
}

/* "8 0 sda" and the counts, of which the tenth is the time with something to do. -1: no disk was seen twice. */
static double most_busy_ms(struct disk *d) {
  struct buffer text;
  double most = -1;
  buffer_init(&text, DISKSTATS_MAX);
  char *rest = root_read(d->root, "/proc/diskstats", &text, NULL) == LYNX_OK ? text.data : NULL;
  for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
    char name[NAME_LENGTH];
    unsigned long long busy_ms;
    if (sscanf(line, "%*u %*u %31s %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", name, &busy_ms) != 2) continue;
    if (strncmp(name, "loop", 4) == 0 || strncmp(name, "ram", 3) == 0 || strncmp(name, "zram", 4) == 0) continue; /* none of their own */
    double rose = take_busy(d, name, busy_ms);
    if (rose > most) most = rose;
  }
  buffer_release(&text);
  return most;
}

static void disk_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct disk *d = state;
  struct process_tree tree;
  unsigned long long bytes;
  double pressure, span_s = d->last_ns > 0 && now_ns > d->last_ns ? (double)(now_ns - d->last_ns) / 1e9 : 0, busy_ms = most_busy_ms(d);
  process_tree_read(d->root, d->pid, &tree);
  bool known = process_tree_read_bytes(d->root, &tree, &bytes);
  if (span_s > 0 && known && d->read_known && bytes >= d->read_bytes)
    sink->value(sink->context, "server.read_bytes_per_s", (double)(bytes - d->read_bytes) / span_s);
  if (span_s > 0 && busy_ms >= 0) sink->value(sink->context, "disk.busy_ratio", busy_ms / 1e3 / span_s < 1 ? busy_ms / 1e3 / span_s : 1);
  if (kernel_pressure(d->root, "io", &pressure)) sink->value(sink->context, "machine.disk_pressure_percent", pressure);
  d->read_bytes = bytes;
  d->read_known = known;
  d->last_ns = now_ns;
}

const struct sampler sampler_disks;
const struct sampler sampler_disks = {.name = "disks",
                                      .summary = "what the server reads from disks, how busy they are",
                                      .open = disk_open,
                                      .watch = disk_watch,
                                      .sample = disk_sample,
                                      .close = free};
