/* The serving processes' memory: pages that come from the disk, what is resident, and on which NUMA nodes it lies.
 * Series   server.minor_faults_per_s, server.major_faults_per_s: pages that the kernel had to map; major: that it read from a disk
 *          server.resident_bytes: of all processes; what they share counts in each
 *          machine.swapped_in_per_s: pages, of all processes; machine.memory_pressure_percent: time in which some thread waited for memory
 *          With two nodes or more: server.node_run_ratio: of the looks at runnable threads, the share on the node with the most;
 *          server.memory_elsewhere_ratio: of the pages, the share that lies on other nodes than that one
 * Source   /proc/PID/stat, statm, numa_maps, /proc/vmstat, /proc/pressure/memory
 * Cost     where pages lie is read once a session, some 10 ns a page; the rest is three files a process */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "telemetry/kernel_counter.h"
#include "telemetry/node_map.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { VMSTAT_MAX = 1 << 18, MAPS_MAX = 16 << 20, PLACED_PROCESSES_MAX = 32 };

struct memory {
  const struct root *root;
  int64_t pid, last_ns;
  double page_bytes;
  unsigned long long minor, major, swapped_in; /* as last read */
  bool swapped_known;
  struct node_map nodes;
  double pages[NODES_MAX];   /* by node, as the session began; all 0: not read yet */
  double running[NODES_MAX]; /* looks that found a thread runnable, by the node that it was on */
  int64_t looked_at;         /* the process whose threads are being looked at */
};

static bool memory_open(const struct root *root, void **ret_state) {
  struct memory *m = xalloc(1, sizeof *m);
  long page = sysconf(_SC_PAGESIZE);
  m->root = root;
  m->page_bytes = page > 0 ? (double)page : 4096;
  node_map_read(root, &m->nodes);
  *ret_state = m;
  return true;
}

static void memory_watch(void *state, int64_t pid) {
  struct memory *m = state;
  m->pid = pid;
  m->last_ns = 0;
  for (size_t i = 0; i < NODES_MAX; i++) m->pages[i] = m->running[i] = 0;
}

/* --- on which node --- */

/* "7f..000 default file=/... N0=12 N1=3 kernelpagesize_kB=4"; pages of 2 MiB count as 512. */
static void take_pages(struct memory *m, char *line) {
  double pages[NODES_MAX] = {0}, kilobytes = m->page_bytes / 1024;
  char *rest = line;
  for (const char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
    unsigned node;
    unsigned long long n;
    if (sscanf(word, "N%u=%llu", &node, &n) == 2 && node < NODES_MAX) pages[node] = (double)n;
    else if (strncmp(word, "kernelpagesize_kB=", 18) == 0) kilobytes = strtod(word + 18, NULL);
  }
  if (!(kilobytes > 0) || !(kilobytes < 1e8)) return;
  for (size_t i = 0; i < NODES_MAX; i++) m->pages[i] += pages[i] * kilobytes * 1024 / m->page_bytes;
}

static void read_places(struct memory *m, const struct process_tree *tree) {
  struct buffer text;
  buffer_init(&text, MAPS_MAX);
  for (size_t i = 0; i < tree->n && i < PLACED_PROCESSES_MAX; i++) {
    char path[64], *rest;
    (void)snprintf(path, sizeof path, "/proc/%lld/numa_maps", (long long)tree->pids[i]);
    buffer_clear(&text);
    if (root_read(m->root, path, &text, NULL) != LYNX_OK) continue;
    rest = text.data;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) take_pages(m, line);
  }
  buffer_release(&text);
}

/* A look at each thread: those that run, or could, count on the node of their last processor. */
static void look_at_thread(void *context, const char *thread) {
  struct memory *m = context;
  char path[128];
  struct process_stat stat;
  (void)snprintf(path, sizeof path, "/proc/%lld/task/%.30s/stat", (long long)m->looked_at, thread);
  int node = process_stat_read(m->root, path, &stat) && stat.state == 'R' ? node_map_of(&m->nodes, stat.processor) : -1;
  if (node >= 0) m->running[node]++;
}

static void look_at_threads(struct memory *m, int64_t pid) {
  m->looked_at = pid;
  process_threads(m->root, pid, look_at_thread, m);
}

static void tell_nodes(struct memory *m, const struct process_tree *tree, const struct sampler_sink *sink) {
  double run = 0, all = 0, elsewhere = 0;
  size_t most = 0;
  if (m->nodes.n < 2) return;
  for (size_t i = 0; i < NODES_MAX; i++) all += m->pages[i];
  if (!(all > 0)) {
    read_places(m, tree);
    return;
  }
  for (size_t i = 0; i < NODES_MAX; i++) {
    run += m->running[i];
    if (m->running[i] > m->running[most]) most = i;
  }
  if (!(run > 0)) return;
  for (size_t i = 0; i < NODES_MAX; i++) elsewhere += i != most ? m->pages[i] : 0;
  sink->value(sink->context, "server.node_run_ratio", m->running[most] / run);
  sink->value(sink->context, "server.memory_elsewhere_ratio", elsewhere / all);
}

/* --- counts --- */

static bool read_swapped(const struct memory *m, unsigned long long *ret) {
  struct buffer text;
  buffer_init(&text, VMSTAT_MAX);
  const char *at = root_read(m->root, "/proc/vmstat", &text, NULL) == LYNX_OK ? strstr(text.data, "\npswpin ") : NULL;
  if (at != NULL) *ret = strtoull(at + 8, NULL, 10);
  buffer_release(&text);
  return at != NULL;
}

static double resident_pages(const struct memory *m, int64_t pid) {
  char path[64], line[128];
  unsigned long long resident;
  (void)snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
  return root_read_line(m->root, path, line, sizeof line) && sscanf(line, "%*u %llu", &resident) == 1 ? (double)resident : 0;
}

static void tell_rate(const struct sampler_sink *sink, const char *series, unsigned long long now, unsigned long long before,
                      double span_s) {
  if (now >= before) sink->value(sink->context, series, (double)(now - before) / span_s); /* less: a process has ended */
}

static void memory_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct memory *m = state;
  struct process_tree tree;
  unsigned long long minor = 0, major = 0, swapped = 0;
  double resident = 0, pressure, span_s = m->last_ns > 0 && now_ns > m->last_ns ? (double)(now_ns - m->last_ns) / 1e9 : 0;
  process_tree_read(m->root, m->pid, &tree);
  for (size_t i = 0; i < tree.n; i++) {
    struct process_stat stat;
    if (!process_read(m->root, tree.pids[i], &stat)) continue;
    minor += stat.minor_faults;
    major += stat.major_faults;
    resident += resident_pages(m, tree.pids[i]);
    if (m->nodes.n >= 2) look_at_threads(m, tree.pids[i]);
  }
  bool swapped_known = read_swapped(m, &swapped);
  if (span_s > 0 && tree.n > 0) {
    tell_rate(sink, "server.minor_faults_per_s", minor, m->minor, span_s);
    tell_rate(sink, "server.major_faults_per_s", major, m->major, span_s);
    if (resident > 0) sink->value(sink->context, "server.resident_bytes", resident * m->page_bytes);
    tell_nodes(m, &tree, sink);
  }
  if (span_s > 0 && swapped_known && m->swapped_known) tell_rate(sink, "machine.swapped_in_per_s", swapped, m->swapped_in, span_s);
  if (kernel_pressure(m->root, "memory", &pressure)) sink->value(sink->context, "machine.memory_pressure_percent", pressure);
  m->minor = minor;
  m->major = major;
  m->swapped_in = swapped;
  m->swapped_known = swapped_known;
  m->last_ns = now_ns;
}

const struct sampler sampler_memory_pages;
const struct sampler sampler_memory_pages = {.name = "memory_pages",
                                             .summary = "pages that come from the disk, resident memory, NUMA nodes",
                                             .open = memory_open,
                                             .watch = memory_watch,
                                             .sample = memory_sample,
                                             .close = free};
