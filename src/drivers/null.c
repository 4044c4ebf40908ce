/* The null driver: every request is answered at once by nobody. What a run with it measures is the instrument. */
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "load/driver.h"

struct null_driver {
  const struct lynx_clock *clock;
  const struct driver_input *inputs;
  uint32_t *waiting;
  size_t *input; /* by slot */
  uint32_t n_waiting;
};

static enum lynx_status null_open(const struct driver_options *options, void **ret_state, struct lynx_error *error) {
  (void)error;
  struct null_driver *driver = xalloc(1, sizeof *driver);
  driver->clock = options->clock;
  driver->input = xalloc(options->n_slots, sizeof *driver->input);
  driver->waiting = xalloc(options->n_slots, sizeof *driver->waiting);
  *ret_state = driver;
  return LYNX_OK;
}

static enum lynx_status null_prepare(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error) {
  (void)n_inputs, (void)error;
  ((struct null_driver *)state)->inputs = inputs;
  return LYNX_OK;
}

static enum driver_answer null_issue(void *state, uint32_t slot, size_t input) {
  struct null_driver *driver = state;
  driver->input[slot] = input;
  driver->waiting[driver->n_waiting++] = slot;
  return DRIVER_ACCEPTED;
}

static void answer(const struct null_driver *driver, uint32_t slot, driver_deliver *deliver, void *context) {
  int64_t now = clock_now(driver->clock), n_tokens = driver->inputs[driver->input[slot]].output_tokens;
  deliver(context, &(struct completion){.kind = COMPLETION_WRITTEN, .slot = slot, .at_ns = now, .read_lag_ns = -1});
  deliver(context, &(struct completion){.kind = COMPLETION_FIRST_BYTE, .slot = slot, .at_ns = now, .read_lag_ns = -1});
  for (int64_t i = 0; i < n_tokens; i++)
    deliver(context, &(struct completion){.kind = COMPLETION_EVENT,
                                          .slot = slot,
                                          .at_ns = clock_now(driver->clock),
                                          .read_lag_ns = -1,
                                          .n_tokens = 1,
                                          .n_bytes = 1,
                                          .carries_text = true,
                                          .carries_answer = true});
  struct answer_end end = {.outcome = OUTCOME_OK, .http_status = 200, .prompt_tokens = 0, .output_tokens = n_tokens};
  deliver(context,
          &(struct completion){.kind = COMPLETION_END, .slot = slot, .at_ns = clock_now(driver->clock), .read_lag_ns = -1, .end = &end});
}

static void null_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  struct null_driver *driver = state;
  if (driver->n_waiting == 0) {
    int64_t left = deadline_ns - clock_now(driver->clock);
    struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    if (left > 0) (void)nanosleep(&wait, NULL); /* a signal may end it early: the engine looks again */
    return;
  }
  uint32_t n = driver->n_waiting;
  driver->n_waiting = 0;
  for (uint32_t i = 0; i < n; i++) answer(driver, driver->waiting[i], deliver, context);
}

static void null_cancel(void *state, uint32_t slot) {
  struct null_driver *driver = state;
  for (uint32_t i = 0; i < driver->n_waiting; i++)
    if (driver->waiting[i] == slot) driver->waiting[i--] = driver->waiting[--driver->n_waiting];
}

static void null_close(void *state) {
  struct null_driver *driver = state;
  if (driver == NULL) return;
  free(driver->waiting);
  free(driver->input);
  free(driver);
}

const struct driver driver_null;
const struct driver driver_null = {
    .abi = DRIVER_ABI,
    .name = "null",
    .summary = "answers at once and computes nothing: measures the instrument itself",
    .sees = "nothing: there is nothing to see",
    .in_process = true,
    .open = null_open,
    .prepare = null_prepare,
    .issue = null_issue,
    .reap = null_reap,
    .cancel = null_cancel,
    .close = null_close,
};
