/* What sits on the PCI bus and matters: accelerators (AMD's and Intel's with what their drivers say), network cards and their links,
 * InfiniBand ports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/probe.h"

enum { DEVICES_MAX = 4096 };

struct listing {
  const struct probe_target *target;
  struct fact_list *facts;
  int n_accelerators;
  const char *parent;
};

static const char *devices_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

static const char *vendor_of(unsigned long id) {
  return id == 0x10de   ? "NVIDIA"
         : id == 0x1002 ? "AMD"
         : id == 0x8086 ? "Intel"
         : id == 0x1da3 ? "Habana"
         : id == 0x15b3 ? "Mellanox"
         : id == 0x14e4 ? "Broadcom"
         : id == 0x1d0f ? "Amazon"
         : id == 0x1ae0 ? "Google"
         : id == 0x1af4 ? "virtio"
                        : "";
}

static unsigned long read_hex(const struct probe_target *target, const char *directory, const char *file) {
  char path[400], line[64];
  (void)snprintf(path, sizeof path, "%s/%s", directory, file);
  return root_read_line(target->root, path, line, sizeof line) ? strtoul(line, NULL, 16) : 0;
}

static void put_file(const struct listing *l, enum layer layer, enum fact_kind kind, const char *prefix, const char *name,
                     const char *directory, const char *file, const char *unit) {
  char key[200], path[400];
  (void)snprintf(key, sizeof key, "%s.%s", prefix, name);
  (void)snprintf(path, sizeof path, "%s/%s", directory, file);
  (void)probe_file_if(l->target, l->facts, layer, kind, key, path, unit);
}

/* A link that is narrower or slower than it could be is a slot, a riser or a setting; the speed of now falls when idle. */
static void put_link(const struct listing *l, enum layer layer, const char *prefix, const char *directory) {
  put_file(l, layer, FACT_IDENTITY, prefix, "link-speed-most", directory, "max_link_speed", "");
  put_file(l, layer, FACT_IDENTITY, prefix, "link-width-most", directory, "max_link_width", "lanes");
  put_file(l, layer, FACT_STATE, prefix, "link-speed", directory, "current_link_speed", "");
  put_file(l, layer, FACT_IDENTITY, prefix, "link-width", directory, "current_link_width", "lanes");
  put_file(l, layer, FACT_IDENTITY, prefix, "numa-node", directory, "numa_node", "");
}

static void put_vendor_files(const struct listing *l, const char *prefix, const char *directory) {
  static const struct {
    const char *file, *name, *unit;
    enum fact_kind kind;
  } files[] = {{"vbios_version", "vbios", "", FACT_IDENTITY},
               {"unique_id", "serial", "", FACT_CONTEXT},
               {"mem_info_vram_total", "memory", "bytes", FACT_IDENTITY},
               {"mem_info_vram_used", "memory-used", "bytes", FACT_STATE},
               {"power_dpm_force_performance_level", "performance-level", "", FACT_IDENTITY},
               {"current_compute_partition", "compute-partition", "", FACT_IDENTITY},
               {"current_memory_partition", "memory-partition", "", FACT_IDENTITY},
               {"gpu_busy_percent", "busy", "%", FACT_STATE},
               {"product_name", "product", "", FACT_IDENTITY},
               {"ras/umc_err_count", "ecc-errors", "", FACT_STATE}};
  for (size_t i = 0; i < LYNX_COUNT(files); i++)
    put_file(l, LAYER_ACCELERATOR, files[i].kind, prefix, files[i].name, directory, files[i].file, files[i].unit);
}

/* "0: 500Mhz", "1: 2100Mhz *": the levels between which the driver sets a clock; the last is the highest. */
static void put_levels(const struct listing *l, const char *prefix, const char *directory) {
  static const struct { const char *file, *name; } clocks[] = {{"pp_dpm_sclk", "clock.system-most"}, {"pp_dpm_mclk", "clock.memory-most"}};
  for (size_t i = 0; i < LYNX_COUNT(clocks); i++) {
    char path[400], key[100];
    struct buffer text;
    buffer_init(&text, 4096);
    (void)snprintf(path, sizeof path, "%s/%s", directory, clocks[i].file);
    (void)snprintf(key, sizeof key, "%s.%s", prefix, clocks[i].name);
    if (root_read(l->target->root, path, &text, NULL) == LYNX_OK) {
      long most = -1;
      for (const char *colon = strstr(text.data, ": "); colon != NULL; colon = strstr(colon + 2, ": ")) {
        long level = strtol(colon + 2, NULL, 10);
        most = level > most ? level : most;
      }
      if (most >= 0) probe_printf(l->target, l->facts, LAYER_ACCELERATOR, FACT_IDENTITY, path, key, "%ld MHz", most);
    }
    buffer_release(&text);
  }
}

static void look_at_pci(void *context, const char *name) {
  struct listing *l = context;
  char directory[300], prefix[64], link[300];
  (void)snprintf(directory, sizeof directory, "/sys/bus/pci/devices/%.60s", name);
  unsigned long class = read_hex(l->target, directory, "class") >> 8, vendor = read_hex(l->target, directory, "vendor"),
                device = read_hex(l->target, directory, "device");
  /* 0x03: display (a GPU with a screen or without), 0x12: processing accelerators. Emulated screens of virtual machines are neither. */
  bool accelerator = (class >> 8) == 0x12 || ((class >> 8) == 0x03 && (vendor == 0x10de || vendor == 0x1002 || vendor == 0x8086));
  if (!accelerator) return;
  (void)snprintf(prefix, sizeof prefix, "accelerator.%d", l->n_accelerators++);
  char key[100];
  (void)snprintf(key, sizeof key, "%s.device", prefix);
  probe_printf(l->target, l->facts, LAYER_ACCELERATOR, FACT_IDENTITY, directory, key, "%s%s%04lx:%04lx", vendor_of(vendor),
               vendor_of(vendor)[0] != 0 ? " " : "", vendor, device);
  (void)snprintf(key, sizeof key, "%s.bus", prefix);
  probe_fact(l->target, l->facts, LAYER_ACCELERATOR, FACT_CONTEXT, key, name, "", directory);
  char driver[340];
  (void)snprintf(driver, sizeof driver, "%s/driver", directory);
  (void)snprintf(key, sizeof key, "%s.driver", prefix);
  if (root_read_link(l->target->root, driver, link, sizeof link))
    probe_fact(l->target, l->facts, LAYER_SYSTEM, FACT_IDENTITY, key, strrchr(link, '/') != NULL ? strrchr(link, '/') + 1 : link, "",
               driver);
  put_link(l, LAYER_ACCELERATOR, prefix, directory);
  put_vendor_files(l, prefix, directory);
  put_levels(l, prefix, directory);
}

static void look_at_port(void *context, const char *name) {
  struct listing *l = context;
  char directory[300], prefix[160];
  (void)snprintf(directory, sizeof directory, "/sys/class/infiniband/%.60s/ports/%.20s", l->parent, name);
  (void)snprintf(prefix, sizeof prefix, "infiniband.%.60s.%.20s", l->parent, name);
  put_file(l, LAYER_ACCELERATOR, FACT_IDENTITY, prefix, "rate", directory, "rate", "");
  put_file(l, LAYER_ACCELERATOR, FACT_IDENTITY, prefix, "link-layer", directory, "link_layer", "");
  put_file(l, LAYER_ACCELERATOR, FACT_STATE, prefix, "state", directory, "state", "");
}

static void look_at_infiniband(void *context, const char *name) {
  struct listing *l = context;
  char directory[160], prefix[100];
  (void)snprintf(directory, sizeof directory, "/sys/class/infiniband/%.60s", name);
  (void)snprintf(prefix, sizeof prefix, "infiniband.%.60s", name);
  put_file(l, LAYER_ACCELERATOR, FACT_IDENTITY, prefix, "firmware", directory, "fw_ver", "");
  put_file(l, LAYER_ACCELERATOR, FACT_IDENTITY, prefix, "board", directory, "board_id", "");
  l->parent = name;
  (void)snprintf(directory, sizeof directory, "/sys/class/infiniband/%.60s/ports", name);
  (void)root_list(l->target->root, directory, 64, look_at_port, l);
}

static void look_at_interface(void *context, const char *name) {
  struct listing *l = context;
  char directory[160], device[200], prefix[100], key[120], link[300];
  (void)snprintf(directory, sizeof directory, "/sys/class/net/%.60s", name);
  (void)snprintf(device, sizeof device, "%s/device", directory);
  /* Only cards: bridges, tunnels and the ends of virtual cables come and go with containers. */
  if (!root_read_link(l->target->root, device, link, sizeof link)) return;
  (void)snprintf(prefix, sizeof prefix, "network.%.60s", name);
  put_file(l, LAYER_SYSTEM, FACT_IDENTITY, prefix, "mtu", directory, "mtu", "bytes");
  char speed[200], found[32]; /* -1: the driver does not know, as in most virtual machines */
  (void)snprintf(speed, sizeof speed, "%s/speed", directory);
  if (root_read_line(l->target->root, speed, found, sizeof found) && found[0] != '-')
    put_file(l, LAYER_SYSTEM, FACT_IDENTITY, prefix, "speed", directory, "speed", "Mbit/s");
  put_file(l, LAYER_SYSTEM, FACT_STATE, prefix, "state", directory, "operstate", "");
  put_file(l, LAYER_SYSTEM, FACT_CONTEXT, prefix, "address", directory, "address", "");
  (void)snprintf(key, sizeof key, "%s.driver", prefix);
  char driver[240];
  (void)snprintf(driver, sizeof driver, "%s/driver", device);
  if (root_read_link(l->target->root, driver, link, sizeof link))
    probe_fact(l->target, l->facts, LAYER_SYSTEM, FACT_IDENTITY, key, strrchr(link, '/') != NULL ? strrchr(link, '/') + 1 : link, "",
               driver);
  put_link(l, LAYER_SYSTEM, prefix, device);
}

static void devices_collect(const struct probe_target *target, struct fact_list *facts) {
  struct listing listing = {.target = target, .facts = facts};
  if (root_list(target->root, "/sys/bus/pci/devices", DEVICES_MAX, look_at_pci, &listing)) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", listing.n_accelerators);
    probe_fact(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "accelerator.count", text, "on the PCI bus", "/sys/bus/pci/devices");
  } else
    probe_missing(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "accelerator.count", FACT_ABSENT, "no PCI bus is visible",
                  "/sys/bus/pci/devices");
  (void)root_list(target->root, "/sys/class/infiniband", 64, look_at_infiniband, &listing);
  (void)root_list(target->root, "/sys/class/net", 256, look_at_interface, &listing);
  (void)probe_file_if(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "driver.amdgpu", "/sys/module/amdgpu/version", "");
}

const struct probe probe_devices;
const struct probe probe_devices = {.name = "devices",
                                    .summary = "accelerators, network cards and their links",
                                    .reads = "/sys/bus/pci, /sys/class/net, /sys/class/infiniband",
                                    .layer = LAYER_ACCELERATOR,
                                    .applies = devices_applies,
                                    .collect = devices_collect};
