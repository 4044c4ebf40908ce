/* telemetry/sampler.h: time series taken while a run goes on.
 *
 * telemetry holds one file per sampler. A sampler reads; it never changes what it reads, and says what it costs.
 * Order    open, sample as often as wanted, close
 * Errors   a value that cannot be read is not delivered; a sampler that has none at all says so in open (false) */
#ifndef TELEMETRY_SAMPLER_H
#define TELEMETRY_SAMPLER_H

#include "base/root.h"

typedef void sampler_deliver(void *context, const char *series, double value);

struct sampler {
  const char *name, *summary;
  bool (*open)(const struct root *root, void **ret_state);
  void (*watch)(void *state, int64_t pid); /* the serving process, for what concerns it; 0: none */
  void (*sample)(void *state, sampler_deliver *deliver, void *context);
  void (*close)(void *state);
};

extern const struct sampler sampler_machine;

#endif
