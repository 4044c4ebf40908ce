/* ELF files: no crash, and a build id is hexadecimal. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "executor/elf_file.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char text[200];
  int fd = memfd_create("elf", MFD_CLOEXEC);
  HOLDS(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  if (elf_build_id(fd, text, sizeof text)) HOLDS(text[0] != 0 && text[strspn(text, "0123456789abcdef")] == 0);
  (void)close(fd);
  return 0;
}
