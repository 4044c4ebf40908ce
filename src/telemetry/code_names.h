/* telemetry/code_names.h: what lies at addresses of a process: the file, and the function where something names it.
 * Source   /proc/PID/maps; the files' symbol tables (elf_symbols.h), read as the process itself sees them; /tmp/perf-PID.map of its root for
 *          code that it made
 * Errors   none: what nothing names has no name
 * Limits   everything is the process's own words, to be sanitised by who shows it */
#ifndef TELEMETRY_CODE_NAMES_H
#define TELEMETRY_CODE_NAMES_H

#include "base/arena.h"
#include "base/root.h"

struct code_name {
  const char *module;   /* a path, "[anonymous]" (made at run time), "[vdso]", "[gone]" (nothing is there any more) */
  const char *function; /* NULL: nothing names it */
};

/* addresses: sorted. ret: n names, whose texts are the arena's. */
void code_names(const struct root *root, uint32_t process, const uint64_t *addresses, size_t n, struct arena *arena, struct code_name *ret);

#endif
