/* This machine's processors: busy and stolen shares since the last sample, and pressure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "telemetry/sampler.h"

struct machine {
  const struct root *root;
  unsigned long long total, busy, steal;
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

static bool machine_open(const struct root *root, void **ret_state) {
  struct machine *m = xalloc(1, sizeof *m);
  m->root = root;
  *ret_state = m;
  return read_ticks(root, &m->total, &m->busy, &m->steal);
}

static void machine_sample(void *state, sampler_deliver *deliver, void *context) {
  struct machine *m = state;
  unsigned long long total, busy, steal;
  if (read_ticks(m->root, &total, &busy, &steal) && total > m->total) {
    deliver(context, "machine.busy_ratio", (double)(busy - m->busy) / (double)(total - m->total));
    deliver(context, "machine.steal_ratio", (double)(steal - m->steal) / (double)(total - m->total));
    m->total = total;
    m->busy = busy;
    m->steal = steal;
  }
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
                                        .sample = machine_sample,
                                        .close = machine_close};
