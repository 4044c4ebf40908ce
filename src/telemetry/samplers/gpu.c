/* NVIDIA's GPUs, by the program nvidia-smi where it is installed: a child that prints a line for each GPU once a second.
 * Series   gpu.N.busy_ratio: time in which some kernel ran; not how much of the GPU it used
 *          gpu.N.memory_busy_ratio, gpu.N.memory_bytes, gpu.N.power_w, gpu.N.temperature_c, gpu.N.clock_mhz, gpu.N.memory_clock_mhz
 *          gpu.N.slowed: 1 where heat, the hardware or the power supply slows it; gpu.N.power_capped: 1 where its power limit does
 *          sampling.gpu_processors: processors that the child uses
 *          Only of GPUs whose device (/dev/nvidiaN) the serving processes have open as the session begins: others are of other tenants
 * Trust    the program is root's, or the runner's own; what it prints is read as text of somebody else
 * Limits   N counts as nvidia-smi does, and is taken for the device's number */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/child.h"
#include "base/number.h"
#include "base/program.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { GPUS_MAX = 64, LINE_MAX_LENGTH = 256, VALUES = 9, READ_MAX = 1 << 20 };

/* Bits of the reasons, from nvml.h: power cap 0x4, hardware 0x8, heat by software 0x20 and by hardware 0x40, power brake 0x80. */
enum { REASON_POWER_CAP = 0x4, REASON_SLOWED = 0x8 | 0x20 | 0x40 | 0x80 };

/* Newer drivers call reasons of events what older ones call reasons of throttling. */
static const char *const queries[] = {"clocks_event_reasons.active", "clocks_throttle_reasons.active"};

static const struct {
  const char *series;
  double scale;
} values[VALUES - 2] = {{"busy_ratio", 0.01}, {"memory_busy_ratio", 0.01}, {"memory_bytes", 1048576}, {"power_w", 1}, {"temperature_c", 1},
                        {"clock_mhz", 1},     {"memory_clock_mhz", 1}};

struct gpu {
  const struct root *root;
  char program[PATH_MAX];
  size_t query; /* that is tried */
  bool told;    /* it has printed a GPU */
  struct child child;
  int from_fd;
  char line[LINE_MAX_LENGTH];
  size_t n;
  int64_t last_ns;
  unsigned long long ticks; /* of the child, as last read */
  bool used[GPUS_MAX];      /* by the serving processes */
  struct {
    char line[LINE_MAX_LENGTH]; /* the last one of this GPU; "": nothing new */
  } latest[GPUS_MAX];
};

static void stop(struct gpu *g) {
  child_stop(&g->child, 200000000);
  if (g->from_fd >= 0) (void)close(g->from_fd);
  g->from_fd = -1;
  g->n = 0;
}

static bool start(struct gpu *g) {
  char query[300];
  int to_fd;
  const char *const environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
  (void)snprintf(query, sizeof query,
                 "--query-gpu=index,utilization.gpu,utilization.memory,memory.used,power.draw,temperature.gpu,clocks.sm,clocks.mem,%s",
                 queries[g->query]);
  const char *const arguments[] = {g->program, query, "--format=csv,noheader,nounits", "--loop=1", NULL};
  const struct child_request request = {.arguments = arguments, .environment = environment, .output_path = "/dev/null", .stays = true};
  if (child_start_piped(&g->child, &request, &to_fd, &g->from_fd, NULL) != LYNX_OK) {
    g->from_fd = -1;
    return false;
  }
  (void)close(to_fd);
  return true;
}

static bool gpu_open(const struct root *root, void **ret_state) {
  char why[PATH_MAX + 200];
  struct gpu *g = xalloc(1, sizeof *g);
  g->root = root;
  g->from_fd = -1;
  *ret_state = g;
  return program_find(PROGRAM_NVIDIA_SMI, root, NULL, g->program, why, sizeof why) && start(g);
}

static void take_used(void *context, int number) {
  ((struct gpu *)context)->used[number] = true;
}

static void gpu_watch(void *state, int64_t pid) {
  struct gpu *g = state;
  struct process_tree tree;
  g->last_ns = 0;
  (void)memset(g->used, 0, sizeof g->used);
  process_tree_read(g->root, pid, &tree);
  process_tree_devices(g->root, &tree, "/dev/nvidia", GPUS_MAX, take_used, g);
}

static void tell(const struct sampler_sink *sink, int64_t index, const char *what, double value) {
  char series[64];
  (void)snprintf(series, sizeof series, "gpu.%lld.%s", (long long)index, what);
  sink->value(sink->context, series, value);
}

/* "0, 45, 12, 1024, 250.12, 55, 1410, 1593, 0x0000000000000004": kept as the last one of its GPU. */
static bool keep_line(struct gpu *g) {
  size_t commas = 0;
  char *end;
  long index = strtol(g->line, &end, 10);
  for (const char *at = g->line; *at != 0; at++) commas += *at == ',';
  if (end == g->line || *end != ',' || commas != VALUES - 1 || index < 0 || index >= GPUS_MAX) return false;
  (void)snprintf(g->latest[index].line, sizeof g->latest[index].line, "%s", g->line);
  return true;
}

/* What a GPU does not tell is "[N/A]". */
static void tell_line(char *line, const struct sampler_sink *sink) {
  char *rest = line, *word[VALUES], *end;
  int64_t index;
  for (size_t i = 0; i < VALUES; i++) {
    word[i] = strsep(&rest, ",");
    if (word[i] == NULL) return;
    word[i] += strspn(word[i], " ");
  }
  if (!number_int64(word[0], strlen(word[0]), &index)) return;
  for (size_t i = 1; i < VALUES - 1; i++) {
    double value;
    if (number_double(word[i], strlen(word[i]), &value) && value >= 0 && value < 1e9)
      tell(sink, index, values[i - 1].series, value * values[i - 1].scale);
  }
  if (strncmp(word[VALUES - 1], "0x", 2) != 0) return;
  errno = 0;
  unsigned long long reasons = strtoull(word[VALUES - 1], &end, 16);
  if (*end != 0 || errno != 0) return;
  tell(sink, index, "slowed", (reasons & REASON_SLOWED) != 0);
  tell(sink, index, "power_capped", (reasons & REASON_POWER_CAP) != 0);
}

/* What has come: the last line of each GPU is enough. */
static void take_all(struct gpu *g) {
  char bytes[4096];
  ssize_t got = 0;
  for (size_t sum = 0; g->from_fd >= 0 && sum < READ_MAX && (got = read(g->from_fd, bytes, sizeof bytes)) > 0; sum += (size_t)got)
    for (ssize_t i = 0; i < got; i++) {
      if (bytes[i] != '\n') {
        if (g->n < sizeof g->line - 1) g->line[g->n++] = bytes[i];
        continue;
      }
      g->line[g->n] = 0;
      if (keep_line(g)) g->told = true;
      g->n = 0;
    }
  bool ended = g->from_fd >= 0 && (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR));
  if (!ended) return;
  stop(g);
  if (!g->told && ++g->query < LYNX_COUNT(queries)) (void)start(g); /* it may not know that name */
}

static void gpu_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct gpu *g = state;
  struct process_stat stat;
  const struct root here = {""};
  bool first = g->last_ns == 0;
  take_all(g);
  for (size_t i = 0; i < GPUS_MAX; i++) {
    if (g->used[i] && !first && g->latest[i].line[0] != 0) tell_line(g->latest[i].line, sink);
    g->latest[i].line[0] = 0; /* and what came before the session is of no session */
  }
  if (g->child.pid > 0 && process_read(&here, g->child.pid, &stat)) {
    unsigned long long ticks = stat.user_ticks + stat.system_ticks;
    long per_second = sysconf(_SC_CLK_TCK);
    if (!first && now_ns > g->last_ns && ticks >= g->ticks && per_second > 0)
      sink->value(sink->context, "sampling.gpu_processors",
                  (double)(ticks - g->ticks) / (double)per_second / ((double)(now_ns - g->last_ns) / 1e9));
    g->ticks = ticks;
  }
  g->last_ns = now_ns;
}

static void gpu_close(void *state) {
  struct gpu *g = state;
  stop(g);
  free(g);
}

const struct sampler sampler_gpu;
const struct sampler sampler_gpu = {.name = "gpu",
                                    .summary = "NVIDIA's GPUs: busy, memory, power, heat, clocks, why they are slowed",
                                    .open = gpu_open,
                                    .watch = gpu_watch,
                                    .sample = gpu_sample,
                                    .close = gpu_close};
