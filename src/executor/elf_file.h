/* executor/elf_file.h: what an ELF file says of itself. The file is hostile: libelf reads it, nothing is executed.
 * Result   false if the file is not ELF, cannot be read, or does not say */
#ifndef EXECUTOR_ELF_FILE_H
#define EXECUTOR_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The NT_GNU_BUILD_ID note in hexadecimal. */
bool elf_build_id(int fd, char *text, size_t size);

#endif
