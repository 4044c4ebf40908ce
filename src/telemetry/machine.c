/* This machine's processors: busy and stolen shares since the last sample, and pressure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "telemetry/sampler.h"

struct machine {
  const struct root *root;
  unsigned long long total, busy, steal;
  int64_t pid;
  unsigned long long ours; /* of lynxbench and of the serving process */
};

static bool read_ticks(const struct root *root, unsigned long long *total, unsigned long long *busy, unsigned long long *steal) {
  char line[512];
  unsigned long long t[8];
  if (!root_read_line(root, "/proc/stat", line, sizeof line)) return false;
  if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
    return false;
  *total = *busy = 0;
  for (int i = 0; i < 8; i++) *total += t[i];
  *busy = *total - t[3] - t[4]; /* idle and waiting for I/O are not busy */
  *steal = t[7];
  return true;
}

/* Ticks that a process and its threads have used; 0 if it cannot be read. */
static unsigned long long process_ticks(const struct root *root, const char *path) {
  char line[1024];
  unsigned long long user = 0, system_time = 0;
  if (!root_read_line(root, path, line, sizeof line)) return 0;
  const char *after = strrchr(line, ')'); /* the name before it may hold anything */
  if (after == NULL || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system_time) != 2) return 0;
  return user + system_time;
}

static unsigned long long our_ticks(const struct machine *m) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)m->pid);
  return process_ticks(m->root, "/proc/self/stat") + (m->pid > 0 ? process_ticks(m->root, path) : 0);
}

static void machine_watch(void *state, int64_t pid) {
  struct machine *m = state;
  m->pid = pid;
  m->ours = our_ticks(m);
}

static bool machine_open(const struct root *root, void **ret_state) {
  struct machine *m = xalloc(1, sizeof *m);
  m->root = root;
  *ret_state = m;
  return read_ticks(root, &m->total, &m->busy, &m->steal);
}

/* The mean clock of the processors, and the hottest thermal zone; virtual machines seldom have either. */
static void sample_hardware(const struct root *root, sampler_deliver *deliver, void *context) {
  enum { MOST = 1024, ZONES = 64 };
  char path[96], line[64];
  double sum = 0, hottest = -1000, value;
  int n = 0;
  for (int i = 0; i < MOST; i++) {
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
    if (!root_read_line(root, path, line, sizeof line) || sscanf(line, "%lf", &value) != 1) break;
    sum += value / 1000;
    n++;
  }
  if (n > 0) deliver(context, "machine.clock_mhz", sum / n);
  for (int i = 0; i < ZONES; i++) {
    (void)snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", i);
    if (!root_read_line(root, path, line, sizeof line) || sscanf(line, "%lf", &value) != 1) break;
    if (value / 1000 > hottest) hottest = value / 1000;
  }
  if (hottest > -273) deliver(context, "machine.temperature_c", hottest);
}

static void machine_sample(void *state, sampler_deliver *deliver, void *context) {
  struct machine *m = state;
  unsigned long long total, busy, steal;
  if (read_ticks(m->root, &total, &busy, &steal) && total > m->total) {
    deliver(context, "machine.busy_ratio", (double)(busy - m->busy) / (double)(total - m->total));
    deliver(context, "machine.steal_ratio", (double)(steal - m->steal) / (double)(total - m->total));
    unsigned long long ours = our_ticks(m), mine = ours > m->ours ? ours - m->ours : 0, all = busy - m->busy;
    if (m->pid > 0)
      deliver(context, "machine.others_ratio",
              all > mine ? (double)(all - mine) / (double)(total - m->total) : 0); /* neither lynxbench nor the serving process */
    m->ours = ours;
    m->total = total;
    m->busy = busy;
    m->steal = steal;
  }
  sample_hardware(m->root, deliver, context);
  char line[256];
  double pressure;
  if (root_read_line(m->root, "/proc/pressure/cpu", line, sizeof line) && sscanf(line, "some avg10=%lf", &pressure) == 1)
    deliver(context, "machine.cpu_pressure_percent", pressure);
}

static void machine_close(void *state) {
  free(state);
}

const struct sampler sampler_machine = {.name = "machine",
                                        .summary = "processors: busy, stolen, under pressure",
                                        .open = machine_open,
                                        .watch = machine_watch,
                                        .sample = machine_sample,
                                        .close = machine_close};
