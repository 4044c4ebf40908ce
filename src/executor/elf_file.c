#include "executor/elf_file.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/digest.h"

bool elf_build_id(int fd, char *text, size_t size) {
  (void)elf_version(EV_CURRENT);
  bool found = false;
  Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  size_t n_headers = 0;
  if (elf != NULL && elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &n_headers) == 0)
    for (size_t i = 0; i < n_headers && !found; i++) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, (int)i, &header) == NULL || header.p_type != PT_NOTE) continue;
      Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_NHDR);
      GElf_Nhdr note;
      for (size_t at = 0, name, desc, next; data != NULL && !found && (next = gelf_getnote(data, at, &note, &name, &desc)) > 0; at = next) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz == 0 ||
            memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 || 2 * (size_t)note.n_descsz + 1 > size)
          continue;
        hex_encode((const uint8_t *)data->d_buf + desc, note.n_descsz, text);
        found = true;
      }
    }
  (void)elf_end(elf);
  return found;
}
