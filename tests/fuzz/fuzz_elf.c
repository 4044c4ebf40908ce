/* ELF files: no crash, a build id is hexadecimal, and a name is given once to an offset that was asked for. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "executor/elf_file.h"
#include "telemetry/elf_symbols.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OFFSETS = 64 };

static void take(void *context, size_t i, const char *name) {
  bool *named = context;
  HOLDS(i < OFFSETS && !named[i] && name[0] != 0 && strlen(name) < ELF_NAME_MAX);
  named[i] = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char text[200];
  int fd = memfd_create("elf", MFD_CLOEXEC);
  HOLDS(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  if (elf_build_id(fd, text, sizeof text)) HOLDS(text[0] != 0 && text[strspn(text, "0123456789abcdef")] == 0);
  uint64_t offsets[OFFSETS];
  bool named[OFFSETS] = {false};
  for (size_t i = 0; i < OFFSETS; i++) offsets[i] = i * (size / OFFSETS + 1);
  elf_symbols(fd, offsets, OFFSETS, INT64_MAX, take, named);
  (void)elf_object(fd, "runtime.allgs", INT64_MAX);
  (void)close(fd);
  return 0;
}
