/* This machine's processors: busy and stolen shares since the last sample, and pressure.
 * Series   machine.others_ratio: what neither lynxbench nor the serving process used, nor what these started, ended or not
 *          server.ended_children: processors that children of the serving processes used which have ended since */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "telemetry/control_group.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

/* The serving processes, and what each used itself. */
struct served {
  struct process_tree tree;
  unsigned long long own[PROCESS_TREE_MAX], all; /* all: with that of children that have ended */
};

struct machine {
  const struct root *root;
  struct machine_ticks ticks;
  int64_t pid;
  struct served serving;
  unsigned long long ours;  /* of lynxbench and of the serving process with those that it started */
  char throttled_path[512]; /* cpu.stat of its control group; "": none */
  bool throttled_is_ns;     /* version 1 counts nanoseconds */
  double throttled, at_s;   /* seconds: as last read, and when */
};

/* Of a process and those that it started, but for those of the tree `less`; with what those of them used that have ended. */
static unsigned long long tree_ticks(const struct machine *m, int64_t pid, const struct process_tree *less, struct served *ret) {
  struct process_stat stat;
  struct served served = {.tree = {.n = 0}};
  process_tree_read(m->root, pid, &served.tree);
  for (size_t i = 0; i < served.tree.n; i++) {
    if ((less != NULL && process_tree_holds(less, served.tree.pids[i])) || !process_read(m->root, served.tree.pids[i], &stat)) continue;
    served.own[i] = stat.user_ticks + stat.system_ticks;
    served.all += served.own[i] + stat.ended_ticks;
  }
  if (ret != NULL) *ret = served;
  return served.all;
}

/* Of the serving process and of lynxbench, with those that they started: a profiler, or the serving process itself. */
static unsigned long long our_ticks(const struct machine *m, struct served *ret_serving) {
  unsigned long long sum = tree_ticks(m, m->pid, NULL, ret_serving);
  return sum + tree_ticks(m, (int64_t)getpid(), &ret_serving->tree, NULL);
}

/* What all of them used, less what those used that are there. */
static double ended_children(const struct served *before, const struct served *now) {
  unsigned long long there = 0;
  for (size_t i = 0; i < now->tree.n; i++) {
    unsigned long long own = now->own[i];
    for (size_t k = 0; k < before->tree.n; k++)
      if (before->tree.pids[k] == now->tree.pids[i]) own -= before->own[k] < own ? before->own[k] : own;
    there += own;
  }
  unsigned long long all = now->all > before->all ? now->all - before->all : 0;
  return all > there ? (double)(all - there) : 0;
}

/* --- the quota of its control group --- */

static double now_s(void) {
  struct timespec t;
  return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec / 1e9 : 0;
}

static bool read_throttled(const struct machine *m, double *ret_s) {
  struct buffer text;
  buffer_init(&text, 65536);
  bool found = root_read(m->root, m->throttled_path, &text, NULL) == LYNX_OK;
  const char *key = m->throttled_is_ns ? "throttled_time " : "throttled_usec ", *at = found ? strstr(text.data, key) : NULL;
  if (at != NULL) *ret_s = strtod(at + strlen(key), NULL) * (m->throttled_is_ns ? 1e-9 : 1e-6);
  buffer_release(&text);
  return at != NULL;
}

static bool take_group(void *context, const struct control_group *group) {
  struct machine *m = context;
  m->throttled_is_ns = !group->unified;
  (void)snprintf(m->throttled_path, sizeof m->throttled_path, "%s/cpu.stat", group->path);
  return read_throttled(m, &m->throttled);
}

static void find_group(struct machine *m) {
  if (!control_group_find(m->root, m->pid, "cpu", take_group, m)) m->throttled_path[0] = 0;
  m->at_s = now_s();
}

static void sample_throttled(struct machine *m, const struct sampler_sink *sink) {
  double throttled, now = now_s();
  if (m->throttled_path[0] == 0 || !read_throttled(m, &throttled)) return;
  if (now > m->at_s && throttled >= m->throttled)
    sink->value(sink->context, "server.throttled_ratio", (throttled - m->throttled) / (now - m->at_s));
  m->throttled = throttled;
  m->at_s = now;
}

static void machine_watch(void *state, int64_t pid) {
  struct machine *m = state;
  m->pid = pid;
  m->ours = our_ticks(m, &m->serving);
  if (pid > 0) find_group(m);
}

static bool machine_open(const struct root *root, void **ret_state) {
  struct machine *m = xalloc(1, sizeof *m);
  m->root = root;
  *ret_state = m;
  return machine_ticks_read(root, &m->ticks);
}

/* The mean clock of the processors, and the hottest thermal zone; virtual machines seldom have either. */
static void sample_hardware(const struct root *root, const struct sampler_sink *sink) {
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
  if (n > 0) sink->value(sink->context, "machine.clock_mhz", sum / n);
  for (int i = 0; i < ZONES; i++) {
    (void)snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", i);
    if (!root_read_line(root, path, line, sizeof line) || sscanf(line, "%lf", &value) != 1) break;
    if (value / 1000 > hottest) hottest = value / 1000;
  }
  if (hottest > -273) sink->value(sink->context, "machine.temperature_c", hottest);
}

static double processors(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (double)n : 1;
}

static void machine_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct machine *m = state;
  (void)now_ns;
  struct machine_ticks now;
  if (machine_ticks_read(m->root, &now) && now.total > m->ticks.total) {
    double total = (double)(now.total - m->ticks.total);
    sink->value(sink->context, "machine.busy_ratio", (double)(now.busy - m->ticks.busy) / total);
    sink->value(sink->context, "machine.steal_ratio", (double)(now.steal - m->ticks.steal) / total);
    struct served serving;
    unsigned long long ours = our_ticks(m, &serving), mine = ours > m->ours ? ours - m->ours : 0, all = now.busy - m->ticks.busy;
    if (m->pid > 0)
      sink->value(sink->context, "machine.others_ratio",
                  all > mine ? (double)(all - mine) / total : 0); /* neither lynxbench nor the serving process */
    if (m->pid > 0) sink->value(sink->context, "server.ended_children", ended_children(&m->serving, &serving) / total * processors());
    m->serving = serving;
    m->ours = ours;
    m->ticks = now;
  }
  sample_hardware(m->root, sink);
  sample_throttled(m, sink);
  double pressure;
  if (kernel_pressure(m->root, "cpu", &pressure)) sink->value(sink->context, "machine.cpu_pressure_percent", pressure);
}

static void machine_close(void *state) {
  free(state);
}

const struct sampler sampler_machine;
const struct sampler sampler_machine = {.name = "machine",
                                        .summary = "processors: busy, stolen, under pressure",
                                        .always = true,
                                        .open = machine_open,
                                        .watch = machine_watch,
                                        .sample = machine_sample,
                                        .close = machine_close};
