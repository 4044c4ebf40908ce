/* reference/backend.h: what stands behind the server: the metronome or the model.
 * Order    open; then submit and pump from the server's thread; cancel at any time; close
 * Times    CLOCK_MONOTONIC nanoseconds */
#ifndef REFERENCE_BACKEND_H
#define REFERENCE_BACKEND_H

#include "base/clock.h"
#include "reference/api.h"

struct options;

/* A generation's number is request number * GENERATIONS_PER_ID + connection, so that its connection is found at once. */
enum { GENERATIONS_PER_ID = 4096 };

/* One token of an answer, or its end. */
struct emission {
  int64_t generation;
  int64_t planned_ns;     /* the metronome's plan; else the time it was made */
  struct api_token token; /* length 0: no token */
  bool is_prompt;         /* echo: a token of the prompt, with its log-probability */
  const char *finish;     /* NULL: more follows; "stop", "length" */
  const char *error;      /* the generation failed */
};

typedef void backend_emit(void *context, const struct emission *emission);

struct backend_stats {
  int64_t running, waiting, steps, step_rows; /* steps: batches computed; step_rows: rows in them */
  double queue_seconds, prefill_seconds, decode_seconds;
  int64_t n_finished;
};

struct backend {
  const char *name;
  /* Says what is executed (JSON object members) and why not, if it cannot be on this machine: UNSUPPORTED. */
  enum lynx_status (*open)(const struct options *options, void **ret_state, struct lynx_error *error);
  void (*describe)(void *state, struct buffer *json_members);
  /* false: the queue is full. */
  bool (*submit)(void *state, int64_t generation, const struct api_request *request, int64_t now_ns);
  void (*cancel)(void *state, int64_t generation);
  /* Emits all that is due; returns when it wants to be called again (INT64_MAX: when its descriptor is readable). */
  int64_t (*pump)(void *state, int64_t now_ns, backend_emit *emit, void *context);
  int (*descriptor)(void *state); /* -1: none */
  void (*stats)(void *state, struct backend_stats *ret);
  void (*close)(void *state);
};

extern const struct backend backend_metronome, backend_model;

#endif
