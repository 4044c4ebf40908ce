/* load/engine.h: one session of load on one driver, from the first arrival of warm-up to the end of the drain.
 *
 * Units    all times in nanoseconds after the session's zero, start_ns on the clock
 * Phases   by *scheduled* time: warm-up [0, warm_up), counted [warm_up, warm_up + counted), tail after that. The tail keeps
 *          the load up while counted requests finish; it is not counted.
 * Result   one row per request, handed to the plan's sink as it ends; a report on the engine itself
 * Threads  several engines share one schedule: engine i of n takes every n-th arrival. Within one: no lock, and no allocation in
 *          the loop but while a slot's buffers grow to the largest answer it has seen */
#ifndef LOAD_ENGINE_H
#define LOAD_ENGINE_H

#include <stdatomic.h>

#include "load/driver.h"
#include "load/schedule.h"

struct request_row {
  int64_t id; /* the arrival's number in the session's schedule */
  enum phase phase;
  enum outcome outcome;
  int http_status;
  size_t input;
  int64_t scheduled_ns, issued_ns, written_ns, first_byte_ns, first_token_ns, first_answer_ns, first_tool_call_ns, last_token_ns,
      end_ns;                           /* -1: never happened; issued: handed to the driver */
  int64_t prompt_tokens, output_tokens; /* -1: not said */
  int64_t n_text_events, n_empty_events;
  int64_t read_lag_ns; /* the greatest of its reads; -1: unknown */
  unsigned flags;
  char reason[160];
  /* A sink may take these by putting others in their place, empty ones with memory of their own; what it leaves is used again. */
  struct buffer events; /* load/events.h */
  struct buffer phases; /* struct answer_phase, one after another */
  struct buffer answer; /* the content, escaped as in JSON strings, if the plan keeps it */
};

/* Written by the engines, read by whoever shows progress. */
struct engine_progress {
  atomic_llong n_issued, n_done, n_failed, n_tokens;
  atomic_llong n_ok, time_to_first_token_ns, end_to_end_ns; /* of those that succeeded, from when they were due: sums */
  atomic_int in_flight;
  atomic_llong n_counted_left; /* counted requests of all engines that are not over: no engine leaves before they are */
};

enum { ENGINE_RUN = 0, ENGINE_DRAIN = 1, ENGINE_ABORT = 2 };

typedef void engine_sink(void *context, struct request_row *row);

struct engine_plan {
  const struct lynx_clock *clock;
  int64_t start_ns;
  const struct schedule *schedule;
  uint32_t batch;        /* closed loop: 0, or that many at once, the next ones when all of them are over; then also the concurrency */
  uint32_t turns;        /* closed loop: of one conversation, in consecutive inputs; each slot is a user. 1: every request by itself */
  int64_t think_mean_ns; /* with turns > 1: exponential, between an answer and the next turn */
  uint64_t seed;         /* of the thinking */
  uint32_t concurrency;  /* closed loop: requests kept in flight (all engines together); open loop: the most in flight */
  int64_t warm_up_ns, counted_ns, drain_ns, timeout_ns;
  const uint32_t *input_order; /* input of request k: input_order[k % n_inputs]; with turns, of conversations */
  size_t n_inputs;             /* the length of input_order */
  size_t keep_answers;         /* of counted requests for inputs below this: their content is kept */
  uint32_t index, n_engines;
  const atomic_int *stop; /* ENGINE_* */
  const atomic_uint
      *in_flight_most; /* closed loop without batches: no more than that of all engines at a time, while it is not 0; or NULL */
  struct engine_progress *progress;
  engine_sink *sink;
  void *sink_context;
};

/* What measuring cost and how late we were. */
struct engine_report {
  int64_t n_loops, n_busy; /* n_busy: looks at the schedule that found every slot taken */
  int64_t cpu_ns, wall_ns; /* of this thread */
  int64_t longest_away_ns; /* the longest time between two looks at the driver beyond what was asked for */
  int64_t ended_ns;
  bool drained;             /* every counted request of this engine was sent and finished */
  int64_t event_bytes_lost; /* blobs that hit their limit */
};

enum lynx_status engine_run(const struct engine_plan *plan, const struct driver *driver, void *state, struct engine_report *ret,
                            struct lynx_error *error) LYNX_MUST_CHECK;

#endif
