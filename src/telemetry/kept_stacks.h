/* telemetry/kept_stacks.h: a fair sample of the stacks that were looked at, and who called what in them.
 * Rows     source "calls", "outermost (file);...;innermost (file)", "?" where nothing names a function; of the kernel what it does:
 *          "network ([kernel])". They say by whom, not how much: the greatest sample is KEPT_STACKS_MAX of a session
 * Memory   8 KiB of each stack */
#ifndef TELEMETRY_KEPT_STACKS_H
#define TELEMETRY_KEPT_STACKS_H

#include "telemetry/kernel_work.h"
#include "telemetry/profiler.h"
#include "telemetry/unwound.h"

enum { KEPT_STACKS_MAX = 4096 };

struct kept_stacks;

struct kept_stacks *kept_stacks_new(void);
/* Where the next one goes, to be filled in; NULL: the sample goes without it. kernel: its innermost frame is the kernel's, at that work. */
struct stack_copy *kept_stacks_next(struct kept_stacks *kept, uint32_t process, bool kernel, enum kernel_work work);
/* Unwinds, names and delivers; frees. Takes UNWOUND_MOST_S at most. */
void kept_stacks_finish(struct kept_stacks *take_kept, const struct root *root, const struct profiler_sink *sink);

#define UNWOUND_MOST_S 20

#endif
