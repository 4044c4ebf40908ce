/* What the room gives and takes: temperatures, fans, power and its caps, as far as sensors are readable from here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "executor/probe.h"

enum { SENSORS_MAX = 512, CHASSIS_WAIT_MS = 2000 };

struct listing {
  const struct probe_target *target;
  struct fact_list *facts;
  char directory[160], chip[80];
  size_t n;
};

static const char *facility_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

/* temp1_input -> m°C, fan1_input -> rpm, power1_average -> uW; power1_cap is a setting. */
static void add_sensor(void *context, const char *name) {
  struct listing *l = context;
  static const struct {
    const char *begins, *ends, *unit;
    enum fact_kind kind;
  } sensors[] = {{"temp", "_input", "m°C", FACT_STATE},   {"temp", "_crit", "m°C", FACT_STATE},  {"fan", "_input", "rpm", FACT_STATE},
                 {"power", "_average", "uW", FACT_STATE}, {"power", "_input", "uW", FACT_STATE}, {"power", "_cap", "uW", FACT_IDENTITY}};
  size_t n = strlen(name);
  for (size_t i = 0; i < LYNX_COUNT(sensors) && l->n < SENSORS_MAX; i++) {
    size_t end = strlen(sensors[i].ends);
    if (strncmp(name, sensors[i].begins, strlen(sensors[i].begins)) != 0 || n < end || strcmp(name + n - end, sensors[i].ends) != 0)
      continue;
    char key[200], path[300], label[64];
    (void)snprintf(path, sizeof path, "%s/%.*s_label", l->directory, (int)(n - end), name);
    if (!root_read_line(l->target->root, path, label, sizeof label)) (void)snprintf(label, sizeof label, "%.*s", (int)(n - end), name);
    (void)snprintf(key, sizeof key, "sensor.%s.%s%s", l->chip, label,
                   strcmp(sensors[i].ends, "_crit") == 0  ? ".critical"
                   : strcmp(sensors[i].ends, "_cap") == 0 ? ".cap"
                                                          : "");
    (void)snprintf(path, sizeof path, "%s/%.60s", l->directory, name);
    l->n += probe_file_if(l->target, l->facts, LAYER_FACILITY, sensors[i].kind, key, path, sensors[i].unit);
  }
}

static void add_chip(void *context, const char *name) {
  struct listing *l = context;
  char path[200];
  (void)snprintf(l->directory, sizeof l->directory, "/sys/class/hwmon/%.60s", name);
  (void)snprintf(path, sizeof path, "%s/name", l->directory);
  char chip[60];
  if (!root_read_line(l->target->root, path, chip, sizeof chip)) (void)snprintf(chip, sizeof chip, "%.50s", name);
  (void)snprintf(l->chip, sizeof l->chip, "%s", chip);
  for (int i = 2; i < 100; i++) { /* two disks have two chips of one name */
    bool used = false;
    for (size_t k = 0; k < l->facts->n_items && !used; k++)
      used = strncmp(l->facts->items[k].key, "sensor.", 7) == 0 && strncmp(l->facts->items[k].key + 7, l->chip, strlen(l->chip)) == 0 &&
             l->facts->items[k].key[7 + strlen(l->chip)] == '.';
    if (!used) break;
    (void)snprintf(l->chip, sizeof l->chip, "%s-%d", chip, i);
  }
  (void)root_list(l->target->root, l->directory, 1024, add_sensor, l);
}

static void add_zone(void *context, const char *name) {
  struct listing *l = context;
  char path[200], type[64], key[160];
  if (strncmp(name, "thermal_zone", 12) != 0) return;
  (void)snprintf(path, sizeof path, "/sys/class/thermal/%.60s/type", name);
  if (!root_read_line(l->target->root, path, type, sizeof type)) type[0] = 0;
  (void)snprintf(key, sizeof key, "temperature.%.12s%s%s", name + 8, type[0] != 0 ? "." : "", type);
  (void)snprintf(path, sizeof path, "/sys/class/thermal/%.60s/temp", name);
  l->n += probe_file_if(l->target, l->facts, LAYER_FACILITY, FACT_STATE, key, path, "m°C");
}

/* Running average power limits: the domain, its cap, and whether its energy may be read (since 2020 only by root). */
static void add_power(void *context, const char *name) {
  struct listing *l = context;
  char path[200], domain[64], key[160];
  (void)snprintf(path, sizeof path, "/sys/class/powercap/%.60s/name", name);
  if (!root_read_line(l->target->root, path, domain, sizeof domain)) return;
  (void)snprintf(key, sizeof key, "power.%.40s.%s.cap", name, domain);
  (void)snprintf(path, sizeof path, "/sys/class/powercap/%.60s/constraint_0_power_limit_uw", name);
  (void)probe_file_if(l->target, l->facts, LAYER_FACILITY, FACT_IDENTITY, key, path, "uW");
  (void)snprintf(key, sizeof key, "power.%.40s.%s.energy", name, domain);
  (void)snprintf(path, sizeof path, "/sys/class/powercap/%.60s/energy_uj", name);
  probe_file(l->target, l->facts, LAYER_FACILITY, FACT_STATE, key, path, "uJ");
  l->n++;
}

/* What the whole machine draws, by its management controller: DCMI's «get power reading» (NetFn 0x2c, command 2, group 0xdc, mode 1). The
 * answer: completion code, 0xdc, then watts in 16 bits, the lower byte first: now, least, most, average; ...; byte 18, bit 6: it measures.
 */
static void collect_chassis_power(const struct probe_target *target, struct fact_list *facts) {
  static const char source[] = "/dev/ipmi0, DCMI get power reading", key[] = "power.chassis";
  char path[4200], line[16];
  if (!root_read_line(target->root, "/sys/class/ipmi/ipmi0/dev", line, sizeof line)) return;
  int fd = open(root_path(target->root, "/dev/ipmi0", path, sizeof path), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    probe_missing(target, facts, LAYER_FACILITY, FACT_STATE, key, errno == EACCES || errno == EPERM ? FACT_DENIED : FACT_UNSUPPORTED,
                  errno == EACCES || errno == EPERM ? "an IPMI controller is there: run as root, or as a user who may read /dev/ipmi0"
                                                    : strerror(errno),
                  source);
    return;
  }
  uint8_t data[] = {0xdc, 1, 0, 0}, answer[64] = {0};
  struct ipmi_system_interface_addr address = {.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE, .channel = IPMI_BMC_CHANNEL};
  struct ipmi_req request = {.addr = (void *)&address,
                             .addr_len = sizeof address,
                             .msgid = 1,
                             .msg = {.netfn = 0x2c, .cmd = 2, .data = data, .data_len = sizeof data}};
  struct ipmi_addr from;
  struct ipmi_recv reply = {.addr = (void *)&from, .addr_len = sizeof from, .msg = {.data = answer, .data_len = sizeof answer}};
  const char *why = NULL;
  if (ioctl(fd, IPMICTL_SEND_COMMAND, &request) != 0) why = "the IPMI controller does not take a request";
  else if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, CHASSIS_WAIT_MS) <= 0)
    why = "the IPMI controller did not answer within 2 s";
  else if (ioctl(fd, IPMICTL_RECEIVE_MSG_TRUNC, &reply) != 0 || reply.msg.data_len < 19) why = "the IPMI controller has no such reading";
  else if (answer[0] != 0 || answer[1] != 0xdc || (answer[18] & 0x40) == 0) why = "the IPMI controller does not measure power";
  (void)close(fd);
  if (why != NULL) probe_missing(target, facts, LAYER_FACILITY, FACT_STATE, key, FACT_UNSUPPORTED, why, source);
  else {
    (void)snprintf(line, sizeof line, "%d", answer[2] | answer[3] << 8);
    probe_fact(target, facts, LAYER_FACILITY, FACT_STATE, key, line, "W", source);
  }
}

static void facility_collect(const struct probe_target *target, struct fact_list *facts) {
  struct listing listing = {.target = target, .facts = facts};
  (void)root_list(target->root, "/sys/class/hwmon", 256, add_chip, &listing);
  (void)root_list(target->root, "/sys/class/thermal", 256, add_zone, &listing);
  (void)root_list(target->root, "/sys/class/powercap", 256, add_power, &listing);
  if (listing.n == 0)
    probe_missing(
        target, facts, LAYER_FACILITY, FACT_STATE, "sensor", FACT_ABSENT,
        "no temperature, fan or power sensor is visible (a virtual machine or container, or no driver): declare cooling and power as "
        "facility.* in the contract",
        "/sys/class/hwmon, thermal, powercap");
  (void)probe_file_if(target, facts, LAYER_FACILITY, FACT_STATE, "throttled.core",
                      "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "times, cpu0");
  (void)probe_file_if(target, facts, LAYER_FACILITY, FACT_STATE, "throttled.package",
                      "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "times, cpu0");
  collect_chassis_power(target, facts);
}

const struct probe probe_facility;
const struct probe probe_facility = {.name = "facility",
                                     .summary = "temperatures, fans, power and its caps",
                                     .reads = "/sys/class/hwmon, /sys/class/thermal, /sys/class/powercap, /dev/ipmi0",
                                     .layer = LAYER_FACILITY,
                                     .applies = facility_applies,
                                     .collect = facility_collect};
