/* Energy counters that wrap, and throttling that is counted in every processor. */
#include <stdio.h>
#include <string.h>

#include "telemetry/sampler.h"
#include "tests/machine.h"

extern const struct sampler sampler_power, sampler_wire;

struct seen {
  double watts, slowed;
  int n;
};

static void see(void *context, const char *series, double value) {
  struct seen *s = context;
  s->n++;
  if (strcmp(series, "power.package_w") == 0) s->watts = value;
  else if (strcmp(series, "power.slowed") == 0) s->slowed = value;
  else CHECK(false);
}

static void check_nothing(const struct root *root) {
  void *state;
  CHECK(!sampler_power.open(root, &state)); /* a virtual machine */
  sampler_power.close(state);
  CHECK(!sampler_wire.open(root, &state)); /* another machine's connections are not this process's */
  sampler_wire.close(state);
}

static void check_all(const struct root *root) {
  struct seen seen = {.n = 0};
  const struct sampler_sink sink = {.context = &seen, .value = see};
  void *state;
  put("/sys/class/powercap/intel-rapl:0/energy_uj", "262143000000\n");
  put("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
  put("/sys/class/powercap/intel-rapl:1/name", "package-1\n");
  put("/sys/class/powercap/intel-rapl:2/name", "psys\n"); /* holds both */
  put("/sys/class/powercap/intel-rapl:2/energy_uj", "1\n");
  put("/sys/class/powercap/intel-rapl:2/max_energy_range_uj", "262143328850\n");
  put("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
  put("/sys/class/powercap/intel-rapl:0:0/energy_uj", "5\n"); /* a part of the first */
  put("/sys/class/powercap/intel-rapl:1/energy_uj", "1000000\n");
  put("/sys/class/powercap/intel-rapl:1/max_energy_range_uj", "262143328850\n");
  put("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "4\n");
  put("/sys/devices/system/cpu/cpu3/thermal_throttle/package_throttle_count", "1000\n"); /* another package; 1 and 2 are offline */
  CHECK(sampler_power.open(root, &state));
  sampler_power.watch(state, 1);
  sampler_power.sample(state, INT64_C(1000000000), &sink);
  CHECK(seen.watts < 1e-9);                                        /* nothing to compare with yet */
  put("/sys/class/powercap/intel-rapl:0/energy_uj", "29671150\n"); /* it wrapped: 30 J */
  put("/sys/class/powercap/intel-rapl:1/energy_uj", "11000000\n");
  put("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n");
  sampler_power.sample(state, INT64_C(1500000000), &sink);
  CHECK(seen.watts > 79.99 && seen.watts < 80.01); /* 40 J in half a second */
  CHECK(seen.slowed > 2.9 && seen.slowed < 3.1);
  put("/sys/class/powercap/intel-rapl:1/energy_uj", "garbage\n");
  seen = (struct seen){.n = 0};
  sampler_power.sample(state, INT64_C(2000000000), &sink);
  CHECK(seen.watts < 1e-9 && seen.n > 0); /* half of the energy is none */
  sampler_power.close(state);
}

int main(void) {
  machine_begin();
  const struct root root = {top};
  check_nothing(&root);
  check_all(&root);
  machine_end();
  return check_end();
}
