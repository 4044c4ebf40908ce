/* telemetry/kernel_work.h: what the kernel does for a thread, by the functions that are open in it.
 * Source   /proc/kallsyms for names; system calls and functions of Linux by one table of prefixes
 * Method   of the open functions the outermost that the table knows: a page fault within a send is network's
 * Limits   without the right to read addresses (kernel.kptr_restrict) all of it is KERNEL_OTHER */
#ifndef TELEMETRY_KERNEL_WORK_H
#define TELEMETRY_KERNEL_WORK_H

#include "base/root.h"

enum kernel_work {
  KERNEL_OTHER,
  KERNEL_NETWORK,
  KERNEL_LOCKS,
  KERNEL_YIELD,
  KERNEL_MEMORY,
  KERNEL_FILES,
  KERNEL_TIMERS,
  KERNEL_PROCESSES,
  KERNEL_DEVICES,
  KERNEL_INTERRUPTS,
  KERNEL_SCHEDULER,
  KERNEL_WORK_COUNT
};

const char *kernel_work_text(enum kernel_work work); /* "network", ...; "other" */
/* By a function's name, as kallsyms has it; KERNEL_OTHER: the table does not know it. */
enum kernel_work kernel_work_of_function(const char *name);

struct kernel_symbols; /* sorted by address */

struct kernel_symbols *kernel_symbols_read(const struct root *root); /* NULL: they may not be read */
void kernel_symbols_free(struct kernel_symbols *symbols);            /* accepts NULL */

/* chain: return addresses, the innermost first. */
enum kernel_work kernel_work_of(const struct kernel_symbols *symbols, const uint64_t *chain, size_t n);

#endif
