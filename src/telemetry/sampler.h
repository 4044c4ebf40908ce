/* telemetry/sampler.h: time series taken while a run goes on.
 *
 * telemetry holds one file per sampler. A sampler reads; it never changes what it reads.
 * Order    open; watch; then look often and sample at times, both on one thread; close
 * Errors   a value that cannot be read is not delivered; a sampler that has none at all says so in open (false)
 * Limits   everything in /proc is hostile: names are sanitised, lists are bounded */
#ifndef TELEMETRY_SAMPLER_H
#define TELEMETRY_SAMPLER_H

#include "base/activity.h"
#include "base/root.h"

struct sampler_sink {
  void *context;
  void (*value)(void *context, const char *series, double value);
  void (*name)(void *context, const struct thread_name *name); /* before the thread's first activity; again after another watch */
  void (*activity)(void *context, const struct thread_activity *activity);
};

struct sampler {
  const char *name, *summary;
  bool always; /* of the run's conditions, by which it is judged: also where no sampling is wanted */
  bool (*open)(const struct root *root, void **ret_state);
  void (*watch)(void *state, int64_t pid); /* the serving process, for what concerns it; 0: none */
  void (*look)(void *state);               /* short, some twenty times a second; NULL: there is nothing to look at between samples */
  /* now_ns: of a steady clock, from wherever; what it delivers is of the time since the sample before. */
  void (*sample)(void *state, int64_t now_ns, const struct sampler_sink *sink);
  void (*close)(void *state);
};

extern const struct sampler *const samplers_all[]; /* generated from src/telemetry/samplers; ends in NULL */

#endif
