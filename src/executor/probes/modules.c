/* What was ordered, as the firmware reports it (SMBIOS, DMTF DSP0134): memory modules with their speed and channels, processors, board. */
#include <stdio.h>
#include <string.h>

#include "executor/probe.h"

static const char *modules_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

/* One structure: type, length, handle, the formatted part, then its strings, each ended by 0, the last by two. */
struct structure {
  const uint8_t *data;
  size_t length, whole;
};

static bool next_structure(const uint8_t *table, size_t n, size_t at, struct structure *ret) {
  if (n < 4 || at > n - 4 || table[at + 1] < 4 || at + table[at + 1] > n) return false;
  size_t end = at + table[at + 1];
  while (end + 1 < n && (table[end] != 0 || table[end + 1] != 0)) end++;
  if (end + 1 >= n) return false;
  *ret = (struct structure){table + at, table[at + 1], end + 2 - at};
  return true;
}

static unsigned byte_at(const struct structure *s, size_t at) {
  return at < s->length ? s->data[at] : 0;
}

static unsigned word_at(const struct structure *s, size_t at) {
  return at + 1 < s->length ? s->data[at] | (unsigned)s->data[at + 1] << 8 : 0;
}

/* Strings are counted from 1; 0 stands for none. */
static void string_at(const struct structure *s, size_t at, char *text, size_t size) {
  unsigned which = byte_at(s, at);
  const char *p = (const char *)s->data + s->length, *end = (const char *)s->data + s->whole;
  text[0] = 0;
  if (which == 0) return;
  for (unsigned i = 1; p < end && *p != 0; i++) {
    size_t n = strnlen(p, (size_t)(end - p));
    if (i == which) {
      while (n > 0 && p[n - 1] == ' ') n--;
      text_sanitise(text, size, p, n);
      return;
    }
    p += n + 1;
  }
}

struct memory {
  unsigned n_filled, n_slots, speed, configured, type;
  uint64_t megabytes;
  char part[64];
  bool mixed;
};

/* Memory device (type 17): 0x0c size, 0x12 type, 0x15 speed, 0x20 configured speed, 0x1a part number. */
static void add_memory(const struct structure *s, struct memory *memory) {
  unsigned size = word_at(s, 0x0c);
  uint64_t megabytes = size & 0x8000 ? (size & 0x7fff) / 1024 : size;
  char part[64];
  memory->n_slots++;
  if (size == 0 || size == 0xffff) return;
  if (size == 0x7fff) megabytes = word_at(s, 0x1c) | (uint64_t)word_at(s, 0x1e) << 16;
  string_at(s, 0x1a, part, sizeof part);
  if (memory->n_filled > 0 && (memory->speed != word_at(s, 0x15) || strcmp(memory->part, part) != 0)) memory->mixed = true;
  memory->n_filled++;
  memory->megabytes += megabytes;
  memory->speed = word_at(s, 0x15);
  memory->configured = word_at(s, 0x20);
  memory->type = byte_at(s, 0x12);
  (void)snprintf(memory->part, sizeof memory->part, "%s", part);
}

static const char *memory_type(unsigned type) {
  return type == 0x18   ? "DDR3"
         : type == 0x1a ? "DDR4"
         : type == 0x22 ? "DDR5"
         : type == 0x1e ? "LPDDR4"
         : type == 0x23 ? "LPDDR5"
         : type == 0x20 ? "HBM"
         : type == 0x21 ? "HBM2"
         : type == 0x24 ? "HBM3"
                        : "";
}

static void put_memory(const struct probe_target *target, struct fact_list *facts, const struct memory *m) {
  static const char source[] = "SMBIOS type 17";
  enum layer layer = LAYER_PROCUREMENT;
  if (m->n_slots == 0) return;
  probe_printf(target, facts, layer, FACT_IDENTITY, source, "memory.modules", "%u of %u slots filled", m->n_filled, m->n_slots);
  if (m->n_filled == 0) return;
  probe_printf(target, facts, layer, FACT_IDENTITY, source, "memory.installed", "%llu MB", (unsigned long long)m->megabytes);
  if (memory_type(m->type)[0] != 0) probe_fact(target, facts, layer, FACT_IDENTITY, "memory.type", memory_type(m->type), "", source);
  if (m->speed != 0) probe_printf(target, facts, layer, FACT_IDENTITY, source, "memory.speed", "%u MT/s", m->speed);
  if (m->configured != 0) probe_printf(target, facts, layer, FACT_IDENTITY, source, "memory.speed-configured", "%u MT/s", m->configured);
  if (m->part[0] != 0)
    probe_printf(target, facts, layer, FACT_IDENTITY, source, "memory.part", "%s%s", m->part,
                 m->mixed ? " (and others: the modules are not alike)" : "");
}

static void modules_collect(const struct probe_target *target, struct fact_list *facts) {
  static const char path[] = "/sys/firmware/dmi/tables/DMI";
  struct buffer table;
  struct lynx_error error = {0};
  struct memory memory = {0};
  char text[128];
  buffer_init(&table, 1 << 20);
  enum lynx_status status = root_read(target->root, path, &table, &error);
  if (status != LYNX_OK)
    probe_missing(target, facts, LAYER_PROCUREMENT, FACT_IDENTITY, "memory.modules", status == LYNX_NOT_FOUND ? FACT_ABSENT : FACT_DENIED,
                  status == LYNX_NOT_FOUND
                      ? "no SMBIOS table (a virtual machine or container): declare what was ordered as procurement.* in the contract"
                      : "the SMBIOS table may be read by root only",
                  path);
  struct structure s;
  unsigned n_processors = 0;
  for (size_t at = 0; status == LYNX_OK && next_structure((const uint8_t *)table.data, table.length, at, &s); at += s.whole) {
    if (s.data[0] == 17) add_memory(&s, &memory);
    if (s.data[0] == 4 && (byte_at(&s, 0x18) & 0x40) != 0) n_processors++;
    if (s.data[0] == 1) {
      string_at(&s, 0x05, text, sizeof text);
      if (text[0] != 0) probe_fact(target, facts, LAYER_PROCUREMENT, FACT_IDENTITY, "system.product", text, "", "SMBIOS type 1");
      string_at(&s, 0x07, text, sizeof text);
      if (text[0] != 0) probe_fact(target, facts, LAYER_PROCUREMENT, FACT_CONTEXT, "system.serial", text, "", "SMBIOS type 1");
    }
    if (s.data[0] == 127) break;
  }
  put_memory(target, facts, &memory);
  if (n_processors > 0)
    probe_printf(target, facts, LAYER_PROCUREMENT, FACT_IDENTITY, "SMBIOS type 4", "processor.sockets", "%u populated", n_processors);
  buffer_release(&table);
}

const struct probe probe_modules;
const struct probe probe_modules = {.name = "modules",
                                    .summary = "memory modules, their speed and channels, sockets, product, as the firmware reports",
                                    .reads = "/sys/firmware/dmi/tables/DMI",
                                    .layer = LAYER_PROCUREMENT,
                                    .applies = modules_applies,
                                    .collect = modules_collect};
