/* Power, heat and clocks of this machine's processors.
 * Series   power.package_w: of all packages, by RAPL's energy counters (/sys/class/powercap/intel-rapl:N, AMD's too)
 *          power.slowed: how often a package was slowed for heat or power since the sample before (thermal_throttle)
 *          power.clock_hz: mean of the processors' clocks; power.temperature_c: the hottest of hwmon's sensors
 * Limits   a virtual machine shows none of it; energy counters need root. They wrap, which one sample in two minutes still sees */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/sampler.h"

enum { PACKAGES_MAX = 64, PROCESSORS_MAX = 4096, SENSORS_MAX = 256, PATH_LENGTH = 160, CLOCKS_MAX = 16 };

struct package {
  char folder[PATH_LENGTH];
  int64_t last_uj, wraps_at_uj;
};

struct power {
  const struct root *root;
  int64_t last_ns, slowed; /* slowed: as last read; -1: not told */
  struct package packages[PACKAGES_MAX];
  size_t n_packages;
  char sensors[SENSORS_MAX][PATH_LENGTH];
  size_t n_sensors;
  char folder[PATH_LENGTH]; /* that is being listed */
};

static bool read_number(const struct root *root, const char *folder, const char *file, int64_t *ret) {
  char path[PATH_LENGTH + 64], text[64];
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  return root_read_line(root, path, text, sizeof text) && number_int64(text, strlen(text), ret) && *ret >= 0;
}

/* "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of one. */
static void find_package(void *context, const char *name) {
  struct power *p = context;
  const char *colon = strchr(name, ':');
  if (strncmp(name, "intel-rapl:", 11) != 0 || strchr(colon + 1, ':') != NULL || p->n_packages == PACKAGES_MAX) return;
  struct package *package = &p->packages[p->n_packages];
  (void)snprintf(package->folder, sizeof package->folder, "/sys/class/powercap/%.100s", name);
  bool good = read_number(p->root, package->folder, "energy_uj", &package->last_uj) &&
              read_number(p->root, package->folder, "max_energy_range_uj", &package->wraps_at_uj);
  p->n_packages += good;
}

static void find_sensor(void *context, const char *name) {
  struct power *p = context;
  size_t n = strlen(name);
  if (strncmp(name, "temp", 4) != 0 || n < 7 || strcmp(name + n - 6, "_input") != 0 || p->n_sensors == SENSORS_MAX) return;
  (void)snprintf(p->sensors[p->n_sensors++], PATH_LENGTH, "%.100s/%.50s", p->folder, name);
}

static void find_sensors(void *context, const char *name) {
  struct power *p = context;
  (void)snprintf(p->folder, sizeof p->folder, "/sys/class/hwmon/%.60s", name);
  (void)root_list(p->root, p->folder, SENSORS_MAX, find_sensor, p);
}

/* Each package counts in all of its processors: the greatest of them is told. */
static int64_t read_slowed(const struct power *p) {
  int64_t most = -1, n;
  for (int i = 0; i < PROCESSORS_MAX; i++) {
    char folder[PATH_LENGTH];
    (void)snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d/thermal_throttle", i);
    if (!read_number(p->root, folder, "package_throttle_count", &n)) break;
    if (n > most) most = n;
  }
  return most;
}

static double mean_clock_hz(const struct power *p) {
  double sum = 0;
  int64_t n = 0, khz;
  for (int i = 0; i < CLOCKS_MAX; i++) {
    char folder[PATH_LENGTH];
    (void)snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d/cpufreq", i);
    if (!read_number(p->root, folder, "scaling_cur_freq", &khz)) break;
    sum += (double)khz * 1000;
    n++;
  }
  return n > 0 ? sum / (double)n : 0;
}

static bool power_open(const struct root *root, void **ret_state) {
  struct power *p = xalloc(1, sizeof *p);
  p->root = root;
  *ret_state = p;
  (void)root_list(root, "/sys/class/powercap", PACKAGES_MAX, find_package, p);
  (void)root_list(root, "/sys/class/hwmon", PACKAGES_MAX, find_sensors, p);
  p->slowed = read_slowed(p);
  return p->n_packages > 0 || p->n_sensors > 0 || p->slowed >= 0 || mean_clock_hz(p) > 0;
}

static void sample_energy(struct power *p, double span_s, const struct sampler_sink *sink) {
  double joules = 0;
  for (size_t i = 0; i < p->n_packages; i++) {
    struct package *package = &p->packages[i];
    int64_t now_uj;
    if (!read_number(p->root, package->folder, "energy_uj", &now_uj)) return;
    int64_t used_uj = now_uj - package->last_uj;
    if (used_uj < 0) used_uj += package->wraps_at_uj;
    package->last_uj = now_uj;
    joules += (double)used_uj / 1e6;
  }
  if (p->n_packages > 0 && span_s > 0) sink->value(sink->context, "power.package_w", joules / span_s);
}

static void power_watch(void *state, int64_t pid) {
  struct power *p = state;
  (void)pid;
  p->last_ns = 0; /* what went before is of no session */
}

static void power_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct power *p = state;
  double span_s = p->last_ns > 0 && now_ns > p->last_ns ? (double)(now_ns - p->last_ns) / 1e9 : 0, hottest = -1,
         clock_hz = mean_clock_hz(p);
  int64_t slowed = read_slowed(p), milli;
  sample_energy(p, span_s, sink);
  if (span_s > 0 && slowed >= p->slowed && p->slowed >= 0) sink->value(sink->context, "power.slowed", (double)(slowed - p->slowed));
  for (size_t i = 0; i < p->n_sensors; i++) {
    char text[64];
    if (root_read_line(p->root, p->sensors[i], text, sizeof text) && number_int64(text, strlen(text), &milli) &&
        (double)milli / 1e3 > hottest)
      hottest = (double)milli / 1e3;
  }
  if (hottest > 0) sink->value(sink->context, "power.temperature_c", hottest);
  if (clock_hz > 0) sink->value(sink->context, "power.clock_hz", clock_hz);
  p->slowed = slowed;
  p->last_ns = now_ns;
}

const struct sampler sampler_power;
const struct sampler sampler_power = {.name = "power",
                                      .summary = "energy, heat and clocks of the processors",
                                      .open = power_open,
                                      .watch = power_watch,
                                      .sample = power_sample,
                                      .close = free};
