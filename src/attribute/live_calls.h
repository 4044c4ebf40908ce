/* attribute/live_calls.h: who called the library, or entered the kernel, that a look found a thread in.
 * Source   rows "calls" of the profiler native_stacks: "outermost (file);...;innermost (file)"
 * Rule     the caller is the nearest frame outward of another file that is no plumbing: not the C or C++ library, the loader, OpenMP's
 *          start of a worker
 * Limits   a stack whose end was not copied, or that code without unwind tables cut, has no caller; CALLS_MAX callers of a run */
#ifndef ATTRIBUTE_LIVE_CALLS_H
#define ATTRIBUTE_LIVE_CALLS_H

#include "base/arena.h"

enum { LIVE_CALLED_MAX = 16 };

struct live_calls;

/* One caller of a library in one lane. */
struct live_called {
  const char *module, *function; /* a path; a linker's name, "" where nothing names it */
  double share;                  /* of the looks at that library whose stacks are known */
};

/* "send (/lib/libc.so.6)" -> "send", "/lib/libc.so.6", within frame, which is cut. The function "?" is "". False: no frame. */
bool live_cut_frame(char *frame, const char **ret_function, const char **ret_module);
/* What stands between a library and who wants something of it. */
bool live_is_plumbing(const char *module);

struct live_calls *live_calls_new(struct arena *arena);
/* frames: sanitised; cut. */
void live_calls_add(struct live_calls *calls, size_t lane, char *frames, int64_t n);
/* leaf: a library's file name, or what the kernel did, "network". The greatest first. */
size_t live_calls_of(const struct live_calls *calls, size_t lane, const char *leaf, struct live_called ret[LIVE_CALLED_MAX]);
void live_calls_free(struct live_calls *take_calls);

#endif
