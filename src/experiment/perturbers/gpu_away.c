/* The server's NVIDIA GPU is taken away from it for a part of the time, by a process of our own that has its turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/gpu_share.h"
#include "telemetry/process_tree.h"

enum { GPUS_MAX = 4, NUMBERS_MAX = 64 };

struct gpus {
  struct perturbing request;
  struct gpu_share *shares[GPUS_MAX];
  bool used[NUMBERS_MAX];
  const char *wanted; /* the number that is looked for, as the driver's list has it */
  char bus[32];
};

static void take_used(void *context, int number) {
  ((struct gpus *)context)->used[number] = true;
}

/* /proc/driver/nvidia/gpus/0000:00:06.0/information: "Device Minor: \t 0" */
static void match_bus(void *context, const char *bus) {
  struct gpus *s = context;
  char path[100];
  struct buffer text;
  buffer_init(&text, 8192);
  if (strlen(bus) >= sizeof s->bus || strspn(bus, "0123456789abcdefABCDEF:.") != strlen(bus)) return;
  (void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.40s/information", bus);
  if (root_read(s->request.root, path, &text, NULL) == LYNX_OK && buffer_text(&text, "\n")) {
    const char *at = strstr(text.data, "Device Minor:");
    if (at != NULL) {
      at += strlen("Device Minor:");
      at += strspn(at, " \t");
      size_t n = strspn(at, "0123456789");
      if (n == strlen(s->wanted) && memcmp(at, s->wanted, n) == 0) (void)snprintf(s->bus, sizeof s->bus, "%s", bus);
    }
  }
  buffer_release(&text);
}

static struct gpu_share *open_one(struct gpus *s, int number, char *why, size_t size) {
  char wanted[8], said[200] = "its address on the bus cannot be read (/proc/driver/nvidia/gpus)";
  struct gpu_share *share = NULL;
  (void)snprintf(wanted, sizeof wanted, "%d", number);
  s->wanted = wanted;
  s->bus[0] = 0;
  (void)root_list(s->request.root, "/proc/driver/nvidia/gpus", NUMBERS_MAX, match_bus, s);
  if (s->bus[0] != 0) share = gpu_share_open(&s->request, s->bus, said, sizeof said);
  if (share == NULL) (void)snprintf(why, size, "gpu: GPU %d cannot be taken: %s", number, said);
  return share;
}

static bool has_mps(const struct root *root) {
  char line[16];
  return root_read_line(root, "/run/nvidia-mps/nvidia-cuda-mps-control.pid", line, sizeof line) ||
         root_read_line(root, "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", line, sizeof line);
}

static size_t gpu_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct gpus *s = xalloc(1, sizeof *s);
  struct process_tree tree = {.n = 0};
  size_t n = 0;
  s->request = *request;
  *ret_state = s;
  for (size_t i = 0; i < request->n_processes && tree.n < PROCESS_TREE_MAX; i++) tree.pids[tree.n++] = request->processes[i].pid;
  process_tree_devices(request->root, &tree, "/dev/nvidia", NUMBERS_MAX, take_used, s);
  (void)snprintf(why, size, "gpu: no process of the server has an NVIDIA GPU open");
  if (has_mps(request->root)) {
    (void)snprintf(why, size, "gpu: NVIDIA's MPS lets processes run at once: there are no turns to take");
    return 0;
  }
  for (int i = 0; i < NUMBERS_MAX && n < most && n < GPUS_MAX; i++) {
    char name[16];
    if (!s->used[i] || (s->shares[n] = open_one(s, i, why, size)) == NULL) continue;
    (void)snprintf(name, sizeof name, "GPU %d", i);
    target_name(&ret[n++], "gpu", name);
  }
  return n;
}

static double gpu_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  const struct gpus *s = state;
  double lost = gpu_share_hold(s->shares[target], 1 - 1 / slowness, &s->request, until_ns);
  return lost > 0 && lost < 0.95 ? 1 / (1 - lost) : 1;
}

static void gpu_close(void *state) {
  struct gpus *s = state;
  for (size_t i = 0; i < GPUS_MAX; i++) gpu_share_close(s->shares[i]);
  free(s);
}

static bool gpu_whose(const char *what, enum layer *ret) {
  (void)what;
  *ret = LAYER_ACCELERATOR;
  return true;
}

const struct perturber perturber_gpu_away;
const struct perturber perturber_gpu_away = {
    .name = "gpu",
    .summary = "the time of an NVIDIA GPU",
    .does =
        "a process of lynxbench has turns on it, in which nobody else's kernels run; it takes some of its memory, and ends with lynxbench",
    .levels = {1.15, 1.5},
    .device = "/dev/nvidiactl",
    .open = gpu_open,
    .hold = gpu_hold,
    .close = gpu_close,
    .whose = gpu_whose};
