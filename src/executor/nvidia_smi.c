#include "executor/nvidia_smi.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/xml.h"
#include "executor/device_fact.h"

enum { DEPTH_MAX = 16, TEXT_MAX = 400, GPUS_MAX = 64 };

static const struct element {
  const char *path; /* below <gpu>; below the root, if it begins with '/' */
  const char *text; /* what `nvidia-smi -q` calls the same, without -x */
  const char *key;  /* below "gpu.N.", unless it holds its whole name: then %d stands for the GPU */
  const char *unit;
  enum device_form form;
  enum layer layer;
  enum fact_kind kind;
} elements[] = {
    {"/driver_version", "Driver Version", "driver.nvidia", "", DEVICE_TEXT, LAYER_SYSTEM, FACT_IDENTITY},
    {"/cuda_version", "CUDA Version", "driver.cuda", "(the newest that the driver serves)", DEVICE_TEXT, LAYER_SYSTEM, FACT_IDENTITY},
    {"product_name", "Product Name", "name", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"vbios_version", "VBIOS Version", "vbios", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"inforom_version/img_version", "Inforom Version/Image Version", "inforom", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"board_part_number", "Board Part Number", "part-number", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gsp_firmware_version", "GSP Firmware Version", "gsp-firmware", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"uuid", "GPU UUID", "uuid", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_CONTEXT},
    {"serial", "Serial Number", "serial", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_CONTEXT},
    {"pci/pci_bus_id", "PCI/Bus Id", "bus", "", DEVICE_TEXT, LAYER_ACCELERATOR, FACT_CONTEXT},
    {"fb_memory_usage/total", "FB Memory Usage/Total", "memory", "bytes", DEVICE_MEBIBYTES, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"fb_memory_usage/used", "FB Memory Usage/Used", "memory-used", "bytes", DEVICE_MEBIBYTES, LAYER_ACCELERATOR, FACT_STATE},
    {"persistence_mode", "Persistence Mode", "persistence-mode", "", DEVICE_SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"compute_mode", "Compute Mode", "compute-mode", "", DEVICE_COMPUTE_MODE, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"performance_state", "Performance State", "performance-state", "", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"mig_mode/current_mig", "MIG Mode/Current", "mig", "", DEVICE_SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"mig_mode/pending_mig", "MIG Mode/Pending", "mig-pending", "", DEVICE_SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"ecc_mode/current_ecc", "ECC Mode/Current", "ecc", "", DEVICE_SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"ecc_mode/pending_ecc", "ECC Mode/Pending", "ecc-pending", "", DEVICE_SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"pci/pci_gpu_link_info/pcie_gen/max_link_gen", "PCI/GPU Link Info/PCIe Generation/Max", "pcie-generation-most", "", DEVICE_NUMBER,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"pci/pci_gpu_link_info/link_widths/max_link_width", "PCI/GPU Link Info/Link Width/Max", "pcie-width-most", "lanes", DEVICE_NUMBER,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", "PCI/GPU Link Info/PCIe Generation/Current", "pcie-generation", "(falls when idle)",
     DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"pci/pci_gpu_link_info/link_widths/current_link_width", "PCI/GPU Link Info/Link Width/Current", "pcie-width", "lanes", DEVICE_NUMBER,
     LAYER_ACCELERATOR, FACT_STATE},
    {"pci/replay_counter", "PCI/Replays Since Reset", "pcie-replays", "", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    /* Before driver 530, and since. */
    {"power_readings/power_limit", "Power Readings/Power Limit", "power-limit", "mW", DEVICE_MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"power_readings/default_power_limit", "Power Readings/Default Power Limit", "power-limit-default", "mW", DEVICE_MILLIWATTS,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"power_readings/min_power_limit", "Power Readings/Min Power Limit", "power-limit-least", "mW", DEVICE_MILLIWATTS, LAYER_ACCELERATOR,
     FACT_IDENTITY},
    {"power_readings/max_power_limit", "Power Readings/Max Power Limit", "power-limit-most", "mW", DEVICE_MILLIWATTS, LAYER_ACCELERATOR,
     FACT_IDENTITY},
    {"power_readings/power_draw", "Power Readings/Power Draw", "power", "mW", DEVICE_MILLIWATTS, LAYER_ACCELERATOR, FACT_STATE},
    {"gpu_power_readings/current_power_limit", "GPU Power Readings/Current Power Limit", "power-limit", "mW", DEVICE_MILLIWATTS,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/default_power_limit", "GPU Power Readings/Default Power Limit", "power-limit-default", "mW", DEVICE_MILLIWATTS,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/min_power_limit", "GPU Power Readings/Min Power Limit", "power-limit-least", "mW", DEVICE_MILLIWATTS,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/max_power_limit", "GPU Power Readings/Max Power Limit", "power-limit-most", "mW", DEVICE_MILLIWATTS,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/power_draw", "GPU Power Readings/Power Draw", "power", "mW", DEVICE_MILLIWATTS, LAYER_ACCELERATOR, FACT_STATE},
    {"gpu_power_readings/instant_power_draw", "GPU Power Readings/Instantaneous Power Draw", "power", "mW", DEVICE_MILLIWATTS,
     LAYER_ACCELERATOR, FACT_STATE},
    {"max_clocks/sm_clock", "Max Clocks/SM", "clock.sm-most", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"max_clocks/mem_clock", "Max Clocks/Memory", "clock.memory-most", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"max_clocks/graphics_clock", "Max Clocks/Graphics", "clock.graphics-most", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"applications_clocks/graphics_clock", "Applications Clocks/Graphics", "clock.graphics-application", "MHz", DEVICE_NUMBER,
     LAYER_ACCELERATOR, FACT_IDENTITY},
    {"applications_clocks/mem_clock", "Applications Clocks/Memory", "clock.memory-application", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR,
     FACT_IDENTITY},
    {"default_applications_clocks/graphics_clock", "Default Applications Clocks/Graphics", "clock.graphics-application-default", "MHz",
     DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"default_applications_clocks/mem_clock", "Default Applications Clocks/Memory", "clock.memory-application-default", "MHz",
     DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"clocks/sm_clock", "Clocks/SM", "clock.sm", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"clocks/mem_clock", "Clocks/Memory", "clock.memory", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"clocks/graphics_clock", "Clocks/Graphics", "clock.graphics", "MHz", DEVICE_NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"temperature/gpu_temp", "Temperature/GPU Current Temp", "temperature.gpu.%d", "°C", DEVICE_NUMBER, LAYER_FACILITY, FACT_STATE},
};

struct reading {
  struct fact_list *list;
  char path[300], text[TEXT_MAX];
  size_t ends[DEPTH_MAX + 1]; /* of the path at each depth */
  size_t length;
  int depth, skipped, n_gpus; /* skipped: elements deeper than is looked */
  bool root;
};

static enum lynx_status begin(void *context, const char *name, const char *const *attributes, struct lynx_error *error) {
  struct reading *r = context;
  (void)attributes, (void)error;
  if (r->skipped > 0 || r->depth == DEPTH_MAX || r->ends[r->depth] + strlen(name) + 2 > sizeof r->path) {
    r->skipped++;
    return LYNX_OK;
  }
  if (r->depth == 0) r->root = strcmp(name, "nvidia_smi_log") == 0;
  size_t at = r->ends[r->depth++];
  r->ends[r->depth] = at + (size_t)snprintf(r->path + at, sizeof r->path - at, "/%s", name);
  if (strcmp(r->path, "/nvidia_smi_log/gpu") == 0) r->n_gpus++;
  r->length = 0;
  return LYNX_OK;
}

static void take_text(void *context, const char *text, size_t n) {
  struct reading *r = context;
  if (n > TEXT_MAX - 1 - r->length) n = TEXT_MAX - 1 - r->length;
  memcpy(r->text + r->length, text, n);
  r->length += n;
}

static void put(struct fact_list *list, const struct element *e, int gpu, const char *value, const char *source) {
  char key[80];
  const char *percent = strchr(e->key, '%');
  if (e->path[0] == '/') (void)snprintf(key, sizeof key, "%s", e->key);
  else if (percent != NULL) (void)snprintf(key, sizeof key, "%.*s%d", (int)(percent - e->key), e->key, gpu);
  else (void)snprintf(key, sizeof key, "gpu.%d.%s", gpu, e->key);
  device_fact_add(list, &(struct device_field){.key = key, .unit = e->unit, .form = e->form, .layer = e->layer, .kind = e->kind}, value,
                  source);
}

void nvidia_smi_take(struct fact_list *list, int gpu, const char *path, const char *value) {
  for (size_t i = 0; i < LYNX_COUNT(elements); i++)
    if ((gpu < 0) == (elements[i].path[0] == '/') && strcasecmp(elements[i].text, path) == 0) {
      put(list, &elements[i], gpu, value, "nvidia-smi -q");
      return;
    }
}

static enum lynx_status end(void *context, const char *name, struct lynx_error *error) {
  static const char root[] = "/nvidia_smi_log", gpu[] = "/nvidia_smi_log/gpu/";
  struct reading *r = context;
  (void)name, (void)error;
  if (r->skipped > 0) {
    r->skipped--;
    return LYNX_OK;
  }
  size_t from = 0;
  r->text[r->length] = 0;
  while (r->text[from] == ' ' || r->text[from] == '\n' || r->text[from] == '\t') from++;
  for (size_t i = 0; i < LYNX_COUNT(elements) && r->root && r->n_gpus <= GPUS_MAX; i++) {
    const char *path = elements[i].path;
    if (path[0] == '/' ? strncmp(r->path, root, sizeof root - 1) == 0 && strcmp(r->path + sizeof root - 1, path) == 0
                       : strncmp(r->path, gpu, sizeof gpu - 1) == 0 && strcmp(r->path + sizeof gpu - 1, path) == 0) {
      char source[120];
      (void)snprintf(source, sizeof source, "nvidia-smi -q -x, %s", path);
      put(r->list, &elements[i], r->n_gpus - 1, r->text + from, source);
    }
  }
  r->path[r->ends[--r->depth]] = 0;
  r->length = 0;
  return LYNX_OK;
}

enum lynx_status nvidia_smi_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) {
  struct reading r = {.list = ret};
  const struct xml_handlers handlers = {.begin = begin, .end = end, .text = take_text, .context = &r};
  struct lynx_error why = {0};
  enum lynx_status status = xml_read(text, length, &handlers, &why);
  if (!r.root && status != LYNX_LIMIT) return lynx_fail(error, LYNX_INPUT, "XML, but not what `nvidia-smi -q -x` prints");
  if (status != LYNX_OK) {
    (void)lynx_fail(error, status, "not whole: %s; write it again with `nvidia-smi -q -x`", why.message);
    lynx_error_at(error, NULL, why.line, NULL);
    return status;
  }
  char count[16];
  (void)snprintf(count, sizeof count, "%d", r.n_gpus);
  fact_add(ret, &(struct fact){.layer = LAYER_ACCELERATOR,
                               .kind = FACT_IDENTITY,
                               .status = FACT_READ,
                               .key = "gpu.count",
                               .value = count,
                               .unit = "",
                               .source = "nvidia-smi -q -x, the GPUs in it"});
  return r.n_gpus > 0 ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "`nvidia-smi -q -x` saw no GPU");
}
