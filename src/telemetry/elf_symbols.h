/* telemetry/elf_symbols.h: the functions of an ELF file that lie at offsets of it. The file is hostile: libelf reads it (not through
 * memory maps, so that a file which shrinks meanwhile is an error and no signal), nothing is executed.
 * Limits   512 MiB and 8,388,608 symbols of a table, what is named until the deadline (of clock_system), names of 511 bytes; C++ names stay as the linker has them */
#ifndef TELEMETRY_ELF_SYMBOLS_H
#define TELEMETRY_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

enum { ELF_NAME_MAX = 512 };

/* offsets: of instructions in the file, sorted. Calls found for those whose function a symbol table names, or Go's own, in no order. */
void elf_symbols(int fd, const uint64_t *offsets, size_t n, int64_t deadline_ns, void (*found)(void *context, size_t i, const char *name),
                 void *context);
/* Of sorted addresses: the first at or behind another; n: none. */
size_t elf_first_from(const uint64_t *addresses, size_t n, uint64_t address);
/* The address of a named object, as the file is linked; 0: its table has none, or it has no table. */
uint64_t elf_object(int fd, const char *name, int64_t deadline_ns);

#endif
