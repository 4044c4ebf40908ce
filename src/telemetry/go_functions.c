#include "telemetry/go_functions.h"

#include <gelf.h>
#include <string.h>

enum {
  HEADER = 8 + 8 * 8,
  ENTRY = 8 /* where a function begins, and where its record lies */,
  SECTIONS_MAX = 4096,
  NAME_MAX_LENGTH = 4096
};
#define TABLE_MAX (UINT64_C(512) << 20)
#define MARK_118 UINT32_C(0xfffffff0)
#define MARK_120 UINT32_C(0xfffffff1)

static uint32_t word(const struct go_functions *f, size_t at) {
  uint32_t value = 0;
  if (at <= f->size && f->size - at >= sizeof value) memcpy(&value, f->bytes + at, sizeof value);
  return value;
}

static uint64_t header(const struct go_functions *f, size_t i) {
  uint64_t value;
  memcpy(&value, f->bytes + 8 + 8 * i, sizeof value);
  return value;
}

static const char *name_of(const struct go_functions *f, size_t record) {
  size_t room = f->size - f->names, at = word(f, record + sizeof(uint32_t));
  if (at >= room) return NULL;
  const char *name = (const char *)f->bytes + f->names + at;
  size_t most = room - at < NAME_MAX_LENGTH ? room - at : NAME_MAX_LENGTH;
  return memchr(name, 0, most) != NULL && name[0] != 0 ? name : NULL;
}

struct go_function go_functions_at(const struct go_functions *f, size_t i) {
  size_t at = f->entries + i * ENTRY;
  uint32_t from = word(f, at), record = word(f, at + 4), next = word(f, at + ENTRY); /* behind the last one the code's end */
  return (struct go_function){.from = f->code + from, .size = next > from ? next - from : 0, .name = name_of(f, f->entries + record)};
}

static bool is_table(struct go_functions *f) {
  uint32_t mark = word(f, 0);
  if (f->size < HEADER || (mark != MARK_118 && mark != MARK_120) || f->bytes[7] != 8) return false;
  uint64_t n = header(f, 0), names = header(f, 3), entries = header(f, 7);
  if (names >= f->size || entries >= f->size || n >= (f->size - entries) / ENTRY) return false;
  f->n = (size_t)n;
  f->names = (size_t)names;
  f->entries = (size_t)entries;
  f->code = header(f, 2);
  return true;
}

/* The function at the entry point is _rt0_ and the platform's name, where Go's own linker made it. Those of the table begin at 0 so far. */
static uint64_t code_by_entry(const struct go_functions *f, uint64_t entry) {
  for (size_t i = 0; i < f->n; i++) {
    struct go_function function = go_functions_at(f, i);
    if (function.name != NULL && strncmp(function.name, "_rt0_", 5) == 0 && entry > function.from) return entry - function.from;
  }
  return 0;
}

bool go_functions_find(Elf *elf, struct go_functions *ret) {
  static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab"};
  GElf_Ehdr file;
  size_t names = 0, looked = 0;
  if (gelf_getehdr(elf, &file) == NULL || file.e_ident[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL && looked++ < SECTIONS_MAX; section = elf_nextscn(elf, section)) {
    GElf_Shdr of;
    const char *name = gelf_getshdr(section, &of) != NULL ? elf_strptr(elf, names, of.sh_name) : NULL;
    if (name == NULL || of.sh_type == SHT_NOBITS || (strcmp(name, sections[0]) != 0 && strcmp(name, sections[1]) != 0)) continue;
    Elf_Data *data = of.sh_size <= TABLE_MAX && (of.sh_flags & SHF_COMPRESSED) == 0 ? elf_rawdata(section, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL) return false;
    *ret = (struct go_functions){.bytes = data->d_buf, .size = data->d_size};
    if (!is_table(ret)) return false;
    if (ret->code == 0) ret->code = code_by_entry(ret, file.e_entry);
    return ret->code != 0;
  }
  return false;
}
