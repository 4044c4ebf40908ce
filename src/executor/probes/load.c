/* What else the machine is doing: state, never identity. */
#include <stdio.h>
#include <string.h>

#include "executor/probe.h"

static const char *load_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

static void collect_steal(const struct probe_target *target, struct fact_list *facts) {
  char line[512];
  unsigned long long user, nice_time, system_time, idle, iowait, irq, softirq, steal;
  if (root_read_line(target->root, "/proc/stat", line, sizeof line) &&
      sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice_time, &system_time, &idle, &iowait, &irq, &softirq,
             &steal) == 8) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", steal);
    probe_fact(target, facts, LAYER_SYSTEM, FACT_STATE, "load.steal", text, "ticks since boot", "/proc/stat");
  } else probe_missing(target, facts, LAYER_SYSTEM, FACT_STATE, "load.steal", FACT_ABSENT, "no such line", "/proc/stat");
}

static void load_collect(const struct probe_target *target, struct fact_list *facts) {
  probe_file(target, facts, LAYER_SYSTEM, FACT_STATE, "load.average", "/proc/loadavg", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_STATE, "load.pressure.cpu", "/proc/pressure/cpu", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_STATE, "load.pressure.memory", "/proc/pressure/memory", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_STATE, "load.pressure.io", "/proc/pressure/io", "");
  collect_steal(target, facts);
}

const struct probe probe_load;
const struct probe probe_load = {.name = "load",
                                 .summary = "load average, pressure, steal",
                                 .reads = "/proc/loadavg, /proc/pressure, /proc/stat",
                                 .layer = LAYER_SYSTEM,
                                 .applies = load_applies,
                                 .collect = load_collect};
