/* telemetry/go_functions.h: the functions of a Go program, by the table that its runtime walks stacks with. It is there in programs that
 * were stripped of their symbols (-ldflags "-s -w"), too. The file is hostile: every place in it is checked against the table's size.
 * Source   runtime/symtab.go (pcHeader, functab) and internal/abi/symtab.go of Go 1.18 and 1.20, whose layouts are one but for the mark
 * Limits   little-endian, Go 1.18 and later. Where the table does not say at which address the code begins (a program that may lie
 *          anywhere), it is where the entry point's own function lies; one that another linker gave its entry point shows none */
#ifndef TELEMETRY_GO_FUNCTIONS_H
#define TELEMETRY_GO_FUNCTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_functions {
  const unsigned char *bytes;
  size_t size, n;        /* of the table; of its functions */
  size_t names, entries; /* where they begin in it */
  uint64_t code;         /* the address of the first instruction, as the file is linked */
};

bool go_functions_find(Elf *elf, struct go_functions *ret);
/* In ascending order. name: inside the table, ended by a zero byte; NULL: it has none. */
struct go_function {
  uint64_t from, size;
  const char *name;
} go_functions_at(const struct go_functions *functions, size_t i);

#endif
