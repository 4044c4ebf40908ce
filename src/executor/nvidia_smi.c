#include "executor/nvidia_smi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xml.h"

enum { DEPTH_MAX = 16, TEXT_MAX = 400, GPUS_MAX = 64 };

/* How an element's text becomes a value of ours. */
enum form { AS_TEXT, NUMBER, MEBIBYTES, MILLIWATTS, SWITCH, COMPUTE_MODE };

static const struct element {
  const char *path; /* below <gpu>; below the root, if it begins with '/' */
  const char *key;  /* below "gpu.N.", unless it holds its whole name: then %d stands for the GPU */
  const char *unit;
  enum form form;
  enum layer layer;
  enum fact_kind kind;
} elements[] = {
    {"/driver_version", "driver.nvidia", "", AS_TEXT, LAYER_SYSTEM, FACT_IDENTITY},
    {"/cuda_version", "driver.cuda", "(the newest that the driver serves)", AS_TEXT, LAYER_SYSTEM, FACT_IDENTITY},
    {"product_name", "name", "", AS_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"vbios_version", "vbios", "", AS_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"inforom_version/img_version", "inforom", "", AS_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"board_part_number", "part-number", "", AS_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gsp_firmware_version", "gsp-firmware", "", AS_TEXT, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"uuid", "uuid", "", AS_TEXT, LAYER_ACCELERATOR, FACT_CONTEXT},
    {"serial", "serial", "", AS_TEXT, LAYER_ACCELERATOR, FACT_CONTEXT},
    {"pci/pci_bus_id", "bus", "", AS_TEXT, LAYER_ACCELERATOR, FACT_CONTEXT},
    {"fb_memory_usage/total", "memory", "bytes", MEBIBYTES, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"fb_memory_usage/used", "memory-used", "bytes", MEBIBYTES, LAYER_ACCELERATOR, FACT_STATE},
    {"persistence_mode", "persistence-mode", "", SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"compute_mode", "compute-mode", "", COMPUTE_MODE, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"performance_state", "performance-state", "", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"mig_mode/current_mig", "mig", "", SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"mig_mode/pending_mig", "mig-pending", "", SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"ecc_mode/current_ecc", "ecc", "", SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"ecc_mode/pending_ecc", "ecc-pending", "", SWITCH, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"pci/pci_gpu_link_info/pcie_gen/max_link_gen", "pcie-generation-most", "", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"pci/pci_gpu_link_info/link_widths/max_link_width", "pcie-width-most", "lanes", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pcie-generation", "(falls when idle)", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"pci/pci_gpu_link_info/link_widths/current_link_width", "pcie-width", "lanes", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"pci/replay_counter", "pcie-replays", "", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    /* Before driver 530, and since. */
    {"power_readings/power_limit", "power-limit", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"power_readings/default_power_limit", "power-limit-default", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"power_readings/min_power_limit", "power-limit-least", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"power_readings/max_power_limit", "power-limit-most", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"power_readings/power_draw", "power", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_STATE},
    {"gpu_power_readings/current_power_limit", "power-limit", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/default_power_limit", "power-limit-default", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/min_power_limit", "power-limit-least", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/max_power_limit", "power-limit-most", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"gpu_power_readings/power_draw", "power", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_STATE},
    {"gpu_power_readings/instant_power_draw", "power", "mW", MILLIWATTS, LAYER_ACCELERATOR, FACT_STATE},
    {"max_clocks/sm_clock", "clock.sm-most", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"max_clocks/mem_clock", "clock.memory-most", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"max_clocks/graphics_clock", "clock.graphics-most", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"applications_clocks/graphics_clock", "clock.graphics-application", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"applications_clocks/mem_clock", "clock.memory-application", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"default_applications_clocks/graphics_clock", "clock.graphics-application-default", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"default_applications_clocks/mem_clock", "clock.memory-application-default", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_IDENTITY},
    {"clocks/sm_clock", "clock.sm", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"clocks/mem_clock", "clock.memory", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"clocks/graphics_clock", "clock.graphics", "MHz", NUMBER, LAYER_ACCELERATOR, FACT_STATE},
    {"temperature/gpu_temp", "temperature.gpu.%d", "°C", NUMBER, LAYER_FACILITY, FACT_STATE},
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

/* False: it says nothing. */
static bool in_our_form(enum form form, const char *value, char *text, size_t size) {
  static const char *const modes[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
  const char *digits = value + strcspn(value, "0123456789");
  double number = strtod(digits, NULL); /* "P0", "16x", "4", "400.00 W": no locale is ever set */
  switch (form) {
    case NUMBER: (void)snprintf(text, size, "%.0f", number); return *digits != 0;
    case MEBIBYTES: (void)snprintf(text, size, "%.0f", number * 1048576); return *digits != 0 && strstr(value, "MiB") != NULL;
    case MILLIWATTS: (void)snprintf(text, size, "%.0f", round(number * 1000)); return *digits != 0 && strchr(value, 'W') != NULL;
    case SWITCH:
      (void)snprintf(text, size, "%d", strcmp(value, "Enabled") == 0);
      return strcmp(value, "Enabled") == 0 || strcmp(value, "Disabled") == 0;
    case COMPUTE_MODE:
      for (size_t i = 0; i < LYNX_COUNT(modes); i++)
        if (strcmp(value, modes[i]) == 0) {
          (void)snprintf(text, size, "%zu", i);
          return true;
        }
      return false;
    default: (void)snprintf(text, size, "%s", value); return value[0] != 0;
  }
}

static void put(struct reading *r, const struct element *e, const char *value) {
  char key[80], text[TEXT_MAX], source[120];
  const char *percent = strchr(e->key, '%');
  if (e->path[0] == '/') (void)snprintf(key, sizeof key, "%s", e->key);
  else if (percent != NULL) (void)snprintf(key, sizeof key, "%.*s%d", (int)(percent - e->key), e->key, r->n_gpus - 1);
  else (void)snprintf(key, sizeof key, "gpu.%d.%s", r->n_gpus - 1, e->key);
  (void)snprintf(source, sizeof source, "nvidia-smi -q -x, %s", e->path);
  bool nothing = strcmp(value, "N/A") == 0 || strcmp(value, "[N/A]") == 0 || strcmp(value, "Not Found") == 0;
  bool good = !nothing && in_our_form(e->form, value, text, sizeof text);
  fact_add(r->list, &(struct fact){.layer = e->layer,
                                   .kind = e->kind,
                                   .status = good      ? FACT_READ
                                             : nothing ? FACT_UNSUPPORTED
                                                       : FACT_ABSENT,
                                   .key = key,
                                   .value = good      ? text
                                            : nothing ? "nvidia-smi says that it does not apply"
                                                      : "nvidia-smi says nothing that is understood",
                                   .unit = good ? e->unit : "",
                                   .source = source});
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
                       : strncmp(r->path, gpu, sizeof gpu - 1) == 0 && strcmp(r->path + sizeof gpu - 1, path) == 0)
      put(r, &elements[i], r->text + from);
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
