/* Power of this machine's processors, and how often heat slowed them. (Clocks and temperatures: machine.c.)
 * Series   power.package_w: of all packages, by RAPL's energy counters (/sys/class/powercap/intel-rapl:N, AMD's too)
 *          power.slowed: how often a package was slowed for heat since the sample before (thermal_throttle)
 *          Neither where the serving process is not on this machine: that one's heat is another's
 * Limits   a virtual machine shows none of it; energy counters need root. They wrap, which one sample in two minutes still sees */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/sampler.h"

enum { PACKAGES_MAX = 64, PROCESSORS_MAX = 4096, MISSING_MAX = 16, PATH_LENGTH = 160 };

struct package {
  char folder[PATH_LENGTH];
  int64_t last_uj, wraps_at_uj;
};

struct power {
  const struct root *root;
  int64_t last_ns;
  bool serves;                    /* is the serving process here? */
  int64_t slowed[PROCESSORS_MAX]; /* as last read */
  bool slowed_known;
  struct package packages[PACKAGES_MAX];
  size_t n_packages;
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
  char path[PATH_LENGTH + 8], kind[32];
  (void)snprintf(path, sizeof path, "%s/name", package->folder);
  if (!root_read_line(p->root, path, kind, sizeof kind) || strncmp(kind, "package", 7) != 0) return; /* psys holds all of them */
  bool good = read_number(p->root, package->folder, "energy_uj", &package->last_uj) &&
              read_number(p->root, package->folder, "max_energy_range_uj", &package->wraps_at_uj);
  p->n_packages += good;
}

/* Each package counts in all of its processors: by how much the one rose that rose most. False: none tells. */
static bool read_slowed(struct power *p, int64_t *ret_rose) {
  bool told = false;
  *ret_rose = 0;
  for (int i = 0, missing = 0; i < PROCESSORS_MAX && missing < MISSING_MAX; i++) {
    char folder[PATH_LENGTH];
    int64_t n;
    (void)snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d/thermal_throttle", i);
    missing++;
    if (!read_number(p->root, folder, "package_throttle_count", &n)) continue; /* offline, or there are no more */
    missing = 0;
    if (p->slowed_known && n - p->slowed[i] > *ret_rose) *ret_rose = n - p->slowed[i];
    p->slowed[i] = n;
    told = true;
  }
  p->slowed_known = told;
  return told;
}

static bool power_open(const struct root *root, void **ret_state) {
  struct power *p = xalloc(1, sizeof *p);
  p->root = root;
  *ret_state = p;
  (void)root_list(root, "/sys/class/powercap", PACKAGES_MAX, find_package, p);
  int64_t unused;
  (void)read_slowed(p, &unused);
  return p->n_packages > 0 || p->slowed_known;
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
  p->serves = pid > 0;
  p->last_ns = 0; /* what went before is of no session */
}

static void power_sample(void *state, int64_t now_ns, const struct sampler_sink *sink) {
  struct power *p = state;
  double span_s = p->last_ns > 0 && now_ns > p->last_ns ? (double)(now_ns - p->last_ns) / 1e9 : 0;
  int64_t rose;
  bool known = p->slowed_known, told = read_slowed(p, &rose);
  if (p->serves) sample_energy(p, span_s, sink);
  if (p->serves && span_s > 0 && known && told) sink->value(sink->context, "power.slowed", (double)rose);
  p->last_ns = now_ns;
}

const struct sampler sampler_power;
const struct sampler sampler_power = {.name = "power",
                                      .summary = "energy of the processors, and how often they were slowed",
                                      .open = power_open,
                                      .watch = power_watch,
                                      .sample = power_sample,
                                      .close = free};
