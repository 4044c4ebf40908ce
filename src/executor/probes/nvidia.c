/* NVIDIA GPUs: by NVML, which the driver brings along, opened at run time; and, without it, what the kernel module says of itself.
 * The declarations here are NVML's stable, versioned entry points (API version 13): none of its headers is needed to build. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "executor/probe.h"

enum {
  NVML_SUCCESS = 0,
  NVML_NOT_SUPPORTED = 3,
  NVML_NO_PERMISSION = 4,
  NVML_DRIVER_NOT_LOADED = 9,
  NVML_MISMATCH = 18,
  GPUS_MAX = 64,
  LINKS_MAX = 18
};
enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO };

struct nvml_pci {
  char bus_legacy[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char bus_id[32];
};

struct nvml_memory {
  unsigned long long total, free, used;
};

struct gpu {
  const struct probe_target *target;
  struct fact_list *facts;
  void *library, *device;
  unsigned index;
};

static const char *nvidia_applies(const struct probe_target *target) {
  char line[256];
  if (root_read_line(target->root, "/proc/driver/nvidia/version", line, sizeof line)) return NULL;
  return target->root->path[0] == 0 ? NULL : "no NVIDIA driver is loaded";
}

static void *function(const struct gpu *gpu, const char *name) {
  return dlsym(gpu->library, name);
}

static enum fact_status status_of(int code) {
  return code == NVML_NO_PERMISSION ? FACT_DENIED : FACT_UNSUPPORTED;
}

static void put(const struct gpu *gpu, enum fact_kind kind, const char *name, const char *value, const char *unit, const char *source) {
  char key[80];
  (void)snprintf(key, sizeof key, "gpu.%u.%s", gpu->index, name);
  probe_fact(gpu->target, gpu->facts, LAYER_ACCELERATOR, kind, key, value, unit, source);
}

static void put_missing(const struct gpu *gpu, enum fact_kind kind, const char *name, int code, const char *source) {
  char key[80], why[80];
  (void)snprintf(key, sizeof key, "gpu.%u.%s", gpu->index, name);
  (void)snprintf(why, sizeof why, code < 0 ? "this driver's NVML has no such call" : "NVML answers %d", code);
  probe_missing(gpu->target, gpu->facts, LAYER_ACCELERATOR, kind, key, status_of(code), why, source);
}

static void put_number(const struct gpu *gpu, enum fact_kind kind, const char *name, unsigned long long value, const char *unit,
                       const char *source) {
  char text[32];
  (void)snprintf(text, sizeof text, "%llu", value);
  put(gpu, kind, name, text, unit, source);
}

/* --- what one call with one output tells --- */

static void put_texts(const struct gpu *gpu) {
  static const struct {
    const char *call, *name;
    enum fact_kind kind;
  } calls[] = {{"nvmlDeviceGetName", "name", FACT_IDENTITY},
               {"nvmlDeviceGetVbiosVersion", "vbios", FACT_IDENTITY},
               {"nvmlDeviceGetInforomImageVersion", "inforom", FACT_IDENTITY},
               {"nvmlDeviceGetBoardPartNumber", "part-number", FACT_IDENTITY},
               {"nvmlDeviceGetUUID", "uuid", FACT_CONTEXT},
               {"nvmlDeviceGetSerial", "serial", FACT_CONTEXT}};
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    int (*get)(void *, char *, unsigned) = (int (*)(void *, char *, unsigned))function(gpu, calls[i].call);
    char text[128] = "";
    int code = get != NULL ? get(gpu->device, text, sizeof text - 1) : -1;
    if (code == NVML_SUCCESS) put(gpu, calls[i].kind, calls[i].name, text, "", calls[i].call);
    else put_missing(gpu, calls[i].kind, calls[i].name, code, calls[i].call);
  }
  int (*firmware)(void *, char *) = (int (*)(void *, char *))function(gpu, "nvmlDeviceGetGspFirmwareVersion");
  char text[128] = "";
  if (firmware != NULL && firmware(gpu->device, text) == NVML_SUCCESS)
    put(gpu, FACT_IDENTITY, "gsp-firmware", text, "", "nvmlDeviceGetGspFirmwareVersion");
}

static void put_numbers(const struct gpu *gpu) {
  static const struct {
    const char *call, *name, *unit;
    enum fact_kind kind;
  } calls[] = {{"nvmlDeviceGetNumGpuCores", "cores", "", FACT_IDENTITY},
               {"nvmlDeviceGetMemoryBusWidth", "memory-bus", "bit", FACT_IDENTITY},
               {"nvmlDeviceGetArchitecture", "architecture", "", FACT_IDENTITY},
               {"nvmlDeviceGetPowerManagementLimit", "power-limit", "mW", FACT_IDENTITY},
               {"nvmlDeviceGetPowerManagementDefaultLimit", "power-limit-default", "mW", FACT_IDENTITY},
               {"nvmlDeviceGetEnforcedPowerLimit", "power-limit-enforced", "mW", FACT_STATE},
               {"nvmlDeviceGetPowerUsage", "power", "mW", FACT_STATE},
               {"nvmlDeviceGetPersistenceMode", "persistence-mode", "", FACT_IDENTITY},
               {"nvmlDeviceGetComputeMode", "compute-mode", "", FACT_IDENTITY},
               {"nvmlDeviceGetPerformanceState", "performance-state", "", FACT_STATE},
               {"nvmlDeviceGetMaxPcieLinkGeneration", "pcie-generation-most", "", FACT_IDENTITY},
               {"nvmlDeviceGetMaxPcieLinkWidth", "pcie-width-most", "lanes", FACT_IDENTITY},
               {"nvmlDeviceGetCurrPcieLinkGeneration", "pcie-generation", "(falls when idle)", FACT_STATE},
               {"nvmlDeviceGetCurrPcieLinkWidth", "pcie-width", "lanes", FACT_STATE},
               {"nvmlDeviceGetPcieReplayCounter", "pcie-replays", "", FACT_STATE},
               {"nvmlDeviceGetAdaptiveClockInfoStatus", "adaptive-clocks", "", FACT_IDENTITY},
               {"nvmlDeviceGetNumaNodeId", "numa-node", "", FACT_IDENTITY}};
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    int (*get)(void *, unsigned *) = (int (*)(void *, unsigned *))function(gpu, calls[i].call);
    unsigned value = 0;
    int code = get != NULL ? get(gpu->device, &value) : -1;
    if (code == NVML_SUCCESS) put_number(gpu, calls[i].kind, calls[i].name, value, calls[i].unit, calls[i].call);
    else put_missing(gpu, calls[i].kind, calls[i].name, code, calls[i].call);
  }
}

/* Two outputs: now and after the next reset, least and most, major and minor. */
static void put_pairs(const struct gpu *gpu) {
  static const struct {
    const char *call, *first, *second, *unit;
  } calls[] = {{"nvmlDeviceGetEccMode", "ecc", "ecc-pending", ""},
               {"nvmlDeviceGetMigMode", "mig", "mig-pending", ""},
               {"nvmlDeviceGetPowerManagementLimitConstraints", "power-limit-least", "power-limit-most", "mW"}};
  unsigned a = 0, b = 0;
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    int (*get)(void *, unsigned *, unsigned *) = (int (*)(void *, unsigned *, unsigned *))function(gpu, calls[i].call);
    int code = get != NULL ? get(gpu->device, &a, &b) : -1;
    if (code == NVML_SUCCESS) {
      put_number(gpu, FACT_IDENTITY, calls[i].first, a, calls[i].unit, calls[i].call);
      put_number(gpu, FACT_IDENTITY, calls[i].second, b, calls[i].unit, calls[i].call);
    } else put_missing(gpu, FACT_IDENTITY, calls[i].first, code, calls[i].call);
  }
  int (*capability)(void *, int *, int *) = (int (*)(void *, int *, int *))function(gpu, "nvmlDeviceGetCudaComputeCapability");
  int major = 0, minor = 0;
  char text[32];
  if (capability != NULL && capability(gpu->device, &major, &minor) == NVML_SUCCESS) {
    (void)snprintf(text, sizeof text, "%d.%d", major, minor);
    put(gpu, FACT_IDENTITY, "compute-capability", text, "", "nvmlDeviceGetCudaComputeCapability");
  }
}

static void put_clocks(const struct gpu *gpu) {
  static const struct {
    int type;
    const char *now, *most, *boost;
  } clocks[] = {{CLOCK_SM, "clock.sm", "clock.sm-most", "clock.sm-boost-most"},
                {CLOCK_MEMORY, "clock.memory", "clock.memory-most", NULL},
                {CLOCK_GRAPHICS, "clock.graphics", "clock.graphics-most", NULL}};
  static const char *const calls[] = {"nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMaxCustomerBoostClock"};
  for (size_t i = 0; i < LYNX_COUNT(clocks); i++) {
    const char *names[] = {clocks[i].now, clocks[i].most, clocks[i].boost};
    for (size_t k = 0; k < LYNX_COUNT(calls); k++) {
      int (*get)(void *, int, unsigned *) = (int (*)(void *, int, unsigned *))function(gpu, calls[k]);
      unsigned value = 0;
      if (names[k] != NULL && get != NULL && get(gpu->device, clocks[i].type, &value) == NVML_SUCCESS)
        put_number(gpu, k == 0 ? FACT_STATE : FACT_IDENTITY, names[k], value, "MHz", calls[k]);
    }
  }
}

/* What somebody set the clocks to, and what they are without. Clocks that were locked (nvidia-smi -lgc) no call tells. */
static void put_application_clocks(const struct gpu *gpu) {
  enum { TARGET = 1, DEFAULT = 2 };
  static const struct {
    int type, which;
    const char *name;
  } clocks[] = {{CLOCK_GRAPHICS, TARGET, "clock.graphics-application"},
                {CLOCK_GRAPHICS, DEFAULT, "clock.graphics-application-default"},
                {CLOCK_MEMORY, TARGET, "clock.memory-application"},
                {CLOCK_MEMORY, DEFAULT, "clock.memory-application-default"}};
  int (*get)(void *, int, int, unsigned *) = (int (*)(void *, int, int, unsigned *))function(gpu, "nvmlDeviceGetClock");
  for (size_t i = 0; i < LYNX_COUNT(clocks); i++) {
    unsigned value = 0;
    if (get != NULL && get(gpu->device, clocks[i].type, clocks[i].which, &value) == NVML_SUCCESS)
      put_number(gpu, FACT_IDENTITY, clocks[i].name, value, "MHz", "nvmlDeviceGetClock");
  }
}

/* Why clocks are held down. Idle alone is no throttling. */
static void put_throttling(const struct gpu *gpu) {
  static const struct {
    unsigned long long bit;
    const char *name;
  } reasons[] = {{0x1, "idle"},
                 {0x2, "application clocks"},
                 {0x4, "software power cap"},
                 {0x8, "hardware slowdown"},
                 {0x10, "sync boost"},
                 {0x20, "software thermal"},
                 {0x40, "hardware thermal"},
                 {0x80, "hardware power brake"},
                 {0x100, "display clocks"}};
  const char *call = "nvmlDeviceGetCurrentClocksEventReasons";
  void *found = function(gpu, call);
  if (found == NULL) found = function(gpu, call = "nvmlDeviceGetCurrentClocksThrottleReasons");
  int (*get)(void *, unsigned long long *) = (int (*)(void *, unsigned long long *))found;
  unsigned long long bits = 0;
  int code = get != NULL ? get(gpu->device, &bits) : -1;
  if (code != NVML_SUCCESS) {
    put_missing(gpu, FACT_STATE, "throttled-by", code, call);
    return;
  }
  char text[256] = "";
  for (size_t i = 0; i < LYNX_COUNT(reasons); i++) {
    if ((bits & reasons[i].bit) == 0) continue;
    size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", reasons[i].name);
  }
  put(gpu, FACT_STATE, "throttled-by", text[0] != 0 ? text : "nothing", "", call);
}

static void put_health(const struct gpu *gpu) {
  int (*errors)(void *, int, int,
                unsigned long long *) = (int (*)(void *, int, int, unsigned long long *))function(gpu, "nvmlDeviceGetTotalEccErrors");
  unsigned long long count = 0;
  if (errors != NULL && errors(gpu->device, 0, 1, &count) == NVML_SUCCESS)
    put_number(gpu, FACT_STATE, "ecc-corrected", count, "", "nvmlDeviceGetTotalEccErrors");
  if (errors != NULL && errors(gpu->device, 1, 1, &count) == NVML_SUCCESS)
    put_number(gpu, FACT_STATE, "ecc-uncorrected", count, "", "nvmlDeviceGetTotalEccErrors");
  int (*remapped)(void *, unsigned *, unsigned *, unsigned *,
                  unsigned *) = (int (*)(void *, unsigned *, unsigned *, unsigned *, unsigned *))function(gpu, "nvmlDeviceGetRemappedRows");
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (remapped != NULL && remapped(gpu->device, &corrected, &uncorrected, &pending, &failed) == NVML_SUCCESS) {
    char text[96];
    (void)snprintf(text, sizeof text, "%u corrected, %u uncorrected%s%s", corrected, uncorrected, pending != 0 ? ", pending" : "",
                   failed != 0 ? ", failed" : "");
    put(gpu, FACT_STATE, "remapped-rows", text, "", "nvmlDeviceGetRemappedRows");
  }
  int (*retired)(void *, int, unsigned *,
                 unsigned long long *) = (int (*)(void *, int, unsigned *, unsigned long long *))function(gpu, "nvmlDeviceGetRetiredPages");
  for (int cause = 0; retired != NULL && cause < 2; cause++) {
    unsigned long long pages[64];
    unsigned n = LYNX_COUNT(pages);
    if (retired(gpu->device, cause, &n, pages) == NVML_SUCCESS)
      put_number(gpu, FACT_STATE, cause == 0 ? "retired-pages-single-bit" : "retired-pages-double-bit", n, "", "nvmlDeviceGetRetiredPages");
  }
  int (*temperature)(void *, int, unsigned *) = (int (*)(void *, int, unsigned *))function(gpu, "nvmlDeviceGetTemperature");
  unsigned degrees = 0;
  char key[48];
  if (temperature != NULL && temperature(gpu->device, 0, &degrees) == NVML_SUCCESS) {
    char text[32];
    (void)snprintf(key, sizeof key, "temperature.gpu.%u", gpu->index);
    (void)snprintf(text, sizeof text, "%u", degrees);
    probe_fact(gpu->target, gpu->facts, LAYER_FACILITY, FACT_STATE, key, text, "°C", "nvmlDeviceGetTemperature");
  }
}

static void put_memory(const struct gpu *gpu) {
  int (*get)(void *, struct nvml_memory *) = (int (*)(void *, struct nvml_memory *))function(gpu, "nvmlDeviceGetMemoryInfo");
  struct nvml_memory memory = {0};
  int code = get != NULL ? get(gpu->device, &memory) : -1;
  if (code == NVML_SUCCESS) {
    put_number(gpu, FACT_IDENTITY, "memory", memory.total, "bytes", "nvmlDeviceGetMemoryInfo");
    put_number(gpu, FACT_STATE, "memory-used", memory.used, "bytes", "nvmlDeviceGetMemoryInfo");
  } else put_missing(gpu, FACT_IDENTITY, "memory", code, "nvmlDeviceGetMemoryInfo");
}

static void put_links(const struct gpu *gpu) {
  int (*state)(void *, unsigned, unsigned *) = (int (*)(void *, unsigned, unsigned *))function(gpu, "nvmlDeviceGetNvLinkState");
  int (*version)(void *, unsigned, unsigned *) = (int (*)(void *, unsigned, unsigned *))function(gpu, "nvmlDeviceGetNvLinkVersion");
  unsigned n = 0, which = 0, active = 0;
  bool known = false;
  for (unsigned link = 0; state != NULL && link < LINKS_MAX; link++) {
    if (state(gpu->device, link, &active) != NVML_SUCCESS) continue;
    known = true;
    n += active != 0;
    if (active != 0 && version != NULL) (void)version(gpu->device, link, &which);
  }
  char text[64];
  (void)snprintf(text, sizeof text, n > 0 ? "%u active, version %u" : "%u active", n, which);
  if (known) put(gpu, FACT_IDENTITY, "nvlink", text, "", "nvmlDeviceGetNvLinkState");
}

static void put_place(const struct gpu *gpu) {
  int (*get)(void *, struct nvml_pci *) = (int (*)(void *, struct nvml_pci *))function(gpu, "nvmlDeviceGetPciInfo_v3");
  struct nvml_pci pci = {.bus_id = ""};
  if (get == NULL || get(gpu->device, &pci) != NVML_SUCCESS) return;
  pci.bus_id[sizeof pci.bus_id - 1] = 0;
  put(gpu, FACT_CONTEXT, "bus", pci.bus_id, "", "nvmlDeviceGetPciInfo_v3");
}

/* How far apart two GPUs are: through one switch, one host bridge, or across the sockets. */
static void put_topology(const struct gpu *gpu, void *const *devices, unsigned n) {
  int (*get)(void *, void *, unsigned *) = (int (*)(void *, void *, unsigned *))function(gpu, "nvmlDeviceGetTopologyCommonAncestor");
  char text[512] = "";
  for (unsigned other = 0; get != NULL && other < n; other++) {
    unsigned level = 0;
    if (other == gpu->index || get(gpu->device, devices[other], &level) != NVML_SUCCESS) continue;
    const char *name = level == 0    ? "board"
                       : level == 10 ? "one switch"
                       : level == 20 ? "several switches"
                       : level == 30 ? "host bridge"
                       : level == 40 ? "NUMA node"
                                     : "across sockets";
    size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "%s%u: %s", used > 0 ? ", " : "", other, name);
  }
  if (text[0] != 0) put(gpu, FACT_IDENTITY, "common-ancestor", text, "", "nvmlDeviceGetTopologyCommonAncestor");
}

static void put_driver(const struct gpu *gpu) {
  int (*driver)(char *, unsigned) = (int (*)(char *, unsigned))function(gpu, "nvmlSystemGetDriverVersion");
  int (*cuda)(int *) = (int (*)(int *))function(gpu, "nvmlSystemGetCudaDriverVersion_v2");
  char text[96] = "";
  int version = 0;
  if (driver != NULL && driver(text, sizeof text - 1) == NVML_SUCCESS)
    probe_fact(gpu->target, gpu->facts, LAYER_SYSTEM, FACT_IDENTITY, "driver.nvidia", text, "", "nvmlSystemGetDriverVersion");
  if (cuda == NULL || cuda(&version) != NVML_SUCCESS) return;
  (void)snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
  probe_fact(gpu->target, gpu->facts, LAYER_SYSTEM, FACT_IDENTITY, "driver.cuda", text, "(the newest that the driver serves)",
             "nvmlSystemGetCudaDriverVersion_v2");
}

static void collect_by_nvml(struct gpu *gpu) {
  void *devices[GPUS_MAX];
  unsigned n = 0;
  char text[32];
  int (*count)(unsigned *) = (int (*)(unsigned *))function(gpu, "nvmlDeviceGetCount_v2");
  int (*handle)(unsigned, void **) = (int (*)(unsigned, void **))function(gpu, "nvmlDeviceGetHandleByIndex_v2");
  put_driver(gpu);
  if (count == NULL || handle == NULL || count(&n) != NVML_SUCCESS) return;
  if (n > GPUS_MAX) n = GPUS_MAX;
  (void)snprintf(text, sizeof text, "%u", n);
  probe_fact(gpu->target, gpu->facts, LAYER_ACCELERATOR, FACT_IDENTITY, "gpu.count", text, "", "nvmlDeviceGetCount_v2");
  for (unsigned i = 0; i < n; i++)
    if (handle(i, &devices[i]) != NVML_SUCCESS) devices[i] = NULL;
  for (unsigned i = 0; i < n; i++) {
    gpu->index = i;
    gpu->device = devices[i];
    if (gpu->device == NULL) {
      put_missing(gpu, FACT_IDENTITY, "name", NVML_NO_PERMISSION, "nvmlDeviceGetHandleByIndex_v2");
      continue;
    }
    put_texts(gpu);
    put_numbers(gpu);
    put_pairs(gpu);
    put_memory(gpu);
    put_clocks(gpu);
    put_application_clocks(gpu);
    put_throttling(gpu);
    put_health(gpu);
    put_links(gpu);
    put_place(gpu);
    put_topology(gpu, devices, n);
  }
}

/* Without NVML: the kernel module's own files. */
static void add_information(void *context, const char *bus) {
  struct gpu *gpu = context;
  struct buffer text;
  char path[160], value[128];
  buffer_init(&text, 65536);
  (void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.60s/information", bus);
  if (root_read(gpu->target->root, path, &text, NULL) == LYNX_OK) {
    if (probe_find_line(text.data, "Model", value, sizeof value)) put(gpu, FACT_IDENTITY, "name", value, "", path);
    if (probe_find_line(text.data, "Video BIOS", value, sizeof value)) put(gpu, FACT_IDENTITY, "vbios", value, "", path);
    if (probe_find_line(text.data, "GPU UUID", value, sizeof value)) put(gpu, FACT_CONTEXT, "uuid", value, "", path);
    put(gpu, FACT_CONTEXT, "bus", bus, "", path);
    gpu->index++;
  }
  buffer_release(&text);
}

static void collect_by_files(struct gpu *gpu, const char *why) {
  char line[256], count[16];
  if (!root_read_line(gpu->target->root, "/proc/driver/nvidia/version", line, sizeof line)) {
    probe_missing(gpu->target, gpu->facts, LAYER_ACCELERATOR, FACT_STATE, "probe.nvidia", FACT_ABSENT, why, "libnvidia-ml.so.1");
    return;
  }
  /* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ..." or "... Open Kernel Module for x86_64  550.54.15 ..." */
  const char *version = line;
  size_t length = 0;
  for (const char *word = line; *word != 0; word += strcspn(word, " "), word += strspn(word, " ")) {
    size_t digits = strspn(word, "0123456789"), n = strcspn(word, " ");
    if (digits > 0 && word[digits] == '.' && length == 0) {
      version = word;
      length = n;
    }
  }
  probe_printf(gpu->target, gpu->facts, LAYER_SYSTEM, FACT_IDENTITY, "/proc/driver/nvidia/version", "driver.nvidia-module", "%.*s%s",
               (int)(length > 0 ? length : strlen(line)), version, strstr(line, "Open") != NULL ? " (open)" : "");
  (void)root_list(gpu->target->root, "/proc/driver/nvidia/gpus", GPUS_MAX, add_information, gpu);
  (void)snprintf(count, sizeof count, "%u", gpu->index);
  probe_fact(gpu->target, gpu->facts, LAYER_ACCELERATOR, FACT_IDENTITY, "gpu.count", count, "", "/proc/driver/nvidia/gpus");
  probe_missing(gpu->target, gpu->facts, LAYER_ACCELERATOR, FACT_STATE, "probe.nvidia", FACT_UNSUPPORTED, why, "libnvidia-ml.so.1");
}

static void nvidia_collect(const struct probe_target *target, struct fact_list *facts) {
  struct gpu gpu = {.target = target, .facts = facts};
  char why[200];
  if (target->root->path[0] != 0) {
    collect_by_files(&gpu, "NVML is asked of this machine only, not of a recorded one");
    return;
  }
  gpu.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (gpu.library == NULL) {
    collect_by_files(&gpu, "no libnvidia-ml.so.1 is found: no NVIDIA driver on this machine, or none in this container");
    return;
  }
  int (*start)(void) = (int (*)(void))function(&gpu, "nvmlInit_v2");
  int code = start != NULL ? start() : -1;
  if (code == NVML_SUCCESS) collect_by_nvml(&gpu);
  else {
    (void)snprintf(why, sizeof why, "NVML does not start (%d%s)", code,
                   code == NVML_DRIVER_NOT_LOADED ? ": the driver is not loaded"
                   : code == NVML_MISMATCH        ? ": library and kernel module have different versions; reboot, or reload the module"
                   : code == NVML_NO_PERMISSION   ? ": no permission"
                                                  : "");
    collect_by_files(&gpu, why);
  }
  /* Not shut down and not closed: this process only lives as long as the probes do. */
}

const struct probe probe_nvidia;
const struct probe probe_nvidia = {.name = "nvidia",
                                   .summary = "NVIDIA GPUs: identity, memory, clocks, limits, links, ECC, throttling",
                                   .reads = "NVML, /proc/driver/nvidia",
                                   .layer = LAYER_ACCELERATOR,
                                   .applies = nvidia_applies,
                                   .collect = nvidia_collect};
