/* AMD GPUs by amdsmi, which ROCm brings along, opened at run time. Its structures moved between releases; what is called here has the same
 * shape in all from ROCm 6.0 to 7.0: calls with plain numbers and texts as outputs, and the first members of four structures. Clocks,
 * power caps and links are told by sysfs (devices.c, facility.c). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/probe.h"

enum { AMDSMI_SUCCESS = 0, AMDSMI_NO_PERM = 10, AMDSMI_DRIVER_NOT_LOADED = 34 };
enum { INIT_AMD_GPUS = 1 << 1, MEMORY_VRAM = 0, TEMPERATURE_JUNCTION = 1, TEMPERATURE_VRAM = 2, TEMPERATURE_NOW = 0, LINK_XGMI = 2 };
enum { GPUS_MAX = 64, STRUCTURE_ROOM = 8192 };

struct gpu {
  const struct probe_target *target;
  struct fact_list *facts;
  void *library, *device;
  unsigned index;
};

static const char *amd_applies(const struct probe_target *target) {
  return target->root->path[0] == 0 ? NULL : "amdsmi is asked of this machine only, not of a recorded one";
}

static void *function(const struct gpu *gpu, const char *name) {
  return dlsym(gpu->library, name);
}

/* code: of the call; < 0: this release does not have it. */
static void put(const struct gpu *gpu, enum fact_kind kind, const char *name, int code, const char *value, const char *unit,
                const char *call) {
  char key[80], why[80];
  (void)snprintf(key, sizeof key, "amd-gpu.%u.%s", gpu->index, name);
  if (code == AMDSMI_SUCCESS) {
    probe_fact(gpu->target, gpu->facts, LAYER_ACCELERATOR, kind, key, value, unit, call);
    return;
  }
  (void)snprintf(why, sizeof why, code < 0 ? "this release of amdsmi has no such call" : "amdsmi answers %d", code);
  probe_missing(gpu->target, gpu->facts, LAYER_ACCELERATOR, kind, key, code == AMDSMI_NO_PERM ? FACT_DENIED : FACT_UNSUPPORTED, why, call);
}

/* The first member of a structure is a text of at most 64 characters in some releases and 256 in others, ended by a zero in all. The room
 * is larger than any release's structure. */
static void put_first_texts(const struct gpu *gpu) {
  static const struct { const char *call, *name; } calls[] = {{"amdsmi_get_gpu_asic_info", "name"}, {"amdsmi_get_gpu_vbios_info", "vbios"}};
  static union {
    char text[STRUCTURE_ROOM];
    uint64_t aligned;
  } room;
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    int (*get)(void *, void *) = (int (*)(void *, void *))function(gpu, calls[i].call);
    memset(&room, 0, sizeof room);
    int code = get != NULL ? get(gpu->device, &room) : -1;
    room.text[256] = 0;
    put(gpu, FACT_IDENTITY, calls[i].name, code, room.text, "", calls[i].call);
  }
  memset(&room, 0, sizeof room);
  int (*driver)(void *, void *) = (int (*)(void *, void *))function(gpu, "amdsmi_get_gpu_driver_info");
  /* In ROCm 6.0 the driver's name stands first, and "amdgpu" is no version. */
  if (gpu->index == 0 && driver != NULL && driver(gpu->device, &room) == AMDSMI_SUCCESS && room.text[0] >= '0' && room.text[0] <= '9')
    probe_printf(gpu->target, gpu->facts, LAYER_SYSTEM, FACT_IDENTITY, "amdsmi_get_gpu_driver_info", "driver.amdgpu", "%.63s", room.text);
}

static void put_texts(const struct gpu *gpu) {
  static const struct {
    const char *call, *name;
  } calls[] = {{"amdsmi_get_gpu_compute_partition", "compute-partition"}, {"amdsmi_get_gpu_memory_partition", "memory-partition"}};
  char text[128] = "";
  unsigned length = sizeof text - 1;
  int (*uuid)(void *, unsigned *, char *) = (int (*)(void *, unsigned *, char *))function(gpu, "amdsmi_get_gpu_device_uuid");
  put(gpu, FACT_CONTEXT, "uuid", uuid != NULL ? uuid(gpu->device, &length, text) : -1, text, "", "amdsmi_get_gpu_device_uuid");
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    int (*get)(void *, char *, uint32_t) = (int (*)(void *, char *, uint32_t))function(gpu, calls[i].call);
    memset(text, 0, sizeof text);
    put(gpu, FACT_IDENTITY, calls[i].name, get != NULL ? get(gpu->device, text, sizeof text - 1) : -1, text, "", calls[i].call);
  }
}

static void put_memory(const struct gpu *gpu) {
  static const struct {
    const char *call, *name;
    enum fact_kind kind;
  } calls[] = {{"amdsmi_get_gpu_memory_total", "memory", FACT_IDENTITY}, {"amdsmi_get_gpu_memory_usage", "memory-used", FACT_STATE}};
  char text[32];
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    int (*get)(void *, int, uint64_t *) = (int (*)(void *, int, uint64_t *))function(gpu, calls[i].call);
    uint64_t bytes = 0;
    int code = get != NULL ? get(gpu->device, MEMORY_VRAM, &bytes) : -1;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    put(gpu, calls[i].kind, calls[i].name, code, text, "bytes", calls[i].call);
  }
}

/* A level that somebody set by hand holds clocks where they are. */
static void put_levels(const struct gpu *gpu) {
  static const char *const levels[] = {
      "auto",       "low", "high", "manual", "stable standard", "stable peak", "stable, least memory clock", "stable, least system clock",
      "determinism"};
  int (*level)(void *, unsigned *) = (int (*)(void *, unsigned *))function(gpu, "amdsmi_get_gpu_perf_level");
  int (*overdrive)(void *, unsigned *) = (int (*)(void *, unsigned *))function(gpu, "amdsmi_get_gpu_overdrive_level");
  unsigned value = 0;
  char text[32];
  int code = level != NULL ? level(gpu->device, &value) : -1;
  (void)snprintf(text, sizeof text, "%s", value < LYNX_COUNT(levels) ? levels[value] : "not known");
  put(gpu, FACT_IDENTITY, "performance-level", code, text, "", "amdsmi_get_gpu_perf_level");
  value = 0;
  code = overdrive != NULL ? overdrive(gpu->device, &value) : -1;
  (void)snprintf(text, sizeof text, "%u", value);
  put(gpu, FACT_IDENTITY, "overdrive", code, text, "%", "amdsmi_get_gpu_overdrive_level");
}

static void put_health(const struct gpu *gpu) {
  static const struct {
    int sensor;
    const char *name;
  } sensors[] = {{TEMPERATURE_JUNCTION, "junction"}, {TEMPERATURE_VRAM, "memory"}};
  int (*temperature)(void *, int, int, int64_t *) = (int (*)(void *, int, int, int64_t *))function(gpu, "amdsmi_get_temp_metric");
  for (size_t i = 0; i < LYNX_COUNT(sensors); i++) {
    int64_t degrees = 0;
    char key[64];
    (void)snprintf(key, sizeof key, "temperature.amd-gpu.%u.%s", gpu->index, sensors[i].name);
    if (temperature != NULL && temperature(gpu->device, sensors[i].sensor, TEMPERATURE_NOW, &degrees) == AMDSMI_SUCCESS)
      probe_printf(gpu->target, gpu->facts, LAYER_FACILITY, FACT_STATE, "amdsmi_get_temp_metric", key, "%lld °C", (long long)degrees);
  }
  /* Correctable, uncorrectable; later releases count more kinds after these. */
  uint64_t errors[64] = {0}, replays = 0;
  char text[64];
  int (*ecc)(void *, uint64_t *) = (int (*)(void *, uint64_t *))function(gpu, "amdsmi_get_gpu_total_ecc_count");
  int (*replayed)(void *, uint64_t *) = (int (*)(void *, uint64_t *))function(gpu, "amdsmi_get_gpu_pci_replay_counter");
  int code = ecc != NULL ? ecc(gpu->device, errors) : -1;
  (void)snprintf(text, sizeof text, "%llu corrected, %llu uncorrected", (unsigned long long)errors[0], (unsigned long long)errors[1]);
  put(gpu, FACT_STATE, "ecc-errors", code, text, "", "amdsmi_get_gpu_total_ecc_count");
  code = replayed != NULL ? replayed(gpu->device, &replays) : -1;
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)replays);
  put(gpu, FACT_STATE, "pcie-replays", code, text, "", "amdsmi_get_gpu_pci_replay_counter");
}

static void put_links(const struct gpu *gpu, void *const *devices, unsigned n) {
  int (*get)(void *, void *, uint64_t *,
             unsigned *) = (int (*)(void *, void *, uint64_t *, unsigned *))function(gpu, "amdsmi_topo_get_link_type");
  char text[GPUS_MAX * 32] = "";
  for (unsigned other = 0; get != NULL && other < n; other++) {
    uint64_t hops = 0;
    unsigned type = 0;
    size_t used = strlen(text);
    if (other == gpu->index || get(gpu->device, devices[other], &hops, &type) != AMDSMI_SUCCESS) continue;
    (void)snprintf(text + used, sizeof text - used, "%s%u: %s, %llu hop%s", used > 0 ? "; " : "", other,
                   type == LINK_XGMI ? "XGMI" : "PCIe", (unsigned long long)hops, LYNX_S(hops));
  }
  if (text[0] != 0) put(gpu, FACT_IDENTITY, "links", AMDSMI_SUCCESS, text, "", "amdsmi_topo_get_link_type");
}

/* Processors by sockets. */
static unsigned find_devices(const struct gpu *gpu, void *devices[GPUS_MAX]) {
  int (*get_sockets)(uint32_t *, void **) = (int (*)(uint32_t *, void **))function(gpu, "amdsmi_get_socket_handles");
  int (*get_devices)(void *, uint32_t *, void **) = (int (*)(void *, uint32_t *, void **))function(gpu, "amdsmi_get_processor_handles");
  void *sockets[GPUS_MAX];
  uint32_t n_sockets = 0, n = 0;
  /* First how many there are, then no more than fit. */
  if (get_sockets == NULL || get_devices == NULL || get_sockets(&n_sockets, NULL) != AMDSMI_SUCCESS) return 0;
  if (n_sockets > GPUS_MAX) n_sockets = GPUS_MAX;
  if (get_sockets(&n_sockets, sockets) != AMDSMI_SUCCESS) return 0;
  for (uint32_t i = 0; i < n_sockets; i++) {
    uint32_t more = 0;
    if (get_devices(sockets[i], &more, NULL) != AMDSMI_SUCCESS) continue;
    if (more > GPUS_MAX - n) more = GPUS_MAX - n;
    if (more > 0 && get_devices(sockets[i], &more, devices + n) == AMDSMI_SUCCESS) n += more;
  }
  return n;
}

static bool has_amd(const struct fact_list *facts) {
  for (size_t i = 0; i < facts->n_items; i++)
    if (strncmp(facts->items[i].key, "accelerator.", 12) == 0 && strncmp(facts->items[i].value, "AMD ", 4) == 0) return true;
  return false;
}

static void amd_collect(const struct probe_target *target, struct fact_list *facts) {
  struct gpu gpu = {.target = target, .facts = facts};
  void *devices[GPUS_MAX];
  gpu.library = dlopen("libamd_smi.so", RTLD_NOW | RTLD_LOCAL);
  if (gpu.library == NULL) gpu.library = dlopen("/opt/rocm/lib/libamd_smi.so", RTLD_NOW | RTLD_LOCAL);
  if (gpu.library == NULL) {
    if (has_amd(facts))
      probe_missing(target, facts, LAYER_ACCELERATOR, FACT_STATE, "probe.amd", FACT_ABSENT,
                    "no libamd_smi.so is found (it comes with ROCm): what sysfs reports of the GPUs remains", "libamd_smi.so");
    return;
  }
  int (*start)(uint64_t) = (int (*)(uint64_t))function(&gpu, "amdsmi_init");
  int code = start != NULL ? start(INIT_AMD_GPUS) : -1;
  if (code != AMDSMI_SUCCESS) {
    char why[120];
    (void)snprintf(why, sizeof why, "amdsmi does not start (%d%s)", code,
                   code == AMDSMI_DRIVER_NOT_LOADED ? ": the driver is not loaded"
                   : code == AMDSMI_NO_PERM         ? ": no permission"
                                                    : "");
    probe_missing(target, facts, LAYER_ACCELERATOR, FACT_STATE, "probe.amd", FACT_UNSUPPORTED, why, "amdsmi_init");
    return;
  }
  unsigned n = find_devices(&gpu, devices);
  probe_printf(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "amdsmi_get_processor_handles", "amd-gpu.count", "%u", n);
  for (unsigned i = 0; i < n; i++) {
    gpu.index = i;
    gpu.device = devices[i];
    put_first_texts(&gpu);
    put_texts(&gpu);
    put_memory(&gpu);
    put_levels(&gpu);
    put_health(&gpu);
    put_links(&gpu, devices, n);
  }
  /* Not shut down and not closed: this process only lives as long as the probes do. */
}

const struct probe probe_amd;
const struct probe probe_amd = {.name = "amd",
                                .summary = "AMD GPUs: identity, memory, partitions, performance level, links, ECC",
                                .reads = "amdsmi",
                                .stage = 1,
                                .layer = LAYER_ACCELERATOR,
                                .applies = amd_applies,
                                .collect = amd_collect};
