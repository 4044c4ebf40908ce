/* attribute/samples.h: samples of a profiler on the processors: in whose code the time was spent, and the stacks folded.
 * Result   a sample belongs to the innermost frame's module, and through it to a layer
 * Limits   only time on a processor is sampled: waiting is not seen. Samples of other events than the first are counted apart and left out,
 *          since cycles and instructions do not add up
 * Source   folded stacks as FlameGraph's stackcollapse-perf writes them (names tidied the same way; kernel and JIT frames marked) */
#ifndef ATTRIBUTE_SAMPLES_H
#define ATTRIBUTE_SAMPLES_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/layer.h"
#include "trace/trace.h"

struct weighed {
  const char *text;
  int64_t weight, n;
  uint64_t hash;
};

/* Weight by text. */
struct weigher {
  struct weighed *items;
  size_t n, used; /* open addressing */
};

struct samples {
  struct arena arena;
  char event[64];
  int64_t n, weight, n_other, first_ns, last_ns; /* n_other: of other events */
  struct weigher modules, stacks;
  bool full;
};

void samples_add(struct samples *samples, const struct trace_sample *sample);
void samples_finish(struct samples *samples); /* the greatest weight first */
void samples_release(struct samples *samples);

/* False where the module is not known: unexplained. */
bool samples_layer(const char *module, enum layer *ret);

/* One line for each stack, by its text: "command;frame;frame WEIGHT". */
bool samples_folded(const struct samples *samples, struct buffer *out);

#endif
