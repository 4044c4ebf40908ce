/* telemetry/profiler.h: what processes do while they are on a processor, by looks at their threads. One file per profiler.
 * Order    begin, which starts it and returns at once; end, which stops it, delivers and frees
 * Cost     not small: a profiler runs in sessions that count into no figure, and what it costs is their throughput beside the others'
 * Errors   what cannot run here says why, in words that name what would let it
 * Limits   frames are the target's own words: sanitised, STACK_TEXT_MAX bytes of a stack, STACKS_MAX stacks of a session */
#ifndef TELEMETRY_PROFILER_H
#define TELEMETRY_PROFILER_H

#include "base/root.h"

enum { STACK_TEXT_MAX = 16384, STACKS_MAX = 20000 };

struct profiler_request {
  const struct root *root;
  int64_t pid; /* the serving process; its children are looked at too */
  int64_t duration_ns;
  const char *py_spy; /* named by the user; NULL */
};

struct profiler_sink {
  void *context;
  /* frames: "outermost;...;innermost". What a frame is, the profiler says. */
  void (*stack)(void *context, const char *source, int64_t process, int64_t thread, const char *frames, int64_t n);
  void (*value)(void *context, const char *series, double value);
  void (*note)(void *context, const char *text); /* what it could not see */
};

struct profiler {
  const char *name, *summary;
  /* False: it cannot run here; why says so, "" where there is nothing for it to see. */
  bool (*begin)(const struct profiler_request *request, void **ret_state, char *why, size_t size);
  void (*end)(void *state, const struct profiler_sink *sink);
};

extern const struct profiler *const profilers_all[]; /* generated from src/telemetry/profilers; ends in NULL */

#endif
