/* AMD's GPUs, by the files of their driver (amdgpu).
 * Series   as of NVIDIA's (gpu.c): gpu.N.busy_ratio, .memory_busy_ratio, .memory_bytes, .power_w, .temperature_c (of the hottest place),
 *          .clock_mhz, .memory_clock_mhz; gpu.N.slowed, gpu.N.power_capped: the share of the time since the sample before where the
 *          driver counts it, else 1 or 0 as it is now. N is that of /sys/class/drm/cardN
 *          Only of GPUs whose render device (/dev/dri/renderDN) the serving processes have open as the session begins
 * Source   Linux: drivers/gpu/drm/amd: pm/amdgpu_pm.c for the files, include/kgd_pp_interface.h for gpu_metrics 1.3, 1.4 and 1.6
 * Limits   of other tables of gpu_metrics why it is slowed is not read. ROCm opens every device that its process may use, also those that
 *          it leaves idle. Tested on files made by these descriptions, never on a GPU */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"

enum { CARDS_MAX = 64, RENDER_FIRST = 128, RENDER_MAX = 192, METRICS_MAX = 4096, FILES_MAX = 256 };

struct card {
  char device[64], hwmon[128]; /* hwmon "": it has none */
  int number, render;          /* render: of its device for computing; -1: none */
  bool used;
  /* gpu_metrics 1.6, as last read */
  uint32_t counted, power, heat;
  bool told;
};

struct amd_gpu {
  const struct root *root;
  struct card cards[CARDS_MAX];
  size_t n;
};

/* --- cards --- */

static void find_hwmon(void *context, const char *name) {
  struct card *card = context;
  if (strncmp(name, "hwmon", 5) == 0 && strchr(name, '/') == NULL)
    (void)snprintf(card->hwmon, sizeof card->hwmon, "%s/hwmon/%.40s", card->device, name);
}

/* "renderD128" */
static void find_render(void *context, const char *name) {
  struct card *card = context;
  int64_t number;
  if (strncmp(name, "renderD", 7) == 0 && number_int64(name + 7, strlen(name + 7), &number) && number >= RENDER_FIRST &&
      number < RENDER_MAX)
    card->render = (int)number;
}

/* "card0", not "card0-DP-1": those are its connectors. */
static void find_card(void *context, const char *name) {
  struct amd_gpu *a = context;
  char path[160], vendor[16];
  int64_t number;
  if (strncmp(name, "card", 4) != 0 || !number_int64(name + 4, strlen(name + 4), &number) || number < 0 || number >= CARDS_MAX) return;
  if (a->n == CARDS_MAX) return;
  struct card card = {.number = (int)number, .render = -1};
  (void)snprintf(card.device, sizeof card.device, "/sys/class/drm/card%d/device", (int)number);
  (void)snprintf(path, sizeof path, "%s/vendor", card.device);
  if (!root_read_line(a->root, path, vendor, sizeof vendor) || strcmp(vendor, "0x1002") != 0) return;
  (void)snprintf(path, sizeof path, "%s/hwmon", card.device);
  (void)root_list(a->root, path, FILES_MAX, find_hwmon, &card);
  (void)snprintf(path, sizeof path, "%s/drm", card.device);
  (void)root_list(a->root, path, FILES_MAX, find_render, &card);
  a->cards[a->n++] = card;
}

static bool amd_gpu_open(const struct root *root, void **ret_state) {
  struct amd_gpu *a = xalloc(1, sizeof *a);
  a->root = root;
  *ret_state = a;
  (void)root_list(root, "/sys/class/drm", FILES_MAX, find_card, a);
  return a->n > 0;
}

static void take_used(void *context, int number) {
  struct amd_gpu *a = context;
  for (size_t i = 0; i < a->n; i++) a->cards[i].used = a->cards[i].used || a->cards[i].render == number;
}

static void amd_gpu_watch(void *state, int64_t pid) {
  struct amd_gpu *a = state;
  struct process_tree tree;
  for (size_t i = 0; i < a->n; i++) a->cards[i].used = a->cards[i].told = false; /* what went before is of no session */
  process_tree_read(a->root, pid, &tree);
  process_tree_devices(a->root, &tree, "/dev/dri/renderD", RENDER_MAX, take_used, a);
}

/* --- what they tell --- */

static void tell(const struct sampler_sink *sink, const struct card *card, const char *what, double value) {
  char series[64];
  (void)snprintf(series, sizeof series, "gpu.%d.%s", card->number, what);
  sink->value(sink->context, series, value);
}

static bool read_file(const struct amd_gpu *a, const char *folder, const char *name, double *ret) {
  char path[200], text[64];
  if (folder[0] == 0) return false;
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return root_read_line(a->root, path, text, sizeof text) && number_double(text, strlen(text), ret) && *ret >= 0 && *ret < 1e15;
}

/* temp1 to temp3: the edge, the hottest junction, the memory; of Instinct cards the first is missing. */
static void tell_temperature(const struct amd_gpu *a, const struct card *card, const struct sampler_sink *sink) {
  double most = -1, value;
  for (int i = 1; i <= 3; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "temp%d_input", i);
    if (read_file(a, card->hwmon, name, &value) && value > most) most = value;
  }
  if (most >= 0) tell(sink, card, "temperature_c", most / 1000);
}

static uint64_t little_endian(const char *bytes, size_t at, size_t n) {
  uint64_t value = 0;
  for (size_t i = 0; i < n; i++) value |= (uint64_t)(unsigned char)bytes[at + i] << (8 * i);
  return value;
}

/* Of 1.3, bits 0 to 7 and 16 to 23 are limits of power and current, 32 to 47 those of temperatures. The driver begins with all bits set:
 * what its firmware does not report stays so. The drivers that write 1.4 report no reasons in it. */
static void tell_bits(const struct sampler_sink *sink, const struct card *card, uint64_t bits, uint64_t power, uint64_t heat) {
  if (bits == UINT64_MAX) return;
  tell(sink, card, "slowed", (bits & heat) != 0);
  tell(sink, card, "power_capped", (bits & power) != 0);
}

/* 1.6: counters of the firmware's rounds, of those at the power limit, and of those slowed for heat, by place. */
static void tell_rounds(struct card *card, const char *bytes, const struct sampler_sink *sink) {
  enum { COUNTED = 32, ALARM = 36, POWER = 40, SOCKET = 44, REGULATORS = 48, MEMORY = 52 };
  static const size_t places[] = {ALARM, SOCKET, REGULATORS, MEMORY};
  uint32_t counted = (uint32_t)little_endian(bytes, COUNTED, 4), power = (uint32_t)little_endian(bytes, POWER, 4), heat = 0;
  for (size_t i = 0; i < LYNX_COUNT(places); i++) heat += (uint32_t)little_endian(bytes, places[i], 4);
  uint32_t rounds = counted - card->counted, capped = power - card->power, slowed = heat - card->heat; /* they wrap */
  bool all_ones = counted == UINT32_MAX && power == UINT32_MAX;
  if (card->told && !all_ones && rounds > 0 && capped <= rounds && slowed <= 4 * (uint64_t)rounds) {
    tell(sink, card, "slowed", slowed < rounds ? (double)slowed / rounds : 1);
    tell(sink, card, "power_capped", (double)capped / rounds);
  }
  card->told = true;
  card->counted = counted;
  card->power = power;
  card->heat = heat;
}

static void tell_reasons(const struct amd_gpu *a, struct card *card, const struct sampler_sink *sink) {
  struct buffer table;
  char path[160];
  (void)snprintf(path, sizeof path, "%s/gpu_metrics", card->device);
  buffer_init(&table, METRICS_MAX);
  if (root_read(a->root, path, &table, NULL) == LYNX_OK && table.length >= 4 && little_endian(table.data, 0, 2) == table.length) {
    int format = table.data[2] * 100 + table.data[3];
    if (format == 103 && table.length >= 120)
      tell_bits(sink, card, little_endian(table.data, 112, 8), UINT64_C(0xff00ff), UINT64_C(0xffff) << 32);
    if (format == 106 && table.length >= 56) tell_rounds(card, table.data, sink);
  }
  buffer_release(&table);
}

static void amd_gpu_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  static const struct {
    bool of_hwmon;
    const char *file, *other, *series; /* other: read where the first is not there; NULL */
    double scale;
  } files[] = {{false, "gpu_busy_percent", NULL, "busy_ratio", 0.01},  {false, "mem_busy_percent", NULL, "memory_busy_ratio", 0.01},
               {false, "mem_info_vram_used", NULL, "memory_bytes", 1}, {true, "power1_average", "power1_input", "power_w", 1e-6},
               {true, "freq1_input", NULL, "clock_mhz", 1e-6},         {true, "freq2_input", NULL, "memory_clock_mhz", 1e-6}};
  struct amd_gpu *a = state;
  (void)now_ns;
  for (size_t i = 0; i < a->n; i++) {
    struct card *card = &a->cards[i];
    for (size_t k = 0; k < LYNX_COUNT(files) && card->used; k++) {
      const char *folder = files[k].of_hwmon ? card->hwmon : card->device;
      double value;
      bool read = read_file(a, folder, files[k].file, &value) || (files[k].other != NULL && read_file(a, folder, files[k].other, &value));
      if (read && (files[k].scale != 0.01 || value <= 100)) /* beyond it: a value that the firmware does not report */
        tell(sink, card, files[k].series, value * files[k].scale);
    }
    if (!card->used) continue;
    tell_temperature(a, card, sink);
    tell_reasons(a, card, sink);
  }
}

const struct sampler sampler_amd_gpu;
const struct sampler sampler_amd_gpu = {.name = "amd_gpu",
                                        .summary = "AMD's GPUs: busy, memory, power, heat, clocks, why they are slowed",
                                        .open = amd_gpu_open,
                                        .watch = amd_gpu_watch,
                                        .sample = amd_gpu_sample,
                                        .close = free};
