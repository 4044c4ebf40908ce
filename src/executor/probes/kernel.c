/* The operating system: kernel, command line, mitigations, C library, distribution, clock. */
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "executor/probe.h"

static const char *kernel_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

/* Which disk it was booted from is of the exemplar: the same image on another disk is the same kernel with the same parameters. */
static void collect_command_line(const struct probe_target *target, struct fact_list *facts) {
  static const char *const places[] = {
      "BOOT_IMAGE=", "root=", "resume=", "initrd=", "rd.luks.uuid=", "rd.lvm.lv=", "ip=", "ostree=", "rootflags="};
  char line[4096], parameters[4096] = "", place[4096] = "", *rest = NULL;
  if (!root_read_line(target->root, "/proc/cmdline", line, sizeof line)) {
    probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "kernel.command-line", "/proc/cmdline", ""); /* says why */
    return;
  }
  for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    bool of_place = false;
    for (size_t i = 0; i < LYNX_COUNT(places); i++) of_place = of_place || strncmp(word, places[i], strlen(places[i])) == 0;
    char *to = of_place ? place : parameters;
    size_t used = strlen(to);
    (void)snprintf(to + used, sizeof line - used, "%s%s", used > 0 ? " " : "", word);
  }
  probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "kernel.command-line", parameters, "", "/proc/cmdline");
  if (place[0] != 0) probe_fact(target, facts, LAYER_SYSTEM, FACT_CONTEXT, "kernel.boot-place", place, "", "/proc/cmdline");
}

/* How far this host's clock may be off, as the kernel's own discipline says it: what joins captures of several hosts. */
static void collect_clock(const struct probe_target *target, struct fact_list *facts) {
  struct timex now = {.modes = 0};
  if (target->root->path[0] != 0) return;
  int state = adjtimex(&now);
  if (state < 0 || state == TIME_ERROR || (now.status & STA_UNSYNC) != 0)
    probe_missing(target, facts, LAYER_SYSTEM, FACT_STATE, "clock.error-most", FACT_UNSUPPORTED,
                  "the clock is not synchronised, or the kernel is not told so", "adjtimex(2)");
  else probe_printf(target, facts, LAYER_SYSTEM, FACT_STATE, "adjtimex(2)", "clock.error-most", "%ld us", now.maxerror);
}

struct listing {
  const struct probe_target *target;
  struct fact_list *facts;
};

static void add_mitigation(void *context, const char *name) {
  const struct listing *listing = context;
  char key[160], path[256];
  (void)snprintf(key, sizeof key, "mitigation.%.100s", name);
  (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/vulnerabilities/%.100s", name);
  probe_file(listing->target, listing->facts, LAYER_SYSTEM, FACT_IDENTITY, key, path, "");
}

static void collect_distribution(const struct probe_target *target, struct fact_list *facts) {
  struct buffer text;
  char value[256];
  char path[64] = "/etc/os-release"; /* a container's own distribution is the process's */
  buffer_init(&text, 65536);
  if (target->pid > 0) (void)snprintf(path, sizeof path, "/proc/%lld/root/etc/os-release", (long long)target->pid);
  if (root_read(target->root, path, &text, NULL) != LYNX_OK) (void)snprintf(path, sizeof path, "/etc/os-release");
  buffer_clear(&text);
  bool known = root_read(target->root, path, &text, NULL) == LYNX_OK && probe_find_line(text.data, "PRETTY_NAME", value, sizeof value);
  size_t n = known ? strlen(value) : 0;
  bool quoted = n >= 2 && value[0] == '"' && value[n - 1] == '"';
  if (quoted) value[n - 1] = 0;
  if (known) probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "os.distribution", value + (quoted ? 1 : 0), "", "/etc/os-release");
  else probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "os.distribution", FACT_ABSENT, "no PRETTY_NAME", "/etc/os-release");
  buffer_release(&text);
}

static void kernel_collect(const struct probe_target *target, struct fact_list *facts) {
  struct listing listing = {target, facts};
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "kernel.release", "/proc/sys/kernel/osrelease", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "kernel.version", "/proc/version", "");
  collect_command_line(target, facts);
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "kernel.clock-source",
             "/sys/devices/system/clocksource/clocksource0/current_clocksource", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "kernel.perf-event-paranoid", "/proc/sys/kernel/perf_event_paranoid", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "machine.product", "/sys/devices/virtual/dmi/id/product_name", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "machine.bios", "/sys/devices/virtual/dmi/id/bios_version", "");
  static const struct {
    const char *key, *path;
    enum fact_kind kind;
  } more[] = {{"machine.vendor", "/sys/devices/virtual/dmi/id/sys_vendor", FACT_IDENTITY},
              {"machine.board", "/sys/devices/virtual/dmi/id/board_name", FACT_IDENTITY},
              {"machine.hypervisor", "/sys/hypervisor/type", FACT_IDENTITY},
              {"machine.host-name", "/proc/sys/kernel/hostname", FACT_CONTEXT},
              {"machine.boot", "/proc/sys/kernel/random/boot_id", FACT_CONTEXT},
              {"kernel.sched-autogroup", "/proc/sys/kernel/sched_autogroup_enabled", FACT_IDENTITY},
              {"kernel.watchdog", "/proc/sys/kernel/nmi_watchdog", FACT_IDENTITY},
              {"kernel.tainted", "/proc/sys/kernel/tainted", FACT_STATE},
              {"network.tcp-congestion", "/proc/sys/net/ipv4/tcp_congestion_control", FACT_IDENTITY},
              {"network.backlog", "/proc/sys/net/core/somaxconn", FACT_IDENTITY}};
  for (size_t i = 0; i < LYNX_COUNT(more); i++)
    (void)probe_file_if(target, facts, LAYER_SYSTEM, more[i].kind, more[i].key, more[i].path, "");
  if (!root_list(target->root, "/sys/devices/system/cpu/vulnerabilities", 100, add_mitigation, &listing))
    probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "mitigation", FACT_ABSENT, "the kernel lists none",
                  "/sys/devices/system/cpu/vulnerabilities");
  collect_distribution(target, facts);
  collect_clock(target, facts);
  if (target->root->path[0] == 0)
    probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "os.libc", gnu_get_libc_version(), "",
               "gnu_get_libc_version (of lynxbench itself; the executor's own is among its libraries)");
}

const struct probe probe_kernel;
const struct probe probe_kernel = {.name = "kernel",
                                   .summary = "kernel, command line, mitigations, C library, distribution, clock source",
                                   .reads = "/proc, /sys, /etc/os-release",
                                   .layer = LAYER_SYSTEM,
                                   .applies = kernel_applies,
                                   .collect = kernel_collect};
