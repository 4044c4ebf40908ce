#include "telemetry/elf_symbols.h"

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "telemetry/go_functions.h"

enum { SYMBOLS_MAX = 1 << 23, HEADERS_MAX = 256, LOOKS_EVERY = 4096 };
#define STEPS_MAX UINT64_C(20000000)
#define TABLE_MAX (UINT64_C(512) << 20) /* bytes of a table: what libelf would load as a whole; libtorch_cuda.so has some 200 MB of names */

struct finding_symbols {
  const uint64_t *offsets;
  uint64_t *addresses; /* as the file is linked, in the order of the offsets; UINT64_MAX: none */
  size_t n;
  bool *named;
  void (*found)(void *context, size_t i, const char *name);
  void *context;
  uint64_t steps; /* that its addresses were walked */
  int64_t deadline_ns;
};

size_t elf_first_from(const uint64_t *addresses, size_t n, uint64_t address) {
  size_t low = 0;
  for (size_t high = n; low < high;) {
    size_t middle = low + (high - low) / 2;
    if (addresses[middle] < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void place_offsets(Elf *elf, struct finding_symbols *f) {
  size_t n_headers = 0;
  for (size_t k = 0; k < f->n; k++) f->addresses[k] = UINT64_MAX;
  if (elf_getphdrnum(elf, &n_headers) != 0) return;
  for (size_t i = 0; i < n_headers && i < HEADERS_MAX; i++) {
    GElf_Phdr h;
    if (gelf_getphdr(elf, (int)i, &h) == NULL || h.p_type != PT_LOAD) continue;
    for (size_t k = 0; k < f->n; k++)
      if (f->offsets[k] >= h.p_offset && f->offsets[k] - h.p_offset < h.p_filesz) f->addresses[k] = f->offsets[k] - h.p_offset + h.p_vaddr;
  }
}

/* Linkers place segments in the order in which they lie in the file; in a file where they are not, names are missed. */
static bool is_within(const struct finding_symbols *f, size_t k, uint64_t from, uint64_t size) {
  return k < f->n && f->addresses[k] >= from && f->addresses[k] - from < size;
}

static bool is_asked(const struct finding_symbols *f, uint64_t from, uint64_t size) {
  return is_within(f, elf_first_from(f->addresses, f->n, from), from, size);
}

static void name_range(struct finding_symbols *f, uint64_t from, uint64_t size, const char *name) {
  char text[ELF_NAME_MAX];
  if (name == NULL || name[0] == 0) return;
  (void)snprintf(text, sizeof text, "%s", name);
  for (size_t k = elf_first_from(f->addresses, f->n, from); is_within(f, k, from, size); k++, f->steps++) {
    if (f->named[k]) continue;
    f->named[k] = true;
    f->found(f->context, k, text);
  }
}

static bool is_late(const struct finding_symbols *f) {
  return clock_now(&clock_system) >= f->deadline_ns;
}

/* Small enough, whatever its header says of its entries. */
static bool is_table(Elf *elf, const GElf_Shdr *header) {
  GElf_Shdr names;
  Elf_Scn *section = header->sh_link > 0 ? elf_getscn(elf, header->sh_link) : NULL;
  size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
  return section != NULL && gelf_getshdr(section, &names) != NULL && names.sh_type == SHT_STRTAB && names.sh_size <= TABLE_MAX &&
         entry > 0 && header->sh_entsize == entry && header->sh_size <= TABLE_MAX && (names.sh_flags & SHF_COMPRESSED) == 0 &&
         (header->sh_flags & SHF_COMPRESSED) == 0;
}

static void read_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct finding_symbols *f) {
  Elf_Data *data = elf_getdata(section, NULL);
  size_t n = data != NULL && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
  for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
    GElf_Sym symbol;
    if (i % LOOKS_EVERY == 0 && (is_late(f) || f->steps > STEPS_MAX)) return;
    if (gelf_getsym(data, (int)i, &symbol) == NULL) return;
    unsigned type = GELF_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) continue;
    if (is_asked(f, symbol.st_value, symbol.st_size))
      name_range(f, symbol.st_value, symbol.st_size, elf_strptr(elf, header->sh_link, symbol.st_name));
  }
}

/* Of a Go program, stripped or not: it names what no table of symbols did. */
static void read_go_functions(Elf *elf, struct finding_symbols *f) {
  struct go_functions go;
  bool all = true;
  for (size_t k = 0; k < f->n; k++) all = all && f->named[k];
  if (all || !go_functions_find(elf, &go)) return;
  for (size_t i = 0; i < go.n && i < SYMBOLS_MAX; i++) {
    if (i % LOOKS_EVERY == 0 && (is_late(f) || f->steps > STEPS_MAX)) return;
    struct go_function function = go_functions_at(&go, i);
    if (is_asked(f, function.from, function.size)) name_range(f, function.from, function.size, function.name);
  }
}

void elf_symbols(int fd, const uint64_t *offsets, size_t n, int64_t deadline_ns, void (*found)(void *context, size_t i, const char *name),
                 void *context) {
  (void)elf_version(EV_CURRENT);
  Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
  if (elf == NULL || n == 0) {
    (void)elf_end(elf);
    return;
  }
  struct finding_symbols f = {.offsets = offsets,
                              .addresses = xalloc(n, sizeof *f.addresses),
                              .n = n,
                              .named = xalloc(n, sizeof *f.named),
                              .found = found,
                              .context = context,
                              .deadline_ns = deadline_ns};
  if (elf_kind(elf) == ELF_K_ELF) {
    static const unsigned kinds[] = {SHT_SYMTAB, SHT_DYNSYM}; /* the whole table, where the file has not been stripped of it */
    place_offsets(elf, &f);
    for (size_t k = 0; k < LYNX_COUNT(kinds); k++)
      for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL && !is_late(&f); section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != kinds[k]) continue;
        if (is_table(elf, &header)) read_table(elf, section, &header, &f);
        break; /* a file has one of each */
      }
    read_go_functions(elf, &f);
  }
  free(f.addresses);
  free(f.named);
  (void)elf_end(elf);
}

static uint64_t object_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name, int64_t deadline_ns) {
  Elf_Data *data = is_table(elf, header) ? elf_getdata(section, NULL) : NULL;
  size_t n = data != NULL && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
  for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
    GElf_Sym symbol;
    if (i % LOOKS_EVERY == 0 && clock_now(&clock_system) >= deadline_ns) return 0;
    if (gelf_getsym(data, (int)i, &symbol) == NULL) return 0;
    if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
    const char *found = elf_strptr(elf, header->sh_link, symbol.st_name);
    if (found != NULL && strcmp(found, name) == 0) return symbol.st_value;
  }
  return 0;
}

uint64_t elf_object(int fd, const char *name, int64_t deadline_ns) {
  (void)elf_version(EV_CURRENT);
  Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
  uint64_t address = 0;
  bool good = elf != NULL && elf_kind(elf) == ELF_K_ELF;
  for (Elf_Scn *section = good ? elf_nextscn(elf, NULL) : NULL; section != NULL && address == 0; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_SYMTAB)
      address = object_in(elf, section, &header, name, deadline_ns);
  }
  (void)elf_end(elf);
  return address;
}
