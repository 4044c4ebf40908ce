/* The processor, as the accelerator that it is where there is no other. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/probe.h"

static const char *cpu_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

/* The instruction sets that decide which kernels a library selects, in the order that they are worth. */
static void collect_isa(const struct probe_target *target, struct fact_list *facts, const char *flags) {
  static const char *const wanted[] = {"sse4_2",   "avx",      "avx2",        "fma",         "f16c",        "avx_vnni", "avx512f",
                                       "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8",
                                       "amx_bf16", "asimd",    "asimddp",     "bf16",        "i8mm",        "sve",      "sve2"};
  char list[512] = "", padded[8192];
  (void)snprintf(padded, sizeof padded, " %s ", flags);
  for (size_t i = 0; i < LYNX_COUNT(wanted); i++) {
    char word[32];
    (void)snprintf(word, sizeof word, " %s ", wanted[i]);
    if (strstr(padded, word) == NULL) continue;
    size_t used = strlen(list);
    (void)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? " " : "", wanted[i]);
  }
  probe_fact(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "cpu.isa", list, "", "/proc/cpuinfo flags");
}

static void collect_cpuinfo(const struct probe_target *target, struct fact_list *facts) {
  static const struct {
    const char *word, *key;
  } lines[] = {{"model name", "cpu.model"},   {"vendor_id", "cpu.vendor"},  {"cpu family", "cpu.family"},
               {"model", "cpu.model-number"}, {"stepping", "cpu.stepping"}, {"microcode", "cpu.microcode"}};
  struct buffer text;
  struct lynx_error error = {0};
  char value[8000];
  buffer_init(&text, 8 << 20);
  if (root_read(target->root, "/proc/cpuinfo", &text, &error) != LYNX_OK) {
    probe_missing(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "cpu.model", error.status == LYNX_NOT_FOUND ? FACT_ABSENT : FACT_DENIED,
                  error.message, "/proc/cpuinfo");
    buffer_release(&text);
    return;
  }
  for (size_t i = 0; i < LYNX_COUNT(lines); i++) {
    if (probe_find_line(text.data, lines[i].word, value, sizeof value))
      probe_fact(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, lines[i].key, value, "", "/proc/cpuinfo");
    else probe_missing(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, lines[i].key, FACT_ABSENT, "no such line", "/proc/cpuinfo");
  }
  static const char *const arm[] = {"CPU implementer", "CPU part", "CPU variant", "CPU revision"};
  static const char *const arm_keys[] = {"cpu.implementer", "cpu.part", "cpu.variant", "cpu.revision"};
  for (size_t i = 0; i < LYNX_COUNT(arm); i++)
    if (probe_find_line(text.data, arm[i], value, sizeof value))
      probe_fact(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, arm_keys[i], value, "", "/proc/cpuinfo");
  bool has_flags = probe_find_line(text.data, "flags", value, sizeof value) || probe_find_line(text.data, "Features", value, sizeof value);
  if (has_flags) collect_isa(target, facts, value);
  bool x86 = probe_find_line(text.data, "flags", value, sizeof value);
  if (x86)
    probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "machine.virtual", strstr(value, "hypervisor") != NULL ? "yes" : "no", "",
               "/proc/cpuinfo hypervisor flag");
  else
    probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "machine.virtual", FACT_UNSUPPORTED,
                  "only x86 processors show a hypervisor in their flags", "/proc/cpuinfo");
  buffer_release(&text);
}

/* Linux hands AMX's tiles only to a process that asks for them, and a sandbox may keep it from asking: libraries then fall back to other
 * kernels. Asked here for the process of the probes, which keeps nothing of it. */
static void collect_amx(const struct probe_target *target, struct fact_list *facts) {
  const struct fact *isa = fact_find(facts, "cpu.isa");
  if (target->root->path[0] != 0 || isa == NULL || strstr(isa->value, "amx_tile") == NULL) return;
#if defined __x86_64__
  enum { ARCH_REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  probe_printf(target, facts, LAYER_SYSTEM, FACT_STATE, "arch_prctl(ARCH_REQ_XCOMP_PERM), asked from here", "cpu.amx-permission", "%s",
               syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, TILE_DATA) == 0 ? "granted when asked for"
               : errno == EPERM                                                 ? "denied: a sandbox, or a stack that is too small"
                                                                                : "this kernel does not grant it");
#endif
}

static void cpu_collect(const struct probe_target *target, struct fact_list *facts) {
  collect_cpuinfo(target, facts);
  collect_amx(target, facts);
  probe_file(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "cpu.online", "/sys/devices/system/cpu/online", "");
  probe_file(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "cpu.smt", "/sys/devices/system/cpu/smt/control", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cpu.scaling-driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cpu.max-frequency", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
             "kHz");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cpu.no-turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cpu.boost", "/sys/devices/system/cpu/cpufreq/boost", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cpu.isolated", "/sys/devices/system/cpu/isolated", "");
  static const struct {
    const char *key, *path, *unit;
    enum fact_kind kind;
  } more[] = {{"cpu.min-frequency", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "kHz", FACT_IDENTITY},
              {"cpu.hardware-frequency-most", "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "kHz", FACT_IDENTITY},
              {"cpu.frequency", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "kHz, cpu0", FACT_STATE},
              {"cpu.energy-preference", "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "", FACT_IDENTITY},
              {"cpu.pstate", "/sys/devices/system/cpu/intel_pstate/status", "", FACT_IDENTITY},
              {"cpu.pstate-most", "/sys/devices/system/cpu/intel_pstate/max_perf_pct", "%", FACT_IDENTITY},
              {"cpu.idle-driver", "/sys/devices/system/cpu/cpuidle/current_driver", "", FACT_IDENTITY},
              {"cpu.idle-governor", "/sys/devices/system/cpu/cpuidle/current_governor", "", FACT_IDENTITY},
              {"cpu.no-ticks", "/sys/devices/system/cpu/nohz_full", "", FACT_IDENTITY}};
  for (size_t i = 0; i < LYNX_COUNT(more); i++)
    (void)probe_file_if(target, facts, LAYER_SYSTEM, more[i].kind, more[i].key, more[i].path, more[i].unit);
}

const struct probe probe_cpu;
const struct probe probe_cpu = {.name = "cpu",
                                .summary = "model, microcode, instruction sets, SMT, governor, turbo",
                                .reads = "/proc/cpuinfo, /sys/devices/system/cpu",
                                .layer = LAYER_ACCELERATOR,
                                .applies = cpu_applies,
                                .collect = cpu_collect};
