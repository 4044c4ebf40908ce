/* attribute/samples.h: samples of a profiler on the processors: in whose code the time was spent, and the stacks folded.
 * Result   a sample belongs to the innermost frame's module, and through it to a layer; one in the C library, or in another that anybody
 *          calls, belongs to its nearest caller
 *          processes of one name are told apart by their ids, where the file has them; in the folded stacks they are not, as there
 * Limits   only time on a processor is sampled: waiting is not seen. Of several events the one that is time is taken, else the first; samples of
 *          the others are counted apart and left out, since cycles and instructions do not add up
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
  const char *wanted;                                    /* the only event; NULL: chosen */
  char event[64], other[64];                             /* other: the first of those that are left out */
  int64_t n, weight, n_other, n_idle, first_ns, last_ns; /* n_other: of other events; n_idle: of process 0, which is nobody's work */
  int64_t served;                                        /* of the weight: of the C library and the like, which counts with its caller */
  int64_t named;                                         /* of the weight: of those whose innermost function has a name */
  union {
    struct {
      struct weigher modules, stacks, processes, functions; /* modules: of one process, "module\tcommand (pid)"; functions: innermost */
    };
    struct weigher all[4];
  };
  bool full;
};

void samples_add(struct samples *samples, const struct trace_sample *sample);
bool samples_are_time(const char *event);     /* cycles, cpu-clock, task-clock */
void samples_finish(struct samples *samples); /* the greatest weight first */
void samples_release(struct samples *samples);

/* What a key of `modules` says; text of the samples' own. */
struct sampled_module {
  char module[300];
  const char *process; /* "python (4242)" */
};
struct sampled_module samples_module(const char *key);

/* The share of the weight that is in modules of no known layer. */
double samples_unattributed(const struct samples *samples);

/* False where it is not known whose the module is: an interpreter or a just-in-time compiler runs whoever's code, and a program is
 * whoever's it is. */
bool samples_layer(const char *module, enum layer *ret);

/* One line for each stack, by its text: "command;frame;frame WEIGHT". */
bool samples_folded(const struct samples *samples, struct buffer *out);

#endif
