/* telemetry/goroutines.h: where a Go program's goroutines wait: threads of theirs, of which the kernel knows nothing.
 * Source   the program's own list, runtime.allgs, by its symbol table; of each goroutine that the runtime parked, the stack from the pointer
 *          that it keeps in it, by process_vm_readv
 * Shapes   rows of kept_stacks.h with the process as the thread; the innermost frame is "goroutine ([kernel])", the next runtime.gopark
 * Source of the layout   runtime/runtime2.go: stack at 0, then two guards, panic, defer, m; sched.sp at 56, sched.pc at 64 since Go 1.4
 * Errors   none: a program without a symbol table (-ldflags -s) shows none
 * Limits   64-bit; GOROUTINES_LOOK of a process at a look, in turn. One that runs while it is read has an old place: it is left out by who
 *          reads the rows, as its innermost function is not gopark */
#ifndef TELEMETRY_GOROUTINES_H
#define TELEMETRY_GOROUTINES_H

#include "base/root.h"
#include "telemetry/kept_stacks.h"

enum { GOROUTINES_LOOK = 64 };

struct goroutines;

struct goroutines *goroutines_new(void);
/* Is that process a Go program? Looks once at each. */
void goroutines_find(struct goroutines *goroutines, const struct root *root, int64_t process);
/* On how many processors the first such program's code may run at once, as it has set that itself; 0: there is none. */
int64_t goroutines_processors(const struct goroutines *goroutines);
void goroutines_look(struct goroutines *goroutines, struct kept_stacks *kept);
void goroutines_free(struct goroutines *goroutines);

#endif
