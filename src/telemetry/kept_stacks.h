/* telemetry/kept_stacks.h: a fair sample of the stacks that were looked at, and who called what in them.
 * Rows     "outermost (file);...;innermost (file)", "?" where nothing names a function; of the kernel what it does: "network ([kernel])".
 *          They say by whom, not how much: the greatest sample is KEPT_STACKS_MAX of a session
 * Memory   8 KiB of each stack */
#ifndef TELEMETRY_KEPT_STACKS_H
#define TELEMETRY_KEPT_STACKS_H

#include "telemetry/profiler.h"
#include "telemetry/unwound.h"

enum { KEPT_STACKS_MAX = 4096 };

struct kept_stacks;

/* source: of the rows; purpose: what is not known where stacks cannot be unwound. Both outlive it. */
struct kept_stacks *kept_stacks_new(const char *source, const char *purpose);
/* Where the next one goes, to be filled in; NULL: the sample goes without it. doing: its innermost frame is the kernel's, which does that,
 * and it outlives the sample; NULL. */
struct stack_copy *kept_stacks_next(struct kept_stacks *kept, uint32_t process, const char *doing);
/* Unwinds, names and delivers; frees. Takes UNWOUND_MOST_S at most. */
void kept_stacks_finish(struct kept_stacks *take_kept, const struct root *root, const struct profiler_sink *sink);

#define UNWOUND_MOST_S 20

#endif
