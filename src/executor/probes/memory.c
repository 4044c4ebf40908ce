/* How much memory there is, and how the kernel hands it out. */
#include <string.h>

#include "base/number.h"
#include "executor/probe.h"

static const char *memory_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

static void memory_collect(const struct probe_target *target, struct fact_list *facts) {
  struct buffer text;
  char value[128];
  buffer_init(&text, 65536);
  if (root_read(target->root, "/proc/meminfo", &text, NULL) == LYNX_OK) {
    static const struct {
      const char *word, *key;
      enum fact_kind kind;
    } lines[] = {{"MemTotal", "memory.total", FACT_STATE},
                 {"SwapTotal", "memory.swap", FACT_IDENTITY},
                 {"Hugepagesize", "memory.huge-page-size", FACT_IDENTITY},
                 {"HugePages_Surp", "memory.huge-pages-surplus", FACT_STATE},
                 {"MemAvailable", "memory.available", FACT_STATE}};
    for (size_t i = 0; i < LYNX_COUNT(lines); i++)
      if (probe_find_line(text.data, lines[i].word, value, sizeof value))
        probe_fact(target, facts, LAYER_SYSTEM, lines[i].kind, lines[i].key, value, "", "/proc/meminfo");
    /* What the kernel leaves of it changes from boot to boot: to whole GiB it is the machine's. */
    int64_t kilobytes = 0, pages = 0, surplus = 0;
    if (probe_find_line(text.data, "MemTotal", value, sizeof value) && number_int64(value, strspn(value, "0123456789"), &kilobytes))
      probe_printf(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "/proc/meminfo", "memory.size", "%lld GiB",
                   (long long)((kilobytes + (1 << 19)) >> 20));
    /* Those set aside on purpose; surplus ones come with the programs that ask for them, and go. */
    if (probe_find_line(text.data, "HugePages_Total", value, sizeof value) && number_int64(value, strlen(value), &pages)) {
      if (probe_find_line(text.data, "HugePages_Surp", value, sizeof value)) (void)number_int64(value, strlen(value), &surplus);
      probe_printf(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "/proc/meminfo", "memory.huge-pages", "%lld",
                   (long long)(pages > surplus ? pages - surplus : 0));
    }
  } else probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.size", FACT_ABSENT, "unreadable", "/proc/meminfo");
  buffer_release(&text);
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.transparent-huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled",
             "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.transparent-huge-pages.defrag",
             "/sys/kernel/mm/transparent_hugepage/defrag", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.numa-balancing", "/proc/sys/kernel/numa_balancing", "");
  (void)probe_file_if(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.huge-pages-overcommit", "/proc/sys/vm/nr_overcommit_hugepages",
                      "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.swappiness", "/proc/sys/vm/swappiness", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.overcommit", "/proc/sys/vm/overcommit_memory", "");
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "memory.zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", "");
}

const struct probe probe_memory;
const struct probe probe_memory = {.name = "memory",
                                   .summary = "size, swap, huge pages, NUMA balancing",
                                   .reads = "/proc/meminfo, /proc/sys/vm, /sys/kernel/mm",
                                   .layer = LAYER_SYSTEM,
                                   .applies = memory_applies,
                                   .collect = memory_collect};
