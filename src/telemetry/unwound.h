/* telemetry/unwound.h: who called what is running, from copies of stacks that the kernel made with a look, or that were read of one that
 * waits.
 * Source   each file's .eh_frame, else its .debug_frame, else the frame pointer: libdw does it. The files are the process's own, and
 *          hostile: a program of lynxbench, in a cage (cage.h), with limits, reads them and gives back only addresses
 * Errors   none: a stack that cannot be unwound is short
 * Limits   x86-64 and AArch64; UNWOUND_FRAMES_MAX frames, as far as the copied bytes go; code that was made at run time ends a stack */
#ifndef TELEMETRY_UNWOUND_H
#define TELEMETRY_UNWOUND_H

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

#define UNWIND_OPTION "--unwind-stacks"

enum { UNWOUND_REGISTERS_MAX = 33, UNWOUND_FRAMES_MAX = 32, UNWOUND_STACK_MAX = 8192 };

/* Which registers the kernel is asked for; 0: this machine's stacks are not known here. */
uint64_t unwound_register_mask(void);

struct stack_copy {
  uint32_t thread, n_bytes;                  /* of the stack, from its pointer upward */
  uint64_t registers[UNWOUND_REGISTERS_MAX]; /* in the order of the mask */
  unsigned char bytes[UNWOUND_STACK_MAX];
};

/* Of a thread that waits in a system call: what /proc says of it, and the frame pointer, 0 where it is not known. */
void unwound_set_registers(struct stack_copy *copy, uint64_t stack, uint64_t address, uint64_t frame);

/* The bytes from a stack's pointer upward, of a process that goes on meanwhile; false: they may not be read. */
bool stack_copy_read(struct stack_copy *copy, int64_t process, uint64_t stack);

/* Of threads of one process. Calls unwound for each stack that gave a frame: addresses[0] is what ran, then the calls, each an address
 * within the calling instruction. False: some were not answered: the deadline came, or the program ended over one, and began again behind it. */
bool unwound_stacks(const struct root *root, uint32_t process, const struct stack_copy *const *copies, size_t n, int64_t deadline_ns,
                    void (*unwound)(void *context, size_t i, const uint64_t *addresses, size_t n), void *context);

/* The program that unwinds: of that process, from standard input to standard output. */
_Noreturn void unwound_main(const char *process);

#endif
